"""Values for tests, made by plain functions: name what matters, the rest is ordinary."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from yaoki.core.decide.classification import failed
from yaoki.core.machine.events import (
    AgentFinished,
    AttemptStarted,
    Event,
    Judged,
    Landed,
    RetryDecided,
    Submitted,
)
from yaoki.core.machine.evolution import create
from yaoki.core.model import (
    AgentExit,
    AgentSpec,
    Backoff,
    Catalogue,
    CheckSpec,
    Failure,
    Finding,
    Kind,
    Lease,
    Outcome,
    Policy,
    RetryRule,
    Run,
    RunId,
    Spec,
    Stage,
    State,
    Task,
    TaskId,
    Verdict,
    Work,
)
from yaoki.core.settings.tags import joined
from yaoki.ports import OUTBOX, Row

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
NOW = datetime(2026, 3, 1, 20, 0, tzinfo=UTC)
RUN_ID = RunId("run00001")


class HandClock:
    """A clock that stands still until a test moves it."""

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


def a_policy(**given: Any) -> Policy:
    """The defaults of rules 4.1 and 5.3, written out."""
    plain = Backoff("exponential", SECOND, 2.0, 30 * SECOND, 0.1)
    fixed = Backoff("fixed", 5 * SECOND, 2.0, 5 * SECOND, 0.0)
    limited = Backoff("exponential", 5 * SECOND, 2.0, 60 * SECOND, 0.2)
    rules = {
        Kind.INCOMPLETE: RetryRule(3, plain),
        Kind.QUALITY_FAILURE: RetryRule(3, plain),
        Kind.TIMEOUT: RetryRule(2, fixed),
        Kind.TRANSIENT_ERROR: RetryRule(3, plain),
        Kind.RATE_LIMIT: RetryRule(5, limited),
        Kind.CONFLICT: RetryRule(2, plain),
        Kind.LOST: RetryRule(6, plain),
    }
    return replace(Policy(rules=rules), **given)


def a_check(name: str = "tests", **given: Any) -> CheckSpec:
    return replace(CheckSpec(name, argv=("true",)), **given)


def an_agent(name: str = "small", **given: Any) -> AgentSpec:
    return replace(AgentSpec(name, command=("agent",)), **given)


def a_spec(name: str = "login", **given: Any) -> Spec:
    plain = Spec(
        name,
        goal=f"Make {name} work.",
        checks=(a_check(),),
        agents=(an_agent(),),
        policy=a_policy(),
    )
    return replace(plain, **given)


def a_task(name: str = "login", *, spec: Spec | None = None, **given: Any) -> Task:
    spec = spec or a_spec(name)
    task = create(TaskId(f"{RUN_ID}-1"), RUN_ID, Submitted(1, spec))
    return replace(task, **given)


def an_active_task(stage: Stage = Stage.PREPARE, *, spec: Spec | None = None, **given: Any) -> Task:
    """Claimed, and far enough for its stage to make sense."""
    task = a_task(spec=spec)
    lease = Lease(task.id, "host:1", 1, NOW + MINUTE)
    begun = stage is not Stage.PREPARE
    proven = "c0ffee" if stage is Stage.LAND else ""
    work = Work(base="ba5e", head="head" if begun else "", proven=proven, worktree="/w/login")
    task = replace(task, state=State.ACTIVE, stage=stage, epoch=1, lease=lease, work=work)
    return replace(task, **{"attempt": int(begun), **given})


def a_failure(kind: Kind = Kind.QUALITY_FAILURE, message: str = "", **given: Any) -> Failure:
    return replace(failed(kind, message or f"it failed as {kind.value}"), **given)


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


def a_row(task: Task, open_needs: int = 0) -> Row:
    """The task as a store shows it to screens."""
    return Row(
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
        cancel_wanted=task.cancel_wanted,
        landed=task.landed,
        question=task.question.text if task.question else "",
        undo_wanted=task.undo_wanted,
        parent=task.parent,
        held=task.held,
        phase=task.spec.phase,
        account=(task.agent.account or task.agent.name) if task.agent else "",
        tags=joined(task.spec.tags),
        place=task.work.host if task.take_over else "",
        refused=task.work.refused,
        session=task.session,
        spent=task.spent_on,
    )
