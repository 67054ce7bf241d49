"""Unverified work is never a success, and every question can be answered."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, file_contains, writes
from tests.acceptance.test_agent_failures import event_data, failure_kinds, run_one_task

pytestmark = pytest.mark.acceptance


@pytest.mark.full
@pytest.mark.spec("0.1", "3.3")
def test_a_check_that_changes_files_fails_and_does_not_affect_other_checks(
    project: Project,
) -> None:
    checks = {
        "fix": {"shell": "echo good > a.txt && test -s a.txt"},
        "good": file_contains("a.txt"),
    }

    code, task, _ = run_one_task(project, {"a": [writes("a.txt", "bad\n")]}, {}, checks=checks)

    assert code == 4
    assert "cannot be trusted: the check itself changed files: a.txt" in task["question"]


@pytest.mark.full
@pytest.mark.spec("0.1", "1.2")
@pytest.mark.parametrize(
    "acts",
    [
        [{"complain": "Error: 429 Too Many Requests"}, {"exit": 1}],
        [{"say": "half a report"}, {"exit": 1}],
        [{"complain": "only on the error channel"}],
    ],
)
def test_a_report_task_fails_if_its_agent_does_not_finish(
    project: Project, acts: list[Any]
) -> None:
    plan = a_plan(
        {"a": [acts]},
        [{"id": "a", "kind": "report", "checks": [], "retry": {"max_retries": 0}}],
        {"good": file_contains("b.txt")},
        done_when=["good"],
    )

    assert project.yaoki("run", project.plan(plan)).code == 4
    assert project.task("a")["state"] == "ESCALATED"


@pytest.mark.full
@pytest.mark.spec("0.1", "3.5")
def test_an_empty_commit_of_a_rate_limited_agent_is_no_success(project: Project) -> None:
    (project.repo / "a.txt").write_text("good\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "done before")
    who = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost"]
    empty = {"run": [*who, "commit", "--allow-empty", "-qm", "x"]}

    _, _, entries = run_one_task(
        project, {"a": [[empty, {"rate_limit": {"retry_after": 0}}], ["nothing"]]}, {}
    )

    # The limit first, then nothing twice: the agent is asked once more, then a person.
    assert failure_kinds(entries) == ["RATE_LIMIT", "INCOMPLETE", "INCOMPLETE"]


@pytest.mark.full
@pytest.mark.spec("0.2", "8.6", "0.6")
def test_a_deleted_run_branch_is_not_recreated(project: Project) -> None:
    script = {"a": [writes("a.txt")], "b": [[{"ask": "Which?"}], writes("b.txt")]}
    tasks = [{"id": "a", "checks": ["one"]}, {"id": "b", "checks": ["two"]}]
    checks = {"one": file_contains("a.txt"), "two": file_contains("b.txt")}
    assert project.yaoki("run", project.plan(a_plan(script, tasks, checks))).code == 4
    branch = project.status()["run_branch"]
    project.git("branch", "-D", branch)

    project.yaoki("answer", "b", "retry")
    resumed = project.yaoki("resume")

    assert resumed.code == 4
    assert f"git branch -f {branch}" in project.status()["paused"]


@pytest.mark.spec("9.6", "0.1")
def test_an_unverified_commit_on_the_run_branch_is_not_merged(project: Project) -> None:
    _, task, _ = run_one_task(project, {"a": [writes("a.txt")]}, {})
    run = task["id"].split("-")[0]
    tree = project.git("rev-parse", "main^{tree}")
    by_hand = project.git(*GIT_IDENTITY, "commit-tree", "-p", f"yaoki/{run}", "-m", "by hand", tree)
    project.git("update-ref", f"refs/heads/yaoki/{run}", by_hand)

    refused = project.yaoki("merge", run, "--into", "release")

    assert refused.code == 6
    assert "did not land" in refused.err


@pytest.mark.full
@pytest.mark.spec("10.4", "12.1")
@pytest.mark.parametrize("name", ["scope", "Q2"])
def test_a_built_in_finding_can_be_waived_by_its_name(project: Project, name: str) -> None:
    (project.repo / "b.py").write_text("x = 0\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "b")
    acts = [{"write": {"a.txt": "good\n", "b.py": "x = 1  # TODO: more\n"}}]
    task: dict[str, Any] = {"retry": {"max_retries": 0}}
    task |= {"scope": ["a.txt"]} if name == "scope" else {}
    task |= {"quality": ["Q1"]} if name == "scope" else {}
    code, ended, _ = run_one_task(project, {"a": [acts]}, task)
    assert (code, ended["state"]) == (4, "ESCALATED")

    assert project.yaoki("answer", "a", "waive", "--check", name).code == 0
    assert project.yaoki("resume", "--quiet").code == 0

    assert project.show(project.status()["run_branch"], "b.py").startswith("x = 1")
    report = project.yaoki("report", "--format", "json").document
    (task,) = report["tasks"]
    outcomes = {check["check"]: check["outcome"] for check in task["proof"]["checks"]}
    assert outcomes == {name: "WAIVED", "good": "PASSED"}
    assert report["numbers"]["waived"] == 1, "never called proven without that word"


@pytest.mark.full
@pytest.mark.spec("10.4")
def test_a_failed_final_check_can_be_waived_and_not_taken_over(project: Project) -> None:
    plan = a_plan(
        {"a": [writes("a.txt")]},
        [{"id": "a", "checks": ["good"]}],
        {"good": file_contains("a.txt"), "never": {"shell": "exit 1"}},
        done_when=["never"],
    )
    assert project.yaoki("run", project.plan(plan)).code == 4
    document = project.yaoki("answer", "done_when", "--json").document
    assert "done" not in str(document["choices"])

    assert project.yaoki("answer", "done_when", "waive").code == 0
    assert project.yaoki("resume", "--quiet").code == 0


@pytest.mark.full
@pytest.mark.spec("11.5", "10.4")
def test_an_aborted_run_does_not_count_as_pending(project: Project) -> None:
    with (project.repo / "yaoki.toml").open("a") as settings:
        settings.write("pending_runs = 1\n")
    run_one_task(project, {"a": [[{"ask": "Go on?"}]]}, {})

    assert project.yaoki("answer", "a", "abort").code == 0
    code, _, _ = run_one_task(project, {"a": [writes("a.txt")]}, {})

    assert code == 0


@pytest.mark.full
@pytest.mark.spec("8.6", "8.2")
def test_a_missing_worktree_is_rebuilt_for_its_verification(project: Project) -> None:
    """The person deleted it while a check could not run; the work itself is on a ref."""
    tool = project.folder / "tool.sh"
    checks = {"tool": {"run": [str(tool)]}, "good": file_contains("a.txt")}
    code, task, _ = run_one_task(project, {"a": [writes("a.txt")]}, {}, checks=checks)
    assert (code, task["reason"]) == (4, "SYSTEM_ERROR_PERMANENT")
    worktree = next((project.home / "worktrees").glob(f"*/{task['id']}"))
    worktree.rename(project.folder / "elsewhere")
    tool.write_text("#!/bin/sh\nexit 0\n")
    tool.chmod(0o755)

    project.yaoki("answer", "a", "retry")
    resumed = project.yaoki("resume", "--quiet")

    assert resumed.code == 0, resumed.out
    assert project.task("a")["attempt"] == 1, "the agent was not asked again"


@pytest.mark.full
@pytest.mark.spec("0.2", "10.4")
def test_a_remote_added_during_a_task_is_no_tampering(project: Project) -> None:
    add = {"run": ["git", "remote", "add", "mine", "https://example.org/x.git"]}

    code, _, _ = run_one_task(project, {"a": [[add, *writes("a.txt")]]}, {})

    assert code == 0


@pytest.mark.full
@pytest.mark.spec("0.2", "14.2")
def test_a_users_stash_popped_by_an_agent_is_reported_with_the_command_to_restore_it(
    project: Project,
) -> None:
    """All worktrees share one stash; an agent that stashes nothing and pops takes the user's."""
    (project.repo / "README").write_text("half done\n")
    project.git(*GIT_IDENTITY, "stash")
    mine = project.git("rev-parse", "refs/stash")

    run_one_task(project, {"a": [[{"run": ["git", "stash", "pop", "-q"]}, *writes("a.txt")]]}, {})

    entries = [e["data"]["message"] for e in project.events() if e["event"] == "CHECKOUT_CHANGED"]
    assert [f"git stash store {mine}" in words for words in entries] == [True]
    assert "git stash" in project.prompt(project.task("a"), 1)


