"""Properties of values: exits, limits, spending, branches, pauses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import a_run, a_spec, a_task, an_agent, an_exit
from yaoki.core.machine.codec import (
    event_from_data,
    event_to_data,
    fields_from_data,
    fields_to_data,
    spec_to_data,
    to_data,
)
from yaoki.core.machine.events import Planned, Submitted
from yaoki.core.machine.request_events import UndoRequested
from yaoki.core.model import (
    AgentLimit,
    Catalogue,
    Counts,
    EndCause,
    Pause,
    PauseCause,
    Spend,
    Task,
    Work,
)
from yaoki.core.model.outcome import describe_exit
from yaoki.core.model.run import task_branch


@pytest.mark.spec("4.2")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ""),
        ({"code": 3}, "exit code 3"),
        ({"code": None, "signal": 9}, "signal 9"),
        ({"code": 3, "signal": 9}, "signal 9"),
        ({"code": 3, "ended_by": EndCause.DEADLINE}, "took too long and was stopped"),
        ({"signal": 15, "ended_by": EndCause.HANG}, "hung and was stopped"),
        ({"code": None}, ""),
    ],
)
def test_an_exit_is_described_in_words(given: dict[str, Any], words: str) -> None:
    exit_ = an_exit(**given)

    assert describe_exit(exit_.code, exit_.signal, exit_.ended_by) == words


@pytest.mark.spec("3.5")
@pytest.mark.parametrize(
    ("given", "clean"),
    [
        ({}, True),
        ({"code": 1}, False),
        ({"code": None}, False),
        ({"ended_by": EndCause.HANG}, False),
        ({"start_error": "x"}, False),
        ({"limit": AgentLimit.RATE}, False),
        ({"reports_failure": True}, False),
    ],
)
def test_a_clean_exit_is_recognised(given: dict[str, Any], clean: bool) -> None:
    assert an_exit(**given).ended_cleanly is clean


@pytest.mark.spec("4.2", "10.2")
def test_an_unknown_stored_value_is_read_as_an_unknown_cause() -> None:
    assert AgentLimit("unheard of") is AgentLimit.UNKNOWN
    assert EndCause("unheard of") is EndCause.OTHER
    for kind in (AgentLimit, EndCause):
        with pytest.raises(ValueError, match="3 is not a valid"):
            kind(3)  # type: ignore[arg-type]
    waits = [limit for limit in AgentLimit if limit.is_temporary]
    assert waits == [AgentLimit.RATE, AgentLimit.OVERLOADED]


@pytest.mark.spec("10.6", "18.7")
def test_spending_counts_every_started_run_and_never_guesses() -> None:
    known = an_exit(cost=0.1234567, tokens=7, seconds=1.23456)

    run = Spend(1.0, 10, 2.0, 3, 1).with_run(known)

    assert run == Spend(1.123457, 17, 3.235, 4, 1)
    assert Spend().with_start() == Spend(attempts=1, unknown=1)
    assert Spend().with_start().with_end(known) == Spend(0.123457, 7, 1.235, 1, 0)
    assert Spend().with_start().with_end(an_exit(cost=1.0)).unknown == 1
    assert Spend().with_run(an_exit(tokens=1)).unknown == 1
    assert Spend(5, 6, 7, 8, 9).minus(Spend(1, 1, 1, 1, 1)) == Spend(4, 5, 6, 7, 8)


@pytest.mark.spec("5.6")
@pytest.mark.parametrize(("index", "name"), [(0, "a"), (1, "b"), (2, "b"), (9, "b")])
def test_the_last_agent_of_a_chain_stays(index: int, name: str) -> None:
    task = a_task(spec=a_spec(agents=(an_agent("a"), an_agent("b"))), agent_index=index)

    assert task.agent is not None
    assert task.agent.name == name
    assert a_task(spec=a_spec(agents=())).agent is None


@pytest.mark.spec("3.4", "8.3")
def test_runs_groups_and_tasks_have_their_branch_names() -> None:
    run = a_run("run00001")
    group = run.on_group_branch("run00001-3")

    assert run.branch == "yaoki/run00001"
    assert (group.branch, group.base) == ("yaoki/run00001-3-group", run.base)
    assert run.on_group_branch("run00001-3", "c0ffee").base == "c0ffee"
    assert run.on_group_branch("") == run
    assert task_branch("run00001-3") == "yaoki/run00001-3"


@pytest.mark.spec("10.6", "9.8")
@pytest.mark.parametrize(
    ("pause", "text"),
    [
        (Pause(PauseCause.BUDGET, "2 of 2 dollars"), f"{PauseCause.BUDGET}: 2 of 2 dollars"),
        (Pause(PauseCause.UNKNOWN, "look at it"), "look at it"),
        (Pause(PauseCause.UNKNOWN, "odd: words"), "odd: words"),
    ],
)
def test_a_pause_is_stored_as_one_text(pause: Pause, text: str) -> None:
    run = a_run(pause=pause)

    assert (run.pause_reason, run.pause_cause) == (text, pause.cause)
    assert Pause.parse(text) == pause


def test_a_run_that_is_not_paused_has_no_cause() -> None:
    assert (a_run().pause_reason, a_run().pause_cause, Pause.parse("")) == ("", None, None)


# ------------------------------------------------------------------ stored forms


@pytest.mark.spec("10.1", "2.6", "5.2")
def test_a_submitted_task_is_stored_with_all_that_it_inherits() -> None:
    spec = a_spec()
    shelf = Catalogue(
        checks={"tests": spec.checks[0]}, agents={"small": spec.agents[0]},
        policies={"default": spec.policy},
    )  # fmt: skip
    event = Submitted(
        4, spec, parent="r-1", lineage="r-2", counts=Counts(attempts=2), spend=Spend(tokens=3)
    )

    data = event_to_data(event, shelf)

    assert data == {
        "n": 4,
        "spec": {
            "name": "login",
            "goal": "Make login work.",
            "checks": ["tests"],
            "agents": ["small"],
            "policy": "default",
        },
        "parent": "r-1",
        "lineage": "r-2",
        "counts": {"executions": 2},
        "spent_on": {"tokens": 3},
    }
    assert event_from_data(Submitted.NAME, data, shelf) == event
    whole = spec_to_data(spec, Catalogue())
    assert whole["checks"] == [{"name": "tests", "argv": ["true"]}]
    assert whole["policy"] == to_data(spec.policy)
    named = Catalogue(policies={"task:login": spec.policy, "default": spec.policy})
    assert spec_to_data(spec, named)["policy"] == "task:login"


@pytest.mark.spec("10.1")
def test_fields_are_stored_under_their_stored_names_and_only_if_set() -> None:
    work = Work(head="h", verified_commit="c")

    data = fields_to_data(work, ("head", "verified_commit", "base"))

    assert data == {"head": "h", "proven": "c"}
    assert fields_from_data(Work, ("head", "verified_commit"), data) == {
        "head": "h",
        "verified_commit": "c",
    }
    with pytest.raises(KeyError):
        fields_from_data(Work, ("base",), data)
    assert fields_to_data(a_task(), ("same_work_failures", "request")) == {}
    held = fields_to_data(a_task(same_work_failures=2), ("same_work_failures",))
    assert held == {"same_failures": 2}
    assert fields_from_data(Task, (), held) == {"same_work_failures": 2}


@pytest.mark.spec("10.1", "9.2")
def test_a_plan_names_its_tasks_and_does_not_repeat_them() -> None:
    planned = Planned(("a",), {"a": "r-1"}, specs=(a_spec("a"),))

    assert event_to_data(planned, Catalogue()) == {"names": ["a"], "replaces": {"a": "r-1"}}
    assert event_to_data(UndoRequested("c"), Catalogue()) == {"commit": "c"}
