"""The state of a session, folded from its entries, and the decision after an unproven stop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from yaoki.core.lazy_dataclass import dataclass, replace

PHASE_BEGUN = "PHASE_BEGUN"
STOP_REFUSED = "STOP_REFUSED"
STOP_PASSED = "STOP_PASSED"
REASON_INJECTED = "REASON_INJECTED"
PERSON_ASKED = "PERSON_ASKED"
PERSON_ANSWERED = "PERSON_ANSWERED"


class SessionEntry(Protocol):
    """One stored entry of a session."""

    @property
    def seq(self) -> int: ...
    @property
    def at(self) -> datetime: ...
    @property
    def event(self) -> str: ...
    @property
    def data(self) -> Mapping[str, Any]: ...


class SessionChoice(StrEnum):
    """What a person may answer when the tries are used up."""

    GO_ON = "go-on"
    ABORT = "abort"
    TAKE_OVER = "take-over"


@dataclass(frozen=True, slots=True)
class SessionPhase:
    """The current phase of the checkout, begun by `yaoki hook begin`.

    `checks` are complete specifications, frozen when it began; None means the current settings.
    `iterations_max` zero means the default.  `number` distinguishes phases of the same name.
    """

    name: str = ""
    subtask: str = ""
    iterations_max: int = 0
    checks: tuple[Mapping[str, Any], ...] | None = None
    number: int = 0


@dataclass(frozen=True, slots=True)
class StopFailure:
    """Why a stop was not proven, in words for the agent."""

    reason: str
    summary: str
    phase: str
    subtask: str
    at: datetime
    is_our_fault: bool = False


@dataclass(frozen=True, slots=True)
class HookSession:
    """A session in the current phase of the checkout.

    `refusals`: the stops of this phase that were not proven.  `has_pending_reason`: the reason has
    not reached the agent yet.  `person_choice`: the last answer of the person, while it applies.
    `proven`: the checks passed at the last stop of this phase.
    """

    refusals: int = 0
    last_failure: StopFailure | None = None
    has_pending_reason: bool = False
    person_asked: bool = False
    person_choice: SessionChoice | None = None
    proven: bool = False

    def can_answer(self, choice: SessionChoice) -> bool:
        return self.person_asked or (
            choice is not SessionChoice.GO_ON and self.person_choice is not choice
        )

    @property
    def is_held_back(self) -> bool:
        """Was a stop refused, without an answer since?"""
        return self.refusals > 0 and self.person_choice is None

    @property
    def reason_to_inject(self) -> StopFailure | None:
        """The reason that the next prompt carries; none while a person is asked."""
        return (
            self.last_failure
            if self.has_pending_reason and not self.person_asked and self.person_choice is None
            else None
        )


def current_phase(lines: Iterable[SessionEntry]) -> SessionPhase:
    """The phase that began last."""
    begun = [line for line in lines if line.event == PHASE_BEGUN]
    if not begun:
        return SessionPhase()
    data = begun[-1].data
    checks = data.get("checks")
    return SessionPhase(
        str(data.get("phase", "")),
        str(data.get("subtask", "")),
        int(data.get("max_iterations", 0)),
        None if checks is None else tuple(checks),
        begun[-1].seq,
    )


def fold_session(lines: Iterable[SessionEntry], phase: SessionPhase) -> HookSession:
    """Only entries of this phase count: a new phase begins at zero."""
    session = HookSession()
    for line in lines:
        if line.data.get("number", 0) == phase.number:
            session = _after(session, line)
    return session


def _after(session: HookSession, line: SessionEntry) -> HookSession:
    match line.event:
        case "STOP_REFUSED" | "PERSON_ASKED":
            asked = line.event == PERSON_ASKED
            return HookSession(
                session.refusals + 1,
                _read_failure(line),
                has_pending_reason=True,
                person_asked=asked,
            )
        case "REASON_INJECTED":
            return replace(session, has_pending_reason=False)
        case "PERSON_ANSWERED":
            return _apply_answer(session, line)
        case "STOP_PASSED":
            return HookSession(proven=True)
        case _:
            return HookSession()


def _apply_answer(session: HookSession, line: SessionEntry) -> HookSession:
    """`go-on` grants a fresh budget; the agent gets the reason again, with the person's words."""
    choice = SessionChoice(line.data["choice"])
    if choice is not SessionChoice.GO_ON:
        return replace(session, has_pending_reason=False, person_asked=False, person_choice=choice)
    failure, words = session.last_failure, str(line.data.get("words", ""))
    if failure is not None and words:
        failure = replace(failure, reason=f"{failure.reason}\n\n# What a person said\n\n{words}")
    return HookSession(last_failure=failure, has_pending_reason=failure is not None)


def _read_failure(line: SessionEntry) -> StopFailure:
    data = line.data
    return StopFailure(
        str(data.get("reason", "")),
        str(data.get("summary", "")),
        str(data.get("phase", "")),
        str(data.get("subtask", "")),
        line.at,
        bool(data.get("ours", False)),
    )


@dataclass(frozen=True, slots=True)
class UnprovenStop:
    """The result of the checks for a stop that did not pass.

    `is_our_fault`: the agent did not cause it.  `is_final`: the plan allows no further try.
    """

    reason: str
    summary: str
    pattern: str = ""
    check: str = ""
    is_our_fault: bool = False
    is_final: bool = False


def after_unproven(
    session: HookSession, phase: SessionPhase, seen: UnprovenStop, most: int
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Refuse the stop or ask the person; a person who was asked or took over is only informed.

    After a failure that the agent did not cause, the stop is refused once: the agent may fix it or
    report it.
    """
    if session.person_asked or session.person_choice is not None:
        return
    again = (
        seen.is_our_fault and session.last_failure is not None and session.last_failure.is_our_fault
    )
    spent = again or seen.is_final or session.refusals + 1 >= most
    event = PERSON_ASKED if spent else STOP_REFUSED
    line = {
        "number": phase.number,
        "phase": phase.name,
        "subtask": phase.subtask,
        "count": session.refusals + 1,
        "max_iterations": most,
        "reason": seen.reason,
        "summary": seen.summary,
        "pattern": seen.pattern,
        "check": seen.check,
        "ours": seen.is_our_fault,
    }
    yield event, line


def after_proven(
    session: HookSession, phase: SessionPhase
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A proven stop resets the count; an aborted session stays unchecked until a new phase."""
    if not session.proven and session.person_choice is not SessionChoice.ABORT:
        yield STOP_PASSED, {"number": phase.number, "phase": phase.name}


def after_answer(
    session: HookSession, phase: SessionPhase, choice: SessionChoice, words: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """`go-on` needs an open question; `abort` and `take-over` do not."""
    if session.can_answer(choice):
        yield PERSON_ANSWERED, {"number": phase.number, "choice": choice.value, "words": words}


def after_injection(
    session: HookSession, phase: SessionPhase
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if session.has_pending_reason:
        yield REASON_INJECTED, {"number": phase.number}
