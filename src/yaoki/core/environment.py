"""What a child process may know of our environment: an allow-list, never the whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import translate
from functools import lru_cache

BASIC_VARIABLES = ("PATH", "HOME", "LANG", "LC_*", "TMPDIR", "USER", "LOGNAME", "SHELL")
# Lists of folders that are searched in the name of the caller.
FOLDERS = ("PATH", "LD_LIBRARY_PATH")


def filter_environment(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The variables a list of names and globs lets through.

    git's own variables never pass: they would point a child at the caller's repository.
    """
    passes = _passing(tuple(names)).match
    return {
        name: value
        for name, value in environ.items()
        if passes(name) and not name.startswith("GIT_")
    }


@lru_cache(maxsize=64)
def _passing(globs: tuple[str, ...]) -> re.Pattern[str]:
    """Asked for every attempt and every check, so they are made one expression, once."""
    return re.compile("|".join(map(translate, globs)) or r"(?!)")


def rooted(environ: Mapping[str, str]) -> dict[str, str]:
    """The same variables; where programs and libraries are looked for, only whole paths are left.

    A relative one, and an empty one, means the folder that a program is started in: there an agent
    may have put a program of the name that is looked for.
    """
    return {
        name: _whole_paths(value) if name in FOLDERS else value for name, value in environ.items()
    }


def _whole_paths(value: str) -> str:
    return ":".join(path for path in value.split(":") if path.startswith("/"))
