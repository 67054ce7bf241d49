"""`dataclass`, `field`, `fields` and `replace`, as in the standard library, for a quick start.

The standard decorator compiles six methods for each frozen class, about 1 ms, and its module
imports `inspect`.  A command uses few of the classes that it imports, and makes few objects of
most of these.  So the fields and slots are set up at once, nothing is compiled for comparison, and
`__init__` is compiled when it has been called a few times.  Functions of the standard library work
on these classes: `__dataclass_fields__` is made when it is first read.
"""

from __future__ import annotations

import sys
from functools import cache
from operator import attrgetter
from types import MappingProxyType, MemberDescriptorType, MethodType
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Mapping
    from dataclasses import MISSING as MISSING
    from dataclasses import Field as Field
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import fields as fields
    from dataclasses import is_dataclass as is_dataclass
    from dataclasses import replace as replace

# Below this number of calls, setting the fields one by one takes less time than compiling.
CALLS_BEFORE_COMPILING = 20

_NO_METADATA: Mapping[str, Any] = MappingProxyType({})
_OPTIONS = ("default", "default_factory", "init", "repr", "hash", "compare", "metadata")


class _Missing:
    """The type of `MISSING`: there is no default."""


_MISSING: Any = _Missing()


class LazyField:
    """A field with the attributes of `dataclasses.Field`."""

    __slots__ = (*_OPTIONS, "name", "type")

    def __init__(
        self,
        *,
        default: Any = _MISSING,
        default_factory: Any = _MISSING,
        init: bool = True,
        repr: bool = True,
        hash: bool | None = None,
        compare: bool = True,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.name, self.type = "", None
        self.default, self.default_factory = default, default_factory
        self.init, self.repr, self.hash, self.compare = init, repr, hash, compare
        self.metadata = metadata or _NO_METADATA

    @property
    def is_hashed(self) -> bool:
        return self.compare if self.hash is None else self.hash


if not TYPE_CHECKING:
    MISSING, Field, field = _MISSING, LazyField, LazyField

    def dataclass(*, frozen: bool = False, slots: bool = False) -> Any:
        """The two options that this project uses; classes that can change are not hashable."""
        return lambda cls: _prepare(cls, frozen=frozen, slots=slots)

    def fields(of: Any) -> tuple[Any, ...]:
        lazy_fields = getattr(of, "__lazy_fields__", None)
        if lazy_fields is None:
            from dataclasses import fields as standard_fields

            return standard_fields(of)
        return lazy_fields

    def is_dataclass(of: Any) -> bool:
        cls = of if isinstance(of, type) else type(of)
        return hasattr(cls, "__lazy_fields__") or hasattr(cls, "__dataclass_fields__")

    def replace(value: Any, /, **changes: Any) -> Any:
        cls = value.__class__
        names, read_values, own = _fields_to_replace(cls)
        for name in own:
            if name in changes:
                raise ValueError(f"field {name} is set by the class itself")
        return cls(**{**dict(zip(names, read_values(value), strict=False)), **changes})


@cache
def _fields_to_replace(cls: Any) -> tuple[tuple[str, ...], Callable[[Any], Any], tuple[str, ...]]:
    """The fields that `replace` sets, how it reads them, and those that the class sets itself."""
    names = tuple(each.name for each in fields(cls) if each.init)
    own = tuple(each.name for each in fields(cls) if not each.init)
    # `__class__` is added because a single name would give no tuple.
    return names, attrgetter(*names, "__class__"), own


def _prepare(cls: Any, *, frozen: bool, slots: bool) -> Any:
    own = vars(cls)
    annotations: dict[str, Any] = own.get("__annotations__", {})
    names = [name for name, annotation in annotations.items() if not _is_class_variable(annotation)]
    defaults = {name: own[name] for name in names if name in own}
    content = _class_content(cls, frozen=frozen)
    content["__lazy_fields__"] = _OwnFields(names, annotations, defaults)
    if frozen and slots:
        # Pickling by default would assign to the fields.
        content["__getstate__"], content["__setstate__"] = _read_fields, _write_fields
    # A class that gets its special methods one by one is examined anew after each of them.
    return _with_slots(cls, names, content) if slots else _with_defaults(cls, defaults, content)


def _class_content(cls: Any, *, frozen: bool) -> dict[str, Any]:
    """The attributes that the decorator adds to the class, apart from its own fields."""
    own = vars(cls)
    content: dict[str, Any] = {"__dataclass_fields__": _StandardFields()}
    for name in ("__init__", "__repr__", "__eq__"):
        if name not in own:
            content[name] = _FirstCall(frozen)
    if own.get("__hash__") is None:
        content["__hash__"] = _FirstCall(frozen) if frozen else None
    if "__match_args__" not in own:
        content["__match_args__"] = _MatchArgs()
    if not cls.__doc__:
        content["__doc__"] = cls.__name__  # the standard decorator would compute the signature
    if "__init__" in content:
        content["__signature__"] = _Signature(frozen)
    if frozen:
        content["__setattr__"], content["__delattr__"] = _refuse_change, _refuse_deletion
    return content


class _OwnFields:
    """`__lazy_fields__` of a class, made when they are first read."""

    def __init__(
        self, names: list[str], annotations: dict[str, Any], defaults: dict[str, Any]
    ) -> None:
        self._names, self._annotations, self._defaults = names, annotations, defaults

    def __set_name__(self, owner: Any, name: str) -> None:
        self._cls = owner

    def __get__(self, instance: object, owner: type[Any]) -> tuple[LazyField, ...]:
        every: dict[str, LazyField] = {}
        for base in reversed(self._cls.__mro__[1:]):
            if "__lazy_fields__" in vars(base):
                every.update((each.name, each) for each in base.__lazy_fields__)
        for name in self._names:
            default = self._defaults.get(name, _MISSING)
            each = default if isinstance(default, LazyField) else _as_field(default)
            each.name, each.type = name, self._annotations[name]
            every[name] = each
        all_fields = self._cls.__lazy_fields__ = tuple(every.values())
        return all_fields


class _MatchArgs:
    """`__match_args__` of a class."""

    def __get__(self, instance: object, owner: Any) -> tuple[str, ...]:
        return tuple(each.name for each in owner.__lazy_fields__ if each.init)


def _is_class_variable(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.startswith(("ClassVar", "typing.ClassVar"))
    return ClassVar in (annotation, getattr(annotation, "__origin__", None))


def _as_field(default: Any) -> LazyField:
    """A plain default, or a field of the standard library."""
    standard = sys.modules.get("dataclasses")
    if standard is None or not isinstance(default, standard.Field):
        return LazyField(default=default)
    options = {name: getattr(default, name) for name in _OPTIONS}
    for name in ("default", "default_factory"):
        if options[name] is standard.MISSING:
            options[name] = _MISSING
    return LazyField(**options)


def _with_slots(cls: Any, names: list[str], added: Mapping[str, Any]) -> Any:
    """A class gets its slots when it is created, so it is created again."""
    content = {name: value for name, value in vars(cls).items() if name not in names}
    content.pop("__dict__", None)
    content.pop("__weakref__", None)
    content.update(added)
    inherited = {name for base in cls.__mro__[1:-1] for name in vars(base).get("__slots__", ())}
    content["__slots__"] = tuple(name for name in names if name not in inherited)
    metaclass: Any = type(cls)
    slotted = metaclass(cls.__name__, cls.__bases__, content)
    slotted.__qualname__ = cls.__qualname__
    return slotted


def _with_defaults(cls: Any, defaults: Mapping[str, Any], added: Mapping[str, Any]) -> Any:
    for name, default in defaults.items():
        each = default if isinstance(default, LazyField) else _as_field(default)
        if each.default is not _MISSING:
            setattr(cls, name, each.default)
        else:
            delattr(cls, name)
    for name, value in added.items():
        setattr(cls, name, value)
        if hasattr(value, "__set_name__"):
            value.__set_name__(cls, name)
    return cls


# ------------------------------------------------------------------ methods


class _FirstCall:
    """A method of a class that is made when it is first called."""

    def __init__(self, frozen: bool) -> None:
        self._frozen = frozen

    def __set_name__(self, owner: Any, name: str) -> None:
        self._cls, self.__name__ = owner, name

    def __getattr__(self, name: str) -> Any:
        if name == "__qualname__":
            return f"{self._cls.__qualname__}.{self.__name__}"
        raise AttributeError(name)

    def __get__(self, instance: object, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, instance: object, /, *args: Any, **options: Any) -> Any:
        cls, method = self._cls, self._make()
        setattr(cls, self.__name__, method)
        return method(instance, *args, **options)

    def _make(self) -> Any:
        cls: Any = self._cls
        match self.__name__:
            case "__init__":
                return _make_init(cls, cls.__lazy_fields__, frozen=self._frozen)
            case "__repr__":
                return _compile_repr(cls)
            case "__eq__":
                return _make_eq(cls.__lazy_fields__)
            case _:
                return _make_hash(cls.__lazy_fields__)


def _make_init(cls: type[Any], every: tuple[LazyField, ...], *, frozen: bool) -> Any:
    """Sets the fields one by one; after a few calls, or for wrong arguments, it is compiled."""
    order = tuple(each for each in every if each.init)
    names = tuple(each.name for each in order)
    set_field, calls = object.__setattr__, 0

    def init(self: Any, *args: Any, **options: Any) -> None:
        nonlocal calls
        calls += 1
        values = dict(zip(names, args, strict=False))
        value_count = len(args) + len(options)
        values.update(options)
        for each in order:
            if each.name not in values:
                if each.default is not _MISSING:
                    values[each.name] = each.default
                elif each.default_factory is not _MISSING:
                    values[each.name] = each.default_factory()
                else:
                    break
                value_count += 1
        if calls > CALLS_BEFORE_COMPILING or len(values) != len(order) or value_count != len(order):
            compiled = _compile_init(cls, frozen)
            if vars(cls).get("__init__") is init:
                cls.__init__ = compiled
            compiled(self, *args, **options)
            return
        for name in names:
            set_field(self, name, values[name])
        if hasattr(self, "__post_init__"):
            self.__post_init__()

    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _compile_init(cls: Any, frozen: bool) -> Any:
    constants: dict[str, Any] = {"set_field": object.__setattr__, "MISSING": _MISSING}
    parameters, body = ["self"], []
    for each in cls.__lazy_fields__:
        name, value = each.name, each.name
        if not each.init:
            continue  # `__post_init__` sets it
        if each.default is not _MISSING:
            constants[f"default_{name}"] = each.default
            parameters.append(f"{name}=default_{name}")
        elif each.default_factory is not _MISSING:
            constants[f"make_{name}"] = each.default_factory
            parameters.append(f"{name}=MISSING")
            value = f"make_{name}() if {name} is MISSING else {name}"
        else:
            parameters.append(name)
        if not frozen:
            body.append(f"self.{name} = {value}")
        elif isinstance(slot := getattr(cls, name, None), MemberDescriptorType):
            constants[f"set_{name}"] = slot.__set__
            body.append(f"set_{name}(self, {value})")
        else:
            body.append(f"set_field(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    lines = "".join(f"  {line}\n" for line in body or ["pass"])
    source = (
        f"def make({', '.join(constants)}):\n"
        f" def __init__({', '.join(parameters)}):\n{lines} return __init__"
    )
    scope: dict[str, Any] = {}
    # With the globals of the class's module, where the names of its annotations are known.
    exec(source, vars(sys.modules[cls.__module__]), scope)  # noqa: S102 - only names of fields
    compiled = scope["make"](**constants)
    compiled.__qualname__ = f"{cls.__qualname__}.__init__"
    hints = {each.name: each.type for each in cls.__lazy_fields__ if each.init}
    compiled.__annotations__ = {**hints, "return": None}
    return compiled


def _make_eq(every: tuple[LazyField, ...]) -> Callable[[Any, Any], Any]:
    # `__class__` is added because a single name would give no tuple.
    compared = attrgetter(*(each.name for each in every if each.compare), "__class__")

    def are_equal(self: Any, other: Any) -> Any:
        if other.__class__ is self.__class__:
            return compared(self) == compared(other)
        return NotImplemented

    return are_equal


def _make_hash(every: tuple[LazyField, ...]) -> Callable[[Any], int]:
    hashed = attrgetter(*(each.name for each in every if each.is_hashed), "__class__")

    def hash_fields(self: Any) -> int:
        return hash(hashed(self)[:-1])

    bare = not any(each.is_hashed for each in every)
    return (lambda _: hash(())) if bare else hash_fields


def _compile_repr(cls: Any) -> Any:
    import dataclasses

    standard = [(each.name, Any, _standard_field(each)) for each in cls.__lazy_fields__]
    standard_class = dataclasses.make_dataclass(
        cls.__name__, standard, init=False, eq=False, kw_only=True
    )
    return standard_class.__repr__


def _standard_field(each: LazyField) -> Any:
    import dataclasses

    options = {name: getattr(each, name) for name in _OPTIONS}
    return dataclasses.field(**{k: v for k, v in options.items() if v is not _MISSING})


class _StandardFields:
    """`__dataclass_fields__` of a class, for functions of the standard library."""

    def __set_name__(self, owner: Any, name: str) -> None:
        self._cls = owner

    def __get__(self, instance: object, owner: type[Any]) -> dict[str, Any]:
        import dataclasses

        cls = self._cls
        standard = [(each.name, each.type, _standard_field(each)) for each in cls.__lazy_fields__]
        standard_class: Any = dataclasses.make_dataclass(
            cls.__name__, standard, init=False, repr=False, eq=False, kw_only=True
        )
        fields_by_name: dict[str, Any] = standard_class.__dataclass_fields__
        for each in fields_by_name.values():
            each.kw_only = False  # only so that the order of the defaults does not matter
        cls.__dataclass_fields__ = fields_by_name
        return fields_by_name


class _Signature:
    """`__signature__` of a class, for those who inspect it."""

    def __init__(self, frozen: bool) -> None:
        self._frozen = frozen

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._cls = owner

    def __get__(self, instance: object, owner: type[Any]) -> inspect.Signature:
        import inspect

        cls = owner if "__lazy_fields__" in vars(owner) else self._cls
        parameters = inspect.signature(_compile_init(cls, self._frozen)).parameters
        return inspect.Signature(list(parameters.values())[1:], return_annotation=None)


# ------------------------------------------------------------------ frozen objects


def _refuse_change(_self: object, name: str, _value: object) -> None:
    raise _frozen_error(f"cannot assign to field {name!r}")


def _refuse_deletion(_self: object, name: str) -> None:
    raise _frozen_error(f"cannot delete field {name!r}")


def _frozen_error(reason: str) -> AttributeError:
    from dataclasses import FrozenInstanceError

    return FrozenInstanceError(reason)


def _read_fields(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in self.__lazy_fields__]


def _write_fields(self: Any, state: list[Any]) -> None:
    for each, value in zip(self.__lazy_fields__, state, strict=True):
        object.__setattr__(self, each.name, value)
