"""The environment of a child process: an allow-list of variables, never all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import translate
from functools import lru_cache

BASIC_VARIABLES = ("PATH", "HOME", "LANG", "LC_*", "TMPDIR", "USER", "LOGNAME", "SHELL")
# Variables that hold lists of folders to search.
FOLDERS = ("PATH", "LD_LIBRARY_PATH")


def filter_environment(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The variables that match a list of names and globs.

    Variables of git never pass: they would point a child at the caller's repository.
    """
    passes = _allow_pattern(tuple(names)).match
    return {
        name: value
        for name, value in environ.items()
        if passes(name) and not name.startswith("GIT_")
    }


@lru_cache(maxsize=64)
def _allow_pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    """One cached expression, since every attempt and every check needs it."""
    return re.compile("|".join(map(translate, globs)) or r"(?!)")


def rooted(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables with only absolute paths in the search paths for programs and libraries.

    A relative or empty path means the working directory, where an agent may have put a program of
    the same name.
    """
    return {
        name: _whole_paths(value) if name in FOLDERS else value for name, value in environ.items()
    }


def _whole_paths(value: str) -> str:
    return ":".join(path for path in value.split(":") if path.startswith("/"))
