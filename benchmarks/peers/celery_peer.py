"""Celery on its SQLAlchemy transport, the one that needs no broker besides the database.

Late acknowledgement and a result in the same database, so that an end is as durable as elsewhere.
"""

from __future__ import annotations

import os
import sys

import stamp
from celery import Celery


def _celery(where: str) -> Celery:
    url = stamp.alchemy(where)
    app = Celery("bench", broker=f"sqla+{url}", backend=f"db+{url}")
    # Prefetch as its guide advises for short tasks.
    app.conf.update(
        task_acks_late=True,
        worker_prefetch_multiplier=32,
        broker_connection_retry_on_startup=True,
        task_default_queue="bench",
        worker_hijack_root_logger=False,
    )
    app.task(name="noop")(stamp.noop)
    return app


def fill(where: str, count: int) -> None:
    stamp.wal(where)
    app = _celery(where)
    for _ in range(count):
        app.send_task("noop")


def work(where: str) -> None:
    app = _celery(where)
    words = ["worker", "--pool=solo", "--loglevel=ERROR", "--without-gossip", "--without-mingle"]
    sys.argv = ["celery"]
    app.worker_main([*words, "--without-heartbeat", f"--hostname={os.getpid()}@bench"])


if __name__ == "__main__":
    stamp.main(fill, work)
