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
    BaselineReads,
    Baselines,
    Claims,
    CommandStore,
    CompletionStore,
    Journal,
    JournalReads,
    LeasedPorts,
    Notices,
    OpenWork,
    PoolStore,
    Reads,
    Records,
    Runs,
    RunStore,
    StatusReads,
    Store,
    TaskStore,
    Workers,
    WorkerStore,
)
from yaoki.ports.stored_values import HeartbeatResult, JournalEntry, LimitedAccount, TaskRow
from yaoki.ports.workers import ALL, BEGUN, NOTHING_NEW, WorkerInfo, WorkerSeen
from yaoki.ports.workspace import (
    WORKTREE_LINK,
    Candidate,
    CommittedAttempt,
    IgnoredFile,
    LandedStep,
    MergeResult,
    PreparedWorktree,
    QueueMembers,
    SandboxFolders,
    SavedWork,
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
    "BaselineReads",
    "Baselines",
    "Candidate",
    "Channel",
    "Checker",
    "Claims",
    "Clock",
    "CommandStore",
    "CommittedAttempt",
    "CompletionStore",
    "HeartbeatResult",
    "IgnoredFile",
    "Journal",
    "JournalEntry",
    "JournalReads",
    "LandedStep",
    "Launch",
    "LeasedPorts",
    "LimitedAccount",
    "MergeResult",
    "Notice",
    "Notices",
    "OpenWork",
    "PlanReader",
    "PlannerAnswer",
    "PoolStore",
    "PreparedWorktree",
    "ProcessState",
    "Processes",
    "PromptText",
    "PromptWriter",
    "ProofRoom",
    "ProofRooms",
    "QualityCriteria",
    "QueueMembers",
    "Reads",
    "Records",
    "RoomFolders",
    "RunStore",
    "Runs",
    "SandboxFolders",
    "SavedWork",
    "StatusReads",
    "Store",
    "TaskRow",
    "TaskStore",
    "WorkerInfo",
    "WorkerSeen",
    "WorkerStore",
    "Workers",
    "Workspace",
    "outbox",
]
