"""Branches, worktrees, protection and the remote of one repository."""

from __future__ import annotations

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
