"""State that somebody deleted, or a store that is a file of the user's: told, with the way on."""

from __future__ import annotations

import shutil
import sqlite3
import time

import pytest

from tests.acceptance.project import (
    BOUND_S,
    SETTINGS,
    Place,
    a_plan,
    holds,
    until,
    waits_for,
    writes,
)

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("8.6", "13.1")]


def landed(place: Place) -> str:
    plan = a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], {"ok": holds("a.txt")})
    done = place.yaoki("run", place.plan(plan), "--quiet")
    assert done.code == 0, done.out + done.err
    return f"yaoki/{place.status()['run']}"


@pytest.mark.full
def test_a_deleted_state_folder_is_reported_with_the_branch_of_its_run(place: Place) -> None:
    branch = landed(place)
    if place.store:
        pytest.skip("the store is not in the folder")
    shutil.rmtree(place.repo / ".yaoki")

    for words in (("resume",), ("status",), ("report",)):
        said = place.yaoki(*words)
        assert said.code != 0
        assert branch in said.err
        assert f"git merge {branch}" in said.err
        assert f"yaoki run PLAN --base {branch}" in said.err
    doctor = place.yaoki("doctor")
    assert doctor.code == 1
    assert "BAD" in doctor.out
    assert ".yaoki was deleted" in doctor.out
    assert not (place.repo / ".yaoki").exists()

    plan = a_plan({"b": [writes("b.txt")]}, [{"id": "b"}], {"ok": holds("b.txt")})
    again = place.yaoki("run", place.plan(plan), "--base", branch, "--quiet")
    assert again.code == 0, again.out + again.err
    new = f"yaoki/{place.status()['run']}"
    assert {"a.txt", "b.txt"} <= set(place.git("ls-tree", "--name-only", new).split())
    assert branch in place.yaoki("doctor").out


def test_a_clone_without_runs_is_reported_as_such(place: Place) -> None:
    assert "there is no run here yet" in place.yaoki("resume").err
    assert place.yaoki("doctor").code == 0


@pytest.mark.parametrize("kind", ["text", "database"])
def test_a_users_file_configured_as_the_store_is_left_alone(place: Place, kind: str) -> None:
    if place.store:
        pytest.skip("the store is no file")
    mine = place.folder / "mine" / "notes.db"
    mine.parent.mkdir()
    if kind == "text":
        mine.write_text("my notes, many of them\n" * 100)
    else:
        with sqlite3.connect(mine) as held:
            held.execute("CREATE TABLE mine (x)")
        held.close()
    before = mine.read_bytes()
    place.settings(f'store = {{url = "{mine}"}}\n' + SETTINGS)

    for words in (("status",), ("resume",), ("doctor",), ("run", "nothing.json")):
        assert place.yaoki(*words).code != 0

    assert [file.name for file in mine.parent.iterdir()] == ["notes.db"]
    assert mine.read_bytes() == before
    assert "is not a yaoki store" in place.yaoki("status").err


@pytest.mark.full
def test_repeatedly_deleted_worktrees_are_rebuilt(place: Place) -> None:
    names, go = ("a", "b", "c"), place.folder / "go"
    script = {name: [[*writes(f"{name}.txt"), waits_for(go)]] for name in names}
    checks = {name: {"shell": f"sleep 0.5; test -f {name}.txt"} for name in names}
    plan = a_plan(script, [{"id": name, "checks": [name]} for name in names], checks)
    worker = place.start("run", place.plan(plan), "--quiet")
    root = place.home / "worktrees"
    until(lambda: len(list(root.rglob("?.txt"))) == 2, "two are at work")
    go.touch()
    # Fewer than the losses after which a person is asked.
    for _ in range(5):
        for folder in root.glob("repo-*/[a-z0-9]*"):
            shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.3)

    said = worker.communicate(timeout=BOUND_S)[0]

    assert worker.returncode == 0, said
    branch = f"yaoki/{place.status()['run']}"
    for name in names:
        assert place.show(branch, f"{name}.txt") == "good"
        assert "ESCALATE_DECISION" not in place.story(name)
