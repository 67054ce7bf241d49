"""DBOS: each task is a workflow in a queue; filled in one transaction, its quickest way."""

from __future__ import annotations

import logging
import os
import threading

import stamp
from dbos import DBOS, DBOSClient

QUEUE = "bench"


@DBOS.workflow(name="noop")
def noop() -> None:
    stamp.noop()


def _configured(where: str) -> None:
    logging.disable(logging.WARNING)
    config = {
        "name": "bench",
        "system_database_url": stamp.alchemy(where),
        "application_version": "1",
        "executor_id": str(os.getpid()),
        "run_admin_server": False,
    }
    DBOS(config=config)
    DBOS.launch()
    # The default poll of one second would be all that is measured; without a limit the first
    # process takes everything.
    DBOS.register_queue(QUEUE, worker_concurrency=64, polling_interval_sec=0.02)


def fill(where: str, count: int) -> None:
    stamp.wal(where)
    _configured(where)
    client = DBOSClient(system_database_url=stamp.alchemy(where))
    with client._sys_db.engine.begin() as link:
        for _ in range(count):
            asked = {"queue_name": QUEUE, "workflow_name": "noop", "app_version": "1"}
            client.enqueue_in_transaction(link, asked)
    client.destroy()


def work(where: str) -> None:
    _configured(where)
    threading.Event().wait()


if __name__ == "__main__":
    stamp.main(fill, work)
    os._exit(0)
