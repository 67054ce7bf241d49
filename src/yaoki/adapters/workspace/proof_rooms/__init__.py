"""Proof rooms: where the verdict that lets a commit land is made."""

from __future__ import annotations

from yaoki.adapters.workspace.proof_rooms.pool import GitProofRooms

__all__ = ["GitProofRooms"]
