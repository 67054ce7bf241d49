"""The lazy decorator makes the same classes as the standard one."""

import pickle
from dataclasses import (
    FrozenInstanceError,
    asdict,
    dataclass,
    field,
    fields,
    is_dataclass,
    replace,
)
from inspect import signature
from typing import Any, ClassVar

import pytest

from yaoki.core import lazy_dataclass


@dataclass(frozen=True, slots=True)
class StandardPoint:
    """A frozen class of the standard library, to compare with."""

    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list, compare=False)


@lazy_dataclass.dataclass(frozen=True, slots=True)
class LazyPoint:
    """The same fields."""

    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list, compare=False)


@lazy_dataclass.dataclass(frozen=True, slots=True)
class NamedPoint(LazyPoint):
    """A subclass, with a method that runs after `__init__`."""

    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or f"{self.x}/{self.y}")


@lazy_dataclass.dataclass(slots=True)
class Counter:
    """A class whose objects change."""

    count: int = 0
    last: str = field(init=False)

    def __post_init__(self) -> None:
        self.last = "none"


def test_an_object_is_created_shown_compared_and_hashed_as_in_the_standard_library() -> None:
    point, standard = LazyPoint(1, tags=["a"]), StandardPoint(1, tags=["a"])

    assert repr(point) == repr(standard).replace("StandardPoint", "LazyPoint")
    assert point == LazyPoint(1, 2, ["b"]) != LazyPoint(2)
    assert point.__eq__(standard) is NotImplemented
    assert hash(point) == hash(standard)
    assert [each.name for each in fields(point)] == ["x", "y", "tags"]
    assert LazyPoint.__match_args__ == StandardPoint.__match_args__
    assert replace(point, y=5) == LazyPoint(1, 5)
    assert point.tags is not LazyPoint(1).tags


def test_a_frozen_object_can_be_pickled_and_not_changed() -> None:
    point = LazyPoint(1)

    assert pickle.loads(pickle.dumps(point)) == point  # noqa: S301 - our own bytes
    with pytest.raises(FrozenInstanceError):
        point.x = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del point.x
    with pytest.raises((AttributeError, TypeError)):
        point.__dict__  # noqa: B018 - it has slots only


def test_a_subclass_has_the_fields_of_its_base_and_its_own() -> None:
    assert NamedPoint(1).name == "1/2"
    assert NamedPoint(1, name="origin") == NamedPoint(1, 2, [], "origin")
    assert NamedPoint(1) != LazyPoint(1)


def test_a_class_that_is_not_frozen_can_change_and_is_not_hashable() -> None:
    counter = Counter()
    counter.count += 1

    assert (counter.count, counter.last) == (1, "none")
    with pytest.raises(TypeError):
        hash(counter)


def test_the_signature_of_a_class_is_that_of_its_fields() -> None:
    parameters = signature(LazyPoint).parameters

    assert list(parameters) == list(signature(StandardPoint).parameters)
    assert (parameters["x"].annotation, parameters["y"].default) == (int, 2)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        LazyPoint()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        LazyPoint(1, z=2)  # type: ignore[call-arg]


# ------------------------------------------------------------------ classes made here and now


def set_hidden(self: Any) -> None:
    object.__setattr__(self, "hidden", f"<{self.x}>")


def build(frozen: bool, slots: bool, **body: Any) -> tuple[Any, Any]:
    """A class of each decorator with the same body."""

    def one(decorate: Any) -> Any:
        notes = {"x": int, "y": int, "tags": list[str], "hidden": str}
        values = {
            "y": 2,
            "tags": field(default_factory=list, compare=False),
            "hidden": field(init=False, repr=False),
            "__annotations__": notes,
            "__module__": __name__,
            "__post_init__": set_hidden,
        }
        made = type("Thing", (), {**values, **body})
        return decorate(frozen=frozen, slots=slots)(made)

    return one(lazy_dataclass.dataclass), one(dataclass)


OPTIONS = [(True, True), (True, False), (False, True), (False, False)]


