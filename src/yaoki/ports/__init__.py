"""What the engine needs of the outside world, as protocols.

One implementation each lives on the floor above; tests and the simulation bring their own.
"""

from __future__ import annotations

from yaoki.ports.agents import AgentDriver, AttemptRequest, PromptText, PromptWriter
from yaoki.ports.checks import Checker, QualityCriteria
from yaoki.ports.clock import Clock
from yaoki.ports.notices import Channel, Notice
from yaoki.ports.planner import PlannerAnswer, PlanReader
from yaoki.ports.processes import (
    OUTBOX,
    SANDBOX_FOLDERS_NAME,
    SANDBOX_VARIABLE,
    Launch,
    Processes,
    ProcessState,
    outbox,
)
from yaoki.ports.proof_rooms import ProofRoom, ProofRooms, RoomFolders
from yaoki.ports.store import (
    Baselines,
    HeartbeatResult,
    JournalEntry,
    LimitedAccount,
    Store,
    TaskRow,
)
from yaoki.ports.workers import ALL, BEGUN, NOTHING_NEW, WorkerInfo, WorkerSeen
from yaoki.ports.workspace import (
    WORKTREE_LINK,
    AttemptWorktrees,
    BranchStep,
    Candidate,
    CommitContents,
    CommittedAttempt,
    GroupBranches,
    IgnoredFile,
    LandedStep,
    Landings,
    MergeKind,
    MergeResult,
    PreparedWorktree,
    ProtectedFiles,
    QueueMembers,
    RunBranches,
    SandboxFolders,
    SavedWork,
    UncommittedWork,
    Workspace,
)

__all__ = [
    "ALL",
    "BEGUN",
    "NOTHING_NEW",
    "OUTBOX",
    "SANDBOX_FOLDERS_NAME",
    "SANDBOX_VARIABLE",
    "WORKTREE_LINK",
    "AgentDriver",
    "AttemptRequest",
    "AttemptWorktrees",
    "Baselines",
    "BranchStep",
    "Candidate",
    "Channel",
    "Checker",
    "Clock",
    "CommitContents",
    "CommittedAttempt",
    "GroupBranches",
    "HeartbeatResult",
    "IgnoredFile",
    "JournalEntry",
    "LandedStep",
    "Landings",
    "Launch",
    "LimitedAccount",
    "MergeKind",
    "MergeResult",
    "Notice",
    "PlanReader",
    "PlannerAnswer",
    "PreparedWorktree",
    "ProcessState",
    "Processes",
    "PromptText",
    "PromptWriter",
    "ProofRoom",
    "ProofRooms",
    "ProtectedFiles",
    "QualityCriteria",
    "QueueMembers",
    "RoomFolders",
    "RunBranches",
    "SandboxFolders",
    "SavedWork",
    "Store",
    "TaskRow",
    "UncommittedWork",
    "WorkerInfo",
    "WorkerSeen",
    "Workspace",
    "outbox",
]
