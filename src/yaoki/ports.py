"""What the engine needs of the outside world, as protocols.

One implementation each lives on the floor above; tests and the simulation bring their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from yaoki.core.change import Change, Claims
from yaoki.core.events import Event
from yaoki.core.model import (
    AgentExit,
    AgentSpec,
    CheckSpec,
    Failure,
    Finding,
    Kind,
    Lease,
    Run,
    RunId,
    Spec,
    State,
    Task,
    TaskId,
)

# ------------------------------------------------------------------ clock


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall clock, aware, UTC."""

    def sleep(self, duration: timedelta) -> None: ...

    def chance(self) -> float:
        """A number in [0, 1); the dice of the backoff."""


# ------------------------------------------------------------------ processes


@dataclass(frozen=True, slots=True)
class Launch:
    """A command to run in its own session under a shim.

    `env` is the whole environment the child gets.  Its stdin is closed unless
    `stdin` holds text.  Zero for a limit means none.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    stdin: str | None = None
    deadline: timedelta = timedelta(0)
    hang: timedelta = timedelta(0)
    lease: timedelta = timedelta(0)
    grace: timedelta = timedelta(seconds=2)
    output_bytes_max: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Look:
    """How a launched process stands, seen from its folder.

    `phase` is absent (never started), running, exited (exit facts present) or gone (started,
    but its shim died without recording an exit).  `ended_by` as in AgentExit.
    """

    phase: str
    code: int | None = None
    signal: int | None = None
    ended_by: str = ""
    seconds: float = 0.0
    quiet_seconds: float = 0.0
    output_bytes: int = 0
    start_error: str = ""
    start_errno: int = 0


class Processes(Protocol):
    """Process trees that outlive their worker.  Every call names the tree by its folder."""

    def start(self, folder: Path, launch: Launch) -> None:
        """Start it, at most once per folder however often this is called."""

    def look(self, folder: Path) -> Look: ...

    def renew(self, folder: Path) -> None:
        """Tell the shim that somebody still holds the lease."""

    def end(self, folder: Path, why: str) -> Look:
        """End the whole tree, detached grandchildren included, and say how it stands then."""


# ------------------------------------------------------------------ agents


@dataclass(frozen=True, slots=True)
class Order:
    """What an agent is asked to do in one attempt."""

    task_id: TaskId
    attempt: int
    epoch: int
    agent: AgentSpec
    prompt: str
    worktree: Path
    folder: Path
    timeout: timedelta
    hang: timedelta
    lease: timedelta
    output_bytes_max: int = 1 << 30
    environment: Mapping[str, str] = field(default_factory=dict)


class Agent(Protocol):
    """Knows how to call one kind of agent, and how to read what it left."""

    def preflight(self, spec: AgentSpec) -> None:
        """Raise `Fault` when the agent cannot possibly run (binary missing, not executable)."""

    def launch(self, order: Order) -> Launch: ...

    def read(self, folder: Path, look: Look) -> AgentExit: ...

    def question(self, folder: Path) -> str:
        """What the agent asks a person while it still runs; empty when it asks nothing."""

    def waits(self, folder: Path) -> timedelta:
        """How long the agent means to wait by itself; zero when it works."""


# ------------------------------------------------------------------ words


class Told(Protocol):
    """Words about a failure, the file they came from, how it was found, and what went wrong."""

    @property
    def text(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def steps(self) -> tuple[str, ...]: ...
    @property
    def fault(self) -> str: ...


class Telling(Protocol):
    def tell(self, failure: Failure, hints: Mapping[Kind, str]) -> Told: ...


# ------------------------------------------------------------------ checks


class Checker(Protocol):
    def check(
        self,
        spec: CheckSpec,
        worktree: Path,
        folder: Path,
        *,
        facts: Mapping[str, Any],
        stop: Callable[[], bool],
    ) -> Finding:
        """Run one check in `worktree`; its logs go to `folder`.

        `facts` hold what git checks need: commit, base, onto, changed, scope, branch; and what
        a judge needs: goal, the findings so far, `diff` to be called, and whose attempt it is.
        `stop` is asked while it runs; true means end it at once.
        """


# ------------------------------------------------------------------ workspace


@dataclass(frozen=True, slots=True)
class Place:
    """A worktree made ready for one attempt."""

    worktree: Path
    base: str
    tree: str
    fresh: bool


@dataclass(frozen=True, slots=True)
class Kept:
    """Everything an attempt left, committed on the task's branch and kept under a private ref."""

    head: str
    tree: str
    changed: tuple[str, ...]
    deleted: int
    tracked: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """The exact commit to prove: the task's work merged onto the run branch's head.

    `changed` are the paths in which it differs from `onto`.  With `conflicts` there is
    nothing to prove.
    """

    commit: str
    onto: str
    tree: str
    changed: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    deleted: int = 0
    tracked: int = 0
    markers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SavedWork:
    """One attempt's work as `yaoki recover` lists it."""

    task_id: str
    attempt: int
    ref: str
    commit: str
    at: datetime
    subject: str


