"""Parts of a valid plan without the model library, which takes longer to import than all the rest.

`shapes.json` describes the models of `model.py`; a test keeps both equal.  Data that fits for sure
becomes a `QuickPart`, which looks like the model.  Anything else is `Doubtful`: then the models
themselves read the data, and find every defect.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import timedelta
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

from yaoki.formats.plan import field_values

SHAPES_FILE = Path(__file__).with_name("shapes.json")
DEPTH_MAX = 20
# Rules of a model beside those of its fields: these values are left to the model.
DOUBTFUL_VALUES: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    "AgentModel": lambda given: (
        ("prompt" in given and given.get("preset", "command") != "command")
        or given.get("permissions") == "edits"
        or ("account" in given and "accounts" in given)
    ),
}


class Doubtful(Exception):
    """The models must look at the data."""


class QuickPart:
    """The given values of a model as attributes; a default is made when it is first read."""

    def __init__(self, model: str, values: Mapping[str, Any]) -> None:
        self._model = model
        self.model_fields_set = set(values)
        vars(self).update(values)

    def __getattr__(self, name: str) -> Any:
        shape = load_shapes()[self._model].get(name)
        if shape is None:
            raise AttributeError(f"{self._model} has no attribute {name!r}")
        value = vars(self)[name] = _make_default(shape["default"])
        return value

    def is_given(self, name: str) -> bool:
        return name in self.model_fields_set

    def model_dump(self, *, exclude_unset: bool) -> dict[str, Any]:
        """The fields as plain data, as pydantic's method of this name, for parts that contain no
        others.
        """
        names = self.model_fields_set if exclude_unset else load_shapes()[self._model]
        return {name: getattr(self, name) for name in names}


@cache
def load_shapes() -> dict[str, dict[str, Any]]:
    """The type and the default of every field, by model."""
    shapes: dict[str, dict[str, Any]] = json.loads(SHAPES_FILE.read_bytes())
    return shapes


def build_quick_part(model: str, data: Any, depth: int = 0) -> QuickPart:
    """The part; `Doubtful` unless the model would accept the data."""
    shapes = load_shapes()[model]
    if type(data) is not dict or depth > DEPTH_MAX or not shapes.keys() >= data.keys():
        raise Doubtful
    values = {key: _read(shapes[key]["type"], value, depth + 1) for key, value in data.items()}
    if model in DOUBTFUL_VALUES and DOUBTFUL_VALUES[model](values):
        raise Doubtful
    return QuickPart(model, values)


def _make_default(default: Any) -> Any:
    if not isinstance(default, dict) or not default:
        return deepcopy(default)
    (kind, value), *_ = default.items()
    return timedelta(seconds=value) if kind == "seconds" else QuickPart(value, {})


def _read(shape: Any, value: Any, depth: int) -> Any:
    """The value as the model would hold it; a shape is a name, or a name with its details."""
    if depth > DEPTH_MAX:
        raise Doubtful
    kind, *details = (shape,) if isinstance(shape, str) else shape
    return _READERS[kind](value, depth, *details)


def _read_text(value: Any, _: int) -> str:
    if type(value) is not str:
        raise Doubtful
    return value


def _read_flag(value: Any, _: int) -> bool:
    if type(value) is not bool:
        raise Doubtful
    return value


def _read_whole(value: Any, _: int, bounds: Mapping[str, float] | None = None) -> int:
    if type(value) is not int or not _within(value, bounds or {}):
        raise Doubtful
    return value


def _read_number(value: Any, _: int, bounds: Mapping[str, float] | None = None) -> float:
    if type(value) not in (int, float) or not _within(value, bounds or {}) or not isfinite(value):
        raise Doubtful
    return float(value)


def _within(value: float, bounds: Mapping[str, float]) -> bool:
    return (
        value >= bounds.get("ge", value)
        and value <= bounds.get("le", value)
        and ("gt" not in bounds or value > bounds["gt"])
    )


def _read_choice(value: Any, _: int, *known: str) -> str:
    if type(value) is not str or value not in known:
        raise Doubtful
    return value


def _read_list(
    value: Any, depth: int, inner: Any, length: Mapping[str, int] | None = None
) -> list[Any]:
    bounds = length or {}
    if type(value) is not list or not bounds.get("min", 0) <= len(value) <= bounds.get("max", 1e9):
        raise Doubtful
    return [_read(inner, item, depth + 1) for item in value]


def _read_mapping(value: Any, depth: int, inner: Any) -> dict[str, Any]:
    if type(value) is not dict or any(type(key) is not str for key in value):
        raise Doubtful
    return {key: _read(inner, item, depth + 1) for key, item in value.items()}


def _read_anything(value: Any, depth: int) -> Any:
    if isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            _read("any", item, depth + 1)
    return value


def _read_checked(value: Any, depth: int, before: str, inner: Any, after: str) -> Any:
    """Between the functions of `field_values` that change and check it."""
    try:
        value = getattr(field_values, before)(value) if before else value
        value = _read(inner, value, depth) if inner else value
        return getattr(field_values, after)(value) if after else value
    except field_values.FieldRefused:
        raise Doubtful from None


_READERS: Mapping[str, Callable[..., Any]] = {
    "any": _read_anything,
    "bool": _read_flag,
    "checked": _read_checked,
    "dict": _read_mapping,
    "float": _read_number,
    "int": _read_whole,
    "list": _read_list,
    "literal": _read_choice,
    "model": lambda value, depth, name: build_quick_part(name, value, depth),
    "str": _read_text,
}
