"""Values to plain JSON data and back.

One encoder and one decoder are built per class, once, from its type hints; fields at their default
are left out, so rows stay short and old rows read well when a field is added.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from functools import cache
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from yaoki.core import model
from yaoki.core.lazy_dataclass import MISSING, Field, fields, is_dataclass, replace
from yaoki.core.model import AgentSpec, Catalogue, CheckSpec, RetryPolicy, TaskSpec
from yaoki.core.model.stored_word import stored_word

DecodedT = TypeVar("DecodedT")
Codec = Callable[[Any], Any]


def to_data(value: Any) -> Any:
    """Plain JSON data; of a dataclass, fields at their default are left out."""
    kind: Any = type(value)
    return _to_data(kind)(value)


@cache
def _to_data(cls: Any) -> Codec:
    if issubclass(cls, Enum):
        return attrgetter("value")
    if is_dataclass(cls):
        return _encoder(cls)
    if issubclass(cls, datetime):
        return datetime.isoformat
    if issubclass(cls, timedelta):
        return timedelta.total_seconds
    if issubclass(cls, Mapping):
        return lambda content: {str(k): to_data(v) for k, v in content.items()}
    if issubclass(cls, tuple | list | frozenset):
        return lambda content: [to_data(v) for v in content]
    return lambda content: content


def from_data(cls: type[DecodedT], data: Any) -> DecodedT:
    """The value that `to_data` wrote.  Unknown keys are an error: nothing is dropped silently."""
    hint: Any = cls
    value: DecodedT = _decoder(hint)(data)
    return value


def fields_to_data(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Encode some fields of a dataclass; fields at their default are left out."""
    cls: Any = type(value)
    data: dict[str, Any] = _encoder_of(cls, names)(value)
    return data


def fields_from_data(cls: Any, names: tuple[str, ...], data: Mapping[str, Any]) -> dict[str, Any]:
    """Decode the output of `fields_to_data` as keyword arguments."""
    known = _part_decoders(cls, names)
    return {known[word][0]: known[word][1](content) for word, content in data.items()}


@cache
def _part_decoders(cls: Any, names: tuple[str, ...]) -> dict[str, tuple[str, Codec]]:
    """The field name and decoder for each stored word."""
    hints = field_types(cls)
    return {
        stored_word(f): (f.name, _decoder(hints[f.name]))
        for f in fields(cls)
        if not names or f.name in names
    }


def field_types(cls: Any) -> dict[str, Any]:
    """The types of the fields.  Unlike `get_type_hints` it compiles each different annotation once,
    and names of plain types not at all.
    """
    types: dict[str, Any] = {}
    for each in reversed(cls.__mro__):
        annotations = vars(each).get("__annotations__", {})
        texts = {k: v for k, v in annotations.items() if not str(v).startswith("ClassVar")}
        scope = vars(sys.modules[each.__module__])
        known = _KNOWN_TYPES.setdefault(each.__module__, dict(_PLAIN_NAMES))
        other = SimpleNamespace(__annotations__={t: t for t in texts.values() if t not in known})
        known |= get_type_hints(other, scope, _MODEL_NAMES)
        types |= {name: known[text] for name, text in texts.items()}
    return types


class _ModelNames(dict[str, Any]):
    """The names of the model, which a module may import for its annotations only."""

    def __missing__(self, name: str) -> Any:
        if name in model.__all__:
            return getattr(model, name)
        raise KeyError(name)


_MODEL_NAMES = _ModelNames()
_PLAIN = (str, int, float, bool, type(None))
# By module, the types of annotations that were evaluated there.
_KNOWN_TYPES: dict[str, dict[Any, Any]] = {}
_PLAIN_NAMES: Mapping[str, Any] = {"str": str, "int": int, "float": float, "bool": bool}


def _encoder(cls: Any) -> Codec:
    return _encoder_of(cls, ())


@cache
def _encoder_of(cls: Any, names: tuple[str, ...]) -> Codec:
    chosen = tuple(f for f in fields(cls) if not names or f.name in names)
    rows = tuple((stored_word(f), _default(f)) for f in chosen)
    # Read all fields at once; `__class__` is added because a single name would give no tuple.
    every = attrgetter(*(f.name for f in chosen), "__class__")

    def encode(value: Any) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for (name, default), content in zip(rows, every(value), strict=False):
            if content is default or content == default:
                continue
            data[name] = content if type(content) in _PLAIN else to_data(content)
        return data

    return encode


def _default(field: Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    if field.default_factory is not MISSING:
        return field.default_factory()
    return MISSING


@cache
def _decoder(hint: Any) -> Codec:
    if hint is Any or hint in _PLAIN:
        return lambda data: data
    if hint is datetime:
        return datetime.fromisoformat
    if hint is timedelta:
        return lambda data: timedelta(seconds=data)
    if getattr(hint, "__supertype__", None) is str:
        return lambda data: data
    origin = get_origin(hint)
    if origin in {Union, types.UnionType}:
        return _optional(hint)
    if origin is tuple:
        inner = _decoder(get_args(hint)[0])
        return lambda data: tuple(inner(item) for item in data)
    if origin is not None and issubclass(origin, Mapping):
        key, value = (_decoder(arg) for arg in get_args(hint))
        return lambda data: {key(k): value(v) for k, v in data.items()}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    return _dataclass_decoder(hint)


def _optional(hint: Any) -> Codec:
    (inner,) = (_decoder(arg) for arg in get_args(hint) if arg is not type(None))
    return lambda data: None if data is None else inner(data)


def _dataclass_decoder(cls: Any) -> Codec:
    known = _part_decoders(cls, ())

    def decode(data: Mapping[str, Any]) -> Any:
        return cls(**{known[word][0]: known[word][1](content) for word, content in data.items()})

    return decode


# ------------------------------------------------------------------ specifications by name

_SHARED: Mapping[str, type[Any]] = {"checks": CheckSpec, "agents": AgentSpec}
_BARE_POLICY = RetryPolicy(rules={})
# Stands for a specification that is read apart.
BARE_SPEC = {"name": "", "goal": ""}


def spec_to_data(spec: TaskSpec, catalogue: Catalogue) -> dict[str, Any]:
    """Checks, agents and policies of the catalogue are stored by name; others in full."""
    data: dict[str, Any] = to_data(replace(spec, checks=(), agents=(), policy=_BARE_POLICY))
    for field in _SHARED:
        content = getattr(spec, field)
        if content:
            data[field] = [_name_or_data(item, getattr(catalogue, field)) for item in content]
    data["policy"] = _policy_name(spec, catalogue) or to_data(spec.policy)
    return data


def _policy_name(spec: TaskSpec, catalogue: Catalogue) -> str:
    names = (f"task:{spec.name}", "default")
    return next((n for n in names if catalogue.policies.get(n) == spec.policy), "")


def _name_or_data(item: Any, shelf: Mapping[str, Any]) -> Any:
    return item.name if shelf.get(item.name) == item else to_data(item)


def spec_from_data(data: Mapping[str, Any], catalogue: Catalogue) -> TaskSpec:
    own = dict(data)
    shared = {
        field: tuple(
            getattr(catalogue, field)[item] if isinstance(item, str) else from_data(cls, item)
            for item in own.pop(field, ())
        )
        for field, cls in _SHARED.items()
    }
    named = own.pop("policy")
    policy = catalogue.policies[named] if isinstance(named, str) else from_data(RetryPolicy, named)
    return replace(
        from_data(TaskSpec, own), policy=policy, checks=shared["checks"], agents=shared["agents"]
    )
