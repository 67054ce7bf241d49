"""The JSON Schema of a plan, for editors.  They support draft 7, so newer keywords are avoided."""

from __future__ import annotations

from typing import Any

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.plan.model import PlanModel

REFERENCE = lazy_compile(r"#/\$defs/(\w+)Model")
_REQUIRED = {"Task": ["id"], "Phase": ["id"], "File": ["path"], "Judge": ["agent", "ask"]}


def build_schema() -> dict[str, Any]:
    schema = _simplify(PlanModel.model_json_schema())
    parts = {name.removesuffix("Model"): part for name, part in schema.pop("$defs").items()}
    parts["Check"]["properties"]["onFailure"] = parts["Check"]["properties"]["on_failure"]
    for name, keys in _REQUIRED.items():
        parts[name]["required"] = keys
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "yaoki plan",
        **schema,
        "required": ["goal"],
        "definitions": parts,
    }


def _simplify(part: Any, named: bool = False) -> Any:
    """Leave out titles, which add nothing, and defaults, which only mean `not given`."""
    if isinstance(part, list):
        return [_simplify(item) for item in part]
    if isinstance(part, str):
        return REFERENCE.sub(r"#/definitions/\1", part)
    if not isinstance(part, dict):
        return part
    return {
        key: _simplify(value, named=key in ("properties", "$defs"))
        for key, value in part.items()
        if named or key not in ("title", "default")
    }
