"""Writes without a result, queued so that many are sent together.

A read in the same transaction, and its commit, send them first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from yaoki.core.lazy_pattern import lazy_compile

Params = Mapping[str, Any]
Coalesce = Callable[[list[Params]], list[Params]]

_TABLE = lazy_compile(r"\s*(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")


@cache
def _table(sql: str) -> str:
    match = _TABLE.match(sql)
    assert match, sql
    return match[1]


def keep_all(rows: list[Params]) -> list[Params]:
    return rows


class WriteBuffer:
    """Queues of writes, one per table or order key.

    The order inside a queue is kept, and queues are sent in the order of their first write.
    """

    def __init__(self) -> None:
        self._queues: dict[str, list[tuple[str, Coalesce, list[Params]]]] = {}

    def __bool__(self) -> bool:
        return bool(self._queues)

    def add(self, sql: str, params: Params, order_key: str, coalesce: Coalesce) -> None:
        """`coalesce` may replace the rows of one statement by fewer rows of the same effect."""
        parts = self._queues.setdefault(order_key or _table(sql), [])
        if not parts or parts[-1][0] is not sql:
            parts.append((sql, coalesce, []))
        parts[-1][2].append(params)

    def drain(self) -> list[tuple[str, list[Params]]]:
        queues, self._queues = self._queues, {}
        parts = (part for queue in queues.values() for part in queue)
        return [(sql, coalesce(rows)) for sql, coalesce, rows in parts]
