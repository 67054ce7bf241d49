"""A valid plan is read without the model library, and reads the same as with it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from tests.quick_selection import example_count
from yaoki.formats.plan import limit_models, model
from yaoki.formats.plan.quick_part import (
    DOUBTFUL_VALUES,
    SHAPES_FILE,
    Doubtful,
    QuickPart,
    build_quick_part,
    load_shapes,
)
from yaoki.formats.plan.shape_table import describe_models, format_table

MODELS = {**vars(limit_models), **vars(model)}
EXAMPLES = sorted((Path(__file__).parents[3] / "docs" / "examples").rglob("*.yaml"))
# Values that some field takes, and that others refuse.
WORDS = st.sampled_from(
    (
        *("", "a", "-", "change", "plan", "group", "command", "claude", "stdin", "file", "retry"),
        *("20m", "1h30m", "0s", "exitCode:0", "exitCode:300", "matches:(", "src/**", "../x"),
        *("/etc", "main", "a b 'c", "known", "clean", "Q1", "ja", "fixed", "TIMEOUT", "9x"),
    )
)
NUMBERS = st.sampled_from((-1, 0, 1, 2, 0.5, 1e3, 10**7, 10**13, True, False))
SCALARS = st.one_of(WORDS, NUMBERS, st.none())


def data_of(name: str, depth: int = 0) -> st.SearchStrategy[dict[str, Any]]:
    """Some keys of a model, mostly with values of the right type."""
    fields = {key: _value_of(shape["type"], depth) for key, shape in load_shapes()[name].items()}
    keys = st.lists(st.sampled_from([*fields, "unknown"]), max_size=3, unique=True)
    fields["unknown"] = SCALARS
    return keys.flatmap(lambda chosen: st.fixed_dictionaries({key: fields[key] for key in chosen}))


def _value_of(shape: Any, depth: int) -> st.SearchStrategy[Any]:
    kind, *details = (shape,) if isinstance(shape, str) else shape
    if depth > 3:
        return SCALARS
    match kind:
        case "model":
            return st.deferred(lambda: data_of(details[0], depth + 1))
        case "list":
            return st.lists(_value_of(details[0], depth + 1), max_size=2)
        case "dict":
            return st.dictionaries(WORDS, _value_of(details[0], depth + 1), max_size=2)
        case "literal":
            return st.one_of(st.sampled_from(details), SCALARS)
        case "checked" if details[1]:
            return st.one_of(_value_of(details[1], depth), SCALARS)
        case "str":
            return st.one_of(WORDS, WORDS, SCALARS)
        case "bool":
            return st.one_of(st.booleans(), SCALARS)
        case _:
            return st.one_of(NUMBERS, SCALARS)


def test_the_shape_table_matches_the_models() -> None:
    """After a change of the models: python -m yaoki.formats.plan.shape_table."""
    assert load_shapes() == describe_models()
    assert SHAPES_FILE.read_text(encoding="utf-8") == format_table()


def test_every_model_with_a_validator_is_listed() -> None:
    ruled = {
        name for name in load_shapes() if MODELS[name].__pydantic_decorators__.model_validators
    }

    assert ruled == set(DOUBTFUL_VALUES)


@settings(max_examples=example_count(400), deadline=None)
@given(
    st.sampled_from(sorted(load_shapes())).flatmap(
        lambda name: st.tuples(st.just(name), data_of(name))
    )
)
def test_the_quick_reader_gives_the_same_values_as_the_model(
    case: tuple[str, dict[str, Any]],
) -> None:
    name, data = case
    try:
        quick = build_quick_part(name, data)
    except Doubtful:
        return

    try:
        slow = MODELS[name].model_validate(data)
    except ValidationError as invalid:
        pytest.fail(f"{data} is not valid: {invalid}")
    assert_same(quick, slow)


@settings(max_examples=example_count(200), deadline=None)
@given(
    st.sampled_from(("TaskModel", "CheckModel", "AgentModel")).flatmap(
        lambda name: st.tuples(st.just(name), data_of(name))
    )
)
def test_the_quick_reader_doubts_only_values_that_the_model_refuses(
    case: tuple[str, dict[str, Any]],
) -> None:
    name, data = case
    try:
        MODELS[name].model_validate(data)
    except ValidationError:
        return

    build_quick_part(name, data)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_the_examples_need_no_model_library(file: Path) -> None:
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    if not isinstance(data, dict) or not data.keys() <= load_shapes()["PlanModel"].keys():
        pytest.skip("it is not a native plan")

    assert_same(build_quick_part("PlanModel", data), model.PlanModel.model_validate(data))


def assert_same(quick: Any, slow: Any) -> None:
    """Every field, given or not, and which ones were given."""
    if isinstance(slow, BaseModel):
        assert isinstance(quick, QuickPart)
        assert quick.model_fields_set == slow.model_fields_set
        for name in type(slow).model_fields:
            assert_same(getattr(quick, name), getattr(slow, name))
    elif isinstance(slow, list):
        assert len(quick) == len(slow)
        for one, other in zip(quick, slow, strict=True):
            assert_same(one, other)
    elif isinstance(slow, dict):
        assert list(quick) == list(slow)
        for key, value in slow.items():
            assert_same(quick[key], value)
    else:
        assert quick == slow
        assert type(quick) is type(slow) or isinstance(slow, float | timedelta)
