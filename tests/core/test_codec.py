"""Values to JSON and back: nothing is lost, nothing unknown is swallowed."""

from __future__ import annotations

import json
from dataclasses import is_dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_check, a_policy, a_run, a_spec, an_agent
from tests.core.examples import few
from yaoki.core import model
from yaoki.core.machine import events
from yaoki.core.machine.codec import (
    EVENT_CLASSES,
    event_from_data,
    event_to_data,
    from_data,
    spec_from_data,
    spec_to_data,
    to_data,
)
from yaoki.core.machine.events import Event, event_name
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.model import (
    AgentExit,
    AgentSpec,
    Backoff,
    Catalogue,
    CheckSpec,
    Counts,
    Failure,
    FindingItem,
    TaskSpec,
    Work,
)

EMPTY = Catalogue()
words = st.text(max_size=20)
spans = st.timedeltas(timedelta(0), timedelta(days=4000))
instants = st.integers(0, 4 * 10**12).map(lambda ms: datetime.fromtimestamp(ms / 1000, UTC))
numbers = st.floats(allow_nan=False, allow_infinity=False)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)

st.register_type_strategy(timedelta, spans)
st.register_type_strategy(datetime, instants)
st.register_type_strategy(float, numbers)


def values_of(cls: type[Any]) -> st.SearchStrategy[Any]:
    """Any value of the class, its free-form parts held to what JSON has."""
    free = st.dictionaries(words, plain, max_size=3)
    open_ = (name for name, how in cls.__annotations__.items() if how == "Mapping[str, Any]")
    return st.builds(cls, **dict.fromkeys(open_, free))


for noun in [*vars(model).values(), *vars(events).values()]:
    if isinstance(noun, type) and is_dataclass(noun):
        st.register_type_strategy(noun, values_of(noun))


def round_trip(event: Event, catalogue: Catalogue = EMPTY) -> Event:
    data = json.loads(json.dumps(event_to_data(event, catalogue)))
    return event_from_data(event_name(event), data, catalogue)


CLASSES = [cls for cls in get_args(Event) if cls is not JournalNote]


@pytest.mark.spec("1.5", "10.1")
def test_every_event_has_an_upper_case_name() -> None:
    assert {cls.NAME: cls for cls in CLASSES} == EVENT_CLASSES
    assert all(name == name.upper() for name in EVENT_CLASSES)


@pytest.mark.spec("10.1")
def test_the_names_of_the_specification_are_used() -> None:
    assert {
        "TASK_CLAIMED",
        "ATTEMPT_STARTED",
        "AGENT_FINISHED",
        "QUALITY_JUDGMENT",
        "RETRY_DECISION",
        "ESCALATE_DECISION",
        "TASK_LANDED",
        "LEASE_EXPIRED",
        "CANCEL_REQUESTED",
        "TASK_CANCELLED",
    } <= set(EVENT_CLASSES)


@pytest.mark.spec("10.1", "10.2")
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.NAME)
@few
@given(data=st.data())
def test_every_event_survives_a_round_trip(cls: type[Any], data: st.DataObject) -> None:
    event = data.draw(values_of(cls))

    assert round_trip(event) == event


@pytest.mark.spec("10.1")
@given(st.dictionaries(words, plain, max_size=4))
def test_a_note_survives_a_round_trip(data: dict[str, Any]) -> None:
    assert round_trip(JournalNote("SOMETHING_NEW", data)) == JournalNote("SOMETHING_NEW", data)


@pytest.mark.spec("10.2")
@pytest.mark.parametrize(
    "cls",
    [AgentExit, Failure, Counts, Work, FindingItem, CheckSpec, AgentSpec, Backoff],
    ids=lambda cls: cls.__name__,
)
@few
@given(data=st.data())
def test_every_value_of_a_row_survives_a_round_trip(cls: type[Any], data: st.DataObject) -> None:
    value = data.draw(values_of(cls))

    assert from_data(cls, json.loads(json.dumps(to_data(value)))) == value


@pytest.mark.spec("0.6")
def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(KeyError, match="nope"):
        from_data(FindingItem, {"name": "a", "nope": 1})


def test_a_field_at_its_default_is_left_out() -> None:
    assert to_data(FindingItem("a")) == {"name": "a"}
    assert to_data(AgentExit()) == {}


# ------------------------------------------------------------------ specifications


@pytest.mark.spec("2.6")
@few
@given(values_of(TaskSpec))
def test_a_specification_survives_a_round_trip(spec: TaskSpec) -> None:
    data = json.loads(json.dumps(spec_to_data(spec, EMPTY)))

    assert spec_from_data(data, EMPTY) == spec


@pytest.mark.spec("2.6")
def test_checks_and_agents_of_the_catalogue_are_stored_by_name() -> None:
    run = a_run()

    data = spec_to_data(a_spec(), run.catalogue)

    assert (data["checks"], data["agents"], data["policy"]) == (["tests"], ["small"], "default")
    assert spec_from_data(data, run.catalogue) == a_spec()


@pytest.mark.spec("2.6", "5.6")
def test_a_check_that_differs_from_the_catalogue_is_stored_in_full() -> None:
    """The same name with other contents must not read back as the shared one."""
    run = a_run()
    own = a_spec(
        checks=(a_check(argv=("false",)),),
        agents=(an_agent(model="large"),),
        policy=a_policy(total_attempts_max=2),
    )

    data = json.loads(json.dumps(spec_to_data(own, run.catalogue)))

    assert spec_from_data(data, run.catalogue) == own


@pytest.mark.spec("2.6")
def test_a_policy_of_one_task_is_stored_under_the_name_of_the_task() -> None:
    own = a_policy(total_attempts_max=2)
    shared = replace(a_run().catalogue, policies={"default": a_policy(), "task:login": own})

    assert spec_to_data(a_spec(policy=own), shared)["policy"] == "task:login"


@pytest.mark.spec("2.6")
def test_a_catalogue_survives_a_round_trip() -> None:
    catalogue = a_run().catalogue

    assert from_data(Catalogue, json.loads(json.dumps(to_data(catalogue)))) == catalogue
