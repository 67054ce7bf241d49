"""Proof rooms: the folders in which the checks run that decide whether a commit lands."""

from __future__ import annotations

from yaoki.adapters.workspace.proof_rooms.pool import GitProofRooms

__all__ = ["GitProofRooms"]
