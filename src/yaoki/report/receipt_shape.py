"""The schema of a receipt: fields and types; anything else is an error with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

DEFECTS_MAX = 20
_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SUM = re.compile(r"[0-9a-f]{64}")

# A type, a text pattern, a nested shape, or a list of one; in a tuple, None is allowed too.
FieldShape = Any


class Optional(NamedTuple):
    """The shape of a field that may be missing."""

    shape: FieldShape


POINT: Mapping[str, FieldShape] = {"commit": _NAME, "tree": _NAME}
OUTPUT: Mapping[str, FieldShape] = {"file": str, "bytes": int, "sha256": _SUM}
CHECK: Mapping[str, FieldShape] = {
    "check": str,
    "type": str,
    "identity": (str,),
    "outcome": str,
    "required": bool,
    "exit_code": (int,),
    "outputs": [OUTPUT],
    "fail_to_pass": Optional([str]),
    "hidden": Optional(str),
    "reused": Optional({"run": str, "task": str, "commit": _NAME}),
    "mutants": Optional({"killed": int, "survived": int}),
    "quarantined": Optional([{"test": str, "owner": str, "expires": str, "reason": str}]),
    "ms": int,
}
LANDED: Mapping[str, FieldShape] = {
    "attempt": int,
    "checks": [CHECK],
    "commit": _NAME,
    "how": re.compile("LANDED|TOGETHER|IN_GROUP|UNCHANGED"),
    "kind": str,
    "name": str,
    "sha256": _SUM,
    "step": (int,),
    "task": str,
    "tree": _NAME,
}
STEP: Mapping[str, FieldShape] = {
    "also_undoes": Optional([_NAME]),
    "commit": _NAME,
    "sha256": _SUM,
    "task": (str,),
    "tree": _NAME,
    "undoes": (_NAME,),
    "what": re.compile("LANDED|UNDONE|OTHER"),
    "with": Optional([{"commit": _NAME, "task": str}]),
}
RECEIPT: Mapping[str, FieldShape] = {
    "digest": _SUM,
    "as_of": str,
    "base": POINT,
    "form": str,
    "goal": str,
    "head": POINT,
    "landed": [LANDED],
    "line": [STEP],
    "made_by": str,
    "plan": {"revision": int, "sha256": _SUM, "tasks": int},
    "run": re.compile(r"[a-z0-9][a-z0-9-]{0,99}"),
    "run_branch": re.compile(r"yaoki/[a-z0-9][a-z0-9-]{0,99}"),
    "schema": int,
    "status": str,
    "tasks": int,
}


def shape_defects(receipt: Mapping[str, Any], form: str, schema: int) -> list[str]:
    """Every place that does not match the schema, up to a limit."""
    if receipt.get("form") != form:
        return [f"form: {receipt.get('form')!r} is not {form!r}"]
    if receipt.get("schema") != schema:
        return [f"schema: this yaoki reads {schema}, not {receipt.get('schema')!r}"]
    defects = _defects(receipt, RECEIPT, "")
    return [place for place, _ in zip(defects, range(DEFECTS_MAX), strict=False)]


def _defects(value: Any, shape: FieldShape, place: str) -> Iterator[str]:
    if isinstance(shape, Optional):
        yield from _defects(value, shape.shape, place)
    elif isinstance(shape, tuple):
        if value is not None:
            yield from _defects(value, shape[0], place)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{place}: not a list"
            return
        for n, item in enumerate(value, start=1):
            yield from _defects(item, shape[0], f"{place} {n}")
    elif isinstance(shape, Mapping):
        yield from _fields(value, shape, place)
    elif isinstance(shape, re.Pattern):
        if not isinstance(value, str) or not shape.fullmatch(value):
            yield f"{place}: {str(value)[:80]!r} is not valid"
    elif type(value) is not shape:
        yield f"{place}: {str(value)[:80]!r} is not of type {shape.__name__}"


def _fields(value: Any, shape: Mapping[str, FieldShape], place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place}: not an object"
        return
    optional = {name for name, each in shape.items() if isinstance(each, Optional)}
    for name in sorted(({*value} ^ {*shape}) - optional):
        what = "is unknown" if name in value else "is missing"
        yield f"{place} {name[:80]}: {what}".strip()
    for name in shape:
        if name in value:
            yield from _defects(value[name], shape[name], f"{place} {name}".strip())
