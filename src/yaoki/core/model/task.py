"""What is carried: a run and its tasks, with the lease, the counts and the work of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from yaoki.core.model.asked import AgentSpec, CheckSpec, Policy, Spec
from yaoki.core.model.seen import AgentExit, Failure
from yaoki.core.model.words import CONTENT, Choice, Kind, Reason, RunId, Stage, State, TaskId


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to act on a task: who, by which claim, until when."""

    task_id: TaskId
    holder: str
    epoch: int
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Counts:
    """What was used up, per lineage.  None of these ever falls."""

    failures: Mapping[str, int] = field(default_factory=dict)
    faults: int = 0
    deliveries: int = 0
    interruptions: int = 0
    reruns: int = 0
    replans: int = 0
    executions: int = 0
    landings: int = 0

    def of(self, kind: Kind) -> int:
        return self.failures.get(kind.value, 0)

    @property
    def total(self) -> int:
        """Failed tries; an interruption is not one."""
        return sum(n for kind, n in self.failures.items() if kind != Kind.LOST)

    @property
    def content(self) -> int:
        return sum(self.of(kind) for kind in CONTENT)


@dataclass(frozen=True, slots=True)
class Work:
    """The commits of the current attempt, as far as it got."""

    base: str = ""
    head: str = ""
    proven: str = ""
    onto: str = ""
    worktree: str = ""
    host: str = ""
    tree: str = ""
    guards: Mapping[str, str] = field(default_factory=dict)
    started: bool = False
    changed: int = 0
    refused: int = 0
    exit: AgentExit | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked, and what they may answer."""

    text: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """A node of the graph as it stands.  `evolve` makes every later one from this."""

    id: TaskId
    run_id: RunId
    n: int
    spec: Spec
    state: State = State.WAITING
    stage: Stage = Stage.PREPARE
    attempt: int = 0
    epoch: int = 0
    lease: Lease | None = None
    due_at: datetime | None = None
    counts: Counts = field(default_factory=Counts)
    forgiven: Counts = field(default_factory=Counts)
    work: Work = field(default_factory=Work)
    failure: Failure | None = None
    feedback: Failure | None = None
    failed_tree: str = ""
    same_failures: int = 0
    agent_index: int = 0
    fresh_next: bool = False
    reason: Reason | None = None
    question: Question | None = None
    words: str = ""
    waivers: tuple[str, ...] = ()
    take_over: bool = False
    cancel_wanted: bool = False
    undo_wanted: bool = False
    landed: str = ""

    @property
    def agent(self) -> AgentSpec | None:
        if not self.spec.agents:
            return None
        return self.spec.agents[min(self.agent_index, len(self.spec.agents) - 1)]

    def spent(self, kind: Kind) -> int:
        """Failures of this kind since a person last gave a fresh budget."""
        return self.counts.of(kind) - self.forgiven.of(kind)

    @property
    def spent_total(self) -> int:
        return self.counts.total - self.forgiven.total


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What the tasks of a run share by name, so that each task need not repeat it."""

    checks: Mapping[str, CheckSpec] = field(default_factory=dict)
    agents: Mapping[str, AgentSpec] = field(default_factory=dict)
    policies: Mapping[str, Policy] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """One plan carried out on one repository."""

    id: RunId
    goal: str
    repo: str
    base_branch: str
    base: str
    created_at: datetime
    catalogue: Catalogue = field(default_factory=Catalogue)
    done_when: tuple[str, ...] = ()
    source: str = ""
    parallel: int = 2
    revision: int = 1
    priority: int = 0
    cancel_wanted: bool = False
    merged: str = ""
    summed_at: datetime | None = None

    @property
    def branch(self) -> str:
        return f"yaoki/{self.id}"


def task_branch(task_id: str) -> str:
    """Beside the run branch `yaoki/<run>`, not below it: git keeps refs as paths."""
    return f"yaoki/{task_id}"
