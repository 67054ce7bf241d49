"""The prompt of a planner: what it may name, and which tasks it may replace."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import a_check, a_failure, a_run, a_spec, a_task, an_agent
from yaoki.core.model import (
    REPLANS_MAX,
    Catalogue,
    Counts,
    PlanningBrief,
    PlanningRole,
    Reason,
    State,
    TaskKind,
)
from yaoki.core.planner_prompt import (
    PLANNING_GOALS,
    UnfinishedTask,
    answer_form,
    may_be_replaced,
    planning_context,
    planning_goal,
)

pytestmark = pytest.mark.spec("9.2", "9.3")


@pytest.mark.parametrize(
    ("given", "kind", "replaceable"),
    [
        ({}, TaskKind.CHANGE, True),
        ({"state": State.WAITING}, TaskKind.CHANGE, False),
        ({}, TaskKind.PLAN, False),
        ({"reason": Reason.NEEDS_HUMAN}, TaskKind.CHANGE, False),
        ({"reason": Reason.MANUAL}, TaskKind.CHANGE, False),
        ({"reason": Reason.CONFLICT}, TaskKind.CHANGE, True),
        (
            {"reason": Reason.NEEDS_HUMAN, "failure": a_failure(replan=True)},
            TaskKind.CHANGE,
            True,
        ),
        ({"reason": Reason.NEEDS_HUMAN, "failure": a_failure()}, TaskKind.CHANGE, False),
        ({"counts": Counts(replans=REPLANS_MAX)}, TaskKind.CHANGE, False),
        ({"counts": Counts(replans=REPLANS_MAX - 1)}, TaskKind.CHANGE, True),
    ],
)
def test_a_planner_may_replace_only_tasks_that_failed_without_needing_a_person(
    given: dict[str, Any], kind: TaskKind, replaceable: bool
) -> None:
    task = a_task(spec=a_spec(kind=kind))
    failed = replace(task, state=State.ESCALATED, reason=Reason.MAX_RETRIES)

    assert may_be_replaced(replace(failed, **given)) is replaceable


def test_the_answer_format_names_the_task_kinds_and_the_limit() -> None:
    form = answer_form(
        PlanningBrief(PlanningRole.GOAL, kinds=(TaskKind.CHANGE, TaskKind.CHECK), tasks_max=7)
    )

    assert '"kind": "change|check"' in form
    assert "at most 7 tasks" in form
    assert "{kinds}" not in form
    assert "{most}" not in form


def test_the_planner_sees_checks_agents_and_tasks() -> None:
    checks = {
        "unit": a_check("unit", argv=("pytest", "-q")),
        "all": a_check("all", argv=(), shell="make\n  test"),
        "judge": a_check("judge", argv=(), ask="Is it good?"),
        "clean": a_check("clean", argv=(), git="clean"),
        "own": a_check("own", argv=(), entry="plugin:it"),
        "file": a_check("file", argv=(), path="a/b"),
        "long": a_check("long", argv=("x" * 300,)),
    }
    run = replace(
        a_run(),
        catalogue=Catalogue(checks=checks, agents={"big": an_agent("big")}),
        done_when=("unit",),
    )
    failed = UnfinishedTask("1-2", "login", "escalated", "Make\nit work", "tests\nfailed", True)
    open_ = UnfinishedTask("1-3", "logout", "waiting", "g" * 500)

    text = planning_context(run, [failed, open_], [("1-1", "base")])

    parts = text.split("\n\n")
    assert [part.splitlines()[0] for part in parts] == [
        "Checks:",
        "Agents:",
        "Done when these checks pass on the run branch:",
        "Tasks that are not done:",
        "Tasks that are done:",
    ]
    assert parts[0].splitlines()[1:] == [
        "- unit: pytest -q",
        "- all: make test",
        "- judge: Is it good?",
        "- clean: clean",
        "- own: plugin:it",
        "- file: a/b",
        f"- long: {'x' * 199}…",
    ]
    assert parts[1].splitlines()[1:] == ["- big"]
    assert parts[2].splitlines()[1:] == ["- unit"]
    assert parts[3].splitlines()[1:] == [
        "- 1-2 (login, escalated; may be replaced): Make it work; last failure: tests failed",
        f"- 1-3 (logout, waiting): {'g' * 399}…",
    ]
    assert parts[4].splitlines()[1:] == ["- 1-1 (base)"]


def test_a_section_without_lines_is_left_out() -> None:
    run = replace(a_run(), catalogue=Catalogue(agents={"big": an_agent("big")}))

    assert planning_context(run, [], []) == "Agents:\n- big"


def test_a_long_failure_and_a_long_list_are_cut() -> None:
    long = UnfinishedTask("1-1", "a", "escalated", "goal", "f" * 900)
    text = planning_context(
        replace(a_run(), catalogue=Catalogue()), [long], [(f"1-{n}", "x") for n in range(90)]
    )

    assert text.splitlines()[1] == f"- 1-1 (a, escalated): goal; last failure: {'f' * 299}…"
    assert "- 1-59 (x)" in text
    assert "- 1-60 (x)" not in text
    assert "30 more" in text


@pytest.mark.parametrize("role", PLANNING_GOALS)
def test_the_prompt_of_every_planner_role_contains_the_goal(role: PlanningRole) -> None:
    goal = planning_goal(role, "Make it {safe}", phase="two")

    assert goal.endswith(":\n\nMake it {safe}")
    assert ("'two'" in goal) is (role is PlanningRole.PHASE)
