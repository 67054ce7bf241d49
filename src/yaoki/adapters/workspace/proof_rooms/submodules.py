"""Submodules of a worktree: clones that are filled from the repositories of the user's checkout."""

from __future__ import annotations

import tempfile
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.filters import Filters
from yaoki.adapters.git.repository import GitRepository
from yaoki.adapters.git.submodules import FILE, list_submodules
from yaoki.adapters.workspace.proof_rooms.checkout import RoomCheckout
from yaoki.adapters.workspace.proof_rooms.source import RoomSource


def check_out_submodules(
    git: Git, repository: GitRepository, commit: str, worktree: Path, filters: Filters
) -> None:
    """Check out the submodules of the commit that the user's checkout has.

    Each becomes a clone of its own, in which an agent can commit.  A folder with files stays.
    """
    if not (worktree / FILE).is_file():
        return
    source = RoomSource(git, repository)
    for submodule in list_submodules(git, commit):
        files = worktree / submodule.path
        inner = source.submodule(submodule.name, files)
        is_empty = not files.is_symlink() and files.is_dir() and not any(files.iterdir())
        if inner is None or not is_empty or not inner.has_commit(submodule.commit):
            continue
        with tempfile.TemporaryDirectory() as own:
            RoomCheckout(inner, files, Path(own), filters).check_out(submodule.commit)
