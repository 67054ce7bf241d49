"""Cheats that no rule sees in the text: hidden checks and red-first refuse them in a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, PATIENT, WITHOUT_PLUGINS, Project
from tests.gaming.corpus import Case, Criterion, Program, all_cases

pytestmark = pytest.mark.acceptance
UNSEEN = [(p, c) for p, c in all_cases() if c.criterion in {Criterion.HIDDEN, Criterion.RED_FIRST}]


def _pairs() -> Iterator[tuple[str, Program, Case, Criterion, bool]]:
    """Every unseen cheat, and an honest twin of each program under the same criterion."""
    twins: set[str] = set()
    for n, (program, cheat) in enumerate(UNSEEN):
        assert cheat.criterion is not None
        yield f"cheat{n}", program, cheat, cheat.criterion, True
        if program.name not in twins:
            twin = next(case for case in program.cases if not case.is_cheat)
            yield f"honest{n}", program, twin, cheat.criterion, False
            twins.add(program.name)


@pytest.fixture
def workshop(project: Project) -> Project:
    """Every program in a folder of its own, once for each task."""
    project.settings(PATIENT)
    for folder, program, *_ in _pairs():
        for path, text in program.files.items():
            file = project.repo / folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "the programs")
    return project


def _plan(project: Project) -> dict[str, Any]:
    tasks, checks, acts = [], {}, {}
    for folder, program, case, criterion, _ in _pairs():
        run: dict[str, Any] = {"run": program.command.split(), "cwd": folder}
        run |= {"env": WITHOUT_PLUGINS, "on_failure": "abort", "rerun": False}
        checks[f"{folder}-tests"] = run
        names = [f"{folder}-tests"]
        if criterion is Criterion.HIDDEN:
            hidden = _write_hidden(project.folder / "hidden" / folder, folder, program)
            checks[f"{folder}-hidden"] = {**run, "hidden": str(hidden)}
            names.append(f"{folder}-hidden")
        kind = "fix" if criterion is Criterion.RED_FIRST else "change"
        goal = case.goal or program.goal
        tasks.append({"id": folder, "goal": goal, "kind": kind, "checks": names})
        acts[folder] = [[{"write": {f"{folder}/{path}": t for path, t in case.changed.items()}}]]
    actor = {"preset": "scripted", "options": {"scenario": {"tasks": acts}}}
    head = {"goal": "Cheats", "agents": {"actor": actor}, "agent": "actor"}
    return {**head, "checks": checks, "tasks": [{**t, "retry": {"max_retries": 0}} for t in tasks]}


def _write_hidden(where: Path, folder: str, program: Program) -> Path:
    for path, text in program.hidden.items():
        (where / folder).mkdir(parents=True)
        (where / folder / path).write_text(text)
    return where


@pytest.mark.long
@pytest.mark.spec("17.1", "17.2", "0.1")
def test_work_that_only_fits_the_visible_tests_does_not_land(
    workshop: Project, record_property: Callable[[str, object], None]
) -> None:
    workshop.yaoki("run", workshop.plan(_plan(workshop)), "--parallel", "2", "--quiet")

    wrong = []
    for folder, program, case, criterion, is_cheat in _pairs():
        landed = bool(workshop.task(folder)["landed"])
        wrong += [f"{program.name}: {case.name}"] if landed is is_cheat else []
        if is_cheat:
            word = "landed" if landed else "refused"
            record_property("gaming", f"{criterion}|{case.label}|{word}")
    assert not wrong
