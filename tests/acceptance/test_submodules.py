"""An agent commits inside a submodule without pushing: the commit is saved with the landing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("8.2", "0.2")]
ALLOW = ("-c", "protocol.file.allow=always", "submodule", "--quiet")


def test_the_commit_of_a_landed_submodule_is_saved_and_its_ref_is_reported(
    project: Project,
) -> None:
    library = project.folder / "library"
    project.git("clone", "-q", str(project.repo), str(library))
    project.git(*ALLOW, "add", str(library), "mod")
    project.git(*GIT_IDENTITY, "commit", "-qm", "with a submodule")
    inside = f"git {' '.join(ALLOW)} update --init && cd mod && echo new > new.txt && git add ."
    done = f"{inside} && git {' '.join(GIT_IDENTITY)} commit -qm inside"
    script = {"a": [[{"run": ["sh", "-c", done]}]]}
    plan = a_plan(script, [{"id": "a", "checks": ["ok"]}], {"ok": {"shell": "test -s README"}})

    ran = project.yaoki("run", project.plan(plan))

    assert ran.code == 0, ran.out + ran.err
    link = project.git("rev-parse", f"{project.status()['run_branch']}:mod")
    assert link != project.git("rev-parse", "main:mod")
    assert project.git("show", f"{link}:new.txt") == "new"
    warned = [e for e in project.events("a") if e["event"] == "WARNING"]
    assert [e["data"]["message"].startswith(f"submodule mod points at {link}") for e in warned] == [
        True
    ]
    assert f"{link}:refs/heads/{project.task('a')['id']}" in ran.out
    assert f"refs/yaoki/work/{project.task('a')['id']}/1-submodule" in project.yaoki("report").out


def add_submodule(project: Project) -> None:
    """A submodule with a file, checked out in the user's checkout."""
    library = project.folder / "library"
    project.git("clone", "-q", str(project.repo), str(library))
    project.git("-C", str(library), *GIT_IDENTITY, "commit", "-q", "--allow-empty", "-m", "first")
    project.git(*ALLOW, "add", str(library), "libs/mod")
    project.git(*GIT_IDENTITY, "commit", "-qm", "with a submodule")


NEEDS_MODULE = {"shell": "test -s libs/mod/README && git -C libs/mod rev-parse HEAD"}


@pytest.mark.spec("3.1", "16.1")
def test_worktrees_and_proof_rooms_have_the_submodules_of_the_checkout(project: Project) -> None:
    """Nothing is fetched: the remote of the submodule is gone."""
    add_submodule(project)
    project.folder.joinpath("library").rename(project.folder / "gone")
    spoils = "test -s libs/mod/README && rm -rf libs/mod && test ! -d libs/mod"
    checks = {
        "spoils": {"shell": spoils},
        "module": NEEDS_MODULE,
        "clean": {"shell": 'test -z "$(git status --porcelain)" && test -s a.txt'},
    }
    reads = {"run": ["sh", "-c", "cat libs/mod/README > a.txt; git status --porcelain > seen.txt"]}
    script = {"a": [[reads]], "b": [[{"write": {"b.txt": "b\n"}}]]}
    tasks = [
        {"id": "a", "checks": list(checks)},
        {"id": "b", "needs": ["a"], "checks": ["module", "clean"]},
    ]

    ran = project.yaoki("run", project.plan(a_plan(script, tasks, checks)))

    assert ran.code == 0, ran.out + ran.err
    assert "submodule" not in ran.out
    branch = project.status()["run_branch"]
    assert project.git("show", f"{branch}:a.txt") == "hello"
    assert "libs" not in project.git("show", f"{branch}:seen.txt")
    assert project.git("rev-parse", f"{branch}:libs/mod") == project.git(
        "rev-parse", "main:libs/mod"
    )
    assert project.git("status", "--porcelain") == ""
    assert project.git("config", "--local", "--get-regexp", "^submodule") != ""


