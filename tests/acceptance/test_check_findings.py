"""Check findings in a whole run: reruns, `fixes` patterns, and whose failure it is."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, writes
from tests.acceptance.test_agent_failures import event_data, failure_kinds

pytestmark = pytest.mark.acceptance

ONE = {"retry": {"max_retries": 0}}


def outcomes(entries: list[dict[str, Any]]) -> list[str]:
    return [data["outcome"] for data in event_data(entries, "CHECK_FINISHED")]


def commit(project: Project, path: str, text: str) -> None:
    (project.repo / path).write_text(text)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", path)


LEAVES = {
    "file": "test -f gen.txt || { touch gen.txt; exit 1; }",
    "folder": "test -d gen || { mkdir gen; exit 1; }",
    "ignored-file": "test -f cache/gen || { mkdir -p cache; touch cache/gen; exit 1; }",
    "ignored-folder": "test -d cache || { mkdir cache; exit 1; }",
    "changed-file": "grep -q done README || { echo done >> README; exit 1; }",
}
REPORTING = """import sys
case = '<testcase name="test_a"><failure message="old"/></testcase>'
text = f'<testsuite>{case}<testcase name="test_b"/></testsuite>'
open(sys.argv[1], "w").write(text)
sys.exit(1)
"""


def run_failing_checks(project: Project) -> None:
    """One run of tasks of which none lands; each has one check of the same name."""
    (project.repo / ".pytest_cache").mkdir()
    (project.repo / ".pytest_cache" / "lastfailed").write_text("{}\n")
    (project.repo / ".gitignore").write_text("cache/\n")
    project.git("add", "-A", "-f")
    project.git(*GIT_IDENTITY, "commit", "-qm", "with a cache")
    fails = "echo 'Error: flux capacitor' >&2; exit 1"
    checks: dict[str, Any] = {
        **{name: {"shell": shell} for name, shell in LEAVES.items()},
        "fixes": {"run": [sys.executable, "-c", REPORTING, "{report}"], "baseline": "known"},
        "rewrites": {"shell": "echo x >> README; test -s README"},
        "rewrites-cache": {"shell": "date > .pytest_cache/lastfailed; test -f rewrites-cache.txt"},
        "unstarted": {"file": {"path": "new.md", "exists": True}},
    }
    more: dict[str, Any] = {
        **dict.fromkeys(LEAVES, ONE),
        "fixes": {**ONE, "fixes": ["nosuch*"]},
        "rewrites": {"retry": {"max_retries": 2}},
        "unstarted": {**ONE, "agent": "broken"},
    }
    script = {name: [writes(f"{name}.txt")] for name in checks}
    tasks = [{"id": name, "checks": [name], **more.get(name, {})} for name in checks]
    plan = a_plan(script, tasks, checks)
    plan["agents"]["broken"] = {"command": ["sh", "-c", fails], "prompt": "stdin"}
    done = project.yaoki("run", project.plan(plan))
    assert done.code == 4, done.out + done.err
    assert "Traceback" not in done.out + done.err


@pytest.mark.full
@pytest.mark.spec("6.5", "0.1")
def test_a_failed_check_is_run_again_on_the_same_tree(prepared: Prepared) -> None:
    """It always fails on this commit; only leftover files could make the rerun pass."""
    project, _ = prepared.after(run_failing_checks)

    found = {name: outcomes(project.events(name)) for name in LEAVES}

    assert found == {name: ["FAILED"] for name in LEAVES}


@pytest.mark.spec("6.5", "0.2")
def test_ignored_files_of_the_agent_survive_the_rerun_of_a_check(project: Project) -> None:
    commit(project, ".gitignore", "kept/\nmade/\n")
    acts = [{"write": {"a.txt": "good\n", "kept/deep/old": "mine"}}]
    shell = "cat kept/deep/old; ls made; mkdir made; touch made/new kept/deep/new; exit 1"
    plan = a_plan({"a": [acts]}, [{"id": "a", **ONE}], {"c": {"shell": shell}})
    project.yaoki("run", project.plan(plan))

    (worktree,) = [file.parent.parent for file in (project.home / "worktrees").rglob("deep/old")]
    assert [file.name for file in (worktree / "deep").iterdir()] == ["old"]
    assert not (worktree.parent / "made").exists()


@pytest.mark.full
@pytest.mark.spec("6.4", "0.6")
def test_a_fixes_pattern_that_matches_no_failure_of_the_base_fails_the_check(
    prepared: Prepared,
) -> None:
    project, _ = prepared.after(run_failing_checks)
    entries = project.events("fixes")

    told = event_data(entries, "CHECK_FINISHED")[-1]
    assert failure_kinds(entries) == ["ESCALATE_REQUIRED"]
    assert told["outcome"] == "FAILED"
    assert told["message"] == "fixes 'nosuch*' matches no failure of the base; it has test_a"
    assert "nosuch*" in project.task("fixes")["question"]


@pytest.mark.full
@pytest.mark.spec("4.8", "3.6", "4.7", "2.6")
def test_a_check_that_changes_files_is_escalated_with_the_way_to_change_the_check(
    prepared: Prepared,
) -> None:
    """Not sent to the agent; and the run keeps its checks: editing the settings changes nothing."""
    project, _ = prepared.after(run_failing_checks)
    entries = project.events("rewrites")

    assert outcomes(entries) == ["BROKEN"]
    assert failure_kinds(entries) == ["FATAL_ERROR"]
    task = project.task("rewrites")
    assert task["attempt"] == 1
    assert (
        "check rewrites: its result cannot be trusted: the check itself changed files"
        in task["question"]
    )
    (told,) = event_data(entries, "ESCALATE_EXECUTED")
    assert "yaoki plan recheck" in told["user_message"]


@pytest.mark.full
@pytest.mark.spec("16.1", "0.5")
def test_a_tracked_cache_rewritten_by_a_check_is_named_as_the_cause(prepared: Prepared) -> None:
    project, _ = prepared.after(run_failing_checks)

    question = project.task("rewrites-cache")["question"]

    assert "a tool rewrote its cache, which git tracks: .pytest_cache/lastfailed" in question
    assert "git rm -r --cached .pytest_cache" in question
    assert "the check itself changed" not in question


@pytest.mark.full
@pytest.mark.spec("10.4", "10.3", "4.2")
def test_an_agent_that_fails_to_start_is_reported_as_the_agents_failure(
    prepared: Prepared,
) -> None:
    """To waive the check would not help an agent that did not run."""
    project, _ = prepared.after(run_failing_checks)

    question = project.task("unstarted")["question"]

    assert question.count("nothing was changed") == 1
    assert "Error: flux capacitor" in question
    assert "check unstarted" not in question
    assert "waive" not in question.lower()
    because = project.yaoki("why", "unstarted").out.partition("because ")[2].partition("\n")[0]
    assert "new.md: does not exist; the agent ended with exit code 1: Error: flux cap" in because
