"""`dataclass`, as in the standard library, with methods that are compiled when they are first used.

The standard decorator compiles six methods for each frozen class, about 1 ms, while a command uses
few of the classes that it imports.  Here the fields and slots are set up at once, and `__init__`,
`__repr__`, `__eq__` and `__hash__` on their first call.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool = False) -> Any:
        """The two options that this project uses; classes that can change are not hashable."""
        return lambda cls: _prepare(cls, frozen=frozen, slots=slots)


def _prepare(cls: type[Any], *, frozen: bool, slots: bool) -> type[Any]:
    own = vars(cls)
    names = [name for name in ("__init__", "__repr__", "__eq__") if name not in own]
    has_own_hash = own.get("__hash__") is not None
    if not cls.__doc__:
        cls.__doc__ = cls.__name__  # the standard decorator would compute the signature
    prepared: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    if frozen and not has_own_hash:
        names.append("__hash__")
    elif not has_own_hash:
        prepared.__hash__ = None
    for name in names:
        setattr(prepared, name, _compile_on_first_call(prepared, name, frozen=frozen))
    if "__init__" in names:
        prepared.__signature__ = _Signature(frozen)
    if frozen:
        prepared.__setattr__, prepared.__delattr__ = _refuse_change, _refuse_deletion
    if frozen and slots:
        # Pickling by default would assign to the fields.
        prepared.__getstate__, prepared.__setstate__ = _read_fields, _write_fields
    return prepared  # type: ignore[no-any-return]


class _Signature:
    """`__signature__` of a class, for those who inspect it."""

    def __init__(self, frozen: bool) -> None:
        self._frozen = frozen

    def __get__(self, instance: object, owner: type[Any]) -> inspect.Signature:
        parameters = inspect.signature(_compile_init(owner, self._frozen)).parameters
        return inspect.Signature(list(parameters.values())[1:], return_annotation=None)


def _compile_on_first_call(cls: type[Any], name: str, *, frozen: bool) -> Any:
    def compile_and_call(self: object, *args: object, **options: object) -> Any:
        compiled = _compile_init(cls, frozen) if name == "__init__" else _compile(cls, name)
        setattr(cls, name, compiled)
        return compiled(self, *args, **options)

    compile_and_call.__name__ = name
    compile_and_call.__qualname__ = f"{cls.__qualname__}.{name}"
    return compile_and_call


def _compile(cls: type[Any], name: str) -> Any:
    """The method of a class with the same fields: it does not know its class."""
    fields = [(each.name, each.type, _copy(each)) for each in dataclasses.fields(cls)]
    return getattr(dataclasses.make_dataclass(cls.__name__, fields, frozen=True), name)


def _copy(each: dataclasses.Field[Any]) -> Any:
    names = ("default", "default_factory", "init", "repr", "hash", "compare")
    return dataclasses.field(**{name: getattr(each, name) for name in names})


def _compile_init(cls: type[Any], frozen: bool) -> Any:
    """Alone: with `make_dataclass` it would take five times as long."""
    constants: dict[str, Any] = {"set_field": object.__setattr__, "MISSING": dataclasses.MISSING}
    parameters, body = ["self"], []
    for each in dataclasses.fields(cls):
        name, value = each.name, each.name
        if not each.init:
            continue  # `__post_init__` sets it
        if each.default is not dataclasses.MISSING:
            constants[f"default_{name}"] = each.default
            parameters.append(f"{name}=default_{name}")
        elif each.default_factory is not dataclasses.MISSING:
            constants[f"make_{name}"] = each.default_factory
            parameters.append(f"{name}=MISSING")
            value = f"make_{name}() if {name} is MISSING else {name}"
        else:
            parameters.append(name)
        body.append(f"set_field(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
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
    hints = {each.name: each.type for each in dataclasses.fields(cls) if each.init}
    compiled.__annotations__ = {**hints, "return": None}
    return compiled


def _refuse_change(_self: object, name: str, _value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _read_fields(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _write_fields(self: Any, state: list[Any]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)
