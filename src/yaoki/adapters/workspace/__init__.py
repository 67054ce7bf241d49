"""git worktrees and refs; the only user of git."""

from __future__ import annotations

from yaoki.adapters.git.repository import Repository, open_repository, resolve_base
from yaoki.adapters.workspace.facade import GitWorkspace
from yaoki.adapters.workspace.proof_rooms import GitProofRooms
from yaoki.adapters.workspace.worktrees.size_bounds import Bounds
from yaoki.adapters.workspace.worktrees.snapshots import Restored, Snapshot

__all__ = [
    "Bounds",
    "GitProofRooms",
    "GitWorkspace",
    "Repository",
    "Restored",
    "Snapshot",
    "open_repository",
    "resolve_base",
]
