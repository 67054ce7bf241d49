"""Finished runs move from the store to an archive; a kill at any point loses nothing."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import SETTINGS, Project, a_plan, file_contains, writes

pytestmark = pytest.mark.acceptance

# Ends itself just before the outside world is touched in the named way.
KILLED_AT = """
import os, signal, sys

def hook(event, args):
    if event == sys.argv[1] and sys.argv[2] in repr(args):
        os.kill(os.getpid(), signal.SIGKILL)

from yaoki.faces.cli.main import main
sys.addaudithook(hook)
sys.exit(main(["prune"]))
"""
POINTS = {
    "before the bundle": ("subprocess.Popen", "'bundle', 'create'"),
    "in the middle of the archive": ("open", ".tar.gz.part"),
    "while it is read back": ("subprocess.Popen", "'unbundle'"),
    "before it has its name": ("os.rename", ".tar.gz.part"),
    "before the rows go": ("open", ".yaoki/archive', None"),
    "before the logs go": ("shutil.rmtree", ".yaoki/runs/"),
    "before the refs go": ("subprocess.Popen", "yaoki: archived"),
    "before the index": ("open", "index.jsonl', 'a"),
}

ROWS_GONE = {"before the logs go", "before the refs go", "before the index"}


def set_retention(project: Project, **rule: float) -> None:
    """The settings of retention, over the fast ones."""
    lines = "".join(f"{name} = {value}\n" for name, value in rule.items())
    project.settings(f"{SETTINGS}\n[archive]\n{lines}")


def run_one_task(project: Project, name: str, *, tries: Sequence[Any] = (), code: int = 0) -> str:
    """A run of one task that writes `<name>.txt`; returns its id."""
    retry = {"max_retries": max(0, len(tries) - 1)}
    task = {"id": "one", "checks": ["one"], "retry": retry}
    plan = a_plan(
        {"one": list(tries) or [writes(f"{name}.txt")]},
        [task],
        {"one": file_contains(f"{name}.txt")},
    )
    done = project.yaoki("run", project.plan(plan, f"{name}.json"), "--json")
    assert done.code == code, done.out + done.err
    return str(done.document["run"])


def run_that_is_due(project: Project) -> str:
    """Its first attempt was bad and is kept, its second landed."""
    set_retention(project, after_days=0, runs_kept=0)
    return run_one_task(project, "old", tries=[writes("old.txt", "bad\n"), writes("old.txt")])


def refs(project: Project, run: str) -> list[str]:
    return [
        name for name in project.git("for-each-ref", "--format=%(refname)").split() if run in name
    ]


def archive_of(project: Project, run: str) -> Path:
    found = sorted((project.repo / ".yaoki" / "archive").glob("*.tar.gz"))
    assert [path.name for path in found] == [f"{run}.tar.gz"]
    return found[0]


def read_from_archive(archive: Path, name: str) -> bytes:
    with tarfile.open(archive) as opened:
        file = opened.extractfile(name)
        assert file is not None
        return file.read()


def index(project: Project) -> list[dict[str, Any]]:
    lines = (project.repo / ".yaoki" / "archive" / "index.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def stored_runs(project: Project) -> list[str]:
    return [run["run"] for run in project.query("status", "--all", "--json").document["runs"]]


@pytest.mark.full
@pytest.mark.spec("11.7", "12.1", "0.6")
def test_a_dry_run_lists_the_runs_to_archive_and_why_the_others_stay(project: Project) -> None:
    old = run_one_task(project, "old")
    asks = run_one_task(project, "asks", tries=[writes("asks.txt", "bad\n")], code=4)
    new = run_one_task(project, "new")
    set_retention(project, after_days=0, runs_kept=1)
    before = refs(project, old)

    document = project.yaoki("prune", "--dry-run", "--json").document
    shown = project.yaoki("prune", "--dry-run")

    assert [run["run"] for run in document["due"]] == [old]
    assert "days ago" in document["due"][0]["why"]
    assert document["due"][0]["bytes"] > 0
    why = {run["run"]: run["why"] for run in document["stays"]}
    assert why == {asks: "1 task needs a person", new: "one of the newest 1 finished runs"}
    assert shown.out.splitlines()[-1] == "next: yaoki prune"
    assert sorted(stored_runs(project)) == sorted([old, asks, new])
    assert refs(project, old) == before
    assert list((project.repo / ".yaoki").glob("archive/*.tar.gz")) == []
    # The end of a run archives one other run and never itself.
    set_retention(project, after_days=0, runs_kept=0)
    third = run_one_task(project, "third")
    assert sorted(stored_runs(project)) == sorted([asks, new, third])
    assert [line["run"] for line in index(project)] == [old]


@pytest.mark.full
@pytest.mark.spec("11.7", "0.2", "8.2", "10.2", "0.6")
def test_an_archive_contains_the_journal_the_logs_and_every_attempt(prepared: Prepared) -> None:
    project, old = prepared.after(run_that_is_due)
    journal = project.yaoki("trace", old, "--jsonl").out
    log = (project.repo / ".yaoki" / "runs" / old / f"{old}-1" / "1" / "prompt.md").read_bytes()
    kept = project.yaoki("recover", old, "--json").document["kept"]

    pruned = project.yaoki("prune", "--json")

    assert pruned.code == 0, pruned.err
    archive = archive_of(project, old)
    assert [run["run"] for run in pruned.document["archived"]] == [old]
    assert read_from_archive(archive, "journal.jsonl").decode() == journal
    assert read_from_archive(archive, f"logs/{old}-1/1/prompt.md") == log
    tables = {
        json.loads(line)["table"] for line in read_from_archive(archive, "rows.jsonl").splitlines()
    }
    assert {"runs", "tasks"} <= tables
    assert not (project.repo / ".yaoki" / "runs" / old).exists()
    # The run branch is not merged, so it stays; the other refs are restored from the bundle.
    assert refs(project, old) == [f"refs/heads/yaoki/{old}", f"refs/yaoki/archived/{old}"]
    project.git("gc", "-q", "--prune=now")
    bundle = project.folder / "refs.bundle"
    bundle.write_bytes(read_from_archive(archive, "refs.bundle"))
    project.git("fetch", "-q", str(bundle), "refs/yaoki/work/*:refs/heads/back/*")
    first = next(work for work in kept if work["attempt"] == 1)
    assert project.git("rev-parse", f"back/{old}-1/1") == first["commit"]
    assert project.show(f"back/{old}-1/1", "old.txt") == "bad"
    # A command for an archived run names its archive.
    for refused in (project.yaoki("status", old), project.yaoki("why", f"{old}-1")):
        assert refused.code == 6
        assert str(archive) in refused.err
    assert [(line["run"], line["event"]) for line in index(project)] == [(old, "RUN_ARCHIVED")]


@pytest.mark.full
@pytest.mark.spec("11.7", "0.3")
def test_pruning_a_merged_run_removes_its_branch_and_is_idempotent(prepared: Prepared) -> None:
    project, old = prepared.after(run_that_is_due)
    project.git("merge", "-q", "--ff-only", f"yaoki/{old}")
    base = project.status()["base"]

    first = project.yaoki("prune", "--json").document
    second = project.yaoki("prune", "--json").document

    assert [run["refs_kept"] for run in first["archived"]] == [[]]
    assert second["archived"] == []
    assert refs(project, old) == [f"refs/yaoki/archived/{old}"]
    assert project.git("rev-parse", f"refs/yaoki/archived/{old}") == base
    assert len(index(project)) == 1


@pytest.mark.spec("11.7", "10.5")
def test_a_run_with_an_unsent_notice_is_not_archived(project: Project) -> None:
    set_retention(project, after_days=0, runs_kept=0)
    with (project.repo / "yaoki.toml").open("a") as settings:
        settings.write('\n[notify]\ncommand = ["false"]\n')
    run = run_one_task(project, "old")

    pruned = project.yaoki("prune", "--json").document

    assert pruned["archived"] == []
    assert [(each["run"], each["why"]) for each in pruned["stays"]] == [
        (run, "1 notice is not sent")
    ]


@pytest.mark.full
@pytest.mark.spec("11.7", "8.2")
def test_a_leftover_worktree_of_a_finished_run_is_saved_and_removed_before_archiving(
    prepared: Prepared,
) -> None:
    """A removal that failed only warns, so a finished task may still have its worktree."""
    project, run = prepared.after(run_that_is_due)
    root = next((project.home / "worktrees").glob("repo-*"))
    branch = f"yaoki/{run}-1"
    project.git("worktree", "add", "-q", "-b", branch, str(root / f"{run}-1"), f"yaoki/{run}")
    (root / f"{run}-1" / "late.txt").write_text("late\n")
    shown = project.yaoki("prune", "--dry-run", "--json").document

    pruned = project.yaoki("prune", "--json").document

    assert [each["why"] for each in shown["stays"]] == ["it still has a worktree"]
    assert [each["run"] for each in pruned["archived"]] == [run]
    assert not (root / f"{run}-1").exists()
    bundle = project.folder / "refs.bundle"
    bundle.write_bytes(read_from_archive(archive_of(project, run), "refs.bundle"))
    project.git("fetch", "-q", str(bundle), "refs/yaoki/work/*:refs/heads/back/*")
    late = project.git("for-each-ref", "--format=%(refname:short)", "refs/heads/back").split()
    assert any("late.txt" in project.git("ls-tree", "--name-only", name) for name in late)


@pytest.mark.sqlite(why="a server is restored by its operator")
@pytest.mark.spec("11.7", "8.7", "10.2")
def test_a_restored_store_does_not_contain_archived_runs(project: Project) -> None:
    """Restored from a backup, and then from the journal alone."""
    old, new = run_one_task(project, "old"), run_one_task(project, "new")
    set_retention(project, after_days=0, runs_kept=1)
    before = project.yaoki("status", new, "--json").out
    assert project.yaoki("prune").code == 0
    home = project.repo / ".yaoki"
    for backups in (True, False):
        for file in home.glob("state.db*"):
            file.unlink()
        if not backups:
            shutil.rmtree(home / "backups")

        after = project.yaoki("status", new, "--json")

        assert "restored from" in after.err
        assert after.out == before
        assert stored_runs(project) == [new]
        assert project.yaoki("status", old).code == 6
        assert project.yaoki("doctor").code == 0


@pytest.mark.full
@pytest.mark.spec("11.7", "0.2", "0.3", "8.6")
def test_pruning_interrupted_by_kills_loses_nothing_and_continues(prepared: Prepared) -> None:
    """Killed at one point after the other, it continues each time with what was left."""
    project, run = prepared.after(run_that_is_due)
    kept = project.yaoki("recover", "--json").document["kept"]
    journal = project.yaoki("trace", run, "--jsonl").out

    for point, where in POINTS.items():
        killed = subprocess.run(
            (sys.executable, "-c", KILLED_AT, *where),
            cwd=project.repo,
            env=project.env,
            capture_output=True,
            check=False,
        )
        assert killed.returncode == -signal.SIGKILL, (point, killed.stdout + killed.stderr)
        there = project.yaoki("trace", run, "--jsonl").out == journal
        assert there == (point not in ROWS_GONE), point
    again = project.yaoki("prune")

    assert again.code == 0, again.out + again.err
    archive = archive_of(project, run)
    assert read_from_archive(archive, "journal.jsonl").decode() == journal
    assert read_from_archive(archive, f"logs/{run}-1/1/prompt.md")
    manifest = json.loads(read_from_archive(archive, "manifest.json"))
    assert {work["commit"] for work in kept} <= set(manifest["refs"].values())
    assert [line["run"] for line in index(project)] == [run]
    assert stored_runs(project) == []
    assert refs(project, run) == [f"refs/heads/yaoki/{run}", f"refs/yaoki/archived/{run}"]
    assert not (project.repo / ".yaoki" / "runs" / run).exists()
    left = {path.name for path in archive.parent.iterdir()}
    assert left == {".lock", archive.name, "index.jsonl"}
