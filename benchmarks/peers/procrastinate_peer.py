"""procrastinate: batched defers, sixteen jobs at once in each process."""

from __future__ import annotations

import asyncio
import logging

import stamp
from procrastinate import App, PsycopgConnector

CONCURRENCY = 16
AT_ONCE = 1000


def _app(where: str) -> App:
    app = App(connector=PsycopgConnector(conninfo=where, min_size=1, max_size=8))

    @app.task(name="noop", queue="bench")
    async def noop() -> None:
        stamp.noop()

    return app


def fill(where: str, count: int) -> None:
    async def filled() -> None:
        app = _app(where)
        async with app.open_async():
            await app.schema_manager.apply_schema_async()
            for first in range(0, count, AT_ONCE):
                asked = [{} for _ in range(min(AT_ONCE, count - first))]
                await app.tasks["noop"].batch_defer_async(*asked)

    asyncio.run(filled())


def work(where: str) -> None:
    logging.disable(logging.WARNING)

    async def worked() -> None:
        app = _app(where)
        async with app.open_async():
            await app.run_worker_async(queues=["bench"], concurrency=CONCURRENCY)

    asyncio.run(worked())


if __name__ == "__main__":
    stamp.main(fill, work)
