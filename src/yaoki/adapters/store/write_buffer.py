"""Writes that ask nothing back: they wait for their neighbours and are sent together.

Whatever is read in the same transaction, and its commit, sends them first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

Params = Mapping[str, Any]
Coalesce = Callable[[list[Params]], list[Params]]

_TABLE = re.compile(r"\s*(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")


@cache
def _table(sql: str) -> str:
    found = _TABLE.match(sql)
    assert found, sql
    return found[1]


def keep_all(rows: list[Params]) -> list[Params]:
    return rows


class WriteBuffer:
    """In lanes, one per table: within a lane the order is kept, and lanes are sent in the order
    in which they were begun.
    """

    def __init__(self) -> None:
        self._lanes: dict[str, list[tuple[str, Coalesce, list[Params]]]] = {}

    def __bool__(self) -> bool:
        return bool(self._lanes)

    def add(self, sql: str, params: Params, order_key: str, coalesce: Coalesce) -> None:
        """`fold` says with fewer rows what those of one statement say together."""
        parts = self._lanes.setdefault(order_key or _table(sql), [])
        if not parts or parts[-1][0] is not sql:
            parts.append((sql, coalesce, []))
        parts[-1][2].append(params)

    def drain(self) -> list[tuple[str, list[Params]]]:
        lanes, self._lanes = self._lanes, {}
        parts = (part for lane in lanes.values() for part in lane)
        return [(sql, fold(rows)) for sql, fold, rows in parts]