@pytest.mark.full
@pytest.mark.spec("3.2", "0.2")
def test_ignored_source_files_of_an_agent_are_reported_as_not_landed(project: Project) -> None:
    """The files exist in the worktree and not on the merged branch."""
    (project.repo / ".gitignore").write_text("lib/\n*.log\nnode_modules/\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a list")
    files = ("lib/impl.py", "a.log", "node_modules/x/index.js")
    acts = [{"write": dict.fromkeys(files, "x\n")}, *writes("a.txt")]

    code, _, entries = run_one_task(project, {"a": [acts]}, {})

    told = [data["message"] for data in event_data(entries, "WARNING")]
    assert (code, len(told)) == (0, 1), told
    assert "will not land: lib/impl.py; see .gitignore" in told[0]


# ------------------------------------------------------------------ quality and integrity


@pytest.mark.quick_cases(1)
@pytest.mark.spec("4.3", "4.4", "4.5")
@pytest.mark.parametrize(
    ("files", "pattern", "kind"),
    [
        ({"b.py": "x = 1  # TODO: the rest\n"}, "todo-added", "QUALITY_FAILURE"),
        ({"b.py": "def f():\n    # ... rest omitted\n    return 1\n"}, "omission", "INCOMPLETE"),
        ({"b.py": "def f(:\n    return 1\n"}, "syntax-error", "INCOMPLETE"),
    ],
)
def test_a_quality_violation_in_the_diff_is_sent_back_with_its_file(
    project: Project, files: dict[str, str], pattern: str, kind: str
) -> None:
    bad = [{"write": {"a.txt": "good\n", **files}}]
    good = [{"write": {"b.py": "x = 1\n"}}]

    code, task, entries = run_one_task(project, {"a": [bad, good]}, {})

    assert (code, task["attempt"]) == (0, 2)
    failure = event_data(entries, "RETRY_DECISION")[0]["failure"]
    assert (failure["kind"], failure["pattern"]) == (kind, pattern)
    assert "b.py" in project.prompt(task, 2)


