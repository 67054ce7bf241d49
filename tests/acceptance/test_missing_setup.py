"""A check that needs what git ignores, in a plan that does not make it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import WHO, Place

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.1", "0.5", "12.2")]

# The file of the repository, the folder that git ignores, the check, and what would make it.
CASES: dict[str, tuple[str, str, Any, str]] = {
    "program of npm": (
        "package-lock.json",
        "node_modules/.bin",
        {"run": ["node_modules/.bin/tool"]},
        "setup: [[npm, ci]]",
    ),
    "name on the path of npm": (
        "package.json",
        "node_modules/.bin",
        {"shell": "PATH=node_modules/.bin:$PATH; tool"},
        "setup: [[npm, install]]",
    ),
    "python of an environment": (
        "requirements.txt",
        ".venv/bin",
        {"run": [".venv/bin/tool", "-m", "pytest"]},
        'setup: ["python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"]',
    ),
    "environment that a script enters": (
        "uv.lock",
        ".venv/bin",
        {"shell": ". .venv/bin/activate && tool"},
        "setup: [[uv, sync]]",
    ),
}


def a_repository(place: Place, manifest: str, folder: str) -> None:
    """With a tool that git ignores, as after an installation by hand."""
    (place.repo / manifest).write_text("{}\n")
    (place.repo / ".gitignore").write_text(f"{folder.partition('/')[0]}\n")
    tool = place.repo / folder / "tool"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\ntest -f x.txt\n")
    tool.chmod(0o755)
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "a project")


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_a_check_without_its_environment_names_the_setup_command_that_creates_it(
    place: Place, name: str
) -> None:
    manifest, folder, check, setup = CASES[name]
    a_repository(place, manifest, folder)
    plan = {
        "goal": "x",
        "agents": {"m": {"command": ["sh", "-c", "echo x > x.txt"]}},
        "agent": "m",
        "checks": {"c": check},
        "tasks": [{"id": "t", "goal": "x", "retry": {"max_retries": 0}}],
    }

    done = place.yaoki("run", place.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    question = place.task("t")["question"]
    assert f"git ignores {folder.partition('/')[0]}" in question
    assert setup in question


def test_an_ordinary_failure_does_not_mention_setup(place: Place) -> None:
    """The environment is there, but what failed has nothing to do with it."""
    a_repository(place, "package.json", "node_modules/.bin")
    plan = {
        "goal": "x",
        "agents": {"m": {"command": ["sh", "-c", "echo x > x.txt"]}},
        "agent": "m",
        "checks": {"c": {"shell": "echo 2 tests failed; exit 1"}},
        "tasks": [{"id": "t", "goal": "x", "retry": {"max_retries": 0}}],
    }

    place.yaoki("run", place.plan(plan), "--quiet")

    assert "setup" not in place.task("t")["question"]
