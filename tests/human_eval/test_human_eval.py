"""HumanEval's problems as folders of repositories, each with two agents whose work is known.

The canonical solution must land; the overfitted one, which passes all visible tests, must not.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, PATIENT, Completed, Project, a_plan
from tests.human_eval.conftest import COUNTS
from tests.human_eval.data_set import PROBLEMS, Problem
from tests.human_eval.halves import Half, describe_split, write_half
from tests.human_eval.overfitting import Overfitting, overfit
from tests.real_repositories.releases import call
from tests.real_repositories.test_real_repositories import MAIN_ONLY, YAOKI, cpu_seconds
from tests.scripted_model.programs import LEFT_OUT

pytestmark = [
    pytest.mark.full,
    pytest.mark.registries,
    pytest.mark.acceptance,
    pytest.mark.timeout(1800),
    pytest.mark.spec("17.2"),
]

TOGETHER = 20
# `python3 dev.py full` tries only these batches.
MAIN = (0, 80)
Record = Callable[[str, object], None]


@dataclass(frozen=True, slots=True)
class Work:
    """What one agent writes in one folder, which has the name of its task."""

    name: str
    problem: Problem
    solution: str

    @property
    def file(self) -> str:
        return f"{self.name}/solution.py"

    def command(self, half: Half) -> list[str]:
        return [sys.executable, f"{self.name}/{half.file}"]


def canonical(problem: Problem) -> Work:
    return Work(f"canonical-{problem.name}", problem, problem.canonical)


def overfitted(problem: Problem, overfitting: Overfitting) -> Work:
    return Work(f"overfitted-{problem.name}", problem, overfitting.solution)


def commit_folders(project: Project, works: Sequence[Work]) -> None:
    """Each with the unfinished function and the visible half of its tests."""
    project.settings(PATIENT)
    for work in works:
        folder = project.repo / work.name
        folder.mkdir()
        (folder / "solution.py").write_text(work.problem.unfinished, encoding="utf-8")
        text = write_half(work.problem, Half.VISIBLE)
        (folder / Half.VISIBLE.file).write_text(text, encoding="utf-8")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "unfinished functions and visible tests")


def write_hidden(folder: Path, work: Work) -> str:
    """A folder outside the repository for the check of one task."""
    file = folder / work.name / work.name / Half.HIDDEN.file
    file.parent.mkdir(parents=True)
    file.write_text(write_half(work.problem, Half.HIDDEN), encoding="utf-8")
    return str(folder / work.name)


def plan_for(works: Sequence[Work], hidden: Path | None) -> dict[str, Any]:
    """A task for each work; without `hidden` the visible half is its only proof."""
    checks: dict[str, Any] = {f"visible-{w.name}": {"run": w.command(Half.VISIBLE)} for w in works}
    for work in works if hidden else ():
        assert hidden is not None
        secret = {"run": work.command(Half.HIDDEN), "hidden": write_hidden(hidden, work)}
        checks[f"hidden-{work.name}"] = secret
    tasks = [
        {
            "id": work.name,
            "goal": f"Write {work.problem.entry_point} in {work.file}.",
            "scope": [work.file],
            "checks": [name for name in checks if name.endswith(f"-{work.name}")],
            "retry": {"max_retries": 0},
        }
        for work in works
    ]
    script = {work.name: [[{"write": {work.file: work.solution}}]] for work in works}
    return a_plan(script, tasks, checks)


def run(project: Project, works: Sequence[Work], hidden: Path | None) -> Completed:
    """Without the time limit of shorter runs."""
    commit_folders(project, works)
    plan = project.plan(plan_for(works, hidden))
    done = call((*YAOKI, "run", plan, "--quiet"), project.repo, project.env)
    assert "Traceback" not in done.out + done.err
    return done


def landed_names(project: Project) -> set[str]:
    """Without the final check of the run, which is a task of its own."""
    tasks = [task for task in project.status()["tasks"] if task["kind"] == "change"]
    return {task["name"] for task in tasks if task["landed"]}


def failed_checks(project: Project) -> Mapping[str, set[str]]:
    """By the name of the task: the checks that did not pass, with their outcome."""
    names = {task["id"]: task["name"] for task in project.status()["tasks"]}
    failed: dict[str, set[str]] = {name: set() for name in names.values()}
    for entry in project.events():
        data = entry["data"]
        if entry["event"] == "CHECK_FINISHED" and data["outcome"] != "PASSED":
            kind = data["check"].removesuffix(f"-{names[entry['task']]}")
            failed[names[entry["task"]]].add(f"{kind} {data['outcome']}")
    return failed


def count(problems: Sequence[Problem], fits: Sequence[Overfitting | None]) -> dict[str, int]:
    splits = [describe_split(problem) for problem in problems]
    same = [one.name for one, fit in zip(problems, fits, strict=True) if fit is None]
    derived = sum(one.is_derived for one in splits)
    return {
        "problems": len(problems),
        "assertions split by their number": sum(one.assertions for one in splits),
        "loops split by their rounds": sum(one.loops for one in splits),
        "assertions left out, which no solution can fail": sum(one.left_out for one in splits),
        "hidden halves with inputs derived from the visible ones": derived,
        "problems whose hidden half has no input of its own": len(same),
        **{f"    {name}": 1 for name in same},
    }


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, PROBLEMS, TOGETHER))
def test_canonical_solutions_land_and_overfitted_ones_do_not(
    first: int,
    problems: Sequence[Problem],
    project: Project,
    tmp_path: Path,
    record_property: Record,
) -> None:
    if first not in MAIN and os.environ.get(MAIN_ONLY):
        pytest.skip(LEFT_OUT)
    before, batch = cpu_seconds(), problems[first : first + TOGETHER]
    fits = [overfit(problem, tmp_path) for problem in batch]
    right = [canonical(problem) for problem in batch]
    wrong = [overfitted(one, fit) for one, fit in zip(batch, fits, strict=True) if fit]

    done = run(project, [*right, *wrong], tmp_path / "hidden")

    landed, failed = landed_names(project), failed_checks(project)
    refused = [", ".join(sorted(failed[work.name])) for work in wrong]
    counts = {
        **count(batch, fits),
        "canonical solutions landed": sum(work.name in landed for work in right),
        "overfitted solutions landed": sum(work.name in landed for work in wrong),
        **Counter(f"overfitted solutions refused: {names}" for names in refused),
        "seconds of CPU": round(cpu_seconds() - before),
    }
    record_property(COUNTS, json.dumps(counts))
    assert (done.code, landed) == (4, {work.name for work in right}), done.out + done.err
    for work in wrong:
        assert failed[work.name], f"{work.name} was not judged"
        assert failed[work.name] <= {"hidden FAILED", "gamed FAILED"}, failed[work.name]
    files = project.git("ls-tree", "-r", "--name-only", project.status()["run_branch"])
    assert Half.HIDDEN.file not in files


def test_without_the_hidden_half_overfitted_solutions_land(
    problems: Sequence[Problem], project: Project, tmp_path: Path, record_property: Record
) -> None:
    """The same solutions, so that it is the hidden half which refuses them above."""
    fits = [(problem, overfit(problem, tmp_path)) for problem in problems[:TOGETHER]]
    wrong = [overfitted(problem, fit) for problem, fit in fits if fit]

    done = run(project, wrong, None)

    landed = landed_names(project)
    words = f"of {len(wrong)} overfitted solutions landed without the hidden half"
    record_property(COUNTS, json.dumps({words: len(landed)}))
    assert (done.code, landed) == (0, {work.name for work in wrong}), done.out + done.err
