"""From plain data to a model: mistakes of shape are noted, and what is sound still makes a model.

A wrong part is noted once, taken out, and the rest validated again, so that the rules can look at
all that is sound.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from yaoki.core.text import did_you_mean
from yaoki.formats.plan.defects import Defects, KeyPath

ModelType = TypeVar("ModelType", bound=BaseModel)
# Taking out can only uncover what a wrong part hid; a few levels of that, and no more.
ROUNDS_MAX = 20

_SENTENCES = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
}
_STAND_INS = {"string_type": "", "model_type": {}, "dict_type": {}}


def build_model(
    model: type[ModelType], raw: Any, defects: Defects, above: KeyPath = ()
) -> ModelType:
    """The model of what is sound in `raw`; what is not has been noted and taken out."""
    held = {"": raw}
    for _ in range(ROUNDS_MAX):
        try:
            return model.model_validate(held[""])
        except ValidationError as fault:
            for error in fault.errors(include_url=False):
                _note(model, error, defects, above)
                _take_out(held, ("", *error["loc"]), error["type"])
    raise AssertionError("taking out what is wrong does not end")


def _note(model: type[BaseModel], error: Any, defects: Defects, above: KeyPath) -> None:
    path = (*above, *error["loc"])
    if error["type"] == "extra_forbidden":
        defects.add_unknown_key(path, model_keys(model, error["loc"][:-1]))
    else:
        defects.add_misshapen(path, _reason(error))


def _reason(error: Any) -> str:
    kind, given, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "literal_error":
        known = [word for word in re.findall(r"'([^']*)'", context["expected"]) if word]
        near = did_you_mean(given, known) if isinstance(given, str) else ""
        return f"must be {' or '.join(known)}, not {show_value(given)}{near}"
    if kind in _SENTENCES:
        quote = "; put it in quotes" if kind == "string_type" and _scalar(given) else ""
        return f"{_SENTENCES[kind]}, not {show_value(given)}{quote}"
    if kind == "greater_than_equal":
        return f"must be at least {context['ge']:g}, not {show_value(given)}"
    if kind == "less_than_equal":
        return f"must be at most {context['le']:g}, not {show_value(given)}"
    return str(error["msg"])


def _scalar(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def show_value(value: Any) -> str:
    """A value, or what it is, in a few words."""
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


def _take_out(held: Any, loc: tuple[Any, ...], kind: str) -> None:
    """Remove a key; in a list put something empty there, so that the others keep their number."""
    for part in loc[:-1]:
        held = held[part]
    if isinstance(held, list) or loc == ("",):
        held[loc[-1]] = _STAND_INS.get(kind, {} if loc == ("",) else [])
    else:
        held.pop(loc[-1], None)


def model_keys(model: type[BaseModel], loc: KeyPath) -> list[str]:
    """The keys that may stand at a place of the model."""
    at: Any = model
    for part in loc:
        if isinstance(at, type) and issubclass(at, BaseModel):
            at = at.model_fields[str(part)].annotation
        else:
            at = get_args(at)[-1]
    return list(at.model_fields)
