"""Deleted state, or a user's file configured as the store, is reported with the next step."""

from __future__ import annotations

import shutil
import sqlite3
import time

import pytest

from tests.acceptance.project import (
    BOUND_S,
    SETTINGS,
    Project,
    a_plan,
    file_contains,
    wait_until,
    waits_for,
    writes,
)

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("8.6", "13.1")]


def landed(project: Project) -> str:
    plan = a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], {"ok": file_contains("a.txt")})
    done = project.yaoki("run", project.plan(plan), "--quiet")
    assert done.code == 0, done.out + done.err
    return f"yaoki/{project.status()['run']}"


@pytest.mark.full
def test_a_deleted_state_folder_is_reported_with_the_branch_of_its_run(project: Project) -> None:
    branch = landed(project)
    if project.store:
        pytest.skip("the store is not in the folder")
    shutil.rmtree(project.repo / ".yaoki")

    for words in (("resume",), ("status",), ("report",)):
        said = project.yaoki(*words)
        assert said.code != 0
        assert branch in said.err
        assert f"git merge {branch}" in said.err
        assert f"yaoki run PLAN --base {branch}" in said.err
    doctor = project.yaoki("doctor")
    assert doctor.code == 1
    assert "BAD" in doctor.out
    assert ".yaoki was deleted" in doctor.out
    assert not (project.repo / ".yaoki").exists()

    plan = a_plan({"b": [writes("b.txt")]}, [{"id": "b"}], {"ok": file_contains("b.txt")})
    again = project.yaoki("run", project.plan(plan), "--base", branch, "--quiet")
    assert again.code == 0, again.out + again.err
    new = f"yaoki/{project.status()['run']}"
    assert {"a.txt", "b.txt"} <= set(project.git("ls-tree", "--name-only", new).split())
    assert branch in project.yaoki("doctor").out


def test_a_clone_without_runs_is_reported_as_such(project: Project) -> None:
    assert "there is no run here yet" in project.yaoki("resume").err
    assert project.yaoki("doctor").code == 0


@pytest.mark.parametrize("kind", ["text", "database"])
def test_a_users_file_configured_as_the_store_is_left_alone(project: Project, kind: str) -> None:
    if project.store:
        pytest.skip("the store is no file")
    mine = project.folder / "mine" / "notes.db"
    mine.parent.mkdir()
    if kind == "text":
        mine.write_text("my notes, many of them\n" * 100)
    else:
        with sqlite3.connect(mine) as held:
            held.execute("CREATE TABLE mine (x)")
        held.close()
    before = mine.read_bytes()
    project.settings(f'store = {{url = "{mine}"}}\n' + SETTINGS)

    for words in (("status",), ("resume",), ("doctor",), ("run", "nothing.json")):
        assert project.yaoki(*words).code != 0

    assert [file.name for file in mine.parent.iterdir()] == ["notes.db"]
    assert mine.read_bytes() == before
    assert "is not a yaoki store" in project.yaoki("status").err


@pytest.mark.full
def test_repeatedly_deleted_worktrees_are_rebuilt(project: Project) -> None:
    names, go = ("a", "b", "c"), project.folder / "go"
    script = {name: [[*writes(f"{name}.txt"), waits_for(go)]] for name in names}
    checks = {name: {"shell": f"sleep 0.5; test -f {name}.txt"} for name in names}
    plan = a_plan(script, [{"id": name, "checks": [name]} for name in names], checks)
    worker = project.start("run", project.plan(plan), "--quiet")
    root = project.home / "worktrees"
    wait_until(lambda: len(list(root.rglob("?.txt"))) == 2, "two are at work")
    go.touch()
    # Fewer than the losses after which a person is asked.
    for _ in range(5):
        for folder in root.glob("repo-*/[a-z0-9]*"):
            shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.3)

    output = worker.communicate(timeout=BOUND_S)[0]

    assert worker.returncode == 0, output
    branch = f"yaoki/{project.status()['run']}"
    for name in names:
        assert project.show(branch, f"{name}.txt") == "good"
        assert "ESCALATE_DECISION" not in project.event_names(name)