@dataclass(frozen=True, slots=True)
class Merged:
    """Where a run's work is now.  `how`: already, created, fast-forward or merge."""

    branch: str
    commit: str
    how: str


class Workspace(Protocol):
    """git worktrees and refs.  Nothing here touches the user's checkout, index or HEAD.

    Every method may be repeated after a crash at any point inside it.
    """

    def open_run(self, run: Run) -> None:
        """Make the run branch at the run's base unless it is there."""

    def head(self, run: Run) -> str: ...

    def prepare(self, run: Run, task: Task, attempt: int) -> Place:
        """The worktree for this attempt: the task's own, or a fresh one if the task asks."""

    def snapshot(self, task: Task, attempt: int) -> str:
        """Keep the worktree's whole content under refs/yaoki/snapshots; returns its id."""

    def keep(self, run: Run, task: Task) -> Kept: ...

    def candidate(self, run: Run, task: Task) -> Candidate:
        """Merge onto the run branch's head and put the worktree at the result."""

    def visit(self, task: Task, commit: str) -> None:
        """Put the task's worktree at another commit for a while; `candidate` puts it back."""

    def changes(self, old: str, new: str) -> tuple[Change, ...]:
        """The text files that differ between two commits."""

    def pushed(self, commit: str) -> bool: ...

    def settle(self, task: Task, commit: str) -> tuple[str, ...]:
        """Put the worktree back at `commit`; returns the tracked files that were not as there."""

    def rebuild(self, task: Task) -> bool:
        """Make a missing worktree again at the work it held; true when it was missing."""

    def diff(self, old: str, new: str) -> str:
        """The difference of two commits as text, cut at a bound and saying so."""

    def intact(self, run: Run) -> str:
        """Empty when the run branch is where yaoki put it; else one sentence."""

    def land(self, run: Run, commit: str, onto: str) -> str:
        """Move the run branch from `onto` to `commit`; returns the head it then has.

        The head is `commit` or has it as an ancestor when it landed; anything else: it moved.
        """

    def holds(self, run: Run, commit: str) -> bool:
        """Does the run branch already have this commit?"""

    def release(self, task: Task) -> None:
        """Remove the worktree of a task whose work is reachable from a ref."""

    def guards(self) -> Mapping[str, str]:
        """Hashes of what an agent must never change: git config and hooks, by name."""

    def worktrees(self) -> frozenset[str]:
        """The ids of the tasks that have a worktree on this machine."""

    def undo(self, run: Run, landed: str, task_id: str) -> str:
        """Revert landed work on the run branch; returns its new head.  Twice is once."""

    def merge(self, run: Run, *, into: str = "", force_ref: bool = False) -> Merged: ...


# ------------------------------------------------------------------ store


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal."""

    seq: int
    at: datetime
    run_id: str
    task_id: str
    attempt: int
    event: str
    data: Mapping[str, Any]
    subtask: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A task as screens need it, read without its specification and history."""

    id: TaskId
    run_id: RunId
    n: int
    name: str
    kind: str
    state: State
    stage: str
    attempt: int
    epoch: int
    holder: str
    due_at: datetime | None
    lease_until: datetime | None
    open_needs: int
    required: bool
    reason: str
    agent: str
    cancel_wanted: bool
    landed: str
    question: str
    undo_wanted: bool = False


