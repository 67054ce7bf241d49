"""`yaoki init` on real repositories, then four agents that each break one line of it.

Plain: a fresh clone without the test dependencies.  Equipped: with
them in an environment.  In neither may a breakage land (rule 16.5).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Completed, Project
from tests.acceptance.separate_environment import create_python_with_pytest
from tests.real_repositories.breakages import REPOSITORIES, Edit, Repository

pytestmark = [pytest.mark.registries, pytest.mark.timeout(5400)]

BOUND_S = 3600
BREAK = """\
import pathlib, sys
file, old, new = sys.argv[1:4]
text = pathlib.Path(file).read_text(encoding="utf-8")
assert old in text, f"{file} lacks {old!r}"
pathlib.Path(file).write_text(text.replace(old, new, 1), encoding="utf-8")
"""


def call(words: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None) -> Completed:
    done = subprocess.run(
        words, cwd=cwd, env=env, capture_output=True, text=True, timeout=BOUND_S, check=False
    )
    return Completed(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Beside the base of this test worker: each release is fetched once for all of them."""
    folder = tmp_path_factory.getbasetemp().parent / "releases"
    folder.mkdir(exist_ok=True)
    return folder


def fetched(one: Repository, releases: Path) -> Path:
    """The release, fetched by whichever test comes first; of two at once one is thrown away."""
    folder = releases / one.package
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=releases) as own:
            fetch(one, Path(own) / "release")
            with suppress(OSError):
                (Path(own) / "release").rename(folder)
    (top,) = folder.iterdir()
    return top


def fetch(one: Repository, folder: Path) -> None:
    """The release as its registry has it, by whichever registry this machine uses."""
    folder.mkdir()
    if one.npm:
        words = ["npm", "pack", "--silent", f"{one.package}@{one.version}"]
    else:
        get = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
        words = [*get, "--no-binary", one.package, f"{one.package}=={one.version}", "-d", "."]
    done = call(words, folder)
    assert done.code == 0, done.err
    (archive,) = [file for file in folder.iterdir() if file.name.endswith((".tgz", ".tar.gz"))]
    with tarfile.open(archive) as held:
        held.extractall(folder, filter="data")
    archive.unlink()


def commit_release(project: Project, source: Path) -> None:
    """The place's repository holds the release, and nothing else."""
    for name in ("README", "yaoki.toml"):
        (project.repo / name).unlink()
    shutil.copytree(source, project.repo, dirs_exist_ok=True)
    project.git("add", "-A", "-f")
    project.git(*GIT_IDENTITY, "commit", "-qm", "as released")


def a_plan(edits: Sequence[Edit], checks: Mapping[str, Any]) -> dict[str, Any]:
    """One agent and one task for each edit; the checks are those that init wrote."""
    breaking = [sys.executable, "-c", BREAK]
    agents = {f"a{n}": {"command": [*breaking, *edit]} for n, edit in enumerate(edits)}
    once = {"retry": {"max_retries": 0}}
    tasks = [
        {"id": f"b{n}", "goal": f"Refactor {edit[0]}.", "agent": f"a{n}", **once}
        for n, edit in enumerate(edits)
    ]
    own = {"checks": {"tests": checks["tests"]}} if "tests" in checks else {}
    return {"goal": "Refactor", "agents": agents, "tasks": tasks, **own}


def landed(project: Project, one: Repository, env: Mapping[str, str]) -> tuple[int, list[str], str]:
    """How the run ended, what of it landed, and what init said."""
    whole = {**project.env, **env}
    made = call([sys.executable, "-m", "yaoki", "init"], project.repo, whole)
    assert made.code == 0, made.err
    checks = tomllib.loads((project.repo / "yaoki.toml").read_text()).get("checks", {})
    file = project.folder / "plan.json"
    file.write_text(json.dumps(a_plan(one.edits, checks)))
    ran = call([sys.executable, "-m", "yaoki", "run", str(file), "--quiet"], project.repo, whole)
    assert "Traceback" not in ran.out + ran.err
    if ran.code == 2:
        return 2, [], made.out
    tasks = project.status()["tasks"]
    assert len(tasks) == len(one.edits), ran.err
    return ran.code, [task["name"] for task in tasks if task["landed"]], made.out


@pytest.mark.spec("16.5", "16.4")
@pytest.mark.parametrize("name", REPOSITORIES)
def test_no_breakage_lands_in_a_clone_without_test_dependencies(
    name: str, project: Project, releases: Path
) -> None:
    one = REPOSITORIES[name]
    commit_release(project, fetched(one, releases))
    own = create_python_with_pytest(project.folder / "bin")

    code, names, said = landed(project, one, {"PATH": f"{own}{os.pathsep}{os.environ['PATH']}"})

    assert (code in {2, 4}, names) == (True, []), said


@pytest.mark.spec("16.5", "16.4")
@pytest.mark.parametrize("name", [one.package for one in REPOSITORIES.values() if not one.npm])
def test_no_breakage_lands_where_the_tests_can_run(
    name: str, project: Project, releases: Path
) -> None:
    one = REPOSITORIES[name]
    commit_release(project, fetched(one, releases))
    home = project.folder / "environment"
    venv.create(home, symlinks=True)
    # Our own pip installs there: an environment with a pip of its own takes longer than its tests.
    into = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install", "-q"]
    got = call([*into, "pytest", *one.needs], project.folder)
    assert got.code == 0, got.err
    path = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"

    code, names, said = landed(project, one, {"PATH": path, "VIRTUAL_ENV": str(home)})

    assert (code, names) == (4, []), said
    assert "green" in said, "its own tests pass before anybody breaks them"
