"""pgqueuer: batches of the size that yaoki claims, its tables at durability `durable`."""

from __future__ import annotations

import asyncio
import logging
import os
from datetime import timedelta

os.environ["PGQUEUER_DURABILITY"] = "durable"

import asyncpg
import stamp
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries

BATCH = 32
AT_ONCE = 1000


def fill(where: str, count: int) -> None:
    async def filled() -> None:
        link = await asyncpg.connect(where)
        queries = Queries(AsyncpgDriver(link))
        await queries.install()
        kinds = (
            "SELECT relpersistence FROM pg_class WHERE relname LIKE 'pgqueuer%' AND relkind = 'r'"
        )
        logged = {row[0] for row in await link.fetch(kinds)}
        assert logged == {b"p"}, f"a table of pgqueuer is not logged: {logged}"
        for first in range(0, count, AT_ONCE):
            many = min(AT_ONCE, count - first)
            await queries.enqueue(["noop"] * many, [None] * many, [0] * many)
        await link.close()

    asyncio.run(filled())


def work(where: str) -> None:
    logging.disable(logging.WARNING)

    async def worked() -> None:
        link = await asyncpg.connect(where)
        queue = PgQueuer(AsyncpgDriver(link))

        @queue.entrypoint("noop")
        async def noop(_job: object) -> None:
            stamp.noop()

        await queue.run(dequeue_timeout=timedelta(seconds=1), batch_size=BATCH)

    asyncio.run(worked())


if __name__ == "__main__":
    stamp.main(fill, work)
