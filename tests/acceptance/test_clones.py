"""Clones without all objects: missing objects are fetched or read from alternates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.machines import Machine
from tests.acceptance.project import a_plan
from tests.repositories import a_repository, commit, git, write

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("13.3")]
# The files of an older commit, which is not checked out.
READS = "git show HEAD~1:old.txt > seen.txt && git log --oneline | wc -l >> seen.txt"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    repo = a_repository(tmp_path)
    write(repo, old__txt="only in the past\n")
    commit(repo)
    git(repo, "rm", "-q", "old.txt")
    commit(repo)
    made = tmp_path / "remote.git"
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(made))
    for name in ("allowFilter", "allowAnySHA1InWant"):
        git(made, "config", f"uploadpack.{name}", "true")
    return made


def a_machine(folder: Path, bare: Path, pycache: Path, *how: str) -> Machine:
    return Machine(folder / "machine", bare, str(folder / "state.db"), how=how, pycache=pycache)


def run_one_task(machine: Machine, folder: Path) -> str:
    """The run branch after a task that reads the past and moves a file."""
    acts = {"a": [[{"run": ["sh", "-c", f"{READS} && git mv README MOVED"]}]]}
    tasks: list[dict[str, object]] = [{"id": "a"}]
    file = folder / "plan.json"
    file.write_text(json.dumps(a_plan(acts, tasks, {"there": {"shell": "test -f seen.txt"}})))
    code, output = machine.run("run", str(file), "--quiet", "--json")
    assert code == 0, output
    return f"yaoki/{json.loads(output)['run']}"


def count_missing_objects(repo: Path) -> int:
    """How many objects of its history a clone does not have."""
    said = git(repo, "rev-list", "--objects", "--all", "--missing=print")
    return sum(line.startswith("?") for line in said.splitlines())


@pytest.mark.full
def test_a_run_completes_in_a_partial_clone(tmp_path: Path, bare: Path, pycache: Path) -> None:
    machine = a_machine(tmp_path, bare, pycache, "--filter=blob:none")
    assert count_missing_objects(machine.repo), "it has no file of the past"

    branch = run_one_task(machine, tmp_path)

    assert git(bare, "show", f"{branch}:seen.txt").splitlines()[0] == "only in the past"
    assert "MOVED" in git(bare, "ls-tree", "--name-only", branch).split()


def test_a_shallow_clone_is_refused_with_the_remedy(
    tmp_path: Path, bare: Path, pycache: Path
) -> None:
    machine = a_machine(tmp_path, bare, pycache, "--depth", "1")
    file = tmp_path / "plan.json"
    file.write_text(
        json.dumps(a_plan({"a": [[]]}, [{"id": "a"}], {"ok": {"shell": "test -s README"}}))
    )

    code, output = machine.run("run", str(file), "--quiet")

    assert code == 2, output
    assert "git fetch --unshallow" in output
