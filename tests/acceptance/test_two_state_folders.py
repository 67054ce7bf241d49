"""One clone with two state folders: a task continues only in the folder where it started."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.project import SETTINGS, Project, a_plan, file_contains, writes
from tests.trusted_folders import trust_folder

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("0.6", "8.2", "3.7")]
BIN = Path(sys.executable).parent
PLAN = a_plan(
    {"a": [writes("a.txt", "bad\n"), writes("a.txt")]},
    [{"id": "a", "checks": ["c"], "retry": {"max_retries": 0}}],
    {"c": file_contains("a.txt")},
)


@pytest.mark.full
def test_a_task_started_in_another_state_folder_names_it_and_how_to_continue(
    project: Project,
) -> None:
    assert project.yaoki("run", project.plan(PLAN)).code == 4
    task = project.task("a")["id"]
    other = {"YAOKI_HOME": str(project.folder / "other")}
    trust_folder(project.folder / "other", project.folder)
    project.yaoki("answer", "a", "retry", env=other)

    refused = project.yaoki("resume", env=other)

    question = project.task("a")["question"]
    assert refused.code == 4
    assert f"the worktree of {task} is in another state folder, {project.home}" in question
    command = question.partition("(remedy: ")[2].partition(")")[0]
    assert command.startswith("export YAOKI_HOME=")
    done = subprocess.run(
        ["sh", "-c", command.replace("yaoki ", "python -m yaoki ")],
        cwd=project.repo,
        env={**project.env, **other, "PATH": f"{BIN}:{project.env['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.show(project.status()["run_branch"], "a.txt") == "good"
    assert "started in a fresh worktree" not in done.stdout


@pytest.mark.spec("8.1")
def test_a_store_does_not_delete_the_snapshots_of_another_store(project: Project) -> None:
    """Both stores use this clone; a store expires only its own snapshots."""
    plan = a_plan({"one": [writes("one.txt")]}, [{"id": "one"}], {"one": file_contains("one.txt")})
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 0
    kept = project.git("for-each-ref", "--format=%(refname)", "refs/yaoki/snapshots")
    (project.folder / "second").mkdir()
    store = project.folder / "second" / "state.db"
    project.store = f"sqlite://{store}"
    project.settings(f"{SETTINGS}\n[recovery]\nsnapshot_retention_hours = 0\n")

    done = project.yaoki("run", project.plan(plan, "again.json"), "--quiet")

    assert done.code == 0, done.err
    there = project.git("for-each-ref", "--format=%(refname)", "refs/yaoki/snapshots").splitlines()
    assert kept in there
