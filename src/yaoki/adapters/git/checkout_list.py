"""The checkouts of a clone: its main worktree and its linked ones.

They are read from files: `git worktree list` fails while another process adds a worktree.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from yaoki.adapters.git.command import Git


def list_checkouts(common_dir: Path) -> list[Path]:
    """The folders of all worktrees of the clone, the main one first.

    git keeps no record of a main worktree whose git folder was moved away (`--separate-git-dir`).
    """
    linked = (file.parent for file in list_link_files(common_dir))
    return [*_find_main_checkout(common_dir), *linked]


def list_link_files(common_dir: Path) -> Iterator[Path]:
    """The `.git` file of each linked worktree, also of one whose folder was deleted."""
    for file in sorted(common_dir.glob("worktrees/*/gitdir")):
        if link := read_gitdir(str(file)):
            yield Path(link)


def read_gitdir(file: str) -> str:
    """The `.git` file of a worktree that git's record names; empty when it was just removed."""
    try:
        with open(file, "rb") as stream:  # noqa: PTH123 - a Path would be made only for this
            text = os.fsdecode(stream.read().rstrip(b"\n"))
    except (FileNotFoundError, NotADirectoryError):
        return ""
    return os.path.normpath(os.path.join(os.path.dirname(file), text))  # noqa: PTH118, PTH120


def _find_main_checkout(common_dir: Path) -> Iterator[Path]:
    if common_dir.name == ".git":
        yield common_dir.parent
        return
    # A submodule: its git folder is in that of the repository around it.
    named = Git(common_dir).run("config", "--get", "core.worktree", ok=(0, 1)).out.rstrip(b"\n")
    if named:
        yield Path(os.path.normpath(common_dir / os.fsdecode(named)))
