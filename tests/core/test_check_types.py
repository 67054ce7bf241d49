"""The table of check types: complete, and the sets that the engine uses follow from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import a_run
from yaoki.core.machine.codec import from_data
from yaoki.core.model import Catalogue, CheckSpec, CheckType, GitCheck
from yaoki.core.model.check_types import (
    AGENT_CHECKS,
    CHECK_TRAITS,
    FILE_CHECKS,
    HEAD_CHECKS,
    PROGRAM_CHECKS,
    TYPE_BY_PLAN_KEY,
)
from yaoki.core.planner_prompt import planning_context
from yaoki.formats.plan.model import CheckModel
from yaoki.views.history.frozen_plan import identify_check

pytestmark = pytest.mark.spec("6.1")


def test_every_check_type_has_its_traits_and_a_key_of_the_plan() -> None:
    assert set(CHECK_TRAITS) == set(CheckType)
    assert set(TYPE_BY_PLAN_KEY.values()) == set(CheckType)
    assert set(TYPE_BY_PLAN_KEY) <= set(CheckModel.model_fields)


def test_no_key_of_the_plan_belongs_to_two_check_types() -> None:
    keys = [key for traits in CHECK_TRAITS.values() for key in traits.plan_keys]

    assert sorted(keys) == sorted(TYPE_BY_PLAN_KEY)


def test_the_sets_of_check_types() -> None:
    """A judge costs money, a git check is about one task, a Python check may look at anything."""
    assert {CheckType.COMMAND, CheckType.JUDGE, CheckType.PYTHON} == PROGRAM_CHECKS
    assert {CheckType.JUDGE} == AGENT_CHECKS
    assert {CheckType.COMMAND, CheckType.FILE} == FILE_CHECKS
    assert {CheckType.COMMAND, CheckType.FILE, CheckType.PYTHON} == HEAD_CHECKS


@pytest.mark.parametrize("check_type", CheckType)
def test_a_check_that_depends_on_files_alone_can_run_without_task_and_agent(
    check_type: CheckType,
) -> None:
    """Such checks run on the base before a run, and on any landing."""
    traits = CHECK_TRAITS[check_type]

    assert not (traits.depends_on_files_alone and (traits.needs_agent or traits.needs_task))


# What a check of each key runs or asks; people and planners see it.
EACH_KEY = {
    "run": CheckSpec("one", argv=("it",)),
    "shell": CheckSpec("one", shell="it"),
    "file": CheckSpec("one", CheckType.FILE, path="it", file={"exists": True}),
    "git": CheckSpec("one", CheckType.GIT, git=GitCheck.CLEAN),
    "judge": CheckSpec("one", CheckType.JUDGE, ask="it"),
    "python": CheckSpec("one", CheckType.PYTHON, entry="it"),
}


@pytest.mark.parametrize("key", TYPE_BY_PLAN_KEY)
def test_reports_and_planners_see_what_a_check_of_each_key_does(key: str) -> None:
    check = EACH_KEY[key]
    run = replace(a_run(), catalogue=Catalogue(checks={"one": check}))

    assert check.type is TYPE_BY_PLAN_KEY[key]
    seen = check.git or "it"
    assert seen in identify_check(check).command
    assert f"- one: {seen}" in planning_context(run, [], [])


@pytest.mark.spec("0.6")
def test_a_stored_check_of_an_unknown_type_is_refused() -> None:
    """Another version of yaoki may have written it; nothing here could run it."""
    with pytest.raises(ValueError, match="oracle"):
        from_data(CheckSpec, {"name": "odd", "type": "oracle"})
