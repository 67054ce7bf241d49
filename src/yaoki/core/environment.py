"""The environment of a child process: an allow-list of variables, never all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import translate
from functools import lru_cache

VIRTUAL_ENV = "VIRTUAL_ENV"
BASIC_VARIABLES = ("PATH", "HOME", "LANG", "LC_*", "TMPDIR", "USER", "LOGNAME", "SHELL")
# Files of certificates: without them no package manager gets through a proxy that checks TLS.
CERTIFICATE_VARIABLES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    "NODE_EXTRA_CA_CERTS",
)
# The variables that a check or a set-up command gets.
COMMAND_VARIABLES = (*BASIC_VARIABLES, *CERTIFICATE_VARIABLES, VIRTUAL_ENV)
# The variables that every check gets, beside those of the machine.
CHECK_VARIABLES: Mapping[str, str] = {
    # Bytecode of an earlier run and packages of the user are in no commit.
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
    # Output is read by programs and put into prompts; a plan may ask for colours again.
    "NO_COLOR": "1",
    "PY_COLORS": "0",
}
# Variables that programs read by a common convention, whichever program starts them.
STANDARD_VARIABLES = frozenset({"NO_COLOR"})
# Variables that hold lists of folders to search.
FOLDERS = ("PATH", "LD_LIBRARY_PATH")


def filter_environment(environ: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The variables that match a list of names and globs.

    Variables of git never pass: they would point a child at the caller's repository.
    """
    exact, prefixes, other = _sort_names(tuple(names))
    return {
        name: value
        for name, value in environ.items()
        if (name in exact or name.startswith(prefixes) or (other and other.match(name)))
        and not name.startswith("GIT_")
    }


@lru_cache(maxsize=64)
def _sort_names(
    globs: tuple[str, ...],
) -> tuple[frozenset[str], tuple[str, ...], re.Pattern[str] | None]:
    """Whole names, beginnings of names, and one expression for all other globs.

    Most lists need no expression, and compiling one takes longer than the rest.
    """
    exact = frozenset(glob for glob in globs if not _has_magic(glob))
    rest = [glob for glob in globs if glob not in exact]
    prefixes = tuple(glob[:-1] for glob in rest if glob[-1] == "*" and not _has_magic(glob[:-1]))
    other = [glob for glob in rest if glob[-1] != "*" or _has_magic(glob[:-1])]
    return exact, prefixes, re.compile("|".join(map(translate, other))) if other else None


def _has_magic(glob: str) -> bool:
    return not {"*", "?", "["}.isdisjoint(glob)


def activate_environment(variables: Mapping[str, str], checkout: str) -> dict[str, str]:
    """The variables with the virtual environment of `VIRTUAL_ENV` active: its programs come first.

    A relative path is in the user's checkout, because git ignores environments and a worktree has
    none.
    """
    named = variables.get(VIRTUAL_ENV, "")
    if not named:
        return dict(variables)
    folder = named if named.startswith("/") else f"{checkout}/{named}"
    path = ":".join(part for part in (f"{folder}/bin", variables.get("PATH", "")) if part)
    return {**variables, VIRTUAL_ENV: folder, "PATH": path}


def check_search_path(
    environ: Mapping[str, str], own: Mapping[str, str], checkout: str
) -> str | None:
    """The PATH of a check with its `own` variables; None means that of this process."""
    variables = {**environ, **own} if VIRTUAL_ENV in own else own
    return activate_environment(variables, checkout).get("PATH")


def rooted(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables with only absolute paths in the search paths for programs and libraries.

    A relative or empty path means the working directory, where an agent may have put a program of
    the same name.
    """
    return {
        name: _absolute_paths(value) if name in FOLDERS else value
        for name, value in environ.items()
    }


def _absolute_paths(value: str) -> str:
    return ":".join(path for path in value.split(":") if path.startswith("/"))
