"""Expected files and lists: what a test compares with, and which suites run."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

EDITED = "what the tests compare with was changed"


def only_extends(before: str, after: str) -> bool:
    """Is everything that was expected still expected, possibly with additions?"""
    old, new = _json_of(before), _json_of(after)
    if old is not None and new is not None:
        return _contains_all(old, new)
    lines = [Counter(line.rstrip() for line in text.splitlines()) for text in (before, after)]
    return not lines[0] - lines[1]


def is_same_data(before: str, after: str) -> bool:
    old, new = _json_of(before), _json_of(after)
    return (old is not None and old == new) or before.split() == after.split()


def _json_of(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _contains_all(old: Any, new: Any) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        return all(key in new and _contains_all(value, new[key]) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        rest = list(new)
        for one in old:
            if one not in rest:
                return False
            rest.remove(one)
        return True
    return bool(old == new)