@pytest.mark.spec("6.6")
def test_a_deleted_test_is_escalated_and_its_waiver_is_recorded(project: Project) -> None:
    (project.repo / "test_it.py").write_text("def test_one():\n    assert False\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a red test")
    acts = [{"delete": ["test_it.py"]}, *writes("a.txt")]

    code, _, entries = run_one_task(project, {"a": [acts]}, {"retry": {"max_retries": 0}})

    assert code == 4
    failure = event_data(entries, "ESCALATE_DECISION")[0]["failure"]
    assert failure["pattern"] == "test-weakened"
    assert "test_one" in failure["message"]
    assert project.yaoki("answer", "a", "waive").code == 0
    assert project.yaoki("resume", "--quiet").code == 0
    assert project.task("a")["state"] == "DONE"


@pytest.mark.full
@pytest.mark.spec("6.6")
def test_a_script_that_a_check_passes_to_an_interpreter_belongs_to_the_check(
    project: Project,
) -> None:
    (project.repo / "look.py").write_text("raise SystemExit('not done')\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a check")
    acts = [{"write": {"look.py": "\n", "a.txt": "good\n"}}]
    checks = {"look": {"run": ["python3", "look.py"]}}

    code, _, entries = run_one_task(
        project, {"a": [acts]}, {"retry": {"max_retries": 0}}, checks=checks
    )

    assert code == 4
    assert event_data(entries, "ESCALATE_DECISION")[0]["failure"]["pattern"] == "test-weakened"


@pytest.mark.full
@pytest.mark.spec("6.6")
def test_a_plan_may_allow_weaker_tests(project: Project) -> None:
    (project.repo / "test_it.py").write_text("def test_one():\n    assert False\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a red test")
    acts = [{"delete": ["test_it.py"]}, *writes("a.txt")]

    allowed = {"allow_weaker_tests": True, "scope": ["test_it.py", "a.txt"]}

    code, _, _ = run_one_task(project, {"a": [acts]}, allowed)

    assert code == 0


@pytest.mark.full
@pytest.mark.spec("16.4", "0.1")
def test_a_passing_git_check_with_skipped_tests_does_not_land(project: Project) -> None:
    clean = {"shell": "git status --porcelain", "success": "empty"}
    tests = {"shell": "echo 3 tests failed; exit 1", "on_failure": "skip"}

    code, task, entries = run_one_task(
        project, {"a": [writes("x.txt")]}, {}, checks={"clean": clean, "tests": tests}
    )

    assert (code, task["landed"]) == (4, None)
    outcomes = [data["outcome"] for data in event_data(entries, "CHECK_FINISHED")]
    assert outcomes[:2] == ["PASSED", "SKIPPED"]
    assert "nothing was proven" in task["question"]
