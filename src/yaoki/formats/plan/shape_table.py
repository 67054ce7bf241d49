"""Describes the models of a plan for `quick_part`; `python -m yaoki.formats.plan.shape_table`.

Only a test and this command import it.
"""

from __future__ import annotations

import json
from datetime import timedelta
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import annotated_types
from pydantic import AfterValidator, BaseModel, BeforeValidator
from pydantic.fields import FieldInfo

from yaoki.formats.plan.model import PlanModel
from yaoki.formats.plan.quick_part import SHAPES_FILE


def describe_models() -> dict[str, dict[str, Any]]:
    """Describe the type and the default of every field, by model."""
    shapes: dict[str, dict[str, Any]] = {}
    waiting: list[type[BaseModel]] = [PlanModel]
    while waiting:
        model = waiting.pop()
        if model.__name__ not in shapes:
            shapes[model.__name__] = {
                name: {
                    "type": _describe(field.annotation, field.metadata, waiting),
                    "default": _default(field),
                }
                for name, field in model.model_fields.items()
            }
    return dict(sorted(shapes.items()))


def format_table() -> str:
    rows = (
        f'  "{model}": {{\n'
        + ",\n".join(f'    "{name}": {json.dumps(shape)}' for name, shape in fields.items())
        + "\n  }"
        for model, fields in describe_models().items()
    )
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _describe(annotation: Any, metadata: list[Any], waiting: list[type[BaseModel]]) -> Any:
    if get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        return _describe(annotation, [*more, *metadata], waiting)
    before = "".join(one.func.__name__ for one in metadata if isinstance(one, BeforeValidator))
    after = "".join(one.func.__name__ for one in metadata if isinstance(one, AfterValidator))
    inner = _describe_plain(annotation, _limits(metadata), waiting)
    return ["checked", before, inner, after] if before or after else inner


def _describe_plain(annotation: Any, limits: dict[str, Any], waiting: list[type[BaseModel]]) -> Any:
    arguments = get_args(annotation)
    if annotation is Any:
        return "any"
    if annotation is timedelta:
        return ""  # `parse_duration` makes nothing else
    if get_origin(annotation) is Literal:
        return ["literal", *arguments]
    if get_origin(annotation) is list:
        return ["list", _describe(arguments[0], [], waiting), *([limits] if limits else [])]
    if get_origin(annotation) is dict:
        return ["dict", _describe(arguments[1], [], waiting)]
    if issubclass(annotation, BaseModel):
        waiting.append(annotation)
        return ["model", annotation.__name__]
    assert annotation in (str, int, float, bool), annotation
    return [annotation.__name__, limits] if limits else annotation.__name__


def _limits(metadata: list[Any]) -> dict[str, Any]:
    """Bounds of a number or of the length of a list; an unknown one is an error here."""
    limits: dict[str, Any] = {}
    for one in metadata:
        match one:
            case annotated_types.Ge(ge):
                limits["ge"] = ge
            case annotated_types.Gt(gt):
                limits["gt"] = gt
            case annotated_types.Le(le):
                limits["le"] = le
            case annotated_types.MinLen(length):
                limits["min"] = length
            case annotated_types.MaxLen(length):
                limits["max"] = length
            case BeforeValidator() | AfterValidator() | FieldInfo():
                pass
            case _ if type(one).__name__ in ("WithJsonSchema", "NoneType"):
                pass
            case _:
                raise TypeError(f"quick_part knows no {one!r}")
    return limits


def _default(field: FieldInfo) -> Any:
    default = field.get_default(call_default_factory=True)
    match default:
        case timedelta():
            return {"seconds": default.total_seconds()}
        case BaseModel():
            return {"model": type(default).__name__}
        case str() | int() | float() | list() | dict() | NoneType():
            return default
        case _:
            raise TypeError(f"quick_part knows no default {default!r}")


if __name__ == "__main__":
    SHAPES_FILE.write_text(format_table(), encoding="utf-8")
