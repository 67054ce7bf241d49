"""Identifies the tools that a check starts, so that another version is another identity.

The programs of a command are known and count by their content; those that they start in turn are
not.  So every program on the search path counts by size and time, the packages of every interpreter
there, and the variables that a check gets.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from yaoki.core.commands.needed_programs import list_needed_programs
from yaoki.core.environment import (
    COMMAND_VARIABLES,
    VIRTUAL_ENV,
    check_search_path,
    filter_environment,
)
from yaoki.core.model import CheckSpec

PROGRAMS_MAX = 256
# Where interpreters keep packages, relative to the folder above that of the program.
PACKAGE_FOLDERS = (
    *("lib/python3*/site-packages", "lib/python3*/dist-packages", "lib/python3/dist-packages"),
    *("local/lib/python3*/dist-packages", "local/lib/python3*/site-packages"),
    *("lib64/python3*/site-packages", "lib/pypy3*/site-packages", "lib/node_modules"),
)
# Folders of version managers, whose programs on the path are scripts: pyenv; asdf and mise.
VERSIONS = ("", "versions/*/", "installs/*/*/")
INTERPRETERS = ("python", "pypy", "node")


def identify_tools(
    spec: CheckSpec, environ: Mapping[str, str], checkout: Path, surroundings: str = ""
) -> str:
    """Empty where a check has an environment of its own: its packages may lead into the checkout.

    `surroundings` are the settings of the sandbox.
    """
    if check_search_path(environ, spec.env, str(checkout)) is not None or VIRTUAL_ENV in environ:
        return ""
    path = environ.get("PATH", os.defpath)
    folders = [Path(name) for name in path.split(os.pathsep) if name.startswith("/")]
    programs = [_find(name, folders) for name in list_needed_programs(spec.argv, spec.shell)]
    files = [file for file in programs if file is not None]
    facts = (
        platform.platform(),
        surroundings,
        sorted(filter_environment(environ, COMMAND_VARIABLES).items()),
        [_list_folder(folder) for folder in folders],
        [_identify_program(file.resolve()) for file in files],
        sorted({_facts(found) for found in _list_package_folders(folders, files)}),
    )
    return hashlib.sha256(json.dumps(facts).encode("utf-8", "surrogateescape")).hexdigest()


def _list_folder(folder: Path) -> list[tuple[str, int, int]]:
    """Every program in it: one that was overwritten leaves the folder's own time as it was."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return []
    return [_facts(Path(entry.path)) for entry in entries]


def _find(program: str, folders: list[Path]) -> Path | None:
    """A program in the repository is one of the input files."""
    if program.startswith("/"):
        return Path(program)
    if "/" in program:
        return None
    return next((folder / program for folder in folders if (folder / program).is_file()), None)


def _list_package_folders(folders: list[Path], programs: list[Path]) -> Iterator[Path]:
    """Those of the named programs and of every interpreter on the path: a script may start it.

    Beside the program as it is called, and beside the file that a link leads to: an environment
    has its own packages and may see those of its interpreter.
    """
    started = [*programs, *(file for folder in folders for file in _list_interpreters(folder))]
    tops = {folder.parent for folder in folders}
    tops |= {top for file in started for top in (file.parent.parent, file.resolve().parent.parent)}
    for top in tops:
        for pattern in (f"{way}{name}" for way in VERSIONS for name in PACKAGE_FOLDERS):
            yield from top.glob(pattern)


def _list_interpreters(folder: Path) -> list[Path]:
    try:
        return [Path(e.path) for e in os.scandir(folder) if e.name.startswith(INTERPRETERS)]
    except OSError:
        return []


def _identify_program(path: Path) -> tuple[str, int, int, str]:
    """By its content as well: images of systems give all files the same time."""
    try:
        facts = path.stat()
        state = (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
        return (*_facts(path), _hash_content(path, state))
    except OSError:
        return (*_facts(path), "")


@lru_cache(maxsize=PROGRAMS_MAX)
def _hash_content(path: Path, _state: tuple[int, ...]) -> str:
    """Read again only when the state of the file differs; nobody can set the last change of it."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _facts(path: Path) -> tuple[str, int, int]:
    try:
        facts = path.stat()
    except OSError:
        return (str(path), 0, 0)
    return (str(path), facts.st_size, facts.st_mtime_ns)
