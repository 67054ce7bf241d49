"""What a child process may know of our environment: an allow-list, never the whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

BASIC = ("PATH", "HOME", "LANG", "LC_*", "TMPDIR", "USER", "LOGNAME", "SHELL")


def allowed(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The variables a list of names and globs lets through.

    git's own variables never pass: they would point a child at the caller's repository.
    """
    globs = tuple(names)
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith("GIT_") and any(fnmatchcase(name, glob) for glob in globs)
    }
