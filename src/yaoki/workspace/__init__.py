"""git worktrees and refs; the only user of git."""

from __future__ import annotations

from yaoki.workspace.bounds import Bounds
from yaoki.workspace.repository import Repository, open_repository, resolve_base
from yaoki.workspace.rooms import GitProofRooms
from yaoki.workspace.snapshots import Restored, Snapshot
from yaoki.workspace.workspace import GitWorkspace

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
