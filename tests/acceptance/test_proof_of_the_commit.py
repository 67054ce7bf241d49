"""Checks verify the commit: files beside it neither help nor get lost."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project

pytestmark = pytest.mark.acceptance
ONCE = {"retry": {"max_retries": 0}}


def a_plan(act: str, checks: dict[str, Any], **task: Any) -> dict[str, Any]:
    """One task whose agent is a line of shell."""
    return {
        "goal": "Truth",
        "agents": {"m": {"command": ["sh", "-c", act], "prompt": "argument"}},
        "agent": "m",
        "checks": checks,
        "tasks": [{"id": "core", "goal": "Do it.", **task}],
    }


@pytest.mark.spec("16.1", "16.2", "0.1", "0.2")
def test_work_in_an_ignored_file_fails_is_named_and_can_be_recovered(project: Project) -> None:
    """The agent ignores its own work: the check passed in its worktree, then it was deleted.

    A person who takes over and finds the file there is told the same.
    """
    act = "mkdir -p app; echo core.py > app/.gitignore; echo 'x = 42' > app/core.py"
    check = {"run": ["python3", "-c", "from app.core import x; assert x == 42"]}

    ran = project.yaoki("run", project.plan(a_plan(act, {"works": check}, **ONCE)))

    assert ran.code == 4
    task = project.task("core")
    assert task["state"] == "ESCALATED"
    named = "app/core.py (ignored by app/.gitignore:1 core.py)"
    assert named in task["question"]
    project.yaoki("answer", "core", "done")
    assert project.yaoki("resume").code == 4
    task = project.task("core")
    assert task["attempt"] == 2
    assert named in task["question"]
    project.yaoki("answer", "core", "abort")
    project.yaoki("resume")
    ref = next(
        line.split()[0]
        for line in project.git(
            "for-each-ref", "--format=%(refname)", "refs/yaoki/work"
        ).splitlines()
        if line.endswith("-ignored")
    )
    assert project.git("show", f"{ref}:app/core.py") == "x = 42"


@pytest.mark.spec("3.5")
def test_an_idle_agent_on_a_passing_base_is_retried_once_and_then_escalated(
    project: Project,
) -> None:
    checks = {"green": {"shell": "grep -q hello README"}}
    act = 'echo "$1" >> ../prompts-of-core; echo "Added mul(), all tests pass."'
    plan = a_plan(act, checks)
    plan["agents"]["m"]["command"].append("agent")

    ran = project.yaoki("run", project.plan(plan))

    assert ran.code == 4
    task = project.task("core")
    assert (task["state"], task["reason"], task["attempt"]) == ("ESCALATED", "NEEDS_HUMAN", 2)
    assert "nothing was changed" in task["question"]
    assert "Added mul(), all tests pass." in task["question"]
    accepted = project.yaoki("answer", "core", "waive", "--check", "no-change")
    assert accepted.code == 0, accepted.err
    assert project.yaoki("resume").code == 0
    assert project.task("core")["state"] == "DONE"

    undone = project.yaoki("undo", "core")
    assert undone.code == 6, undone.out
    assert "core landed no commit of its own, so there is nothing to revert" in undone.err
    assert f"yaoki retry {task['id']}" in undone.err
    assert project.status()["status"] == "DONE"
    retried = project.yaoki("retry", "core")
    assert retried.code == 0
    assert f"core ({task['id']}): it will be retried" in retried.out
    assert "reverted" not in retried.out
    assert project.task("core")["state"] == "WAITING"


@pytest.mark.spec("9.6")
def test_a_retry_of_a_landed_task_says_that_its_work_was_reverted(project: Project) -> None:
    checks = {"there": {"shell": "test -f a.txt"}}
    assert project.yaoki("run", project.plan(a_plan("echo 1 > a.txt", checks))).code == 0

    retried = project.yaoki("retry", "core")

    assert f"core ({project.task('core')['id']}): reverted; it will be retried" in retried.out


@pytest.mark.spec("16.3")
def test_new_files_outside_the_scope_are_left_out_saved_and_named(project: Project) -> None:
    act = "mkdir -p src; echo 1 > src/a.txt; echo notes > NOTES.md"
    checks = {"there": {"shell": "test -f src/a.txt && test ! -e NOTES.md"}}

    ran = project.yaoki("run", project.plan(a_plan(act, checks, scope=["src/**"])))

    assert ran.code == 0, ran.out
    branch = project.status()["run_branch"]
    assert project.git("ls-tree", "-r", "--name-only", branch).split() == [
        "README",
        "src/a.txt",
        "yaoki.toml",
    ]
    assert "NOTES.md" in ran.out
    saved = project.git("for-each-ref", "--format=%(refname)", "refs/yaoki/work").split()
    ref = next(name for name in saved if name.endswith("-outside"))
    assert project.git("show", f"{ref}:NOTES.md") == "notes"


@pytest.mark.full
@pytest.mark.spec("16.1", "3.5")
def test_a_check_sees_the_commit_and_nothing_else(project: Project) -> None:
    """No mark in the home or temporary folder, no file of another check, no trace of yaoki, no
    file outside the repository; and a task that may change nothing is done when its check passes.
    """
    project.env |= {"HOME": str(project.folder / "own"), "TMPDIR": str(project.folder / "tmp")}
    for name in ("own", "tmp"):
        (project.folder / name).mkdir()
    outside = project.folder / "outside.txt"
    outside.write_text("good\n")
    clean = "! env | grep -i yaoki && ! pwd | grep -i yaoki && test -d .git && test ! -e left"
    checks = {
        "home": {"shell": "test -f $HOME/mark-of-the-agent"},
        "temporary": {"shell": "test -f ${TMPDIR:-/tmp}/mark-of-the-agent"},
        "link": {"shell": "grep good a.txt"},
        "first": {"shell": f"{clean} && touch left"},
        "second": {"shell": clean},
        "green": {"shell": "grep -q hello README"},
    }
    acts = {
        "home": "echo 1 > $HOME/mark-of-the-agent; echo x > home.txt",
        # The agent's own folder is deleted with it; the one around it stays.
        "temporary": "echo 1 > ${TMPDIR%/*}/mark-of-the-agent; echo x > temporary.txt",
        "link": f"ln -s {outside} a.txt",
        "clean": "echo x > x",
        "idle": "echo nothing",
    }
    case = "".join(f"{name}) {act};; " for name, act in acts.items())
    more: dict[str, dict[str, Any]] = {
        **{name: {"checks": [name], **ONCE} for name in ("home", "temporary", "link")},
        "clean": {"checks": ["first", "second"]},
        "idle": {"checks": ["green"], "may_change_nothing": True},
    }
    plan = a_plan(f'case "$YAOKI_TASK_NAME" in {case}esac', checks)
    plan["tasks"] = [{"id": name, "goal": "Do it.", **more[name]} for name in acts]

    ran = project.yaoki("run", project.plan(plan))

    assert ran.code == 4, ran.out
    states = {task["name"]: task["state"] for task in project.status()["tasks"]}
    escalated = dict.fromkeys(("home", "temporary", "link"), "ESCALATED")
    assert {name: states[name] for name in acts} == {
        **escalated,
        "clean": "DONE",
        "idle": "DONE",
    }
    assert len(list(project.folder.glob("*/mark-of-the-agent"))) == 2, "the agents left their marks"
    question = project.task("link")["question"]
    assert "leads out of the repository" in question or "lead out of the repository" in question


BUILD = "mkdir -p lib && cat src/*.py > lib/program.py"
INSTALL = """\
place=lib/python3/site-packages; mkdir -p $place/program.dist-info; cp src/program.py $place/
echo '{"dir_info": {}, "url": "file:///x"}' > $place/program.dist-info/direct_url.json
"""


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("setup", ["cp -r src lib", BUILD, INSTALL])
@pytest.mark.spec("16.1", "3.1")
def test_a_change_is_never_proven_with_what_set_up_made_of_other_sources(
    project: Project, setup: str
) -> None:
    """The check passes with the program that set-up built before the task broke it."""
    (project.repo / ".gitignore").write_text("lib/\n")
    (project.repo / "src").mkdir()
    (project.repo / "src" / "program.py").write_text("def f():\n    return 1\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a build")
    check = {"shell": "grep -q 'return 1' $(find lib -name program.py)"}
    act = "echo new > new.txt; echo 'def f(): return 2' > src/program.py"
    plan = {**a_plan(act, {"ok": check}, **ONCE), "setup": [["sh", "-c", setup]]}

    ran = project.yaoki("run", project.plan(plan))

    assert ran.code == 4, ran.out
    assert project.task("core")["state"] == "ESCALATED"


def two_tasks(first: str, second: str, **more: Any) -> dict[str, Any]:
    """Two tasks, each with its own check; the second needs the first."""
    act = f'case "$YAOKI_TASK_NAME" in one) {first};; *) {second};; esac'
    checks = {
        "one": {"shell": "python3 -c 'from m import f; assert f() == 1'"},
        "two": {"shell": "python3 -c 'import use'"},
    }
    tasks = [
        {"id": "one", "goal": "Do it.", "checks": ["one"], **ONCE},
        {"id": "two", "goal": "Do it.", "checks": ["two"], "needs": ["one"], **ONCE},
    ]
    return {**a_plan(act, checks), "tasks": tasks, **more}


F = "echo 'def f(): return 1' > m.py"


@pytest.mark.spec("16.14", "0.1")
def test_a_landing_that_breaks_an_earlier_one_is_sent_back(project: Project) -> None:
    plan = two_tasks(F, "echo 'def f(): return 2' > m.py; echo 'import m' > use.py")

    ran = project.yaoki("run", project.plan(plan))

    assert ran.code == 4, ran.out
    states = {task["name"]: task["state"] for task in project.status()["tasks"]}
    assert states["one"] == "DONE"
    assert states["two"] != "DONE"
    project.git("checkout", "-q", "--detach", project.status()["run_branch"])
    assert "return 1" in (project.repo / "m.py").read_text()


@pytest.mark.spec("16.6", "3.5")
def test_a_done_task_without_changes_can_be_retried(project: Project) -> None:
    checks = {"green": {"shell": "grep -q hello README"}}
    act = "test -e ../again && echo x > x.txt; touch ../again"
    assert (
        project.yaoki("run", project.plan(a_plan(act, checks, may_change_nothing=True))).code == 0
    )

    again = project.yaoki("retry", "core", "Do the work this time.")

    assert again.code == 0, again.err
    assert project.yaoki("resume").code == 0
    branch = project.status()["run_branch"]
    assert "x.txt" in project.git("ls-tree", "--name-only", branch)


@pytest.mark.spec("3.1", "2.2")
def test_a_check_whose_program_is_missing_is_refused_before_any_agent_runs(
    project: Project,
) -> None:
    plan = a_plan(f"touch {project.folder}/called", {"tests": {"run": ["pytset-of-nobody", "-q"]}})

    ran = project.yaoki("run", project.plan(plan))

    assert ran.code == 2
    assert "check tests: the program 'pytset-of-nobody' is not on the PATH" in ran.err
    assert not (project.folder / "called").exists()
    assert not project.has_store()
