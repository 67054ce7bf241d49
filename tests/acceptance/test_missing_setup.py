"""A check that needs ignored files in a plan whose set-up does not create them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.1", "0.5", "12.2")]

# The file of the repository, the folder that git ignores, and for each task the check, what its
# agent adds, and the set-up that would make the folder.
CASES: dict[str, tuple[str, str, dict[str, tuple[Any, str, str]]]] = {
    "npm": (
        "package.json",
        "node_modules/.bin",
        {
            "program": (
                {"run": ["node_modules/.bin/tool"]},
                "package-lock.json",
                "setup: [[npm, ci]]",
            ),
            "name-on-the-path": (
                {"shell": "PATH=node_modules/.bin:$PATH; tool"},
                "x.txt",
                "setup: [[npm, install]]",
            ),
        },
    ),
    "python": (
        "requirements.txt",
        ".venv/bin",
        {
            "program": (
                {"run": [".venv/bin/tool", "-m", "pytest"]},
                "x.txt",
                'setup: [[sh, -c, "python3 -m venv .venv && .venv/bin/pip install -r '
                'requirements.txt"]]',
            ),
            "environment-that-a-script-enters": (
                {"shell": ". .venv/bin/activate && tool"},
                "uv.lock",
                "setup: [[uv, sync]]",
            ),
        },
    ),
}


def a_repository(project: Project, manifest: str, folder: str) -> None:
    """With a tool that git ignores, as after an installation by hand."""
    (project.repo / manifest).write_text("{}\n")
    (project.repo / ".gitignore").write_text(f"{folder.partition('/')[0]}\n")
    tool = project.repo / folder / "tool"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\ntest -f x.txt\n")
    tool.chmod(0o755)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a project")


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_a_check_without_its_environment_names_the_setup_command_that_creates_it(
    project: Project, name: str
) -> None:
    manifest, folder, cases = CASES[name]
    a_repository(project, manifest, folder)
    plan = {
        "goal": "x",
        "agents": {
            task: {"command": ["sh", "-c", f"echo x > x.txt; echo x > {adds}"]}
            for task, (_, adds, _) in cases.items()
        },
        "checks": {task: check for task, (check, _, _) in cases.items()},
        "tasks": [
            {"id": task, "goal": "x", "agent": task, "checks": [task], "retry": {"max_retries": 0}}
            for task in cases
        ],
    }

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    for task, (_, _, setup) in cases.items():
        question = project.task(task)["question"]
        assert f"git ignores {folder.partition('/')[0]}" in question
        assert setup in question


def test_an_ordinary_failure_does_not_mention_setup(project: Project) -> None:
    """The environment exists and is not the cause of the failure."""
    a_repository(project, "package.json", "node_modules/.bin")
    plan = {
        "goal": "x",
        "agents": {"m": {"command": ["sh", "-c", "echo x > x.txt"]}},
        "agent": "m",
        "checks": {"c": {"shell": "echo 2 tests failed; exit 1"}},
        "tasks": [{"id": "t", "goal": "x", "retry": {"max_retries": 0}}],
    }

    project.yaoki("run", project.plan(plan), "--quiet")

    assert "setup" not in project.task("t")["question"]
