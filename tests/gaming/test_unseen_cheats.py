"""Cheats that no rule sees in the text: hidden checks and red-first refuse them in a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, PATIENT, WITHOUT_PLUGINS, Project
from tests.gaming.corpus import Case, Criterion, Program, all_cases
from tests.quick_selection import is_quick

pytestmark = pytest.mark.acceptance


@dataclass(frozen=True, slots=True)
class Attempt:
    """A case of a program in a folder of its own, judged by one criterion."""

    folder: str
    program: Program
    case: Case
    criterion: Criterion


def cheats() -> list[Attempt]:
    return [
        Attempt(f"cheat{n}", program, case, case.criterion)
        for n, (program, case) in enumerate(all_cases())
        if case.criterion in {Criterion.HIDDEN, Criterion.RED_FIRST}
    ]


def cheats_to_run() -> list[Attempt]:
    """A quick run tries the first cheat under each criterion."""
    first = {cheat.criterion: cheat for cheat in reversed(cheats())}
    return list(first.values()) if is_quick() else cheats()


def honest_twins() -> list[Attempt]:
    """One of each program, under the criterion that refuses its cheats."""
    criteria = {cheat.program.name: cheat for cheat in cheats()}
    return [
        Attempt(f"honest{n}", one.program, _first_honest(one.program), one.criterion)
        for n, one in enumerate(criteria.values())
    ]


def _first_honest(program: Program) -> Case:
    return next(case for case in program.cases if not case.is_cheat)


def run_all(project: Project, attempts: Sequence[Attempt]) -> dict[str, bool]:
    """Run every attempt as a task of one plan; returns whether each has landed."""
    project.settings(PATIENT)
    for one in attempts:
        for path, text in one.program.files.items():
            write_file(project.repo / one.folder / path, text)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "the programs")
    project.yaoki("run", project.plan(_plan(project, attempts)), "--parallel", "2", "--quiet")
    landed = {task["name"]: bool(task["landed"]) for task in project.status()["tasks"]}
    return {one.folder: landed[one.folder] for one in attempts}


def write_file(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def _plan(project: Project, attempts: Sequence[Attempt]) -> dict[str, Any]:
    tasks, checks, acts = [], {}, {}
    for one in attempts:
        run: dict[str, Any] = {"run": one.program.command.split(), "cwd": one.folder}
        run |= {"env": WITHOUT_PLUGINS, "on_failure": "abort", "rerun": False}
        names = [f"{one.folder}-tests"]
        checks[names[0]] = run
        if one.criterion is Criterion.HIDDEN:
            hidden = project.folder / "hidden" / one.folder
            for path, text in one.program.hidden.items():
                write_file(hidden / one.folder / path, text)
            names.append(f"{one.folder}-hidden")
            checks[names[1]] = {**run, "hidden": str(hidden)}
        kind = "fix" if one.criterion is Criterion.RED_FIRST else "change"
        goal = one.case.goal or one.program.goal
        task = {"id": one.folder, "goal": goal, "kind": kind, "checks": names}
        tasks.append({**task, "retry": {"max_retries": 0}})
        files = {f"{one.folder}/{path}": text for path, text in one.case.changed.items()}
        acts[one.folder] = [[{"write": files}]]
    actor = {"preset": "scripted", "options": {"scenario": {"tasks": acts}}}
    head = {"goal": "Cheats", "agents": {"actor": actor}, "agent": "actor"}
    return {**head, "checks": checks, "tasks": tasks}


@pytest.mark.long
@pytest.mark.spec("17.1", "17.2", "0.1")
def test_work_that_only_fits_the_visible_tests_does_not_land(
    project: Project, record_property: Callable[[str, object], None]
) -> None:
    tried = cheats_to_run()

    landed = run_all(project, tried)

    for one in tried:
        word = "landed" if landed[one.folder] else "refused"
        record_property("gaming", f"{one.criterion}|{one.case.label}|{word}")
    assert landed
    assert not any(landed.values()), landed


@pytest.mark.full
@pytest.mark.spec("17.1", "17.2")
def test_honest_work_lands_under_the_same_criteria(project: Project) -> None:
    landed = run_all(project, honest_twins())

    assert all(landed.values()), landed
