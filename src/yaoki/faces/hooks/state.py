"""How a session stands, folded from its lines; and what follows from a stop that was not proven."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

PHASE_BEGUN = "PHASE_BEGUN"
STOP_REFUSED = "STOP_REFUSED"
STOP_PASSED = "STOP_PASSED"
REASON_INJECTED = "REASON_INJECTED"
PERSON_ASKED = "PERSON_ASKED"
PERSON_ANSWERED = "PERSON_ANSWERED"


class Line(Protocol):
    """A line of the store."""

    @property
    def seq(self) -> int: ...
    @property
    def at(self) -> datetime: ...
    @property
    def event(self) -> str: ...
    @property
    def data(self) -> Mapping[str, Any]: ...


class Choice(StrEnum):
    """What a person may say when the tries are used up."""

    GO_ON = "go-on"
    ABORT = "abort"
    TAKE_OVER = "take-over"


@dataclass(frozen=True, slots=True)
class Phase:
    """What the checkout is at: a person or an agent said so by `yaoki hook begin`.

    `checks` are whole specifications, frozen when it began; None means those of the settings as
    they stand.  `iterations_max` zero means the default.  `number` tells phases of one name apart.
    """

    name: str = ""
    subtask: str = ""
    iterations_max: int = 0
    checks: tuple[Mapping[str, Any], ...] | None = None
    number: int = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """Why a stop was not proven, as the agent is to be told."""

    reason: str
    summary: str
    phase: str
    subtask: str
    at: datetime
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """A session in the phase that the checkout is at now.

    `count` are the tries that were not proven; `due` says that the reason has not reached the
    agent; `stance` is what the person last chose, if that still holds; `proven` says that the
    checks passed at the last stop, which a phase that has just begun cannot say.
    """

    count: int = 0
    kept: Kept | None = None
    due: bool = False
    asked: bool = False
    stance: Choice | None = None
    proven: bool = False

    def answerable(self, choice: Choice) -> bool:
        return self.asked or (choice is not Choice.GO_ON and self.stance is not choice)

    @property
    def held(self) -> bool:
        """A stop of it was sent back, and nobody has said anything since."""
        return self.count > 0 and self.stance is None

    @property
    def to_inject(self) -> Kept | None:
        """The reason that the next prompt brings along; a person who is asked comes first."""
        return self.kept if self.due and not self.asked and self.stance is None else None


def phase_of(lines: Iterable[Line]) -> Phase:
    """The phase that was begun last."""
    begun = [line for line in lines if line.event == PHASE_BEGUN]
    if not begun:
        return Phase()
    data = begun[-1].data
    checks = data.get("checks")
    return Phase(
        str(data.get("phase", "")),
        str(data.get("subtask", "")),
        int(data.get("max_iterations", 0)),
        None if checks is None else tuple(checks),
        begun[-1].seq,
    )


def fold(lines: Iterable[Line], phase: Phase) -> Session:
    """Only what happened in this phase counts: a new one begins at zero."""
    session = Session()
    for line in lines:
        if line.data.get("number", 0) == phase.number:
            session = _after(session, line)
    return session


def _after(session: Session, line: Line) -> Session:
    match line.event:
        case "STOP_REFUSED" | "PERSON_ASKED":
            asked = line.event == PERSON_ASKED
            return Session(session.count + 1, _kept(line), due=True, asked=asked)
        case "REASON_INJECTED":
            return replace(session, due=False)
        case "PERSON_ANSWERED":
            return _answered(session, line)
        case "STOP_PASSED":
            return Session(proven=True)
        case _:
            return Session()


def _answered(session: Session, line: Line) -> Session:
    """Going on is a fresh budget; the agent hears the reason once more, and the person's words."""
    choice = Choice(line.data["choice"])
    if choice is not Choice.GO_ON:
        return replace(session, due=False, asked=False, stance=choice)
    kept, words = session.kept, str(line.data.get("words", ""))
    if kept is not None and words:
        kept = replace(kept, reason=f"{kept.reason}\n\n# What a person said\n\n{words}")
    return Session(kept=kept, due=kept is not None)


def _kept(line: Line) -> Kept:
    data = line.data
    return Kept(
        str(data.get("reason", "")),
        str(data.get("summary", "")),
        str(data.get("phase", "")),
        str(data.get("subtask", "")),
        line.at,
        bool(data.get("ours", False)),
    )


@dataclass(frozen=True, slots=True)
class Unproven:
    """What the checks said of a stop that did not pass.

    `ours`: the agent is not to blame; `final`: the plan says that no further try may follow.
    """

    reason: str
    summary: str
    pattern: str = ""
    check: str = ""
    ours: bool = False
    final: bool = False


def after_unproven(
    session: Session, phase: Phase, seen: Unproven, most: int
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Send it back, or ask the person; who was asked, or has taken over, is only told.

    What is not the agent's doing is sent back once: it may be able to mend it, or to say so.
    """
    if session.asked or session.stance is not None:
        return
    again = seen.ours and session.kept is not None and session.kept.ours
    spent = again or seen.final or session.count + 1 >= most
    event = PERSON_ASKED if spent else STOP_REFUSED
    told = {
        "number": phase.number,
        "phase": phase.name,
        "subtask": phase.subtask,
        "count": session.count + 1,
        "max_iterations": most,
        "reason": seen.reason,
        "summary": seen.summary,
        "pattern": seen.pattern,
        "check": seen.check,
        "ours": seen.ours,
    }
    yield event, told


def after_proven(session: Session, phase: Phase) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Proven: the count goes back to zero; who aborted stays out until a new phase."""
    if not session.proven and session.stance is not Choice.ABORT:
        yield STOP_PASSED, {"number": phase.number, "phase": phase.name}


def after_answer(
    session: Session, phase: Phase, choice: Choice, words: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Going on answers a question; to leave, nobody has to be asked first."""
    if session.answerable(choice):
        yield PERSON_ANSWERED, {"number": phase.number, "choice": choice.value, "words": words}


def after_injection(session: Session, phase: Phase) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if session.due:
        yield REASON_INJECTED, {"number": phase.number}
