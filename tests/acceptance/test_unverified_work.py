"""Unverified work is never a success, and every question can be answered."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, SETTINGS, Project, a_plan, file_contains, writes
from tests.acceptance.test_agent_failures import SOON, event_data, failure_kinds, run_one_task

pytestmark = pytest.mark.acceptance


def commit(project: Project, files: dict[str, str]) -> None:
    for path, text in files.items():
        (project.repo / path).write_text(text)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a base")


def journal(project: Project, task: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = project.query("trace", task, "--json").document["entries"]
    return entries


def run_tasks(
    project: Project, acts: dict[str, Any], tasks: dict[str, Any], checks: dict[str, Any]
) -> int:
    """One after the other in this order; each has the check of its name and changes its own file.

    A name without a check gets one that its file holds what it should.
    """
    every = {name: file_contains(f"{name}.txt") for name in acts} | checks
    used = {name for task in tasks.values() for name in task.get("checks", ())}
    held = [{"id": name, "checks": [name], **tasks.get(name, {})} for name in acts]
    used |= {name for task in held for name in task["checks"]}
    plan = a_plan(acts, held, {name: check for name, check in every.items() if name in used})
    if any(task.get("agent") == "other" for task in held):
        plan["agents"]["other"] = {**plan["agents"]["actor"], "account": "other"}
    return project.yaoki("run", project.plan(plan), "--quiet", "--parallel", "1").code


UNFINISHED: dict[str, list[Any]] = {
    "half": [{"say": "half a report"}, {"exit": 1}],
    "silent": [{"complain": "only on the error channel"}],
    "limited": [{"complain": "Error: 429 Too Many Requests"}, {"exit": 1}],
}


@pytest.mark.full
@pytest.mark.spec("0.1", "3.3", "1.2", "3.5", "6.6", "16.4")
def test_unverified_work_is_escalated(project: Project) -> None:
    """Checks that change files, are rewritten or were skipped; agents that did not finish."""
    impatient = "[retry]\naccount_wait_max_s = 1.0\naccount_probe_max_s = 0.4\n"
    project.settings(SETTINGS + SOON.format(kind="RATE_LIMIT") + impatient)
    commit(project, {"empty.txt": "good\n", "look.py": "raise SystemExit('not done')\n"})
    empty = {"run": ["git", *GIT_IDENTITY, "commit", "--allow-empty", "-qm", "x"]}
    once = {"retry": {"max_retries": 0}}
    acts: dict[str, Any] = {
        "fix": [writes("fix.txt")],
        "look": [[{"write": {"look.py": "\n", "look.txt": "good\n"}}]],
        "clean": [writes("x.txt")],
        # The limit first, then nothing twice: the agent is asked once more, then a person.
        "empty": [[empty, {"rate_limit": {"retry_after": 0}}], ["nothing"]],
        **{name: [held] for name, held in UNFINISHED.items()},
    }
    tasks: dict[str, Any] = {
        "fix": {"checks": ["mends", "fix"]},
        "look": once,
        "clean": {"checks": ["clean", "tests"]},
        **{name: {"kind": "report", "checks": [], **once} for name in UNFINISHED},
    }
    # Its account is closed, and then a person is asked about it.
    tasks["limited"]["agent"] = "other"
    checks = {
        "mends": {"shell": "echo more >> fix.txt && test -s fix.txt"},
        "look": {"run": ["python3", "look.py"]},
        "clean": {"shell": "git status --porcelain", "success": "empty"},
        "tests": {"shell": "echo 3 tests failed; exit 1", "on_failure": "skip"},
    }

    code = run_tasks(project, acts, tasks, checks)

    ended = {name: project.task(name) for name in acts}
    assert code == 4
    assert {(task["state"], task["landed"]) for task in ended.values()} == {("ESCALATED", None)}
    words = "its result cannot be trusted: the check itself changed files: fix.txt"
    assert words in ended["fix"]["question"]
    # A script that a check passes to an interpreter belongs to the check.
    failure = event_data(journal(project, "look"), "ESCALATE_DECISION")[0]["failure"]
    assert failure["pattern"] == "test-weakened"
    outcomes = [data["outcome"] for data in event_data(journal(project, "clean"), "CHECK_FINISHED")]
    assert outcomes[:2] == ["PASSED", "SKIPPED"]
    assert "nothing was proven" in ended["clean"]["question"]
    kinds = failure_kinds(journal(project, "empty"))
    assert kinds == ["RATE_LIMIT", "INCOMPLETE", "INCOMPLETE"]


def untracks(lists: str) -> list[dict[str, Any]]:
    return [
        {"write": {".gitignore": f"{lists}kept.py\n", "kept.py": "new = 1\n"}},
        {"run": ["git", "rm", "-q", "--cached", "kept.py"]},
        {"run": ["git", "add", ".gitignore"]},
        {"run": ["git", *GIT_IDENTITY, "commit", "-qm", "untrack"]},
    ]


@pytest.mark.full
@pytest.mark.spec("0.2", "10.4", "14.2", "3.2", "6.6")
def test_what_is_only_noticed_does_not_keep_verified_work_from_landing(project: Project) -> None:
    """A new remote, weaker tests that the plan allows, the user's stash, ignored files, and a file
    that the agent removes from git and keeps.
    """
    lists = "lib/\n*.log\nnode_modules/\n"
    test = "def test_one():\n    assert False\n"
    commit(project, {".gitignore": lists, "test_it.py": test, "kept.py": "old = 1\n"})
    # All worktrees share one stash; an agent that stashes nothing and pops takes the user's.
    (project.repo / "README").write_text("half done\n")
    project.git(*GIT_IDENTITY, "stash")
    mine = project.git("rev-parse", "refs/stash")
    add = {"run": ["git", "remote", "add", "mine", "https://example.org/x.git"]}
    ignored = ("lib/impl.py", "a.log", "node_modules/x/index.js")
    acts = {
        "remote": [[add, *writes("remote.txt")]],
        "weaker": [[{"delete": ["test_it.py"]}, *writes("weaker.txt")]],
        "ignored": [[{"write": dict.fromkeys(ignored, "x\n")}, *writes("ignored.txt")]],
        "stash": [[{"run": ["git", "stash", "pop", "-q"]}, *writes("stash.txt")]],
        "keeps": [[*untracks(lists), *writes("keeps.txt")]],
    }
    allowed = {"allow_weaker_tests": True, "scope": ["test_it.py", "weaker.txt"]}

    code = run_tasks(project, acts, {"weaker": allowed}, {})

    assert code == 0
    assert {project.task(name)["state"] for name in acts} == {"DONE"}
    told = [data["message"] for data in event_data(journal(project, "ignored"), "WARNING")]
    assert len(told) == 1, told
    assert "will not land: lib/impl.py; see .gitignore" in told[0]
    entries = [d["message"] for d in event_data(journal(project, "stash"), "CHECKOUT_CHANGED")]
    assert [f"git stash store {mine}" in words for words in entries] == [True]
    assert "git stash" in project.prompt(project.task("stash"), 1)
    told = [data["message"] for data in event_data(journal(project, "keeps"), "WARNING")]
    assert any("will not land: kept.py; see .gitignore" in words for words in told), told


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
@pytest.mark.spec("10.4", "12.1", "8.6", "8.2")
def test_findings_final_checks_and_checks_that_could_not_run_have_their_answers(
    project: Project,
) -> None:
    """A built-in finding is waived by its name; a final check can be waived and not taken over; a
    worktree that the person deleted while a check could not run is rebuilt: the work is on a ref.
    """
    commit(project, {"b.py": "x = 0\n", "c.py": "x = 0\n"})
    tool = project.folder / "tool.sh"
    once = {"retry": {"max_retries": 0}}
    plan = a_plan(
        {
            "scope": [[{"write": {"scope.txt": "good\n", "b.py": "x = 1  # TODO: more\n"}}]],
            "Q2": [[{"write": {"Q2.txt": "good\n", "c.py": "x = 1  # TODO: more\n"}}]],
            "tool": [writes("tool.txt")],
        },
        [
            {"id": "scope", "checks": ["scope-good"], "scope": ["scope.txt"], "quality": ["Q1"]}
            | once,
            {"id": "Q2", "checks": ["Q2-good"], **once},
            {"id": "tool", "checks": ["tool", "tool-good"]},
        ],
        {
            **{f"{name}-good": file_contains(f"{name}.txt") for name in ("scope", "Q2", "tool")},
            "tool": {"run": [str(tool)]},
            "never": {"shell": "exit 1"},
        },
        done_when=["never"],
    )
    assert project.yaoki("run", project.plan(plan)).code == 4
    assert {project.task(name)["state"] for name in ("scope", "Q2", "tool")} == {"ESCALATED"}
    task = project.task("tool")
    assert task["reason"] == "SYSTEM_ERROR_PERMANENT"
    worktree = next((project.home / "worktrees").glob(f"*/{task['id']}"))
    worktree.rename(project.folder / "elsewhere")
    tool.write_text("#!/bin/sh\nexit 0\n")
    tool.chmod(0o755)

    for name in ("scope", "Q2"):
        assert project.yaoki("answer", name, "waive", "--check", name).code == 0
    project.yaoki("answer", "tool", "retry")
    resumed = project.yaoki("resume", "--quiet")
    document = project.yaoki("answer", "done_when", "--json").document
    assert project.yaoki("answer", "done_when", "waive").code == 0
    again = project.yaoki("resume", "--quiet")

    assert (resumed.code, again.code) == (4, 0), resumed.out + again.out
    assert "done" not in str(document["choices"])
    assert project.task("tool")["attempt"] == 1, "the agent was not asked again"
    branch = project.status()["run_branch"]
    report = project.yaoki("report", "--format", "json").document
    proofs = {task["name"]: task["proof"]["checks"] for task in report["tasks"] if task["proof"]}
    for name, file in (("scope", "b.py"), ("Q2", "c.py")):
        assert project.show(branch, file).startswith("x = 1")
        outcomes = {check["check"]: check["outcome"] for check in proofs[name]}
        assert outcomes == {name: "WAIVED", f"{name}-good": "PASSED"}
    assert report["numbers"]["waived"] == 3, "never called proven without that word"


@pytest.mark.full
@pytest.mark.spec("11.5", "10.4")
def test_an_aborted_run_does_not_count_as_pending(project: Project) -> None:
    with (project.repo / "yaoki.toml").open("a") as settings:
        settings.write("pending_runs = 1\n")
    run_one_task(project, {"a": [[{"ask": "Go on?"}]]}, {})

    assert project.yaoki("answer", "a", "abort").code == 0
    code, _, _ = run_one_task(project, {"a": [writes("a.txt")]}, {})

    assert code == 0


# ------------------------------------------------------------------ quality and integrity


@pytest.mark.spec("4.3", "4.4", "4.5")
def test_a_quality_violation_in_the_diff_is_sent_back_with_its_file(project: Project) -> None:
    """The other criteria are tested with the quality of a diff."""
    todo = {"b.txt": "good\n", "b.py": "x = 1  # TODO: the rest\n"}
    acts = {"b": [[{"write": todo}], [{"write": {"b.py": "x = 1\n"}}]]}

    assert run_tasks(project, acts, {}, {}) == 0

    task, entries = project.task("b"), journal(project, "b")
    assert task["attempt"] == 2
    failure = event_data(entries, "RETRY_DECISION")[0]["failure"]
    assert (failure["kind"], failure["pattern"]) == ("QUALITY_FAILURE", "todo-added")
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
