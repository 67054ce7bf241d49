"""What the engine needs of the outside world, as protocols.

One implementation each lives on the floor above; tests and the simulation bring their own.
"""

from __future__ import annotations

from yaoki.ports.agents import Agent, Order, Telling, Told
from yaoki.ports.checks import Checker, Quality
from yaoki.ports.clock import Clock
from yaoki.ports.notices import Channel, Notice
from yaoki.ports.planning import PlanAnswer, Planning
from yaoki.ports.processes import LENT, OUTBOX, SANDBOX, Launch, Look, Processes, outbox
from yaoki.ports.proof_rooms import ProofRoom, ProofRooms, RoomPlaces
from yaoki.ports.store import Account, Baselines, Beat, Entry, Row, Store
from yaoki.ports.workers import ALL, BEGUN, NOTHING_NEW, Seen, Serving
from yaoki.ports.workspace import (
    WORKTREE_LINK,
    Candidate,
    Kept,
    LandedStep,
    Lent,
    Merged,
    Place,
    Riders,
    SavedWork,
    Uncommitted,
    Workspace,
)

__all__ = [
    "ALL",
    "BEGUN",
    "LENT",
    "NOTHING_NEW",
    "OUTBOX",
    "SANDBOX",
    "WORKTREE_LINK",
    "Account",
    "Agent",
    "Baselines",
    "Beat",
    "Candidate",
    "Channel",
    "Checker",
    "Clock",
    "Entry",
    "Kept",
    "LandedStep",
    "Launch",
    "Lent",
    "Look",
    "Merged",
    "Notice",
    "Order",
    "Place",
    "PlanAnswer",
    "Planning",
    "Processes",
    "ProofRoom",
    "ProofRooms",
    "Quality",
    "Riders",
    "RoomPlaces",
    "Row",
    "SavedWork",
    "Seen",
    "Serving",
    "Store",
    "Telling",
    "Told",
    "Uncommitted",
    "Workspace",
    "outbox",
]