@dataclass(frozen=True, slots=True)
class Account:
    """An account whose service asked to wait; `probe` is the task that tries first after that."""

    name: str
    until: datetime
    why: str
    probe: str = ""


@dataclass(frozen=True, slots=True)
class Beat:
    """What a heartbeat learned: claims that were lost, and tasks a person wants cancelled."""

    lost: frozenset[TaskId]
    cancelled: frozenset[TaskId]


class Quality(Protocol):
    """The criteria on the diff; pure, so a module with these functions will do."""

    def judge(
        self, changes: Sequence[Change], claims: Claims, *, exists: Callable[[str], bool]
    ) -> tuple[Finding, ...]: ...

    def weakened(self, changes: Sequence[Change], commands: Iterable[str]) -> Finding | None: ...


class Baselines(Protocol):
    """What a check said of a commit that others build on."""

    def baseline(self, commit: str, command: str) -> Finding | None: ...
    def keep_baseline(self, commit: str, command: str, finding: Finding) -> None: ...


class Store(Protocol):
    """The one transactional store.  Every method is one transaction."""

    def submit(
        self, run: Run, specs: Sequence[Spec], request: Mapping[str, Any]
    ) -> list[TaskId]: ...

    def add(self, run_id: RunId, specs: Sequence[Spec], *, unless: str = "") -> list[TaskId]:
        """Add tasks to a run; `unless` names a task whose presence makes this a no-op."""

    def claim(
        self,
        holder: str,
        lease: timedelta,
        limit: int,
        *,
        runs: Sequence[RunId] = (),
        host: str = "",
        host_max: int = 0,
        alive: Callable[[str], bool] = ...,
    ) -> list[Task]:
        """`alive` says that a holder lives on this machine; such a one keeps its task for a while
        even when its lease ran out."""

    def claim_cancelled(
        self, holder: str, lease: timedelta, runs: Sequence[RunId]
    ) -> list[Task]: ...

    def record(self, lease: Lease, decide: Callable[[Task], Sequence[Event]]) -> Task: ...

    def amend(self, task_id: TaskId, decide: Callable[[Task], Sequence[Event]]) -> Task:
        """A person's change: no lease needed, fenced by what `decide` sees."""

    def heartbeat(self, leases: Sequence[Lease], lease: timedelta) -> Beat: ...

    def expire(
        self, dead: Callable[[str], bool], *, counted: bool, runs: Sequence[RunId] = ()
    ) -> list[TaskId]:
        """Take the claims of dead holders back."""

    def cancel_run(self, run_id: RunId, why: str) -> list[TaskId]: ...
    def cancel_task(self, task_id: TaskId, why: str) -> Task: ...
    def cancel_wanted(self) -> frozenset[TaskId]: ...
    def accounts(self) -> list[Account]: ...
    def audit(self, run_id: RunId) -> list[str]: ...

    def note(
        self, run_id: RunId, name: str, data: Mapping[str, Any], task_id: str = "", attempt: int = 0
    ) -> None: ...

    def run(self, run_id: str) -> Run: ...
    def runs(self) -> list[Run]: ...
    def update_run(
        self, run_id: RunId, event: str, data: Mapping[str, Any], **fields: Any
    ) -> Run: ...
    def task(self, task_id: str) -> Task: ...
    def rows(self, run_id: RunId) -> list[Row]: ...
    def needs(self, run_id: RunId) -> dict[TaskId, tuple[TaskId, ...]]: ...
    def tally(self, run_id: RunId) -> dict[tuple[State, bool], int]:
        """How many tasks per (state, required)."""

    def resting(self, run_id: RunId) -> bool:
        """Is nothing of this run claimed, ready or due later?"""

    def next_due(self, runs: Sequence[RunId] = ()) -> datetime | None: ...
    def journal(
        self, *, run_id: str = "", task_id: str = "", after: int = 0, limit: int = 1000
    ) -> list[Entry]: ...
    def version(self) -> int:
        """Changes whenever anybody commits; cheap enough to poll."""

    def close(self) -> None: ...
