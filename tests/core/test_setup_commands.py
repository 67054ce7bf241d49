"""Which programs a command needs for certain, and which set-up only fills a folder."""

from __future__ import annotations

import pytest

from yaoki.core.commands.installers import list_installed_folders
from yaoki.core.commands.needed_programs import list_needed_programs
from yaoki.core.progress import next_report_after


@pytest.mark.spec("3.1")
@pytest.mark.parametrize(
    ("argv", "needed"),
    [
        (("pytest", "-q"), ("pytest",)),
        (("env", "A=1", "pytest"), ("env", "pytest")),
        (("env", "PATH=/x", "pytest"), ("env",)),
        (("timeout", "60", "mypy", "."), ("timeout", "mypy")),
        (("sh", "-c", "cd web && exec npm test"), ("sh", "npm")),
        (("npx", "--no-install", "tsc"), ("npx",)),
        (("uv", "run", "pytest"), ("uv",)),
        (("{worktree}/tool",), ("{worktree}/tool",)),
        ((), ()),
    ],
)
def test_the_programs_of_an_argument_list(argv: tuple[str, ...], needed: tuple[str, ...]) -> None:
    assert list_needed_programs(argv, "") == needed


@pytest.mark.spec("3.1")
@pytest.mark.parametrize(
    ("shell", "needed"),
    [
        ("mypy src | tail", ("mypy", "tail")),
        ("ruff check && pytest", ("ruff", "pytest")),
        ("A=1 pytest", ("pytest",)),
        ("(cd web && eslint .)", ("eslint",)),
        ("cleanup; pytest", ("pytest",)),
        ("fast || slow", ()),
        ("! grep x y", ()),
        ("server & pytest", ("pytest",)),
        (". venv/bin/activate && pytest", ()),
        ("PATH=bin:$PATH pytest", ()),
        ("export PATH=bin; pytest", ()),
        ("$TOOL x", ()),
        ("if true; then pytest; fi", ()),
        ("f() { true; }; f", ()),
        ("echo x > y; test -f y", ()),
    ],
)
def test_the_programs_of_a_shell_line(shell: str, needed: tuple[str, ...]) -> None:
    """A fallback, an ignored failure or another PATH leaves nothing certain."""
    assert list_needed_programs((), shell) == needed


@pytest.mark.spec("16.1")
@pytest.mark.parametrize(
    ("commands", "folders"),
    [
        ([("npm", "ci", "--no-audit")], ("node_modules",)),
        ([("sh", "-c", "cd web && exec npm ci")], ("node_modules",)),
        ([("uv", "sync"), ("npm", "ci")], (".venv", "node_modules")),
        (
            [("sh", "-c", "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt")],
            (".venv",),
        ),
        ([("python3", "-m", "venv", ".venv"), (".venv/bin/pip", "install", "x")], (".venv",)),
        ([("npm", "ci"), ("createdb", "x")], ()),
        ([("npm", "install", "-g", "eslint")], ()),
        ([("npm", "run", "build")], ()),
        ([("pip", "install", "x")], ()),
        ([("sh", "-c", "npm ci; ./start-service")], ()),
        ([("sh", "-c", "if true; then npm ci; fi")], ()),
        ([("sh", "-c", "for d in a b; do createdb $d; done; npm ci")], ()),
        ([("sh", "setup.sh")], ()),
        ([(".venv/bin/pip3", "install", "x")], (".venv",)),
        ([(".venv/bin/pip", "list")], ()),
        ([("other/.venv/bin/pip", "install", "x")], ()),
        ([("python3", "-m", "venv", "elsewhere")], ()),
        ([("python3", "-m", "pip", ".venv")], ()),
        ([("venv", ".venv")], ()),
        ([("make", "ci")], ()),
        ([("npm", "run", "ci")], ()),
        ([()], ()),
        ([], ()),
    ],
)
def test_the_folders_that_package_managers_fill(
    commands: list[tuple[str, ...]], folders: tuple[str, ...]
) -> None:
    assert list_installed_folders(commands) == folders


@pytest.mark.spec("12.2")
def test_reports_of_a_running_command_grow_apart() -> None:
    times, now = [], 0.0
    for _ in range(10):
        now = next_report_after(now)
        times.append(now)

    assert times == [5, 15, 30, 60, 120, 240, 480, 960, 1440, 1920]
