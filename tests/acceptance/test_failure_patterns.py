"""One fixture per criterion and per pattern: exactly that one fails and is sent back."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, file_contains, writes
from tests.acceptance.test_agent_failures import event_data, run_one_task

pytestmark = pytest.mark.acceptance

GOOD = [{"write": {"a.txt": "good\n"}}]


def tool(pattern: str, says: str) -> dict[str, Any]:
    """A check that speaks as the real tool does until a.txt is good; the tools themselves are run
    in tests/adapters/checks/readers/test_real_tools.py."""
    return {"shell": f"grep -qx good a.txt || {{ {says}; exit 1; }}", "pattern": pattern}


BAD = [{"write": {"a.txt": "bad\n"}}]
COMMANDS = {
    "test-failed": (
        tool("test-failed", "echo 'FAILED tests/test_it.py::test_sum - assert 1 == 2'"),
        "tests/test_it.py::test_sum",
    ),
    "type-error": (
        tool("type-error", "echo 'lib.py:3: error: Incompatible return value  [return-value]'"),
        "Incompatible return value",
    ),
    "lint-error": (tool("lint-error", "echo 'lib.py:1:1: F401 `os` imported but unused'"), "F401"),
    "format-error": (tool("format-error", "echo 'would reformat lib.py'"), "lib.py"),
    "git-dirty": (
        {
            "shell": "grep -qx good a.txt || echo ' M stray.txt'",
            "success": "empty",
            "pattern": "git-dirty",
        },
        "stray.txt",
    ),
}
MARKS = {name: mark for name, (_, mark) in COMMANDS.items() if name != "format-error"}


@pytest.mark.quick_cases(1)
@pytest.mark.spec("4.5", "6.2", "6.9", "7.4")
@pytest.mark.parametrize("pattern", COMMANDS)
def test_a_failing_command_is_sent_back_with_its_pattern_only(
    project: Project, pattern: str
) -> None:
    check, mark = COMMANDS[pattern]

    code, task, entries = run_one_task(project, {"a": [BAD, GOOD]}, {}, checks={"it": check})

    assert (code, task["attempt"]) == (0, 2)
    failure = event_data(entries, "RETRY_DECISION")[0]["failure"]
    assert (failure["kind"], failure["pattern"]) == ("QUALITY_FAILURE", pattern)
    assert event_data(entries, "PROMPT_SENT")[1]["path"].endswith(f"f_failed_{pattern}.md")
    prompt = project.prompt(task, 2).partition("# What failed")[2].partition("# How it will")[0]
    assert mark in prompt
    assert [other for name, other in MARKS.items() if other in prompt and name != pattern] == []


@pytest.mark.full
@pytest.mark.spec("4.4", "4.5")
@pytest.mark.parametrize(
    ("acts", "checks", "criterion", "pattern"),
    [
        (
            [{"write": {"a.txt": "good\n"}}],
            {
                "good": file_contains("a.txt"),
                "made": {"file": {"path": "made.txt", "exists": True}},
            },
            "Q1",
            "file-not-exists",
        ),
        ([{"write": {"a.txt": "good\n", "b.py": "x = 1  # FIXME\n"}}], {}, "Q2", "todo-added"),
        (
            [{"omit": {"b.py": "x = 1\n"}}, *GOOD],
            {},
            "Q3",
            "omission",
        ),
        ([{"write": {"a.txt": "good\n", "b.py": "def f(\n"}}], {}, "Q4", "syntax-error"),
        (["nothing"], {}, "Q5", "no-change"),
        (["claim_done"], {}, "Q6", "no-change"),
    ],
)
def test_each_violation_fails_exactly_its_own_criterion(
    project: Project, acts: list[Any], checks: dict[str, Any], criterion: str, pattern: str
) -> None:
    mended = {"a.txt": "good\n", "b.py": "x = 1\n", "made.txt": "made\n"}

    code, task, entries = run_one_task(
        project,
        {"a": [acts, [{"write": mended}]]},
        {},
        checks=checks or {"good": file_contains("a.txt")},
    )

    assert (code, task["attempt"]) == (0, 2)
    failed = {d["check"] for d in event_data(entries, "CHECK_FINISHED") if d["outcome"] == "FAILED"}
    criteria = {name for name in failed if name.startswith("Q")}
    assert criterion in criteria
    # Q6 needs Q5: a claim without evidence is made where evidence is missing.
    assert criteria <= {criterion, "Q5"}
    assert event_data(entries, "RETRY_DECISION")[0]["failure"]["pattern"] == pattern


@pytest.mark.full
@pytest.mark.spec("4.5", "6.1")
def test_unpushed_work_fails_the_pushed_check_and_pushed_work_passes(
    project: Project, tmp_path: Path
) -> None:
    remote = tmp_path / "remote.git"
    project.git("init", "-q", "--bare", str(remote))
    project.git("remote", "add", "origin", str(remote))
    push = {"run": ["git", *GIT_IDENTITY, "push", "-q", "origin", "HEAD:refs/heads/work"]}
    script = {"a": [GOOD, [{"append": {"a.txt": "more\n"}}, {"commit": "work"}, push]]}
    checks = {"pushed": {"git": "pushed", "pattern": "branch-not-pushed"}}

    code, _, entries = run_one_task(project, script, {}, checks=checks)

    assert code == 0
    assert event_data(entries, "RETRY_DECISION")[0]["failure"]["pattern"] == "branch-not-pushed"


@pytest.mark.full
@pytest.mark.spec("5.4", "5.5")
def test_retry_after_delays_every_task_of_the_account(project: Project) -> None:
    """Both tasks of the account wait seven seconds, the third continues, the prompt is repeated.

    There is one slot: the task that runs in that time has it until its landing.
    """
    limit = [{"rate_limit": {"retry_after": 7}}]
    script = {
        "one": [limit, writes("one.txt")],
        "two": [[{"sleep": 0.1}, *writes("two.txt")]],
        "three": [writes("three.txt")],
    }
    actor = {"preset": "scripted", "options": {"scenario": {"tasks": script}}}
    plan = a_plan(
        {},
        [{"id": n, "checks": [n], "agent": "free" if n == "three" else "paid"} for n in script],
        {n: file_contains(f"{n}.txt") for n in script},
    )
    plan["agents"] = {"paid": {**actor, "concurrency": 1}, "free": actor}
    plan["agent"] = "paid"

    assert project.yaoki("run", project.plan(plan), "--parallel", "1").code == 0

    entries = project.query("trace", "--json").document["entries"]
    at = {(e["event"], e["task"], e["attempt"]): e["at"] for e in entries}
    ids = {t["name"]: t["id"] for t in project.status()["tasks"]}

    def when(event: str, name: str, attempt: int) -> datetime:
        return datetime.fromisoformat(at[(event, ids[name], attempt)])

    told = when("RETRY_DECISION", "one", 1)
    first = min(when("TASK_CLAIMED", "two", 0), when("ATTEMPT_STARTED", "one", 2))
    assert (first - told).total_seconds() >= 7
    assert when("TASK_LANDED", "three", 1) < first
    one = project.task("one")
    assert project.prompt(one, 1) == project.prompt(one, 2)
