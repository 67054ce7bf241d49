"""Check findings in a whole run: reruns, `fixes` patterns, and whose failure it is."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, writes
from tests.acceptance.test_agent_failures import event_data, failure_kinds

pytestmark = pytest.mark.acceptance

ONE = {"retry": {"max_retries": 0}}


def run(project: Project, check: dict[str, Any], **task: Any) -> tuple[int, list[dict[str, Any]]]:
    """One task whose agent writes a file, and one check."""
    plan = a_plan({"a": [writes("a.txt")]}, [{"id": "a", **ONE, **task}], {"c": check})
    done = project.yaoki("run", project.plan(plan))
    assert "Traceback" not in done.out + done.err
    return done.code, project.query("trace", "a", "--json").document["entries"]


def outcomes(entries: list[dict[str, Any]]) -> list[str]:
    return [data["outcome"] for data in event_data(entries, "CHECK_FINISHED")]


def commit(project: Project, path: str, text: str) -> None:
    (project.repo / path).write_text(text)
    project.git("add", "-A")
    project.git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", path)


@pytest.mark.full
@pytest.mark.spec("6.5", "0.1")
@pytest.mark.parametrize(
    "shell",
    [
        "test -f gen.txt || { touch gen.txt; exit 1; }",
        "test -d gen || { mkdir gen; exit 1; }",
        "test -f cache/gen || { mkdir -p cache; touch cache/gen; exit 1; }",
        "test -d cache || { mkdir cache; exit 1; }",
        "grep -q done README || { echo done >> README; exit 1; }",
    ],
)
def test_a_failed_check_is_run_again_on_the_same_tree(project: Project, shell: str) -> None:
    """It always fails on this commit; only leftover files could make the rerun pass."""
    commit(project, ".gitignore", "cache/\n")

    code, entries = run(project, {"shell": shell}, retry={"max_retries": 1})

    assert code == 4
    assert outcomes(entries) == ["FAILED", "FAILED"]


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


REPORTING = """import sys
case = '<testcase name="test_a"><failure message="old"/></testcase>'
text = f'<testsuite>{case}<testcase name="test_b"/></testsuite>'
open(sys.argv[1], "w").write(text)
sys.exit(1)
"""


@pytest.mark.full
@pytest.mark.spec("6.4", "0.6")
def test_a_fixes_pattern_that_matches_no_failure_of_the_base_fails_the_check(
    project: Project,
) -> None:
    check = {"run": [sys.executable, "-c", REPORTING, "{report}"], "baseline": "known"}

    code, entries = run(project, check, fixes=["nosuch*"])

    told = event_data(entries, "CHECK_FINISHED")[-1]
    assert (code, failure_kinds(entries)) == (4, ["ESCALATE_REQUIRED"])
    assert told["outcome"] == "FAILED"
    assert told["message"] == "fixes 'nosuch*' matches no failure of the base; it has test_a"
    assert "nosuch*" in project.task("a")["question"]


@pytest.mark.full
@pytest.mark.spec("4.8", "3.6")
def test_a_check_that_changes_files_is_escalated_and_not_sent_to_the_agent(
    project: Project,
) -> None:
    code, entries = run(
        project, {"shell": "echo x >> README; test -s README"}, retry={"max_retries": 2}
    )

    assert (code, outcomes(entries)) == (4, ["BROKEN"])
    assert failure_kinds(entries) == ["FATAL_ERROR"]
    assert project.task("a")["attempt"] == 1
    assert (
        "check c: cannot be trusted: the check itself changed files"
        in project.task("a")["question"]
    )


@pytest.mark.full
@pytest.mark.spec("6.2", "14.4")
@pytest.mark.parametrize("line", ["--> Running tests", "  --> src/main.rs", "--> a.rs:1:x"])
def test_a_foreign_arrow_line_does_not_break_a_reader(project: Project, line: str) -> None:
    shell = f"echo 'error: building'; echo '{line}'; echo '1 failed'; exit 1"
    code, entries = run(project, {"shell": shell, "rerun": False})

    assert (code, outcomes(entries)) == (4, ["FAILED"])
    assert failure_kinds(entries) == ["QUALITY_FAILURE"]


@pytest.mark.full
@pytest.mark.spec("10.4", "10.3", "4.2")
def test_an_agent_that_fails_to_start_is_reported_as_the_agents_failure(project: Project) -> None:
    """To waive the check would not help an agent that did not run."""
    script = "echo 'Error: flux capacitor' >&2; exit 1"
    plan = a_plan({}, [{"id": "a", **ONE}], {"c": {"run": ["false"], "rerun": False}})
    plan["agents"]["actor"] = {"command": ["sh", "-c", script], "prompt": "stdin"}
    done = project.yaoki("run", project.plan(plan))

    question = project.task("a")["question"]
    assert done.code == 4
    assert question.count("nothing was changed") == 1
    assert "Error: flux capacitor" in question
    assert "check c" not in question
    assert "waive" not in question.lower()
    assert "Error: flux capacitor" in project.yaoki("why", "a").out
