"""The examples of docs/guides/python.md, run unchanged one after the other in one repository."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, writes

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "python.md"
# The only attempt makes a false claim; the attempt after the answer is honest.
PLAN = a_plan(
    {
        "answer": [writes("answer.txt", "41\n"), writes("answer.txt", "42\n")],
        "other": [writes("other.txt")],
    },
    [
        {"id": "answer", "checks": ["answer"], "max_iterations": 1},
        {"id": "other", "checks": ["other"]},
    ],
    {"answer": file_contains("answer.txt", "42"), "other": file_contains("other.txt")},
)


def example(number: int) -> str:
    found = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    return str(found[number])


def run_example(project: Project, number: int) -> str:
    return run_code(project, example(number))


def run_code(project: Project, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project.repo,
        env=project.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.acceptance
@pytest.mark.spec("12.9")
def test_the_api_runs_a_plan_follows_its_events_and_answers_a_question(project: Project) -> None:
    (project.repo / "plan.yaml").write_text(json.dumps(PLAN))

    first, second = run_example(project, 0), run_example(project, 1)

    assert "ATTEMPT_STARTED" in first
    assert re.search(r"^ESCALATED$", first, re.MULTILINE)
    assert re.search(r"^other DONE [0-9a-f]{12}$", first, re.MULTILINE)
    assert second.splitlines()[0].startswith("answer ")
    assert second.splitlines()[-1] == "DONE"
    status = project.status()
    assert project.show(status["run_branch"], "answer.txt") == "42"


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("12.9")
def test_the_api_submits_and_executes_a_plan_given_as_data(project: Project) -> None:
    said = run_example(project, 2).splitlines()

    status = project.status()
    assert said[0] == f"{status['run']} ACTIVE"
    assert status["status"] == "DONE"
    assert said[-1]


REFUSED = """
import yaoki
from yaoki.errors import PlanInvalid

with yaoki.Repository(".") as repo:
    for plan in (None, {"goal": object()}, {"gaol": "x"}):
        try:
            repo.run(plan)
        except PlanInvalid as refused:
            print(refused.sentence, "|", refused.hint)
"""


LEAVING = """
import yaoki

with yaoki.Repository(".") as repo:
    print(repo.run("plan.yaml").id)
with yaoki.Repository(".") as repo:
    run = repo.find()
    run.start()
    print(run.wait())
"""


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("12.9")
def test_a_value_that_is_no_plan_raises_an_error_and_a_run_left_early_can_be_resumed_later(
    project: Project,
) -> None:
    """The block is left at once; no thread uses the closed store."""
    tasks = [{"id": "other", "checks": ["other"]}]
    good = a_plan({"other": [writes("other.txt")]}, tasks, {"other": file_contains("other.txt")})
    (project.repo / "plan.yaml").write_text(json.dumps(good))

    *said, run, state = run_code(project, REFUSED + LEAVING).splitlines()

    assert said[0].startswith("a plan is a file or a mapping, not NoneType | ")
    assert said[1].startswith("the plan contains values that are not plain data: ")
    assert said[2].endswith("| fix the mapping")
    assert (run, state) == (project.status()["run"], "DONE")
