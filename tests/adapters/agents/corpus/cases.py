"""Loads the corpus, and runs each case through the code that a worker uses."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.builders import a_finding, an_active_task, in_outbox
from tests.yaml_tables import load_quickly
from yaoki.adapters.agents.command import CommandAgent
from yaoki.core.decide.failure_response import ClockAndChance
from yaoki.core.decide.failures import FATAL_CATALOGUE
from yaoki.core.decide.rules import decide
from yaoki.core.machine.events import EscalationDecided, Event, Judged, RetryDecided
from yaoki.core.machine.evolution import evolve
from yaoki.core.model import AgentExit, AgentSpec, EndCause, Outcome, Stage, Task, TaskId, Verdict
from yaoki.core.model.stage_report import CandidateVerified, WorkCommitted
from yaoki.errors import FatalCode
from yaoki.ports import AttemptRequest, ProcessPhase, ProcessState

HERE = Path(__file__).parent
NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
AGENT = CommandAgent({}, now=lambda: NOW)


@dataclass(frozen=True, slots=True)
class Label:
    """The expected result.  `kind` is PASS without a failure."""

    kind: str
    pattern: str = ""
    code: str = ""
    reason: str = ""
    retry_after_s: float | None = None
    ours: bool = False
    session: str | None = None
    message: str | None = None

    @property
    def row(self) -> str:
        """Its row in the table: a failure that no rule explains has its own row."""
        return "UNKNOWN" if self.reason == "UNKNOWN" else self.kind


@dataclass(frozen=True, slots=True)
class Case:
    """One ending of an agent, as data."""

    id: str
    expect: Label
    agent: str = "any"
    source: str = "made up"
    argv: tuple[str, ...] = ()
    code: int | None = None
    signal: int | None = None
    ended_by: str = ""
    start_error: str = ""
    start_errno: int = 0
    out: str = ""
    err: str = ""
    out_hex: str = ""
    err_hex: str = ""
    err_repeat: int = 1
    err_lines_after: int = 0
    events: tuple[Mapping[str, Any], ...] = ()
    repeat_last: int = 1
    result: Mapping[str, Any] | None = None
    trajectory: Mapping[str, Any] | None = None
    changed: bool = False
    checks: Any = field(default_factory=lambda: {"failed": "test-failed"})
    waits: float | str | None = None


def load(folder: Path = HERE) -> list[Case]:
    """Every case of every file.  Refuses unknown keys: their label would be lost."""
    return [
        _case(data)
        for file in sorted(folder.glob("*.yaml"))
        for data in load_quickly(file.read_text(encoding="utf-8"))
    ]


def _case(data: Mapping[str, Any]) -> Case:
    known = {f.name for f in fields(Case)}
    assert known.issuperset(data), f"{data.get('id')}: unknown {set(data) - known}"
    made = {**data, "expect": Label(**data["expect"])}
    for name in ("events", "argv"):
        made[name] = tuple(data.get(name, ()))
    return Case(**made)


# ------------------------------------------------------------------ the folder an attempt leaves


def write_attempt(case: Case, folder: Path) -> ProcessState:
    """Launches as a worker does, writes the files as the shim does, and returns the state."""
    command = case.argv or (case.agent, "--some", "option")
    AGENT.build_launch(_order(AgentSpec("mine", command=command), folder))
    (folder / "out.log").write_bytes(_out(case))
    (folder / "err.log").write_bytes(_err(case))
    # Make the error channel the newest log: two writes may have the same timestamp.
    os.utime(folder / "out.log", (1, 1))
    for name, note in (("result.json", case.result), ("trajectory.json", case.trajectory)):
        if note is not None:
            (in_outbox(folder) / name).write_text(json.dumps(note))
    return ProcessState(
        ProcessPhase.EXITED,
        code=case.code,
        signal=case.signal,
        ended_by=EndCause(case.ended_by),
        seconds=3.0,
        output_bytes=len(_out(case)) + len(_err(case)),
        start_error=case.start_error,
        start_errno=case.start_errno,
    )


def _order(agent: AgentSpec, folder: Path) -> AttemptRequest:
    hour = timedelta(hours=1)
    return AttemptRequest(
        TaskId("abcd1234-1"), 1, 1, agent, "Do it.", folder, folder, hour, hour, hour
    )


def _out(case: Case) -> bytes:
    events = [*case.events, *case.events[-1:] * (case.repeat_last - 1)]
    lines = "".join(json.dumps(event) + "\n" for event in events)
    return (lines + case.out).encode() + bytes.fromhex(case.out_hex)


def _err(case: Case) -> bytes:
    text = case.err * case.err_repeat + "working on it\n" * case.err_lines_after
    return text.encode() + bytes.fromhex(case.err_hex)


# ------------------------------------------------------------------ the result


@dataclass(frozen=True, slots=True)
class ClassifiedEnding:
    """The result, and the event that decided what follows."""

    exit: AgentExit
    label: Label
    decision: RetryDecided | EscalationDecided | None


def classify(case: Case, folder: Path) -> ClassifiedEnding:
    """The way of every attempt: folder, agent's exit, `WorkCommitted`, `CandidateVerified`,
    decision.
    """
    exit_ = AGENT.read(folder, write_attempt(case, folder))
    changed = ("src/login.py",) if case.changed else ()
    task = an_active_task(Stage.WORK)
    worked = decide(task, WorkCommitted(exit_, "head", "tree", changed), ClockAndChance(NOW, 0.5))
    decision = _decision(worked)
    if decision is None:
        decision = _decision(_verified(_after(task, worked), case, changed))
    return ClassifiedEnding(exit_, _label(decision, exit_), decision)


def _after(task: Task, events: tuple[Event, ...]) -> Task:
    for event in events:
        task = evolve(task, event)
    return task


def _verified(task: Task, case: Case, changed: tuple[str, ...]) -> tuple[Event, ...]:
    report = CandidateVerified(_verdict(case.checks), "c0ffee", "ba5e", changed)
    events = decide(task, report, ClockAndChance(NOW, 0.5))
    judged = next(event for event in events if isinstance(event, Judged))
    assert judged.passed is (_decision(events) is None)
    return events


def _verdict(checks: Any) -> Verdict:
    match checks:
        case "passed":
            return Verdict((a_finding(),))
        case "none":
            return Verdict(())
        case {"failed": str(pattern)}:
            words = f"{pattern}: one of them"
            return Verdict((a_finding(Outcome.FAILED, pattern=pattern, message=words),))
        case {"broken": str(how)}:
            code = FatalCode(how) if how in FATAL_CATALOGUE else FatalCode.NONE
            assert code or how in {"transient", "permanent"}, how
            finding = a_finding(
                Outcome.BROKEN, message="no such", transient=how == "transient", code=code
            )
            return Verdict((finding,))
        case _:
            raise AssertionError(f"checks: {checks!r}")


def _decision(events: tuple[Event, ...]) -> RetryDecided | EscalationDecided | None:
    found = (event for event in events if isinstance(event, RetryDecided | EscalationDecided))
    return next(found, None)


def _label(decision: RetryDecided | EscalationDecided | None, exit_: AgentExit) -> Label:
    if decision is None:
        return Label("PASS", session=exit_.session)
    failure = decision.failure
    wait = failure.retry_after
    return Label(
        failure.kind.value,
        failure.pattern,
        failure.code,
        decision.blocked.value if isinstance(decision, EscalationDecided) else "",
        None if wait is None else round(wait / timedelta(seconds=1), 3),
        failure.is_our_fault,
        exit_.session,
        failure.message,
    )


def without_unlabelled_fields(actual: Label, expected: Label) -> Label:
    """Compares session and message only if the label names them."""
    return replace(
        actual,
        session=actual.session if expected.session is not None else None,
        message=actual.message if expected.message is not None else None,
    )
