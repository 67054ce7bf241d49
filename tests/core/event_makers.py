"""Every event that changes a task, made so that it fits the task it happens to."""

from __future__ import annotations

from collections.abc import Callable

from tests.builders import MINUTE, NOW, a_failure, a_retry, a_spec, an_exit
from yaoki.core.machine.events import (
    AgentFinished,
    AttemptStarted,
    AwaitingRerun,
    Claimed,
    CulpritFound,
    EscalationDecided,
    Event,
    Judged,
    Landed,
    LandingRefused,
    LandingReverted,
    LeaseExpired,
    LeaseReleased,
    Planned,
    PromptSent,
    RecoveryStarted,
    Replaced,
    RerunGranted,
    RowRefused,
    Submitted,
)
from yaoki.core.machine.request_events import (
    Answered,
    Cancelled,
    CancelRequested,
    ChecksRevised,
    Recalled,
    RecallRequested,
    UndoCompleted,
    UndoDropped,
    UndoRequested,
    WaitEnded,
)
from yaoki.core.model import (
    CheckRevision,
    Choice,
    PlannedBy,
    Question,
    Reason,
    RecoveryStrategy,
    Task,
    TaskId,
)

QUESTION = Question("Try again?", (Choice.RETRY, Choice.ABORT))
ESCALATED = EscalationDecided(a_failure(), Reason.MAX_RETRIES, {}, {}, QUESTION)

# Each makes the event that fits the task; `legal` says whether it may happen now.
EVENT_MAKERS: tuple[Callable[[Task], Event], ...] = (
    lambda t: Claimed("host:1", t.epoch + 1, NOW + MINUTE),
    lambda t: LeaseExpired("host:1", t.epoch, counted=True),
    lambda t: LeaseReleased("host:1", t.epoch),
    lambda t: AttemptStarted(t.attempt + 1, "small", "ba5e", "/w", "host", fresh=True),
    lambda _: PromptSent(spend_counted=True),
    lambda _: AgentFinished(an_exit(), "head", "tree"),
    lambda _: Judged(True, "c0ffee", "onto"),
    lambda _: LandingRefused("moved"),
    lambda _: Landed("c0ffee"),
    lambda _: a_retry(),
    lambda _: ESCALATED,
    lambda _: AwaitingRerun(a_failure(), Reason.MAX_RETRIES),
    lambda _: RerunGranted("head"),
    lambda _: Replaced("other-2"),
    lambda _: CulpritFound(TaskId("run-1"), (), "c0ffee", 3, a_failure()),
    lambda _: LandingReverted("head"),
    lambda _: Answered(Choice.RETRY, "again"),
    lambda _: Answered(Choice.DONE),
    lambda _: Answered(Choice.WAIVE, check="tests"),
    lambda _: Answered(Choice.ABORT),
    lambda _: WaitEnded("a"),
    lambda _: CancelRequested("enough"),
    lambda _: Cancelled("enough"),
    lambda _: RecallRequested("its base is reverted"),
    lambda _: Recalled("its base is reverted"),
    lambda _: UndoRequested("c0ffee"),
    lambda _: UndoRequested("c0ffee", revert_cause=a_failure()),
    lambda _: UndoDropped("later work needs it"),
    lambda _: UndoCompleted("c0ffee", QUESTION),
    lambda _: ChecksRevised(CheckRevision(2, a_spec().checks, (("make", "deps"),))),
    lambda _: ChecksRevised(CheckRevision.of(a_spec(scope=("src/**",)), 3)),
    lambda _: RowRefused("not proven"),
    lambda _: Submitted(1, a_spec()),
    lambda _: Planned(("a", "b")),
    lambda _: Planned(("a", "b"), by=PlannedBy.PERSON),
    lambda _: RecoveryStarted(RecoveryStrategy.RETRY_FAILED_ONLY, ("a",), ("b",)),
)
