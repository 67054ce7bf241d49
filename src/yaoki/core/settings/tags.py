"""Tags: what a task needs of the worker that carries it, and what a worker declares to have."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

TAG_FORM = "1 to 64 ASCII letters, digits, '_', '.' or '-', and begins with a letter or digit"
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def is_tag(text: str) -> bool:
    return bool(_TAG.fullmatch(text))


def join_tags(tags: Iterable[str]) -> str:
    """As one text that compares: sorted, with commas between, which no tag holds."""
    return ",".join(sorted(set(tags)))


def has_all_tags(needed: str, declared: Collection[str]) -> bool:
    """Does somebody who declares these have all of them?"""
    return all(tag in declared for tag in needed.split(",") if tag)
