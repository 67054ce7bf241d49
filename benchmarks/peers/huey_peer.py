"""huey: one worker thread in each process.

It deletes a task when it takes it, so a killed worker loses it: less than the others promise.
"""

from __future__ import annotations

import logging

import stamp
from huey import PostgresHuey, SqliteHuey


def _huey(where: str) -> SqliteHuey | PostgresHuey:
    if stamp.on_server(where):
        made = PostgresHuey("bench", dsn=where)
    else:
        made = SqliteHuey("bench", filename=where, fsync=True, journal_mode="wal", timeout=30)
    made.noop = made.task(name="noop")(stamp.noop)
    return made


def fill(where: str, count: int) -> None:
    huey = _huey(where)
    for _ in range(count):
        huey.noop()


def work(where: str) -> None:
    logging.disable(logging.WARNING)
    _huey(where).create_consumer(workers=1, periodic=False, initial_delay=0.01).run()


if __name__ == "__main__":
    stamp.main(fill, work)
