"""One fixture per criterion and per pattern: exactly that one fails and is sent back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, file_contains, writes
from tests.acceptance.test_agent_failures import event_data, run_one_task

pytestmark = pytest.mark.acceptance

GOOD = [{"write": {"a.txt": "good\n"}}]


def tool(pattern: str, says: str) -> dict[str, Any]:
    """A check that speaks as the real tool does until its file is good; the tools themselves are
    run in tests/adapters/checks/readers/test_real_tools.py."""
    return {"shell": f"grep -qx good {pattern}.txt || {{ {says}; exit 1; }}", "pattern": pattern}


COMMANDS = {
    "test-failed": (
        tool("test-failed", "echo 'FAILED tests/test_it.py::test_sum - assert 1 == 2'"),
        "tests/test_it.py::test_sum",
    ),
    "type-error": (
        tool("type-error", "echo 'lib.py:3: error: Incompatible return value  [return-value]'"),
        "Incompatible return value",
    ),
    "format-error": (tool("format-error", "echo 'would reformat lib.py'"), "lib.py"),
    "git-dirty": (
        {
            "shell": "grep -qx good git-dirty.txt || echo ' M stray.txt'",
            "success": "empty",
            "pattern": "git-dirty",
        },
        "stray.txt",
    ),
}
MARKS = {name: mark for name, (_, mark) in COMMANDS.items() if name != "format-error"}


@pytest.mark.quick_cases(1)
@pytest.mark.spec("4.5", "6.2", "6.9", "7.4")
@pytest.mark.parametrize("patterns", [["test-failed"], ["type-error", "format-error", "git-dirty"]])
def test_a_failing_command_is_sent_back_with_its_pattern_only(
    project: Project, patterns: list[str]
) -> None:
    """One task for each pattern, all in one run; a lint error is in
    tests/acceptance/test_all_failures_at_once.py.
    """
    script = {name: [writes(f"{name}.txt", "bad\n"), writes(f"{name}.txt")] for name in patterns}
    tasks = [{"id": name, "checks": [name]} for name in patterns]
    plan = a_plan(script, tasks, {name: COMMANDS[name][0] for name in patterns})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    for pattern in patterns:
        task, entries = project.task(pattern), project.events(pattern)
        assert task["attempt"] == 2
        failure = event_data(entries, "RETRY_DECISION")[0]["failure"]
        assert (failure["kind"], failure["pattern"]) == ("QUALITY_FAILURE", pattern)
        assert event_data(entries, "PROMPT_SENT")[1]["path"].endswith(f"f_failed_{pattern}.md")
        prompt = (
            project.prompt(task, 2).partition("# The last failure")[2].partition("# How it will")[0]
        )
        assert COMMANDS[pattern][1] in prompt
        assert [other for name, other in MARKS.items() if other in prompt and name != pattern] == []


def violations() -> dict[str, tuple[list[Any], str]]:
    """The acts that violate each criterion, and the pattern of the failure; Q2 is violated in
    tests/acceptance/test_unverified_work.py, and Q2 to Q4 in tests/formats/quality.
    """
    return {
        "Q1": ([], "file-not-exists"),
        "Q3": ([{"omit": {"q3.py": "x = 1\n"}}], "omission"),
        "Q5": (["nothing"], "no-change"),
        "Q6": (["claim_done"], "no-change"),
    }


@pytest.mark.full
@pytest.mark.spec("4.4", "4.5")
def test_each_violation_fails_exactly_its_own_criterion(project: Project) -> None:
    """One task for each criterion, all in one run."""
    script: dict[str, Any] = {}
    for name, (acts, pattern) in violations().items():
        low = name.lower()
        works = [] if pattern == "no-change" else writes(f"{low}.txt")
        mended = {f"{low}.txt": "good\n", f"{low}.py": "x = 1\n", f"{low}.made": "made\n"}
        script[f"task-{low}"] = [[*acts, *works], [{"write": mended}]]
    checks: dict[str, Any] = {name: file_contains(f"{name[5:]}.txt") for name in script}
    tasks = [{"id": name, "checks": [name]} for name in script]
    tasks[0] = {"id": "task-q1", "checks": ["task-q1", "made"]}
    checks["made"] = {"file": {"path": "q1.made", "exists": True}}

    done = project.yaoki("run", project.plan(a_plan(script, tasks, checks)), "--quiet")

    assert done.code == 0, done.out + done.err
    for criterion, (_, pattern) in violations().items():
        name = f"task-{criterion.lower()}"
        entries = project.events(name)
        assert project.task(name)["attempt"] == 2
        finished = event_data(entries, "CHECK_FINISHED")
        failed = {d["check"] for d in finished if d["outcome"] == "FAILED"}
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
