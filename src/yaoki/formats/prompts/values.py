"""The values of a failure for its template: names and shapes; every declared name has a value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from yaoki.core.decide.baseline import COUNT, LISTS
from yaoki.core.model import CONTENT_KINDS, Failure, FailureKind, FindingItem
from yaoki.core.model.patterns import PATTERNS
from yaoki.core.text import clip_bytes, strip_terminal_codes

# The params of every failure.
COMMON_PARAMS = (
    *("kind", "pattern", "check", "message", "errorOutput", "stdout", "stderr"),
    *("exitCode", "items", "timeoutSeconds", "elapsedSeconds"),
)
# If the check set none of its pattern's params, its items fill the first list.
OWN_PARAMS: Mapping[str, tuple[str, ...]] = {
    pattern.name: pattern.params for pattern in PATTERNS.values()
}

# The kinds with a template, by the name of its file.
KINDS: Mapping[str, FailureKind] = {
    kind.value.lower().replace("_", "-"): kind
    for kind in (
        FailureKind.INCOMPLETE,
        FailureKind.QUALITY_FAILURE,
        FailureKind.TIMEOUT,
        FailureKind.CONFLICT,
    )
}
assert set(KINDS.values()) == CONTENT_KINDS, "every content kind has a template"

PARAMS: Mapping[str, tuple[str, ...]] = {
    **{
        pattern: tuple(dict.fromkeys((*own, *COMMON_PARAMS))) for pattern, own in OWN_PARAMS.items()
    },
    **dict.fromkeys(KINDS, COMMON_PARAMS),
    "": COMMON_PARAMS,
}

FILES = frozenset(
    name for pattern in PATTERNS.values() for name in (*pattern.paths, *pattern.other_paths)
)
RECORDS = frozenset({"items", *(n for pattern in PATTERNS.values() for n in pattern.records)})
# Every record has these keys; values that the check did not set are empty.
RECORD_KEYS = ("name", "message", "error", "where", "file", "line", "column", "code")

LEFT_OUT = "… (+{})"
TEXT_BYTES_MAX = 32_000
LIST_MAX = 200
DEPTH_MAX = 4
_LINE_ENDS = {0x2028: "\n", 0x2029: "\n"}


def template_values(failure: Failure, declared: Iterable[str]) -> dict[str, Any]:
    """A plain value for each declared name; empty if the failure has none."""
    values = _values(failure)
    return {name: shape_value(name, values.get(name)) for name in declared}


def _values(failure: Failure) -> dict[str, Any]:
    items = [
        _left_out(item.unlisted_count)
        if item.unlisted_count
        else {"name": item.name, "message": item.message, "where": item.where}
        for item in failure.items
    ]
    params = {
        name: _with_left_out(name, value, failure)
        for name, value in failure.params.items()
        if value is not None
    }
    pattern = PATTERNS.get(failure.pattern)
    own = (*pattern.paths, *pattern.records) if pattern else ()
    from_items = {own[0]: items} if own and not any(params.get(name) for name in own) else {}
    return {
        "errorOutput": failure.output,
        "items": items,
        **params,
        **from_items,
        "kind": failure.kind.value,
        "pattern": failure.pattern,
        "check": failure.check,
        "message": failure.message,
    }


def _with_left_out(name: str, value: Any, failure: Failure) -> Any:
    """A check lists only the first of many failures in its params."""
    count = failure.params.get(COUNT)
    if name not in LISTS or not isinstance(value, list | tuple) or not isinstance(count, int):
        return value
    return [*value, _left_out(count - len(value))] if 0 < len(value) < count else value


def _left_out(count: int) -> dict[str, Any]:
    """The last entry of a shortened list; the filter `bullets` reads it."""
    return {"name": LEFT_OUT.format(count)}


def shape_value(name: str, value: Any) -> Any:
    """The shape that templates expect: a list of paths, a list of records, or the plain value."""
    plain = plain_value(value)
    if name not in FILES | RECORDS:
        return plain
    if isinstance(plain, str):
        plain = [line for line in plain.splitlines() if line.strip()]
    listed = plain if isinstance(plain, list) else [plain]
    return [_path(one) if name in FILES else _record(one) for one in listed]


def _path(one: Any) -> Any:
    return _first(one, "name", "path", "file") if isinstance(one, dict) else one


def _record(one: Any) -> dict[str, Any]:
    known = one if isinstance(one, dict) else {"name": one}
    place = ":".join(str(known[key]) for key in ("file", "line") if known.get(key))
    return {
        **dict.fromkeys(RECORD_KEYS, ""),
        **known,
        "name": _first(known, "name", "test", "rule", "code", "file"),
        "message": _first(known, "message", "error", "text"),
        "error": _first(known, "error", "message", "text"),
        "where": known.get("where") or place,
    }


def _first(known: Mapping[str, Any], *keys: str) -> Any:
    return next((known[key] for key in keys if known.get(key)), "")


def plain_value(value: Any, depth: int = 0) -> Any:
    """Only plain JSON values: the engine would call the methods of any other object."""
    match value:
        case None:
            return ""
        case bool():
            return value
        case int():
            return value if abs(value) < 1 << 62 else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case FindingItem():
            return plain_value(
                {"name": value.name, "message": value.message, "where": value.where}, depth
            )
        case Mapping() if depth < DEPTH_MAX:
            some = list(value.items())[:LIST_MAX]
            return {_text(key): plain_value(content, depth + 1) for key, content in some}
        case list() | tuple() | set() | frozenset() if depth < DEPTH_MAX:
            return [plain_value(one, depth + 1) for one in list(value)[:LIST_MAX]]
        case _:
            return _text(value)


def _text(value: Any) -> str:
    """The value as text without terminal codes and hidden characters, and with one kind of line
    end.
    """
    return clip_bytes(strip_terminal_codes(str(value)).translate(_LINE_ENDS), TEXT_BYTES_MAX)
