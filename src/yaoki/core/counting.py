"""Numbers before their nouns."""

from __future__ import annotations


def format_count(n: int, one: str, many: str = "") -> str:
    """`1 task`, `2 tasks`, `1,000 tasks`; `many` where an s is not enough."""
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"