@pytest.mark.parametrize(("frozen", "slots"), OPTIONS)
def test_a_class_behaves_as_one_of_the_standard_library(frozen: bool, slots: bool) -> None:
    lazy, standard = build(frozen, slots)

    for cls in (lazy, standard):
        thing = cls(1, tags=["a"])
        assert (thing.x, thing.y, thing.tags, thing.hidden) == (1, 2, ["a"], "<1>")
        assert repr(thing) == "Thing(x=1, y=2, tags=['a'])"
        assert thing == cls(1, 2, ["b"])
        assert thing != cls(2)
        assert hasattr(thing, "__dict__") is not slots
        assert (cls.__hash__ is None) is not frozen
        assert not frozen or hash(thing) == hash(cls(1))
        assert cls.__doc__
    assert list(signature(lazy).parameters) == ["x", "y", "tags"]
    assert signature(lazy).return_annotation is None


def test_methods_of_the_class_itself_are_kept() -> None:
    own = {
        "__init__": lambda self: object.__setattr__(self, "x", 7),
        "__repr__": lambda _self: "mine",
        "__eq__": lambda _self, _other: True,
        "__hash__": lambda _self: 42,
    }
    lazy, _ = build(True, True, **own, __doc__="Its own words.")

    assert (lazy().x, repr(lazy()), hash(lazy())) == (7, "mine", 42)
    assert lazy() == 3
    assert lazy.__doc__ == "Its own words."


def test_a_change_of_a_frozen_object_names_the_field() -> None:
    lazy, _ = build(True, False)
    changing, _ = build(False, False)

    with pytest.raises(FrozenInstanceError, match=r"^cannot assign to field 'x'$"):
        lazy(1).x = 2
    with pytest.raises(FrozenInstanceError, match=r"^cannot delete field 'x'$"):
        del lazy(1).x
    thing = changing(1)
    thing.x = 5
    assert thing.x == 5


def test_a_frozen_object_with_slots_is_copied_field_by_field() -> None:
    lazy, _ = build(True, True)
    thing = lazy(1, 3, ["a"])

    again = lazy.__new__(lazy)
    again.__setstate__(thing.__getstate__())

    assert thing.__getstate__() == [1, 3, ["a"], "<1>"]
    assert (again.x, again.y, again.tags, again.hidden) == (1, 3, ["a"], "<1>")
    with pytest.raises(ValueError, match="shorter"):
        again.__setstate__([1])


def test_a_class_without_fields_can_be_made() -> None:
    empty: Any = lazy_dataclass.dataclass(frozen=True)(type("Empty", (), {"__module__": __name__}))

    assert empty() == empty()
    assert repr(empty()) == "Empty()"
    assert empty.__doc__ == "Empty"


@pytest.mark.parametrize(("frozen", "slots"), OPTIONS)
def test_functions_of_the_standard_library_see_the_same_fields(frozen: bool, slots: bool) -> None:
    lazy, standard = build(frozen, slots, hidden=field(init=False, repr=False, hash=False))

    for ours, theirs in zip(fields(lazy), fields(standard), strict=True):
        options = ("name", "type", "init", "repr", "hash", "compare", "kw_only")
        assert [getattr(ours, name) for name in options] == [
            getattr(theirs, name) for name in options
        ]
        assert (ours.default, ours.default_factory) == (theirs.default, theirs.default_factory)
    assert lazy.__match_args__ == standard.__match_args__
    assert is_dataclass(type(lazy(1)))
    assert asdict(lazy(1)) == asdict(standard(1))
    assert replace(lazy(1), y=3).y == 3
    assert pickle_state(lazy(1)) == pickle_state(standard(1))
    assert not frozen or hash(lazy(1)) == hash(standard(1))


def pickle_state(thing: Any) -> Any:
    """Field by field for slots, whose classes define it, and the attributes otherwise."""
    return thing.__getstate__() if hasattr(type(thing), "__setstate__") else vars_of(thing)


def vars_of(thing: Any) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in ("x", "y", "tags", "hidden")}


