"""What a careful reader of the code found: falls that were called a success, and dead ends."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import WHO, Place, a_plan, holds, writes
from tests.acceptance.test_agent_failures import carried, events, kinds

pytestmark = pytest.mark.acceptance


@pytest.mark.full
@pytest.mark.spec("0.1", "3.3")
def test_a_check_that_changes_files_fails_and_does_not_affect_other_checks(place: Place) -> None:
    checks = {"fix": {"shell": "echo good > a.txt && test -s a.txt"}, "good": holds("a.txt")}

    code, task, _ = carried(place, {"a": [writes("a.txt", "bad\n")]}, {}, checks=checks)

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
def test_a_report_task_fails_if_its_agent_does_not_finish(place: Place, acts: list[Any]) -> None:
    plan = a_plan(
        {"a": [acts]},
        [{"id": "a", "kind": "report", "checks": [], "retry": {"max_retries": 0}}],
        {"good": holds("b.txt")},
        done_when=["good"],
    )

    assert place.yaoki("run", place.plan(plan)).code == 4
    assert place.task("a")["state"] == "ESCALATED"


@pytest.mark.full
@pytest.mark.spec("0.1", "3.5")
def test_an_empty_commit_of_a_rate_limited_agent_is_no_success(place: Place) -> None:
    (place.repo / "a.txt").write_text("good\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "done before")
    who = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost"]
    empty = {"run": [*who, "commit", "--allow-empty", "-qm", "x"]}

    _, _, entries = carried(
        place, {"a": [[empty, {"rate_limit": {"retry_after": 0}}], ["nothing"]]}, {}
    )

    # The limit first, then nothing twice: the agent is asked once more, then a person.
    assert kinds(entries) == ["RATE_LIMIT", "INCOMPLETE", "INCOMPLETE"]


@pytest.mark.full
@pytest.mark.spec("0.2", "8.6", "0.6")
def test_a_deleted_run_branch_is_not_recreated(place: Place) -> None:
    script = {"a": [writes("a.txt")], "b": [[{"ask": "Which?"}], writes("b.txt")]}
    tasks = [{"id": "a", "checks": ["one"]}, {"id": "b", "checks": ["two"]}]
    checks = {"one": holds("a.txt"), "two": holds("b.txt")}
    assert place.yaoki("run", place.plan(a_plan(script, tasks, checks))).code == 4
    branch = place.status()["run_branch"]
    place.git("branch", "-D", branch)

    place.yaoki("answer", "b", "retry")
    gone_on = place.yaoki("resume")

    assert gone_on.code == 4
    assert f"git branch -f {branch}" in place.status()["paused"]


@pytest.mark.spec("9.6", "0.1")
def test_an_unverified_commit_on_the_run_branch_is_not_merged(place: Place) -> None:
    _, task, _ = carried(place, {"a": [writes("a.txt")]}, {})
    run = task["id"].split("-")[0]
    tree = place.git("rev-parse", "main^{tree}")
    by_hand = place.git(*WHO, "commit-tree", "-p", f"yaoki/{run}", "-m", "by hand", tree)
    place.git("update-ref", f"refs/heads/yaoki/{run}", by_hand)

    refused = place.yaoki("merge", run, "--into", "release")

    assert refused.code == 6
    assert "did not land" in refused.err


@pytest.mark.full
@pytest.mark.spec("10.4", "12.1")
@pytest.mark.parametrize("name", ["scope", "Q2"])
def test_a_built_in_finding_can_be_waived_by_its_name(place: Place, name: str) -> None:
    (place.repo / "b.py").write_text("x = 0\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "b")
    acts = [{"write": {"a.txt": "good\n", "b.py": "x = 1  # TODO: more\n"}}]
    task: dict[str, Any] = {"retry": {"max_retries": 0}}
    task |= {"scope": ["a.txt"]} if name == "scope" else {}
    task |= {"quality": ["Q1"]} if name == "scope" else {}
    code, ended, _ = carried(place, {"a": [acts]}, task)
    assert (code, ended["state"]) == (4, "ESCALATED")

    assert place.yaoki("answer", "a", "waive", "--check", name).code == 0
    assert place.yaoki("resume", "--quiet").code == 0

    assert place.show(place.status()["run_branch"], "b.py").startswith("x = 1")
    report = place.yaoki("report", "--format", "json").document
    (task,) = report["tasks"]
    outcomes = {check["check"]: check["outcome"] for check in task["proof"]["checks"]}
    assert outcomes == {name: "WAIVED", "good": "PASSED"}
    assert report["numbers"]["waived"] == 1, "never called proven without that word"


@pytest.mark.full
@pytest.mark.spec("10.4")
def test_a_failed_final_check_can_be_waived_and_not_taken_over(place: Place) -> None:
    plan = a_plan(
        {"a": [writes("a.txt")]},
        [{"id": "a", "checks": ["good"]}],
        {"good": holds("a.txt"), "never": {"shell": "exit 1"}},
        done_when=["never"],
    )
    assert place.yaoki("run", place.plan(plan)).code == 4
    asked = place.yaoki("answer", "done_when", "--json").document
    assert "done" not in str(asked["choices"])

    assert place.yaoki("answer", "done_when", "waive").code == 0
    assert place.yaoki("resume", "--quiet").code == 0


@pytest.mark.full
@pytest.mark.spec("11.5", "10.4")
def test_an_aborted_run_does_not_count_as_pending(place: Place) -> None:
    with (place.repo / "yaoki.toml").open("a") as settings:
        settings.write("pending_runs = 1\n")
    carried(place, {"a": [[{"ask": "Go on?"}]]}, {})

    assert place.yaoki("answer", "a", "abort").code == 0
    code, _, _ = carried(place, {"a": [writes("a.txt")]}, {})

    assert code == 0


@pytest.mark.full
@pytest.mark.spec("8.6", "8.2")
def test_a_missing_worktree_is_rebuilt_for_its_verification(place: Place) -> None:
    """The person deleted it while a check could not run; the work itself is on a ref."""
    tool = place.folder / "tool.sh"
    checks = {"tool": {"run": [str(tool)]}, "good": holds("a.txt")}
    code, task, _ = carried(place, {"a": [writes("a.txt")]}, {}, checks=checks)
    assert (code, task["reason"]) == (4, "SYSTEM_ERROR_PERMANENT")
    worktree = next((place.home / "worktrees").glob(f"*/{task['id']}"))
    worktree.rename(place.folder / "elsewhere")
    tool.write_text("#!/bin/sh\nexit 0\n")
    tool.chmod(0o755)

    place.yaoki("answer", "a", "retry")
    gone_on = place.yaoki("resume", "--quiet")

    assert gone_on.code == 0, gone_on.out
    assert place.task("a")["attempt"] == 1, "the agent was not asked again"


@pytest.mark.full
@pytest.mark.spec("0.2", "10.4")
def test_a_remote_added_during_a_task_is_no_tampering(place: Place) -> None:
    add = {"run": ["git", "remote", "add", "mine", "https://example.org/x.git"]}

    code, _, _ = carried(place, {"a": [[add, *writes("a.txt")]]}, {})

    assert code == 0


@pytest.mark.full
@pytest.mark.spec("0.2", "14.2")
def test_a_users_stash_popped_by_an_agent_is_reported_with_the_command_to_restore_it(
    place: Place,
) -> None:
    """All worktrees share one stash; an agent that stashes nothing and pops takes the user's."""
    (place.repo / "README").write_text("half done\n")
    place.git(*WHO, "stash")
    mine = place.git("rev-parse", "refs/stash")

    carried(place, {"a": [[{"run": ["git", "stash", "pop", "-q"]}, *writes("a.txt")]]}, {})

    told = [e["data"]["message"] for e in place.events() if e["event"] == "CHECKOUT_CHANGED"]
    assert [f"git stash store {mine}" in words for words in told] == [True]
    assert "git stash" in place.prompt(place.task("a"), 1)


