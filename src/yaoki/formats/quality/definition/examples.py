"""Examples in docstrings: with doctest, the program's own examples are the tests."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from doctest import DocTestParser

LOST = "an example of its documentation was removed or changed"


def is_documented(path: str, commands: Sequence[str]) -> bool:
    """Does a check run doctest on this file?"""
    named = re.compile(rf"-m doctest\b[^;&|]*(?<![\w/.-]){re.escape(path)}(?![\w/])")
    return any(named.search(text) for text in commands)


def has_lost_examples(before: str, after: str) -> bool:
    """Is an example gone, or its expected result changed?  Unreadable examples count as lost."""
    try:
        old, new = (_examples(text) for text in (before, after))
    except ValueError:
        return True
    return bool(old - new)


def _examples(text: str) -> Counter[tuple[str, str]]:
    return Counter((one.source, one.want) for one in DocTestParser().get_examples(text))
