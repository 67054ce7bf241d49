"""Work that must be saved, and changes that must not be accepted silently."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, SETTINGS, Project, a_plan, file_contains, writes
from tests.acceptance.test_submodules import ALLOW

pytestmark = pytest.mark.acceptance
ONCE = {"retry": {"max_retries": 0}}


def run_failing_attempt(project: Project, line: str, check: str = "test -s never.txt") -> None:
    """One attempt with this line of shell, whose check then fails."""
    script = {"a": [[{"run": ["sh", "-c", line]}]]}
    tasks = [{"id": "a", "checks": ["ok"], **ONCE}]
    plan = project.plan(a_plan(script, tasks, {"ok": {"shell": check}}))
    assert project.yaoki("run", plan, "--quiet").code == 4


def saved_files(project: Project) -> str:
    """Every file of every ref that yaoki keeps."""
    refs = project.git("for-each-ref", "--format=%(refname)", "refs/yaoki").splitlines()
    return "\n".join(project.git("ls-tree", "-r", "--name-only", ref) for ref in refs)


@pytest.mark.spec("16.2", "0.2")
def test_a_commit_that_the_agent_reset_away_is_saved(project: Project) -> None:
    commit = f"echo x > precious.py; git add -A; git {' '.join(GIT_IDENTITY)} commit -qm precious"
    run_failing_attempt(project, f"{commit}; git reset -q --hard HEAD~1; echo y > other.txt")

    assert project.yaoki("answer", "a", "abort").code == 0
    project.yaoki("resume", "--quiet")

    assert "precious.py" in saved_files(project)


@pytest.mark.full
@pytest.mark.spec("8.5", "0.2")
def test_the_work_of_a_person_in_a_task_whose_need_is_given_up_is_saved_and_listed(
    project: Project,
) -> None:
    """No verification follows that would commit it, and the worktree is for a replacement."""
    last: dict[str, Any] = {"id": "b", "checks": ["b"], "needs": ["a"], **ONCE}
    tasks = [{"id": "a", "checks": ["a"]}, last]
    checks = {"a": file_contains("a.txt"), "b": file_contains("b.txt")}
    script = {"a": [writes("a.txt")], "b": [writes("b.txt", "bad\n")]}
    assert project.yaoki("run", project.plan(a_plan(script, tasks, checks)), "--quiet").code == 4
    blocked = project.task("b")
    assert project.yaoki("undo", "a").code == 0
    (worktree,) = (project.home / "worktrees").glob(f"*/{blocked['id']}")
    (worktree / "person.txt").write_text("mine\n")
    answered = project.yaoki("answer", "b", "done")
    assert f"but only after a has landed: yaoki why {project.task('a')['id']}" in answered.out

    aborted = project.yaoki("answer", "a", "abort")
    assert project.yaoki("resume", "--quiet").code == 3
    listed = project.yaoki("recover", "b")

    restore = f"yaoki recover {blocked['id']}"
    assert f"b cannot start without it; its work is saved: {restore}" in aborted.out
    assert listed.out.count("changed after the attempt") == 1, listed.out
    command = f"{restore} --attempt 1 --branch NAME"
    assert listed.out.splitlines()[-1] == f"next: {command}"
    project.yaoki("recover", blocked["id"], "--attempt", "1", "--branch", "mine")
    assert project.git("show", "mine:person.txt") == "mine"
    kept = project.query("report", "--json").document["kept"]["work"]
    saved = [one for one in kept if one["task"] == blocked["id"]]
    assert len(saved) > 1, "the agent's work, and the same with the person's"
    for n, one in enumerate(saved):
        project.yaoki(*one["command"].replace("NAME", f"saved-{n}").split()[1:])
        assert project.git("rev-parse", f"saved-{n}") == one["commit"], one


@pytest.mark.full
@pytest.mark.spec("8.5", "12.1")
def test_the_saved_work_of_landed_tasks_is_marked(project: Project) -> None:
    """People look for the work that did not land."""
    failing: dict[str, Any] = {"id": "b", "checks": ["b"], **ONCE}
    tasks = [failing, {"id": "a", "checks": ["a"]}]
    checks = {"a": file_contains("a.txt"), "b": file_contains("b.txt")}
    script = {"a": [writes("a.txt")], "b": [writes("b.txt", "bad\n")]}
    plan = project.plan(a_plan(script, tasks, checks))
    assert project.yaoki("run", plan, "--quiet", "--parallel", "1").code == 4
    landed, failed = project.task("a")["id"], project.task("b")["id"]

    listed = project.yaoki("recover")
    kept = project.query("recover", "--json").document["kept"]

    marked = [line for line in listed.out.splitlines() if "; its task has landed" in line]
    assert [line.split()[0] for line in marked] == [landed], listed.out
    assert {one["task"]: one["task_landed"] for one in kept} == {landed: True, failed: False}
    command = f"yaoki recover {failed} --attempt 1 --branch NAME"
    assert listed.out.splitlines()[-1] == f"next: {command}"


@pytest.mark.spec("8.5", "12.1")
def test_recover_prefers_the_attempt_that_came_furthest_and_says_how_each_ended(
    project: Project,
) -> None:
    """The newest attempt is often the worst: the agent was asked to change what was good."""
    conflicting = "<<<<<<< a\ngood\n=======\nbad\n>>>>>>> b\n"
    script = {
        "a": [
            [{"write": {"a.txt": "good\n", "README": "more\n"}}],
            writes("a.txt", "bad\n"),
            writes("a.txt", conflicting),
        ]
    }
    task = {"id": "a", "checks": ["ok"], "scope": ["a.txt"], "retry": {"max_retries": 2}}
    plan = project.plan(a_plan(script, [task], {"ok": file_contains("a.txt")}))
    assert project.yaoki("run", plan, "--quiet").code == 4
    name = project.task("a")["id"]

    listed = project.yaoki("recover", "a")
    kept = project.query("recover", "--json").document["kept"]
    project.yaoki("recover", "a", "--branch", "best")

    lines = [line for line in listed.out.splitlines() if line.startswith(name)]
    ends = [line.rpartition("; ")[2] for line in lines]
    assert ends[0] == "its checks passed, but not scope", listed.out
    assert ends[1] == "failed: scope, ok", listed.out
    assert "conflict-markers" in ends[2], listed.out
    assert listed.out.splitlines()[-1] == f"next: yaoki recover {name} --attempt 1 --branch NAME"
    assert [one["end"] for one in kept] == ["CHECKED", "FAILED", "CONFLICTED"]
    assert project.git("show", "best:README") == "more"


@pytest.mark.spec("14.4", "0.2")
def test_a_file_that_git_refuses_goes_back_to_the_agent_in_the_words_of_git(
    project: Project,
) -> None:
    """The agent gave its file an encoding that it does not have; no person can help there."""
    wrong = "echo good > a.txt; echo '*.txt working-tree-encoding=UTF-16' > .gitattributes"
    script = {"a": [[{"run": ["sh", "-c", line]}] for line in (wrong, "rm .gitattributes")]}
    tasks = [{"id": "a", "checks": ["ok"]}]
    plan = project.plan(a_plan(script, tasks, {"ok": file_contains("a.txt")}))

    done = project.yaoki("run", plan)

    assert done.code == 0, done.out
    task = project.task("a")
    assert (task["state"], task["attempt"]) == ("DONE", 2)
    assert "fatal: BOM is required in 'a.txt' if encoded as UTF-16" in project.prompt(task, 2)
    assert "needs you" not in done.out
    assert "a.txt" in saved_files(project)


@pytest.mark.full
@pytest.mark.spec("14.4", "16.10")
def test_a_retry_does_not_accept_a_changed_git_configuration(project: Project) -> None:
    line = "git config filter.x.smudge cat; echo good > a.txt"
    script = {"a": [[{"run": ["sh", "-c", line]}], writes("a.txt")]}
    tasks = [{"id": "a", "checks": ["ok"], "retry": {"max_retries": 3}}]
    plan = project.plan(a_plan(script, tasks, {"ok": file_contains("a.txt")}))
    assert project.yaoki("run", plan, "--quiet").code == 4

    assert project.yaoki("answer", "a", "retry").code == 0
    again = project.yaoki("resume", "--quiet")

    assert again.code == 4, again.out
    assert "git's own configuration changed" in project.task("a")["question"]
    project.git("config", "--unset", "filter.x.smudge")
    assert project.yaoki("answer", "a", "retry").code == 0
    assert project.yaoki("resume", "--quiet").code == 0


@pytest.mark.spec("14.3", "14.4")
def test_the_change_of_an_agent_that_ended_its_own_shim_is_compared_by_the_next_attempt(
    project: Project,
) -> None:
    """Nobody could compare at the end of the lost attempt, and the next one took the changed
    state as its base.
    """
    lost = "git config core.fsmonitor /bin/false; kill -9 $PPID; sleep 1"
    act = f"test $YAOKI_ATTEMPT != 1 || {{ {lost}; }}; echo good > a.txt"
    plan = {
        "goal": "x",
        "agents": {"m": {"command": ["sh", "-c", act]}},
        "agent": "m",
        "checks": {"ok": file_contains("a.txt")},
        "tasks": [{"id": "a", "goal": "x", "retry": {"max_retries": 3}}],
    }

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out
    assert (project.task("a")["state"], project.task("a")["attempt"]) == ("ESCALATED", 2)
    assert "git's own configuration changed" in project.task("a")["question"]


@pytest.mark.full
@pytest.mark.spec("10.4", "16.4")
def test_a_waived_check_is_not_shown_as_verified(project: Project) -> None:
    run_failing_attempt(project, "echo good > a.txt")
    assert project.yaoki("answer", "a", "waive", "--check", "ok").code == 0

    done = project.yaoki("resume")

    assert done.code == 0, done.out
    assert "proven on" not in done.out
    assert "accepted without a proof on" in done.out
    verified = project.yaoki("verify", project.status()["run"])
    assert "has passing checks" not in verified.out


@pytest.mark.full
@pytest.mark.spec("16.2", "0.2")
def test_files_in_a_submodule_are_saved_and_ignored_files_too_large_for_that_are_reported(
    project: Project,
) -> None:
    """They are deleted with the worktree, so the answer `abort` names them before.  The submodule
    is not checked out.
    """
    library = project.folder / "library"
    project.git("clone", "-q", str(project.repo), str(library))
    project.git(*ALLOW, "add", str(library), "mod")
    (project.repo / ".gitignore").write_text("*.bin\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "ignore")
    project.settings(f"{SETTINGS}saved_bytes = 1000\n")
    run_failing_attempt(
        project,
        "head -c 2000 /dev/zero > big.bin; echo small > small.bin; echo y > y.txt;"
        " echo two > mod/lib.py",
    )

    told = project.yaoki("answer", "a", "abort")
    project.yaoki("resume", "--quiet")

    assert told.code == 0, told.err
    assert "mod/lib.py" in saved_files(project)
    assert "not saved: big.bin" in told.out
    assert "small.bin" not in told.out
    assert f"copy what you need from {project.home}" in told.out
    assert "ignored files; 1 is too large to save" in project.yaoki("recover").out