@pytest.mark.parametrize(("frozen", "slots"), OPTIONS)
def test_an_object_is_the_same_before_and_after_the_constructor_is_compiled(
    frozen: bool, slots: bool
) -> None:
    lazy, standard = build(frozen, slots)
    lazy(0)
    first = lazy.__init__

    things = [lazy(n, tags=[str(n)]) for n in range(lazy_dataclass.CALLS_BEFORE_COMPILING - 1)]
    assert lazy.__init__ is first
    things.append(lazy(len(things), tags=[str(len(things))]))
    compiled = lazy.__init__

    assert compiled is not first
    assert first.__qualname__ == compiled.__qualname__ == "Thing.__init__"
    assert compiled.__annotations__ == standard.__init__.__annotations__
    things += [lazy(n, tags=[str(n)]) for n in range(len(things), 30)]
    assert lazy.__init__ is compiled
    expected = [vars_of(standard(n, tags=[str(n)])) for n in range(30)]
    assert [vars_of(thing) for thing in things] == expected
    assert lazy(1).tags is not lazy(1).tags


@pytest.mark.parametrize(
    ("args", "options"),
    [((), {}), ((1, 2, [], 4), {}), ((1,), {"x": 1}), ((1,), {"z": 2}), ((), {"y": 2})],
)
def test_wrong_arguments_give_the_error_of_the_standard_library(
    args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    lazy, standard = build(True, True)

    with pytest.raises(TypeError) as theirs:
        standard(*args, **options)
    with pytest.raises(TypeError) as ours:
        lazy(*args, **options)

    assert str(ours.value) == str(theirs.value)
    assert lazy(1, 3).y == 3


def test_a_subclass_calls_the_compiled_constructor_of_its_base() -> None:
    """The first wrong call compiles; the constructor that a subclass wrote itself stays."""
    base, _ = build(False, False)

    def init(self: Any) -> None:
        base.__init__(self, 5)

    own: Any = type("Own", (base,), {"__init__": init, "__module__": __name__})
    objects = [own() for _ in range(lazy_dataclass.CALLS_BEFORE_COMPILING + 2)]

    assert own.__init__ is init
    assert {thing.x for thing in objects} == {5}
    assert list(signature(base).parameters) == ["x", "y", "tags"]


def test_class_variables_are_no_fields() -> None:
    notes = {
        "x": int,
        "a": ClassVar[int],
        "b": "ClassVar[int]",
        "c": "typing.ClassVar",
        "d": ClassVar,
    }
    body = {"__annotations__": notes, "__module__": __name__, **dict.fromkeys("abcd", 1)}

    made: Any = lazy_dataclass.dataclass(frozen=True, slots=True)(type("Made", (), body))

    assert [each.name for each in fields(made)] == ["x"]
    assert (made.a, made.b, made.c, made.d) == (1, 1, 1, 1)


def test_a_class_keeps_its_own_match_args_and_its_defaults() -> None:
    with_own, _ = build(True, True, __match_args__=("y",))
    plain, standard = build(True, False)

    assert with_own.__match_args__ == ("y",)
    assert plain.y == standard.y == 2
    assert not hasattr(plain, "tags")
    assert not hasattr(plain, "hidden")


def test_slots_of_a_base_are_not_repeated() -> None:
    base, _ = build(True, True)
    notes = {"y": int, "more": int}
    body = {"__annotations__": notes, "__module__": __name__, "y": 7, "more": 8}

    made: Any = lazy_dataclass.dataclass(frozen=True, slots=True)(type("More", (base,), body))

    assert made.__slots__ == ("more",)
    assert (made(1).y, made(1).more) == (7, 8)
    assert list(signature(made).parameters) == ["x", "y", "tags", "more"]


def test_a_class_without_compared_fields_has_one_hash() -> None:
    lazy, standard = build(
        True, True, x=field(default=1, compare=False), y=field(default=2, hash=False)
    )

    assert hash(lazy(1, 2)) == hash(standard(1, 2))
    nothing: Any = lazy_dataclass.dataclass(frozen=True)(type("Empty", (), {}))
    assert hash(nothing()) == hash(())
