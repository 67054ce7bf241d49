"""The lazy decorator makes the same classes as the standard one."""

import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from inspect import signature

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


def test_objects_are_made_shown_compared_and_hashed_as_in_the_standard_library() -> None:
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
