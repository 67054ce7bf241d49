"""Builds a model from plain data: records defects of shape, and keeps the valid parts.

An invalid part is recorded and removed, and the rest is validated again, so that the rules see
everything that is valid.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from yaoki.core.text import did_you_mean

if TYPE_CHECKING:
    from yaoki.formats.plan.defects import Defects, KeyPath

ModelType = TypeVar("ModelType", bound=BaseModel)
# Removing a part can uncover what it hid; this bounds how often.
ROUNDS_MAX = 20

_REASONS = {
    "string_type": "must be a string",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
}
_PLACEHOLDERS = {"string_type": "", "model_type": {}, "dict_type": {}}


def build_model(
    model: type[ModelType], raw: Any, defects: Defects, above: KeyPath = ()
) -> ModelType:
    """The model of the valid parts of `raw`; invalid parts are recorded and removed."""
    holder = {"": raw}
    for _ in range(ROUNDS_MAX):
        try:
            return model.model_validate(holder[""])
        except ValidationError as invalid:
            for error in invalid.errors(include_url=False):
                _add_defect(model, error, defects, above)
                _remove(holder, ("", *error["loc"]), error["type"])
    raise AssertionError("removing the invalid parts does not end")


def _add_defect(model: type[BaseModel], error: Any, defects: Defects, above: KeyPath) -> None:
    path = (*above, *error["loc"])
    if error["type"] == "extra_forbidden":
        known = model_keys(model, error["loc"][:-1])
        defects.add_unknown_key(path, known, error["input"])
    else:
        defects.add_misshapen(path, _reason(error))


def _reason(error: Any) -> str:
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "literal_error":
        known = [word for word in re.findall(r"'([^']*)'", context["expected"]) if word]
        near = did_you_mean(value, known) if isinstance(value, str) else ""
        return f"must be {' or '.join(known)}, not {show_value(value)}{near}"
    if kind in _REASONS:
        quote = "; put it in quotes" if kind == "string_type" and _scalar(value) else ""
        return f"{_REASONS[kind]}, not {show_value(value)}{quote}"
    if kind == "greater_than_equal":
        return f"must be at least {context['ge']:g}, not {show_value(value)}"
    if kind == "less_than_equal":
        return f"must be at most {context['le']:g}, not {show_value(value)}"
    if kind == "value_error":
        return str(context["error"])  # in our own words
    return str(error["msg"])


def _scalar(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def show_value(value: Any) -> str:
    """A value or its type, in a few words."""
    match value:
        case None:
            return "empty"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"{value}"
        case str():
            return repr(value if len(value) <= 60 else f"{value[:57]}...")
        case list():
            return "a list"
        case _:
            return "a mapping"


def _remove(parent: Any, loc: tuple[Any, ...], kind: str) -> None:
    """Remove a key; in a list put an empty value there, so that the others keep their index."""
    for part in loc[:-1]:
        parent = parent[part]
    if isinstance(parent, list) or loc == ("",):
        parent[loc[-1]] = _PLACEHOLDERS.get(kind, {} if loc == ("",) else [])
    else:
        parent.pop(loc[-1], None)


def model_keys(model: type[BaseModel], loc: KeyPath) -> list[str]:
    """The valid keys at a path of the model."""
    at: Any = model
    for part in loc:
        if isinstance(at, type) and issubclass(at, BaseModel):
            at = at.model_fields[str(part)].annotation
        else:
            at = get_args(at)[-1]
    return list(at.model_fields)
