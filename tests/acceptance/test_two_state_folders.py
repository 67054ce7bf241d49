"""One clone used with two state folders: a task goes on where it began, and who errs is told so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.project import SETTINGS, Place, a_plan, holds, writes
from tests.trusted_folders import trust_below

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("0.6", "8.2", "3.7")]
BIN = Path(sys.executable).parent
PLAN = a_plan(
    {"a": [writes("a.txt", "bad\n"), writes("a.txt")]},
    [{"id": "a", "checks": ["c"], "retry": {"max_retries": 0}}],
    {"c": holds("a.txt")},
)


@pytest.mark.full
def test_a_task_started_in_another_state_folder_names_it_and_how_to_continue(
    place: Place,
) -> None:
    assert place.yaoki("run", place.plan(PLAN)).code == 4
    task = place.task("a")["id"]
    other = {"YAOKI_HOME": str(place.folder / "other")}
    trust_below(place.folder / "other", place.folder)
    place.yaoki("answer", "a", "retry", env=other)

    refused = place.yaoki("resume", env=other)

    question = place.task("a")["question"]
    assert refused.code == 4
    assert f"the worktree of {task} is in another state folder, {place.home}" in question
    command = question.partition("(remedy: ")[2].partition(")")[0]
    assert command.startswith("export YAOKI_HOME=")
    done = subprocess.run(
        ["sh", "-c", command.replace("yaoki ", "python -m yaoki ")],
        cwd=place.repo,
        env={**place.env, **other, "PATH": f"{BIN}:{place.env['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert place.show(place.status()["run_branch"], "a.txt") == "good"
    assert "started in a fresh worktree" not in done.stdout


@pytest.mark.spec("8.1")
def test_a_store_does_not_delete_the_snapshots_of_another_store(place: Place) -> None:
    """Both serve this clone; what a store does not know is not its own to expire."""
    plan = a_plan({"one": [writes("one.txt")]}, [{"id": "one"}], {"one": holds("one.txt")})
    assert place.yaoki("run", place.plan(plan), "--quiet").code == 0
    kept = place.git("for-each-ref", "--format=%(refname)", "refs/yaoki/snapshots")
    (place.folder / "second").mkdir()
    store = place.folder / "second" / "state.db"
    place.store = f"sqlite://{store}"
    place.settings(f"{SETTINGS}\n[recovery]\nsnapshot_retention_hours = 0\n")

    done = place.yaoki("run", place.plan(plan, "again.json"), "--quiet")

    assert done.code == 0, done.err
    there = place.git("for-each-ref", "--format=%(refname)", "refs/yaoki/snapshots").splitlines()
    assert kept in there
