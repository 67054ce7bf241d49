"""A release on a registry, and edits of it: one that is right, and some that its tests notice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

Edit = tuple[str, str, str]


class Registry(Enum):
    """Where a release comes from, and the programs that fetch it and run its tests."""

    PYPI = ()
    NPM = ("npm", "node")
    DEBIAN = ("apt-get", "dpkg", "cargo")


@dataclass(frozen=True, slots=True)
class Repository:
    """A release, what it shows, and edits of it: a file, a text in it, and its replacement.

    `runs` is the start of the command that `init` has to choose for the tests.  `needs` is
    installed into `.venv` of the repository beside the project itself; None makes no environment,
    because a tool that `init` finds creates its own.  `changed` are edits before anything is
    committed, in which `{index}` is the index of packages that pip uses here; `left_out` are files
    that are not committed; `manifest` replaces keys of `package.json` where a release lacks files
    that its own scripts need.  Debian decides the version itself.
    """

    package: str
    version: str
    shows: str
    runs: str
    right: Edit
    wrong: tuple[Edit, ...]
    needs: tuple[str, ...] | None = None
    registry: Registry = Registry.PYPI
    changed: tuple[Edit, ...] = ()
    left_out: tuple[str, ...] = ()
    manifest: Mapping[str, Any] | None = None
    # Shows what another one shows as well: only `python3 dev.py real` tries it.
    is_further: bool = False

    @property
    def edits(self) -> Mapping[str, Edit]:
        """The edits by the names of their tasks."""
        return {
            "right": self.right,
            **{f"wrong-{n}": edit for n, edit in enumerate(self.wrong, start=1)},
        }


def added(file: str, line: str, more: str) -> Edit:
    """An edit that puts more text before a line."""
    return file, line, f"{more}{line}"
