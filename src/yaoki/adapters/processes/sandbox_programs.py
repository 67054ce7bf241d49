"""Programs in folders that the sandbox hides: what is shown of them.

Only the package around a program is shown: its neighbours in such a folder belong to others.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from yaoki.adapters.processes.sandbox_mounts import SHARED_FOLDERS

NODE_MODULES = "node_modules"
ENV = "env"
SCRIPT_MARK = b"#!"
FIRST_LINE_BYTES_MAX = 512
# Prints the first program that cannot be started.
LOOK = 'for each; do command -v "$each" > /dev/null || { printf %s "$each"; exit 1; }; done'


def find_program_prefix(program: str) -> Path | None:
    """The folder of the package of a program or of a folder of programs: the parent of a `bin` that
    has a `lib` as well, or the `node_modules` of its `.bin`.

    A program there is often a link and finds its packages by its own path.  A shared folder is
    never a prefix, whatever it contains.
    """
    path = Path(program)
    folder = path if path.name in {"bin", ".bin"} else path.parent
    top = folder.parent
    is_prefix = folder.name == "bin" and os.access(top / "lib", os.X_OK)
    is_modules = folder.name == ".bin" and top.name == NODE_MODULES
    if not (is_prefix or is_modules):
        return None
    return None if top.resolve() in SHARED_FOLDERS else top


def list_program_paths(program: str, search_path: str) -> list[Path]:
    """Everything that the program needs to start: its file, its package and its interpreter."""
    found = [find_file(word, search_path) for word in list_started(program, search_path)]
    files = [file for link in found if link for file in (link, link.resolve())]
    packages = [_find_package(file) for file in files]
    return [*files, *(package for package in packages if package is not None)]


def list_started(program: str, search_path: str) -> Sequence[str]:
    """The program and, for a script, the interpreter that its first line names."""
    file = find_file(program, search_path)
    if file is None:
        return ()
    first, *others = (*_read_interpreter(file), "")
    # `env` starts the program that follows its options.
    if Path(first).name == ENV:
        first = next((word for word in others if word and not word.startswith("-")), "")
    return (program, first) if first and find_file(first, search_path) else (program,)


def find_file(program: str, search_path: str) -> Path | None:
    """None also for a relative path, which names a file of a worktree."""
    if "/" in program and not program.startswith("/"):
        return None
    found = shutil.which(program, path=search_path)
    return Path(found) if found else None


def _find_package(file: Path) -> Path | None:
    """The outermost `node_modules`: packages use each other there."""
    tops = [parent for parent in file.parents if parent.name == NODE_MODULES]
    return tops[-1] if tops else find_program_prefix(str(file))


def _read_interpreter(file: Path) -> list[str]:
    try:
        with file.open("rb") as stream:
            line = stream.readline(FIRST_LINE_BYTES_MAX)
    except OSError:
        return []
    words = line.removeprefix(SCRIPT_MARK).decode("utf-8", "replace").split()
    return words if line.startswith(SCRIPT_MARK) else []