@pytest.mark.full
@pytest.mark.spec("3.2", "0.2")
def test_ignored_source_files_of_an_agent_are_reported_as_not_landed(place: Place) -> None:
    """The check finds them in the worktree; whoever merges the branch does not."""
    (place.repo / ".gitignore").write_text("lib/\n*.log\nnode_modules/\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "a list")
    files = ("lib/impl.py", "a.log", "node_modules/x/index.js")
    acts = [{"write": dict.fromkeys(files, "x\n")}, *writes("a.txt")]

    code, _, entries = carried(place, {"a": [acts]}, {})

    told = [data["message"] for data in events(entries, "WARNING")]
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
    place: Place, files: dict[str, str], pattern: str, kind: str
) -> None:
    bad = [{"write": {"a.txt": "good\n", **files}}]
    good = [{"write": {"b.py": "x = 1\n"}}]

    code, task, entries = carried(place, {"a": [bad, good]}, {})

    assert (code, task["attempt"]) == (0, 2)
    failure = events(entries, "RETRY_DECISION")[0]["failure"]
    assert (failure["kind"], failure["pattern"]) == (kind, pattern)
    assert "b.py" in place.prompt(task, 2)


@pytest.mark.spec("6.6")
def test_a_deleted_test_is_escalated_and_its_waiver_is_recorded(place: Place) -> None:
    (place.repo / "test_it.py").write_text("def test_one():\n    assert False\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "a red test")
    acts = [{"delete": ["test_it.py"]}, *writes("a.txt")]

    code, _, entries = carried(place, {"a": [acts]}, {"retry": {"max_retries": 0}})

    assert code == 4
    failure = events(entries, "ESCALATE_DECISION")[0]["failure"]
    assert failure["pattern"] == "test-weakened"
    assert "test_one" in failure["message"]
    assert place.yaoki("answer", "a", "waive").code == 0
    assert place.yaoki("resume", "--quiet").code == 0
    assert place.task("a")["state"] == "DONE"


@pytest.mark.full
@pytest.mark.spec("6.6")
def test_a_script_that_a_check_passes_to_an_interpreter_belongs_to_the_check(place: Place) -> None:
    (place.repo / "look.py").write_text("raise SystemExit('not done')\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "a check")
    acts = [{"write": {"look.py": "\n", "a.txt": "good\n"}}]
    checks = {"look": {"run": ["python3", "look.py"]}}

    code, _, entries = carried(place, {"a": [acts]}, {"retry": {"max_retries": 0}}, checks=checks)

    assert code == 4
    assert events(entries, "ESCALATE_DECISION")[0]["failure"]["pattern"] == "test-weakened"


@pytest.mark.full
@pytest.mark.spec("6.6")
def test_a_plan_may_allow_weaker_tests(place: Place) -> None:
    (place.repo / "test_it.py").write_text("def test_one():\n    assert False\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "a red test")
    acts = [{"delete": ["test_it.py"]}, *writes("a.txt")]

    allowed = {"allow_weaker_tests": True, "scope": ["test_it.py", "a.txt"]}

    code, _, _ = carried(place, {"a": [acts]}, allowed)

    assert code == 0


@pytest.mark.full
@pytest.mark.spec("16.4", "0.1")
def test_a_passing_git_check_with_skipped_tests_does_not_land(place: Place) -> None:
    clean = {"shell": "git status --porcelain", "success": "empty"}
    tests = {"shell": "echo 3 tests failed; exit 1", "on_failure": "skip"}

    code, task, entries = carried(
        place, {"a": [writes("x.txt")]}, {}, checks={"clean": clean, "tests": tests}
    )

    assert (code, task["landed"]) == (4, None)
    outcomes = [data["outcome"] for data in events(entries, "CHECK_FINISHED")]
    assert outcomes[:2] == ["PASSED", "SKIPPED"]
    assert "nothing was proven" in task["question"]
