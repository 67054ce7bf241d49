"""Tags: what a task requires of its worker, and what a worker declares."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from yaoki.core.lazy_pattern import lazy_compile

TAG_FORM = "1 to 64 ASCII letters, digits, '_', '.' or '-', and begins with a letter or digit"
_TAG = lazy_compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def is_tag(text: str) -> bool:
    return bool(_TAG.fullmatch(text))


def join_tags(tags: Iterable[str]) -> str:
    """Join tags to a text that can be compared: sorted, with commas, which no tag contains."""
    return ",".join(sorted(set(tags)))


def has_all_tags(needed: str, declared: Collection[str]) -> bool:
    """Does a worker with these tags have all required ones?"""
    return all(tag in declared for tag in needed.split(",") if tag)
