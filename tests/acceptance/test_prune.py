"""Finished runs leave the store for an archive; nothing kept is lost, whoever is killed when."""

from __future__ import annotations

import copy
import json
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import SETTINGS, Place, Stores, a_plan, holds, writes

pytestmark = pytest.mark.acceptance

# Ends itself just before the outside world is touched in the named way.
KILLED_AT = """
import os, signal, sys

def hook(event, args):
    if event == sys.argv[1] and sys.argv[2] in repr(args):
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(hook)
from yaoki.faces.cli.main import main
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

AT_ONCE = {"after_days": 0, "runs_kept": 0}
ROWS_GONE = {"before the logs go", "before the refs go", "before the index"}


def keeps(place: Place, **rule: float) -> None:
    """The settings of retention, over the fast ones."""
    lines = "".join(f"{name} = {value}\n" for name, value in rule.items())
    place.settings(f"{SETTINGS}\n[archive]\n{lines}")


def carried(place: Place, name: str, *, tries: Sequence[Any] = (), code: int = 0) -> str:
    """A run of one task that writes `<name>.txt`; returns its id."""
    task = {"id": "one", "checks": ["one"], "retry": {"max_retries": 1}}
    plan = a_plan(
        {"one": list(tries) or [writes(f"{name}.txt")]}, [task], {"one": holds(f"{name}.txt")}
    )
    done = place.yaoki("run", place.plan(plan, f"{name}.json"), "--json")
    assert done.code == code, done.out + done.err
    return str(done.document["run"])


def twice_tried(place: Place, name: str) -> str:
    """Its first attempt was bad and is kept, its second landed."""
    return carried(place, name, tries=[writes(f"{name}.txt", "bad\n"), writes(f"{name}.txt")])


def refs(place: Place, run: str) -> list[str]:
    return [
        name for name in place.git("for-each-ref", "--format=%(refname)").split() if run in name
    ]


def archive_of(place: Place, run: str) -> Path:
    found = sorted((place.repo / ".yaoki" / "archive").glob("*.tar.gz"))
    assert [path.name for path in found] == [f"{run}.tar.gz"]
    return found[0]


def held_in(archive: Path, name: str) -> bytes:
    with tarfile.open(archive) as opened:
        file = opened.extractfile(name)
        assert file is not None
        return file.read()


def index(place: Place) -> list[dict[str, Any]]:
    lines = (place.repo / ".yaoki" / "archive" / "index.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def stored(place: Place) -> list[str]:
    return [run["run"] for run in place.look("status", "--all", "--json").document["runs"]]


@pytest.mark.full
@pytest.mark.spec("11.7", "12.1", "0.6")
def test_a_dry_run_lists_the_runs_to_archive_and_why_the_others_stay(place: Place) -> None:
    old = carried(place, "old")
    asks = carried(place, "asks", tries=[writes("asks.txt", "bad\n")] * 2, code=4)
    new = carried(place, "new")
    keeps(place, after_days=0, runs_kept=1)
    before = refs(place, old)

    told = place.yaoki("prune", "--dry-run", "--json").document
    shown = place.yaoki("prune", "--dry-run")

    assert [run["run"] for run in told["due"]] == [old]
    assert "days ago" in told["due"][0]["why"]
    assert told["due"][0]["bytes"] > 0
    why = {run["run"]: run["why"] for run in told["stays"]}
    assert why == {asks: "1 task needs a person", new: "one of the newest 1 finished runs"}
    assert shown.out.splitlines()[-1] == "next: yaoki prune"
    assert sorted(stored(place)) == sorted([old, asks, new])
    assert refs(place, old) == before
    assert list((place.repo / ".yaoki").glob("archive/*.tar.gz")) == []


@pytest.mark.full
@pytest.mark.spec("11.7", "0.2", "8.2", "10.2")
def test_an_archive_contains_the_journal_the_logs_and_every_attempt(place: Place) -> None:
    keeps(place, after_days=0, runs_kept=0)
    old = twice_tried(place, "old")
    journal = place.yaoki("trace", old, "--jsonl").out
    log = (place.repo / ".yaoki" / "runs" / old / f"{old}-1" / "1" / "prompt.md").read_bytes()
    kept = place.yaoki("recover", old, "--json").document["kept"]

    pruned = place.yaoki("prune", "--json")

    assert pruned.code == 0, pruned.err
    archive = archive_of(place, old)
    assert [run["run"] for run in pruned.document["archived"]] == [old]
    assert held_in(archive, "journal.jsonl").decode() == journal
    assert held_in(archive, f"logs/{old}-1/1/prompt.md") == log
    tables = {json.loads(line)["table"] for line in held_in(archive, "rows.jsonl").splitlines()}
    assert {"runs", "tasks"} <= tables
    assert not (place.repo / ".yaoki" / "runs" / old).exists()
    # The run branch is not merged, so it stays; the rest comes back from the bundle.
    assert refs(place, old) == [f"refs/heads/yaoki/{old}", f"refs/yaoki/archived/{old}"]
    place.git("gc", "-q", "--prune=now")
    bundle = place.folder / "refs.bundle"
    bundle.write_bytes(held_in(archive, "refs.bundle"))
    place.git("fetch", "-q", str(bundle), "refs/yaoki/work/*:refs/heads/back/*")
    first = next(work for work in kept if work["attempt"] == 1)
    assert place.git("rev-parse", f"back/{old}-1/1") == first["commit"]
    assert place.show(f"back/{old}-1/1", "old.txt") == "bad"


@pytest.mark.full
@pytest.mark.spec("11.7", "0.6")
def test_a_command_for_an_archived_run_names_its_archive(place: Place) -> None:
    keeps(place, after_days=0, runs_kept=0)
    old = carried(place, "old")
    assert place.yaoki("prune").code == 0

    asked = place.yaoki("status", old)
    of_task = place.yaoki("why", f"{old}-1")

    for refused in (asked, of_task):
        assert refused.code == 6
        assert str(archive_of(place, old)) in refused.err
    assert [(line["run"], line["event"]) for line in index(place)] == [(old, "RUN_ARCHIVED")]


@pytest.mark.full
@pytest.mark.spec("11.7", "0.3")
def test_pruning_a_merged_run_removes_its_branch_and_is_idempotent(place: Place) -> None:
    keeps(place, after_days=0, runs_kept=0)
    old = carried(place, "old")
    place.git("merge", "-q", "--ff-only", f"yaoki/{old}")
    base = place.git("rev-parse", "main~1")

    first = place.yaoki("prune", "--json").document
    second = place.yaoki("prune", "--json").document

    assert [run["refs_kept"] for run in first["archived"]] == [[]]
    assert second["archived"] == []
    assert refs(place, old) == [f"refs/yaoki/archived/{old}"]
    assert place.git("rev-parse", f"refs/yaoki/archived/{old}") == base
    assert len(index(place)) == 1


@pytest.mark.spec("11.7", "10.5")
def test_a_run_with_an_unsent_notice_is_not_archived(place: Place) -> None:
    keeps(place, after_days=0, runs_kept=0)
    with (place.repo / "yaoki.toml").open("a") as settings:
        settings.write('\n[notify]\ncommand = ["false"]\n')
    run = carried(place, "old")

    pruned = place.yaoki("prune", "--json").document

    assert pruned["archived"] == []
    assert [(each["run"], each["why"]) for each in pruned["stays"]] == [
        (run, "1 notice is not sent")
    ]


@pytest.mark.full
@pytest.mark.spec("11.7", "8.2")
def test_a_leftover_worktree_of_a_finished_run_is_saved_and_removed_before_archiving(
    place: Place,
) -> None:
    """A removal that failed only warns, so a finished task may still have its worktree."""
    keeps(place, after_days=0, runs_kept=0)
    run = carried(place, "old")
    root = next((place.home / "worktrees").glob("repo-*"))
    branch = f"yaoki/{run}-1"
    place.git("worktree", "add", "-q", "-b", branch, str(root / f"{run}-1"), f"yaoki/{run}")
    (root / f"{run}-1" / "late.txt").write_text("late\n")
    shown = place.yaoki("prune", "--dry-run", "--json").document

    pruned = place.yaoki("prune", "--json").document

    assert [each["why"] for each in shown["stays"]] == ["a worktree of it is left"]
    assert [each["run"] for each in pruned["archived"]] == [run]
    assert not (root / f"{run}-1").exists()
    bundle = place.folder / "refs.bundle"
    bundle.write_bytes(held_in(archive_of(place, run), "refs.bundle"))
    place.git("fetch", "-q", str(bundle), "refs/yaoki/work/*:refs/heads/back/*")
    late = place.git("for-each-ref", "--format=%(refname:short)", "refs/heads/back").split()
    assert any("late.txt" in place.git("ls-tree", "--name-only", name) for name in late)


@pytest.mark.full
@pytest.mark.spec("11.7")
def test_the_end_of_a_run_archives_one_other_run_and_never_itself(place: Place) -> None:
    first, second = carried(place, "first"), carried(place, "second")
    keeps(place, after_days=0, runs_kept=0)

    third = carried(place, "third")

    assert sorted(stored(place)) == sorted([second, third])
    assert [line["run"] for line in index(place)] == [first]


@pytest.mark.quick_cases(1)
@pytest.mark.sqlite(why="a server is restored by its operator")
@pytest.mark.spec("11.7", "8.7", "10.2")
@pytest.mark.parametrize("backups", [True, False], ids=["from a backup", "from the journal alone"])
def test_a_restored_store_does_not_contain_archived_runs(place: Place, backups: bool) -> None:
    old, new = carried(place, "old"), carried(place, "new")
    keeps(place, after_days=0, runs_kept=1)
    before = place.yaoki("status", new, "--json").out
    assert place.yaoki("prune").code == 0
    home = place.repo / ".yaoki"
    for file in home.glob("state.db*"):
        file.unlink()
    if not backups:
        shutil.rmtree(home / "backups")

    after = place.yaoki("status", new, "--json")

    assert "restored from" in after.err
    assert after.out == before
    assert stored(place) == [new]
    assert place.yaoki("status", old).code == 6
    assert place.yaoki("doctor").code == 0


@dataclass(frozen=True)
class Ready:
    """A repository with one run that is due: its journal, and the commits of its attempts."""

    place: Place
    run: str
    journal: str
    works: frozenset[str]

    def copied(self, folder: Path, store: str) -> Place:
        place = copy.copy(self.place)
        place.folder, place.repo, place.store = folder, folder / "repo", store
        shutil.copytree(self.place.repo, place.repo)
        keeps(place, **AT_ONCE)
        return place


@pytest.fixture(scope="module")
def ready(
    tmp_path_factory: pytest.TempPathFactory, pycache: Path, stores: Stores
) -> Iterator[Ready]:
    with stores.new() as url:
        place = Place(tmp_path_factory.mktemp("ready"), pycache, url)
        keeps(place, **AT_ONCE)
        run = twice_tried(place, "old")
        kept = place.yaoki("recover", "--json").document["kept"]
        journal = place.yaoki("trace", run, "--jsonl").out
        yield Ready(place, run, journal, frozenset(work["commit"] for work in kept))


@pytest.mark.full
@pytest.mark.spec("11.7", "0.2", "0.3", "8.6")
@pytest.mark.parametrize("point", POINTS)
def test_pruning_interrupted_by_a_kill_loses_nothing_and_continues(
    ready: Ready, stores: Stores, tmp_path: Path, point: str
) -> None:
    with stores.new(like=ready.place.store) as url:
        _killed_at(point, ready, ready.copied(tmp_path, url))


def _killed_at(point: str, ready: Ready, place: Place) -> None:
    run = ready.run

    killed = subprocess.run(
        (sys.executable, "-c", KILLED_AT, *POINTS[point]),
        cwd=place.repo,
        env=place.env,
        capture_output=True,
        check=False,
    )
    there = place.yaoki("trace", run, "--jsonl").out == ready.journal
    again = place.yaoki("prune")

    assert killed.returncode == -signal.SIGKILL, killed.stdout + killed.stderr
    assert there == (point not in ROWS_GONE)
    assert again.code == 0, again.out + again.err
    archive = archive_of(place, run)
    assert held_in(archive, "journal.jsonl").decode() == ready.journal
    assert held_in(archive, f"logs/{run}-1/1/prompt.md")
    manifest = json.loads(held_in(archive, "manifest.json"))
    assert ready.works <= set(manifest["refs"].values())
    assert [line["run"] for line in index(place)] == [run]
    assert stored(place) == []
    assert refs(place, run) == [f"refs/heads/yaoki/{run}", f"refs/yaoki/archived/{run}"]
    assert not (place.repo / ".yaoki" / "runs" / run).exists()
    left = {path.name for path in archive.parent.iterdir()}
    assert left == {".lock", archive.name, "index.jsonl"}
