"""The environment of a check: the usual variables of this machine, none of yaoki's."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from yaoki.adapters.checks.runner import CheckProcesses
from yaoki.adapters.system.files import read_plain_bytes
from yaoki.adapters.system.folders import walk_folders
from yaoki.core.environment import (
    CHECK_VARIABLES,
    COMMAND_VARIABLES,
    VIRTUAL_ENV,
    activate_environment,
    filter_environment,
)
from yaoki.core.redact import mask
from yaoki.ports import RoomFolders

REPORT_BYTES_MAX = 64 << 20
# Code under test must not be able to distinguish a check from a terminal by this variable.
TERMINAL = "xterm-256color"
PYTHONPATH = "PYTHONPATH"
NODE_OPTIONS = "NODE_OPTIONS"
NODE_PRELOAD = Path(__file__).with_name("node_preload.cjs")
# Commands with one of these words, and every command beside a `package.json`, may start node.
NODE_WORDS = frozenset({"node", "nodejs", "npm", "npx", "yarn", "pnpm", "mocha", "jest", "vitest"})
PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
SOURCE_FOLDERS = ("src", "lib", "python")
TEST_FOLDERS = frozenset({"test", "tests"})
TOOL_MODULES = frozenset({"setup.py", "conftest.py", "noxfile.py", "tasks.py", "fabfile.py"})


def build_check_environment(runner: CheckProcesses, room: RoomFolders | None) -> dict[str, str]:
    """The environment of a check, with a private home and temporary folder in a proof room."""
    private = {"HOME": str(room.home), "TMPDIR": str(room.temporary)} if room else {}
    return {
        **filter_environment(runner.environ, (*COMMAND_VARIABLES, "TERM")),
        **({} if "TERM" in runner.environ else {"TERM": TERMINAL}),
        **CHECK_VARIABLES,
        **private,
    }


def add_own_variables(
    env: Mapping[str, str], own: Mapping[str, str], cwd: Path, checkout: Path
) -> dict[str, str]:
    """The environment with the variables of the check itself.

    Its `VIRTUAL_ENV` is activated.  Relative folders of its `PYTHONPATH` are made absolute: a test
    that starts Python in another folder must import the commit, not an editable install.  Without
    one, the folders with the project's own packages come first, for the same reason.
    """
    variables = {**env, **own}
    given = own.get(PYTHONPATH)
    parts = find_import_roots(cwd) if given is None else given.split(":")
    if places := ":".join(str(cwd / part) for part in parts if part):
        variables[PYTHONPATH] = places
    return activate_environment(variables, str(checkout)) if VIRTUAL_ENV in own else variables


def protect_node_assertions(
    env: Mapping[str, str], own: Mapping[str, str], words: Iterable[str], folders: Iterable[Path]
) -> dict[str, str]:
    """The environment in which node makes its assertions read-only before it loads anything else.

    The code under test runs in the process of its tests, and could otherwise replace
    `assert.strictEqual` in any of countless spellings.  An empty `NODE_OPTIONS` of the check
    switches it off.
    """
    given = own.get(NODE_OPTIONS)
    names = {word.rpartition("/")[2] for word in words}
    is_node = bool(names & NODE_WORDS) or any((one / "package.json").is_file() for one in folders)
    if given == "" or not is_node:
        return dict(env)
    path = str(NODE_PRELOAD).replace("\\", "\\\\").replace('"', '\\"')
    return {**env, NODE_OPTIONS: f'{given or ""} --require "{path}"'.strip()}


def find_import_roots(project: Path) -> tuple[str, ...]:
    """The folders that a Python project's own modules are in; empty for any other project."""
    if not any((project / name).is_file() for name in PROJECT_FILES):
        return ()
    nested = tuple(name for name in SOURCE_FOLDERS if _has_modules(project / name))
    return nested or ((".",) if _has_modules(project) else ())


def _has_modules(folder: Path) -> bool:
    """Does the folder contain modules of the project?  Those of tools and tests do not count."""
    if not folder.is_dir():
        return False
    return any(_is_module(path) for path in folder.iterdir())


def _is_module(path: Path) -> bool:
    if path.suffix == ".py":
        return path.name not in TOOL_MODULES and not path.name.startswith(("test_", "__"))
    return path.name not in TEST_FOLDERS and (path / "__init__.py").is_file()


def find_missing_environment(own: Mapping[str, str], checkout: Path) -> str:
    """The virtual environment that the check names and that does not exist; else empty."""
    if not own.get(VIRTUAL_ENV):
        return ""
    folder = activate_environment(own, str(checkout))[VIRTUAL_ENV]
    return "" if (Path(folder) / "bin").is_dir() else folder


def describe_missing_environment(own: Mapping[str, str], checkout: Path) -> str:
    """The sentence for it: each checkout of a clone has its own, because git ignores them."""
    named = own[VIRTUAL_ENV]
    place = "" if named.startswith("/") else f" in {checkout}"
    return f"the folder {named} of {VIRTUAL_ENV} does not exist{place}"


def environment_command(folder: str) -> str:
    """The shell command that creates a virtual environment."""
    python = next((name for name in ("python3", "python") if shutil.which(name)), "python3")
    return f"{python} -m venv {shlex.quote(folder)}"


def find_copied_report(worktree: Path, report: Path, started_at: datetime) -> str:
    """The file, older than the check, of which the report is a copy; empty if there is none.

    A command may copy a report that the suite has just written, but not an older one.
    """
    content = read_plain_bytes(report, REPORT_BYTES_MAX)
    for folder, folders, files in walk_folders(worktree) if content else ():
        folders[:] = [name for name in folders if name != ".git"]
        for path in (Path(folder) / name for name in files):
            facts = path.lstat()
            is_older_copy = facts.st_mtime < started_at.timestamp() and facts.st_size == len(
                content or b""
            )
            if is_older_copy and read_plain_bytes(path, REPORT_BYTES_MAX) == content:
                return str(path.relative_to(worktree))
    return ""


def save_report(source: Path, target: Path, secrets: Iterable[str]) -> None:
    """Copies the report of a check to its logs with secrets masked; only a plain file counts."""
    content = read_plain_bytes(source, REPORT_BYTES_MAX)
    if content is not None:
        masked = mask(content.decode("utf-8", "surrogateescape"), tuple(secrets))
        target.write_bytes(masked.encode("utf-8", "surrogateescape"))
