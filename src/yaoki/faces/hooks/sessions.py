"""Commands of people for sessions: begin a phase, list the sessions, answer a question."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.tables.sessions import (
    read_newest_lines,
    read_session_lines,
    record_session,
)
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.machine.codec import to_data
from yaoki.errors import Unknown
from yaoki.faces.hooks.checks import settings_checks
from yaoki.faces.hooks.session_store import NewSessionEvent, SessionStore, checkout_name
from yaoki.faces.hooks.state import (
    PHASE_BEGUN,
    HookSession,
    SessionChoice,
    SessionPhase,
    after_answer,
    current_phase,
    fold_session,
)

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import CheckSpec


@dataclass(frozen=True, slots=True)
class SessionStatus:
    """The current state of one session, and the time of its last event."""

    key: str
    session: HookSession
    last_seen_at: datetime


def list_sessions(app: App) -> tuple[SessionPhase, list[SessionStatus]]:
    """The phase, and every session of which something is known, the newest first."""
    database, checkout = app.store.database, checkout_name(app)
    phase = current_phase(read_session_lines(database, checkout))
    last = {one.session: one.at for one in read_newest_lines(database, checkout)}
    sessions = [
        SessionStatus(key, fold_session(read_session_lines(database, checkout, key), phase), at)
        for key, at in last.items()
    ]
    return phase, sorted(sessions, key=lambda one: one.last_seen_at, reverse=True)


def begin_phase(
    app: App,
    name: str,
    subtask: str,
    iterations_max: int,
    names: Sequence[str] = (),
    plan: Path | None = None,
) -> SessionPhase:
    """A new phase of this checkout; its checks stay as they are, even if the files are edited."""
    checks, tries = _of_plan(app, plan, name, subtask) if plan else (None, 0)
    if checks is None and names:
        checks = settings_checks(app, names)
    elif names:
        checks = _select_checks(checks or (), names)
    data: dict[str, Any] = {
        "phase": name,
        "subtask": subtask,
        "max_iterations": iterations_max or tries,
    }
    if checks is not None:
        data["checks"] = to_data(list(checks))

    def told(*_: Iterable[Any]) -> list[NewSessionEvent]:
        return [(PHASE_BEGUN, data)]

    lines = record_session(app.store.database, checkout_name(app), "", app.clock.now(), told)
    return current_phase(lines)


def _of_plan(app: App, file: Path, phase: str, subtask: str) -> tuple[tuple[CheckSpec, ...], int]:
    """The checks of a phase's tasks, each once, and the tries that its tasks have."""
    from yaoki.formats.plan_file import load_plan

    specs = [
        s
        for s in load_plan(file, app.settings, app.preflight.known_names).specs
        if s.phase == phase
    ]
    found = [s for s in specs if s.name == subtask] if subtask else specs
    if not found:
        known = ", ".join(dict.fromkeys(s.name for s in specs))
        hint = f"its tasks: {known}" if known else f"yaoki plan {shlex.quote(str(file))}"
        raise Unknown(f"{file} has no task {subtask or 'in phase ' + phase}", hint=hint)
    checks = {check.name: check for spec in found for check in spec.checks}
    return tuple(checks.values()), max(s.policy.content_retries_max for s in found) + 1


def _select_checks(checks: Sequence[CheckSpec], names: Sequence[str]) -> tuple[CheckSpec, ...]:
    known = {check.name: check for check in checks}
    if missing := [name for name in names if name not in known]:
        raise Unknown(f"the phase has no check {missing[0]!r}", hint=f"one of: {', '.join(known)}")
    return tuple(known[name] for name in names)


def answer_session(app: App, key: str, choice: SessionChoice, words: str) -> None:
    SessionStore(app, key).record(
        lambda session, phase: after_answer(session, phase, choice, words)
    )
