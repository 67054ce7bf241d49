"""What a child process may know of our environment: an allow-list, never the whole."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import translate
from functools import lru_cache

BASIC = ("PATH", "HOME", "LANG", "LC_*", "TMPDIR", "USER", "LOGNAME", "SHELL")


def allowed(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
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
