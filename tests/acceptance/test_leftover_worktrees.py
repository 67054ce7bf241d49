"""A reconnected machine removes its leftover worktrees after saving their work."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.machines import Machine
from tests.acceptance.project import a_plan, wait_until, waits_for
from tests.acceptance.suspended_worker import suspend
from tests.repositories import a_repository, git

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("8.2", "8.6", "13.3", "0.2")]


@pytest.fixture
def two_machines(tmp_path: Path, pycache: Path) -> Iterator[tuple[Path, Machine, Machine]]:
    """A remote and two clones of it; their store is a file beside them.

    Only the first one is to lose what it holds: it alone has a short lease.
    """
    bare = tmp_path / "remote.git"
    git(tmp_path, "clone", "-q", "--bare", str(a_repository(tmp_path)), str(bare))
    store = str(tmp_path / "state.db")
    machines = [Machine(tmp_path / n, bare, store, pycache=pycache) for n in ("one", "two")]
    for machine, lease_s in zip(machines, (2, 30), strict=True):
        settings = machine.repo / "yaoki.toml"
        settings.write_text(settings.read_text().replace("lease_s = 8.0", f"lease_s = {lease_s}.0"))
    yield bare, machines[0], machines[1]
    for machine in machines:
        for worker in machine.workers:
            worker.send_signal(signal.SIGCONT)
        machine.kill()


def a_slow_task(folder: Path) -> str:
    """Each agent writes a file at once and ends when the marker exists."""
    mine = {"run": ["sh", "-c", "pwd | grep -q /one/ && echo half > half.txt; true"]}
    began = {"run": ["sh", "-c", f"pwd >> {folder}/began"]}
    acts = [mine, began, waits_for(folder / "go"), {"write": {"whole.txt": "whole\n"}}]
    file = folder / "plan.json"
    check = {"there": {"run": ["test", "-f", "whole.txt"]}}
    file.write_text(
        json.dumps(a_plan({"a": [acts] * 9}, [{"id": "a", "checks": ["there"]}], check))
    )
    return str(file)


def worktrees(machine: Machine) -> list[str]:
    found = (machine.home / "state" / "worktrees").glob("*/*")
    return [project.name for project in found if not project.name.startswith(".")]


def has_started(folder: Path, machine: Machine) -> bool:
    file = folder / "began"
    return file.exists() and f"/{machine.home.name}/" in file.read_text()


@pytest.mark.full
@pytest.mark.timeout(120)
def test_a_worktree_whose_task_moved_to_another_machine_is_removed_after_its_work_is_saved(
    tmp_path: Path, two_machines: tuple[Path, Machine, Machine]
) -> None:
    bare, one, two = two_machines
    code, output = one.run("plan", "submit", a_slow_task(tmp_path), "--json")
    assert code == 0, output
    task = f"{json.loads(output)['run']}-1"
    first = one.start_worker(1)
    wait_until(lambda: has_started(tmp_path, one), "the first machine is at work")

    suspend(first, tmp_path / "state.db")
    two.start_worker(3)
    wait_until(lambda: has_started(tmp_path, two), "the second one took it over")
    first.send_signal(signal.SIGCONT)
    wait_until(lambda: worktrees(one) == [], "the first one has cleaned up behind itself")
    still = worktrees(two)
    (tmp_path / "go").touch()
    wait_until(lambda: worktrees(two) == [], "the task is over")

    assert still == [task], "whoever is at work keeps its worktree"
    kept = git(bare, "for-each-ref", "--format=%(refname)", f"refs/yaoki/work/{task}").split()
    held = {ref: git(bare, "ls-tree", "-r", "--name-only", ref).split() for ref in kept}
    mine = [ref for ref, names in held.items() if "half.txt" in names]
    assert [ref for ref in mine if f"/{task}/1" in ref], held
    landed = git(bare, "ls-tree", "-r", "--name-only", f"yaoki/{task.partition('-')[0]}").split()
    assert "whole.txt" in landed
    assert "half.txt" not in landed
    assert [code for machine in (one, two) for code, _ in machine.stop()] == [0, 0]
    document = json.loads(two.run("trace", "a", "--json")[1])["entries"]
    assert [e["event"] for e in document].count("TASK_LANDED") == 1
    assert not [e for e in document if e["event"] == "WARNING"]


@pytest.mark.full
def test_a_worktree_of_a_run_archived_by_another_machine_is_removed_after_its_work_is_saved(
    tmp_path: Path, two_machines: tuple[Path, Machine, Machine]
) -> None:
    """Left by a kill; while this machine was away the run ended and left the store."""
    _, one, two = two_machines
    code, output = one.run("plan", "submit", a_slow_task(tmp_path), "--json")
    assert code == 0, output
    run = json.loads(output)["run"]
    one.start_worker(1)
    wait_until(lambda: has_started(tmp_path, one), "the first machine is at work")
    one.kill()
    (tmp_path / "go").touch()
    assert two.run("resume", run, "--quiet")[0] == 0
    with (two.repo / "yaoki.toml").open("a") as settings:
        settings.write("\n[archive]\nafter_days = 0\nruns_kept = 0\n")
    code, output = two.run("prune")
    assert code == 0, output
    assert json.loads(two.run("status", "--all", "--json")[1])["runs"] == []
    left = worktrees(one)

    one.start_worker(1)
    wait_until(lambda: worktrees(one) == [], "it is swept")

    assert left == [f"{run}-1"]
    refs = git(one.repo, "for-each-ref", "--format=%(refname)", f"refs/yaoki/work/{run}-1").split()
    names = [git(one.repo, "ls-tree", "-r", "--name-only", ref).split() for ref in refs]
    assert any("half.txt" in held for held in names)