@pytest.mark.spec("12.1")
def test_an_untracked_folder_is_named_once_with_the_number_of_its_files(project: Project) -> None:
    """An environment that git does not ignore has thousands of files."""
    programs = project.repo / ".venv" / "bin"
    programs.mkdir(parents=True)
    for n in range(8):
        (programs / f"p{n}").write_text("x\n")
    (project.repo / "docs").mkdir()
    (project.repo / "docs" / "new.txt").write_text("new\n")
    (project.repo / "README").write_text("edited\n")
    plan = a_plan(
        {"a": [[{"write": {"a.txt": "a\n"}}]]},
        [{"id": "a", "checks": ["ok"]}],
        {"ok": {"shell": "test -s a.txt"}},
    )

    ran = project.yaoki("run", project.plan(plan))

    assert ran.code == 0, ran.out + ran.err
    names = ".venv/ (untracked, 8 files), docs/new.txt (untracked), README"
    said = " ".join(ran.out.split())
    assert f"note: 10 uncommitted files are not part of this run: {names}" in said


@pytest.mark.spec("0.6", "12.1")
def test_a_run_says_which_parts_of_the_repository_it_cannot_have(project: Project) -> None:
    add_submodule(project)
    (project.repo / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    project.git("add", ".gitattributes")
    project.git(*GIT_IDENTITY, "commit", "-qm", "large files")
    project.git("submodule", "deinit", "-q", "-f", "libs/mod")
    (project.repo / ".git" / "modules").rename(project.folder / "modules")
    (project.repo / "own.txt").write_text("mine\n")
    (project.repo / "README").write_text("edited\n")
    plan = a_plan(
        {"a": [[{"write": {"a.txt": "a\n"}}]]},
        [{"id": "a", "checks": ["ok"]}],
        {"ok": {"shell": "test -s a.txt"}},
    )

    ran = project.yaoki("run", project.plan(plan))

    assert ran.code == 0, ran.out + ran.err
    said = " ".join(ran.out.split())
    assert "note: 2 uncommitted files are not part of this run: own.txt (untracked), README" in said
    assert "no files of submodules that your checkout lacks: libs/mod; first: git submodule" in said
    assert "files of git LFS are pointers here" in said


MOVE = f"git -C libs/mod {' '.join(GIT_IDENTITY)} commit -q --allow-empty -m moved"


@pytest.mark.full
@pytest.mark.spec("3.1", "3.2", "16.1")
def test_a_submodule_that_set_up_moved_is_no_change_of_the_agent(project: Project) -> None:
    """Neither alone nor in a second attempt, and an agent that moves it lands that."""
    add_submodule(project)
    checks = {
        "a": {"shell": "test -s a.txt && ! grep bad a.txt"},
        "moved": {"shell": "test -s b.txt"},
    }
    everything = f"echo good > a.txt; git add -A; git {' '.join(GIT_IDENTITY)} commit -qm all"
    script = {
        "a": [[{"write": {"a.txt": "bad\n"}}], [{"run": ["sh", "-c", everything]}]],
        "b": [[{"write": {"b.txt": "b\n"}}, {"run": ["sh", "-c", MOVE]}]],
    }
    tasks: list[dict[str, Any]] = [
        {"id": "a", "checks": ["a"], "retry": {"max_retries": 1}},
        {"id": "b", "checks": ["moved"], "needs": ["a"]},
    ]
    plan = a_plan(script, tasks, checks, setup=[["sh", "-c", MOVE]])

    ran = project.yaoki("run", project.plan(plan))

    assert ran.code == 0, ran.out + ran.err
    landed = {name: project.task(name)["landed"] for name in ("a", "b")}
    changed = {
        name: project.git("diff", "--name-only", f"{commit}~1", commit).split()
        for name, commit in landed.items()
    }
    assert changed == {"a": ["a.txt"], "b": ["b.txt", "libs/mod"]}
    warned = [e["data"]["message"] for e in project.events("a") if e["event"] == "WARNING"]
    words = "set-up checked out other commits in submodules, which do not land and which checks"
    assert f"{words} do not see: libs/mod" in warned
    assert not any("restored" in one for one in warned)
