"""Work of which nothing is left to land: landed by the task itself, or with other tasks."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.builders import a_run, a_spec, a_task
from yaoki.core.model import Task, TaskId, TaskKind, Work
from yaoki.engine.stages.same_work import NAMES_MAX, SameWork
from yaoki.ports import Candidate, LandedStep

pytestmark = pytest.mark.spec("3.4", "3.5")

UNCHANGED = Candidate("head", "head", "tree")
CHANGED = replace(UNCHANGED, changed=("a.py",))
OWN = a_task(spec=a_spec("own"), work=Work(base="base", head="work", attempt_file_count=1))
IDLE = replace(OWN, work=replace(OWN.work, attempt_file_count=0))


def same_work(*steps: LandedStep, contains: str = "", **files: str) -> SameWork:
    """`files`: which files each landing changes; the work itself changes a.py."""

    def files_between(_: str, new: str) -> tuple[tuple[str, str], ...]:
        return (("M", "a.py" if new == "work" else files.get(new, "other.py")),)

    branches = SimpleNamespace(
        list_landings=lambda _: steps, branch_contains=lambda _, commit: commit == contains
    )
    contents = SimpleNamespace(files_between=files_between)
    workspace: Any = SimpleNamespace(branches=branches, contents=contents)

    def find_task(id_: TaskId) -> Task:
        return a_task(spec=a_spec(str(id_)))

    return SameWork(workspace, find_task)


def step(task: str, commit: str, undoes: str = "") -> LandedStep:
    return LandedStep(TaskId(task), commit, undoes)


def test_a_task_with_a_landing_on_the_branch_has_landed_unless_it_was_undone() -> None:
    landing, undo = step(OWN.id, "one"), step("", "two", undoes="one")

    assert same_work(landing).has_landed(a_run(), OWN, UNCHANGED)
    assert same_work(landing).has_landed(a_run(), IDLE, UNCHANGED)
    assert not same_work(landing).has_landed(a_run(), OWN, CHANGED)
    # Its commits are on the branch, and so is their reversal.
    assert not same_work(landing, undo, contains="work").has_landed(a_run(), OWN, UNCHANGED)


def test_a_task_whose_branch_a_person_merged_has_landed() -> None:
    assert same_work(contains="work").has_landed(a_run(), OWN, UNCHANGED)
    assert not same_work(contains="work").has_landed(a_run(), IDLE, UNCHANGED)
    assert not same_work(step("other", "one")).has_landed(a_run(), OWN, UNCHANGED)


def test_only_changes_of_which_nothing_is_left_are_the_same_work() -> None:
    report = replace(OWN, spec=a_spec("own", kind=TaskKind.REPORT))
    subject = same_work()

    assert subject.is_same(OWN, UNCHANGED)
    assert not any(
        subject.is_same(task, candidate)
        for task, candidate in ((OWN, CHANGED), (IDLE, UNCHANGED), (report, UNCHANGED))
    )


def test_the_tasks_that_landed_in_the_same_files_since_the_base_are_named_newest_first() -> None:
    steps = [
        *(step("early", "zero"), step("before", "base")),
        *(step("first", "one"), step("elsewhere", "two"), step("second", "three")),
        *(step("undone", "four"), step("", "five", undoes="four")),
    ]
    files = dict.fromkeys(("zero", "base", "one", "three", "four"), "a.py")

    assert same_work(*steps, **files).landed_with(a_run(), OWN) == ("second", "first")


def test_the_number_of_named_tasks_is_bounded() -> None:
    steps = [step(f"t{n}", f"c{n}") for n in range(9)]
    files = {one.commit: "a.py" for one in steps}

    assert len(same_work(*steps, **files).landed_with(a_run(), OWN)) == NAMES_MAX
