"""Events of the requests that end or take back a task's work, and of a person's answers."""

from __future__ import annotations

from typing import ClassVar

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import CheckRevision, Choice, Counts, Failure, Question
from yaoki.core.model.stored_word import stored_as


@dataclass(frozen=True, slots=True)
class Answered:
    """`said`: all that persons have said, with the questions of agents, if that is more than
    `words`.
    """

    NAME: ClassVar[str] = "ESCALATION_ANSWERED"
    choice: Choice
    words: str = ""
    check: str = ""
    forgiven: Counts = field(default_factory=Counts)
    how: str = ""
    # The work that a waiver holds for; empty in journals of earlier versions.
    waived_work: str = field(default="", metadata=stored_as("work"))
    # The agent of the chain that begins again; None for the present one, as in earlier versions.
    agent_index: int | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class WaitEnded:
    """A person ended the wait of a task: it is due now.

    `account`: the closed account for which it waited; one task tries this account at once.  The
    event is written for each task that the account delays; `retried_task` is the task that the
    person named, and is empty in the event of that task itself.
    """

    NAME: ClassVar[str] = "WAIT_ENDED"
    account: str = ""
    words: str = ""
    how: str = ""
    retried_task: str = ""


@dataclass(frozen=True, slots=True)
class CancelRequested:
    NAME: ClassVar[str] = "CANCEL_REQUESTED"
    why: str = ""


@dataclass(frozen=True, slots=True)
class Cancelled:
    NAME: ClassVar[str] = "TASK_CANCELLED"
    why: str = ""
    saved_ref: str = field(default="", metadata=stored_as("kept"))


@dataclass(frozen=True, slots=True)
class RecallRequested:
    """Work that this task is based on is being reverted, so its worker must stop."""

    NAME: ClassVar[str] = "RECALL_REQUESTED"
    why: str = ""


@dataclass(frozen=True, slots=True)
class Recalled:
    """The worker stopped and the task waits again; its work is saved."""

    NAME: ClassVar[str] = "TASK_RECALLED"
    why: str = ""
    saved_ref: str = field(default="", metadata=stored_as("kept"))


@dataclass(frozen=True, slots=True)
class UndoRequested:
    """A revert is requested; recorded before the branch moves, so that a crash cannot lose it.

    With a `revert_cause` a final check requests it; otherwise a person does.
    """

    NAME: ClassVar[str] = "UNDO_REQUESTED"
    commit: str
    revert_cause: Failure | None = field(default=None, metadata=stored_as("blame"))
    how: str = ""


@dataclass(frozen=True, slots=True)
class UndoDropped:
    """The landing is not reverted: later work is based on it, or a check of other landed work
    needs it.

    A person who asked for the revert gets the reason; otherwise the next final check asks a person.
    """

    NAME: ClassVar[str] = "UNDO_DROPPED"
    why: str
    # The command that helps.
    remedy: str = ""
    # The landing that a person wanted to be reverted; empty if a final check did.
    commit: str = ""


@dataclass(frozen=True, slots=True)
class UndoCompleted:
    """The landed work was reverted because a person asked for it.

    `feedback_is_void`: the failure before the landing is history; not in earlier versions.
    """

    NAME: ClassVar[str] = "TASK_UNDONE"
    commit: str
    question: Question
    feedback_is_void: bool = False


@dataclass(frozen=True, slots=True)
class ChecksRevised:
    """A person took over the checks and the set-up of the changed plan.

    Work that was proven before this event was proven with the earlier checks.  `ended_waivers`: the
    changed checks that a person had waived for work that has not landed.
    `proof_is_void`: the task is a candidate that was proven before and is now verified again.
    `feedback_is_void`: its last failure is one of a check that is no longer the same.
    """

    NAME: ClassVar[str] = "CHECKS_REVISED"
    revision: CheckRevision
    ended_waivers: tuple[str, ...] = ()
    proof_is_void: bool = False
    feedback_is_void: bool = False
