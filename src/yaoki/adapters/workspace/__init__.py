"""Branches, worktrees, protection and the remote of one repository.

The names are imported when they are first used: commands that only read need few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yaoki.adapters.git.repository import GitRepository, open_repository, resolve_base
    from yaoki.adapters.git.size_bounds import SizeBounds
    from yaoki.adapters.workspace.git_workspace import GitWorkspace
    from yaoki.adapters.workspace.proof_rooms import GitProofRooms
    from yaoki.adapters.workspace.worktrees.snapshots import RestoreResult, Snapshot

__all__ = [
    "GitProofRooms",
    "GitRepository",
    "GitWorkspace",
    "RestoreResult",
    "SizeBounds",
    "Snapshot",
    "open_repository",
    "resolve_base",
]

_MODULES = {
    "GitProofRooms": "workspace.proof_rooms",
    "GitRepository": "git.repository",
    "GitWorkspace": "workspace.git_workspace",
    "RestoreResult": "workspace.worktrees.snapshots",
    "SizeBounds": "git.size_bounds",
    "Snapshot": "workspace.worktrees.snapshots",
    "open_repository": "git.repository",
    "resolve_base": "git.repository",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"yaoki.adapters.{_MODULES[name]}"), name)
