"""Values for tests, made by plain functions: name what matters, the rest is ordinary."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from yaoki.core.decide.failures import make_failure
from yaoki.core.machine.events import (
    AgentFinished,
    AttemptStarted,
    Event,
    Judged,
    Landed,
    RetryDecided,
    Submitted,
)
from yaoki.core.machine.evolution import create_task
from yaoki.core.model import (
    AgentExit,
    AgentSpec,
    Backoff,
    BackoffType,
    Catalogue,
    CheckSpec,
    Failure,
    FailureKind,
    Finding,
    Lease,
    Outcome,
    RetryPolicy,
    RetryRule,
    Run,
    RunId,
    Stage,
    State,
    Task,
    TaskId,
    TaskSpec,
    Verdict,
    Work,
)
from yaoki.core.settings.tags import join_tags
from yaoki.ports import OUTBOX, TaskRow

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
NOW = datetime(2026, 3, 1, 20, 0, tzinfo=UTC)
RUN_ID = RunId("run00001")


class HandClock:
    """A clock that a test advances by hand."""

    def __init__(self, now: datetime = NOW, chance: float = 0.5) -> None:
        self._now = now
        self._chance = chance
        self._lock = threading.Lock()

    def now(self) -> datetime:
        with self._lock:
            return self._now

    def advance(self, duration: timedelta) -> datetime:
        with self._lock:
            self._now += duration
            return self._now

    def sleep(self, duration: timedelta) -> None:
        self.advance(duration)

    def chance(self) -> float:
        return self._chance


def in_outbox(folder: Path) -> Path:
    """Where a process of this folder leaves what it writes."""
    (folder / OUTBOX).mkdir(parents=True, exist_ok=True)
    return folder / OUTBOX


def a_policy(**given: Any) -> RetryPolicy:
    """The defaults of rules 4.1 and 5.3, written out."""
    plain = Backoff(BackoffType.EXPONENTIAL, SECOND, 2.0, 30 * SECOND, 0.1)
    fixed = Backoff(BackoffType.FIXED, 5 * SECOND, 2.0, 5 * SECOND, 0.0)
    limited = Backoff(BackoffType.EXPONENTIAL, 5 * SECOND, 2.0, 60 * SECOND, 0.2)
    rules = {
        FailureKind.INCOMPLETE: RetryRule(3, plain),
        FailureKind.QUALITY_FAILURE: RetryRule(3, plain),
        FailureKind.TIMEOUT: RetryRule(2, fixed),
        FailureKind.TRANSIENT_ERROR: RetryRule(3, plain),
        FailureKind.RATE_LIMIT: RetryRule(5, limited),
        FailureKind.CONFLICT: RetryRule(2, plain),
        FailureKind.LOST: RetryRule(6, plain),
    }
    return replace(RetryPolicy(rules=rules), **given)


def a_check(name: str = "tests", **given: Any) -> CheckSpec:
    return replace(CheckSpec(name, argv=("true",)), **given)


def an_agent(name: str = "small", **given: Any) -> AgentSpec:
    return replace(AgentSpec(name, command=("agent",)), **given)


def a_spec(name: str = "login", **given: Any) -> TaskSpec:
    plain = TaskSpec(
        name,
        goal=f"Make {name} work.",
        checks=(a_check(),),
        agents=(an_agent(),),
        policy=a_policy(),
    )
    return replace(plain, **given)


def a_task(name: str = "login", *, spec: TaskSpec | None = None, **given: Any) -> Task:
    spec = spec or a_spec(name)
    task = create_task(TaskId(f"{RUN_ID}-1"), RUN_ID, Submitted(1, spec))
    return replace(task, **given)


def an_active_task(
    stage: Stage = Stage.PREPARE, *, spec: TaskSpec | None = None, **given: Any
) -> Task:
    """Claimed, and far enough for its stage to make sense."""
    task = a_task(spec=spec)
    lease = Lease(task.id, "host:1", 1, NOW + MINUTE)
    begun = stage is not Stage.PREPARE
    proven = "c0ffee" if stage is Stage.LAND else ""
    work = Work(
        base="ba5e", head="head" if begun else "", verified_commit=proven, worktree="/w/login"
    )
    task = replace(task, state=State.ACTIVE, stage=stage, epoch=1, lease=lease, work=work)
    return replace(task, **{"attempt": int(begun), **given})


def a_failure(
    kind: FailureKind = FailureKind.QUALITY_FAILURE, message: str = "", **given: Any
) -> Failure:
    return replace(make_failure(kind, message or f"it failed as {kind.value}"), **given)


def an_exit(**given: Any) -> AgentExit:
    return replace(AgentExit(code=0, seconds=3.0), **given)


def a_finding(outcome: Outcome = Outcome.PASSED, check: str = "tests", **given: Any) -> Finding:
    return replace(Finding(check, outcome), **given)


def a_verdict(*outcomes: Outcome) -> Verdict:
    return Verdict(tuple(a_finding(outcome, f"check{n}") for n, outcome in enumerate(outcomes)))


def a_run(run_id: str = RUN_ID, **given: Any) -> Run:
    plain = Run(
        id=RunId(run_id),
        goal="Make sign-up safe",
        repo="/repo",
        base_branch="main",
        base="ba5e",
        created_at=NOW,
        catalogue=Catalogue(
            checks={"tests": a_check()},
            agents={"small": an_agent()},
            policies={"default": a_policy()},
        ),
    )
    return replace(plain, **given)


def a_retry(failure: Failure | None = None, **given: Any) -> RetryDecided:
    plain = RetryDecided(
        failure=failure or a_failure(),
        stage=Stage.PREPARE,
        due_at=NOW,
        current_retry_count=0,
        max_retries=3,
        delay_ms=0,
        reasoning="because",
    )
    return replace(plain, **given)


def to_land(commit: str = "c0ffee", attempt: int = 1) -> tuple[Event, ...]:
    """What a straight attempt writes on its way to the end."""
    return (
        AttemptStarted(attempt, "small", "ba5e", "/w/login", "host", True),
        AgentFinished(an_exit(), "head", "tree"),
        Judged(True, commit, "ba5e", {"tests": "PASSED"}),
        Landed(commit),
    )


def a_row(task: Task, open_needs: int = 0) -> TaskRow:
    """The task as a store shows it to screens."""
    return TaskRow(
        id=task.id,
        run_id=task.run_id,
        n=task.n,
        name=task.spec.name,
        kind=task.spec.kind.value,
        state=task.state,
        stage=task.stage.value,
        attempt=task.attempt,
        epoch=task.epoch,
        holder=task.lease.holder if task.lease else "",
        due_at=task.due_at,
        lease_until=task.lease.expires_at if task.lease else None,
        open_needs=open_needs,
        required=task.spec.required and not task.parent,
        reason=task.reason.value if task.reason else "",
        agent=task.agent.name if task.agent else "",
        cancel_requested=task.cancel_requested,
        landed_commit=task.landed_commit,
        question=task.question.text if task.question else "",
        undo_requested=task.undo_requested,
        parent=task.parent,
        awaiting_rerun=task.awaiting_rerun,
        phase=task.spec.phase,
        account=(task.agent.account or task.agent.name) if task.agent else "",
        tags=join_tags(task.spec.tags),
        worktree_host=task.work.host if task.taken_over else "",
        is_queued=task.work.is_queued,
        session=task.session,
        spend=task.spend,
    )
