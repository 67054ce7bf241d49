"""`yaoki init` on real repositories, then a plan of three lines with agents of one line each.

Equipped: as its developer has it, with the tools that it asks for.  The right change lands, the
wrong ones do not.  Plain: a fresh clone without the test dependencies, where nothing may land.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import sys
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project
from tests.acceptance.separate_environment import create_python_with_pytest
from tests.real_repositories.conftest import ROW
from tests.real_repositories.other_releases import JAVASCRIPT, RUST
from tests.real_repositories.python_releases import PYTHON
from tests.real_repositories.releases import (
    BACKENDS,
    TOOLS,
    call,
    change,
    fetch,
    install,
    made_once,
    user_environment,
)
from tests.real_repositories.repository import Edit, Repository
from tests.scripted_model.programs import LEFT_OUT

pytestmark = [pytest.mark.registries, pytest.mark.timeout(5400)]

EDIT = """\
import pathlib, sys
file, old, new = sys.argv[1:4]
text = pathlib.Path(file).read_text(encoding="utf-8")
assert old in text, f"{file} lacks {old!r}"
pathlib.Path(file).write_text(text.replace(old, new, 1), encoding="utf-8")
"""
REPOSITORIES: Mapping[str, Repository] = {one.package: one for one in (*PYTHON, *JAVASCRIPT, *RUST)}
# Set by `python3 dev.py full`: only one repository of each kind.
MAIN_ONLY = "YAOKI_TEST_MAIN_REPOSITORIES"
PLAIN = ("itsdangerous", "humanize", "python-slugify")
YAOKI = (sys.executable, "-m", "yaoki")


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Beside the base of this test worker: each release is fetched once for all of them."""
    folder = tmp_path_factory.getbasetemp().parent / "releases"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def tools(shared: Path) -> Path:
    """The `bin` folder with the tools of a user."""
    return made_once(shared / "tools", lambda home: install(home, *TOOLS, *BACKENDS)) / "bin"


def commit_release(project: Project, one: Repository, shared: Path, tools: Path) -> None:
    """The repository holds the release, and nothing else."""
    make = lambda folder: fetch(one, tools / "python", folder)  # noqa: E731  # binds the release
    (source,) = made_once(shared / one.package.replace("/", "-"), make).iterdir()
    for name in ("README", "yaoki.toml"):
        (project.repo / name).unlink()
    # What packaging adds to a release is in no repository, and builds would change it.
    packaging = shutil.ignore_patterns("*.egg-info", "PKG-INFO", ".cargo*")
    shutil.copytree(source, project.repo, dirs_exist_ok=True, ignore=packaging)
    change(one, project.repo)
    project.git("add", "-A", "-f")
    project.git(*GIT_IDENTITY, "commit", "-qm", "as released")


def write_plan(project: Project, edits: Mapping[str, Edit]) -> str:
    """A goal, an agent for each edit, a task for each agent; everything else is what init wrote."""
    edit = [sys.executable, "-c", EDIT]
    once = {"retry": {"max_retries": 0}}
    plan: dict[str, Any] = {
        "goal": "Work on it",
        "agents": {name: {"command": [*edit, *words]} for name, words in edits.items()},
        "tasks": [
            {"id": name, "goal": f"Change {words[0]}.", "agent": name, **once}
            for name, words in edits.items()
        ],
    }
    file = project.folder / "plan.json"
    file.write_text(json.dumps(plan))
    return str(file)


@dataclass(frozen=True)
class Outcome:
    """How a run ended, which tasks landed, what was said, and how long `init` and `run` took."""

    code: int
    landed: list[str]
    said: str
    questions: Mapping[str, str]
    init_s: float
    run_s: float


def init_and_run(project: Project, edits: Mapping[str, Edit], env: Mapping[str, str]) -> Outcome:
    began = time.monotonic()
    made = call((*YAOKI, "init", "--seconds", "900"), project.repo, env)
    assert made.code == 0, made.err
    ready = time.monotonic()
    ran = call((*YAOKI, "run", write_plan(project, edits), "--quiet"), project.repo, env)
    seconds = (ready - began, time.monotonic() - ready)
    assert "Traceback" not in ran.out + ran.err
    said = f"{made.out}\n{ran.out}\n{ran.err}"
    if ran.code == 2:
        return Outcome(2, [], said, {}, *seconds)
    tasks = project.status()["tasks"]
    assert len(tasks) == len(edits), said
    landed = [task["name"] for task in tasks if task["landed"]]
    questions = {task["name"]: task["question"] for task in tasks if task["question"]}
    return Outcome(ran.code, landed, said, questions, *seconds)


def describe(one: Repository, ended: Outcome, cpu_s: float) -> str:
    """The rows of the table: the first line, what `init` saw, and the sentence for each edit."""
    green = (line for line in ended.said.splitlines() if "green" in line)
    seconds = f"init {ended.init_s:3.0f} s  run {ended.run_s:3.0f} s  CPU {cpu_s:3.0f} s"
    first = f"{one.package:26} {one.shows:26} {seconds}"
    words = (" ".join(next(green, "nothing green").split()), *ended.questions.values())
    return "\n".join((first, *(f"    {line.splitlines()[0]}" for line in words)))


@pytest.mark.spec("12.3", "16.5", "16.4")
@pytest.mark.parametrize("name", REPOSITORIES)
def test_a_right_change_lands_and_wrong_ones_do_not(
    name: str,
    project: Project,
    shared: Path,
    tools: Path,
    record_property: Callable[[str, object], None],
) -> None:
    one, before = REPOSITORIES[name], cpu_seconds()
    if one.is_further and os.environ.get(MAIN_ONLY):
        pytest.skip(LEFT_OUT)
    skip_without_programs(one)
    commit_release(project, one, shared, tools)
    if one.needs is not None:
        install(project.repo / ".venv", *one.needs, "-e", str(project.repo))
        (project.repo / ".venv" / ".gitignore").write_text("*\n")
        project.git("checkout", "-q", ".")

    ended = init_and_run(project, one.edits, user_environment(project.env, tools))

    record_property(ROW, describe(one, ended, cpu_seconds() - before))
    assert (ended.code, ended.landed) == (4, ["right"]), ended.said
    assert "green" in ended.said, "its own tests pass before anybody breaks them"
    checks = tomllib.loads((project.repo / "yaoki.toml").read_text())["checks"].values()
    commands = [" ".join(check["run"]) for check in checks if "test" in check.get("pattern", "")]
    assert any(command.startswith(one.runs) for command in commands), commands
    changed = project.git("diff", "--name-only", f"main...{project.status()['run_branch']}")
    assert changed == one.right[0], "and nothing that set-up made"


def skip_without_programs(one: Repository) -> None:
    missing = [program for program in one.registry.value if shutil.which(program) is None]
    if missing:
        pytest.skip(f"{one.package} needs {' and '.join(missing)} on the PATH")


@pytest.mark.spec("16.5", "16.4")
@pytest.mark.parametrize("name", PLAIN)
def test_no_breakage_lands_in_a_clone_without_test_dependencies(
    name: str, project: Project, shared: Path, tools: Path
) -> None:
    one = REPOSITORIES[name]
    commit_release(project, one, shared, tools)
    own = create_python_with_pytest(project.folder / "bin")
    wrong = {name: edit for name, edit in one.edits.items() if name != "right"}

    ended = init_and_run(project, wrong, user_environment(project.env, own))

    assert (ended.code in {2, 4}, ended.landed) == (True, []), ended.said


def cpu_seconds() -> float:
    """Of all processes that this one started and has waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
