"""Each event changes exactly these fields of a task and leaves every other one alone."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from tests.builders import (
    HOUR,
    MINUTE,
    NOW,
    RUN_ID,
    a_failure,
    a_finding,
    a_retry,
    a_spec,
    a_task,
    an_exit,
)
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
from yaoki.core.machine.evolution import create_task, evolve, replay
from yaoki.core.machine.journal_notes import KNOWN_FAILURES_MAX, JournalNote, check_finished_note
from yaoki.core.machine.legality import IllegalEvent, legal
from yaoki.core.machine.request_events import (
    Answered,
    Cancelled,
    CancelRequested,
    Recalled,
    RecallRequested,
    UndoCompleted,
    UndoDropped,
    UndoRequested,
    WaitEnded,
)
from yaoki.core.model import (
    AgentLimit,
    AttemptMode,
    Choice,
    Counts,
    Failure,
    FailureKind,
    FindingItem,
    Lease,
    Outcome,
    PendingRequest,
    PlannedBy,
    Question,
    Reason,
    RecoveryStrategy,
    Spend,
    Stage,
    State,
    Task,
    TaskId,
    TaskKind,
    WaitReason,
    Work,
)

pytestmark = pytest.mark.spec("10.2", "1.1")

QUESTION = Question("Well?", (Choice.RETRY, Choice.ABORT))
OTHER_QUESTION = Question("And now?", (Choice.ABORT,))
COUNTS = Counts(
    attempts=3, failures={"TIMEOUT": 1}, faults=1, deliveries=2, reruns=0, refused_landings=1
)
WORK = Work(
    base="ba5e",
    head="head",
    tree="tree",
    verified_commit="c0ffee",
    onto="onto",
    worktree="/w/login",
    host="host",
    exit=an_exit(reports_failure=True),
    landing_refusals=1,
    diff_digest="diff",
    left_out_files=("x",),
)
OLD = a_failure(FailureKind.TIMEOUT, "too late")


def a_full_task(**given: Any) -> Task:
    """Every field is set, so that one which an event forgets to clear is seen."""
    task = a_task(
        state=State.ACTIVE,
        stage=Stage.VERIFY,
        attempt=3,
        epoch=5,
        lease=Lease(TaskId(f"{RUN_ID}-1"), "host:1", 5, NOW),
        due_at=NOW,
        counts=COUNTS,
        forgiven_counts=Counts(attempts=1),
        work=WORK,
        failure=OLD,
        feedback=OLD,
        failed_work_digest="olddiff",
        same_work_failures=1,
        same_fingerprint_failures=2,
        failure_kinds=("TIMEOUT",),
        needs_fresh_worktree=False,
        reason=Reason.MAX_RETRIES,
        question=QUESTION,
        answer_text="try b",
        waivers=("lint",),
        waived_work="waived",
        session="s1",
        first_base="f00",
        landed_commit="1anded",
        lineage="run00001-0",
        revert_cause=OLD,
        recovered_subtasks=("a", "b"),
        left_out_subtasks=(),
        spend=Spend(tokens=5),
        forgiven_spend=Spend(tokens=1),
    )
    return replace(task, **given)


NEW = a_failure(FailureKind.QUALITY_FAILURE, "2 failed")
RETRY = a_retry(
    NEW,
    due_at=NOW + HOUR,
    fresh=True,
    agent_index=1,
    same_work_failures=7,
    same_fingerprint_failures=8,
    work_digest="newdiff",
    failure_kinds=("TIMEOUT", "QUALITY_FAILURE"),
)
# What every failure of the work changes.
FAILED = {
    "lease": None,
    "stage": Stage.PREPARE,
    "counts": replace(COUNTS, failures={"TIMEOUT": 1, "QUALITY_FAILURE": 1}),
    "failure": NEW,
    "feedback": NEW,
    "same_work_failures": 7,
    "same_fingerprint_failures": 8,
    "failed_work_digest": "newdiff",
    "failure_kinds": ("TIMEOUT", "QUALITY_FAILURE"),
    "work": replace(WORK, verified_commit="", onto=""),
    "revert_cause": None,
}
NUMBERS: dict[str, Any] = {
    "same_work_failures": 7,
    "same_fingerprint_failures": 8,
    "work_digest": "newdiff",
    "failure_kinds": ("TIMEOUT", "QUALITY_FAILURE"),
}
ESCALATED = EscalationDecided(NEW, Reason.CONFLICT, {}, {}, OTHER_QUESTION, **NUMBERS)
WAITING: dict[str, Any] = {"state": State.WAITING, "lease": None}
DONE: dict[str, Any] = {"state": State.DONE, "lease": None}
RESET = {
    "state": State.WAITING,
    "stage": Stage.PREPARE,
    "landed_commit": "",
    "request": PendingRequest.NONE,
    "first_base": "",
    "needs_fresh_worktree": True,
    "due_at": None,
    "work": Work(),
}
FRESH_BUDGET = {
    "state": State.WAITING,
    "due_at": None,
    "reason": None,
    "question": None,
    "forgiven_counts": COUNTS,
    "forgiven_spend": Spend(tokens=5),
    "same_work_failures": 0,
    "same_fingerprint_failures": 0,
    "failed_work_digest": "",
    "request": PendingRequest.NONE,
    "mode": AttemptMode.NORMAL,
}
GROUP, PLAN, CHECK = (
    {"spec": a_spec(kind=kind)} for kind in (TaskKind.GROUP, TaskKind.PLAN, TaskKind.CHECK)
)


@pytest.mark.parametrize(
    ("given", "event", "changes"),
    [
        (
            {**WAITING, "waiting_for": WaitReason.DECISION},
            Claimed("host:2", 6, NOW + MINUTE),
            {
                "state": State.ACTIVE,
                "epoch": 6,
                "lease": Lease(TaskId(f"{RUN_ID}-1"), "host:2", 6, NOW + MINUTE),
                "due_at": None,
                "waiting_for": WaitReason.CLAIM,
            },
        ),
        (
            {},
            LeaseExpired("host:1", 5, counted=True),
            {**WAITING, "counts": replace(COUNTS, deliveries=3)},
        ),
        ({}, LeaseExpired("host:1", 5, counted=False), WAITING),
        ({}, LeaseReleased("host:1", 5, "busy", NOW + HOUR), {**WAITING, "due_at": NOW + HOUR}),
        ({}, LeaseReleased("host:1", 5), {**WAITING, "due_at": None}),
        (
            {"stage": Stage.PREPARE, "needs_fresh_worktree": True},
            AttemptStarted(4, "small", "b2", "/w2", "h2", True, "t2", "s", {"a": "1"}, "head2"),
            {
                "stage": Stage.WORK,
                "attempt": 4,
                "counts": replace(COUNTS, attempts=4),
                "forgiven_counts": Counts(attempts=1, deliveries=2),
                "work": Work(
                    base="b2",
                    head="head2",
                    worktree="/w2",
                    host="h2",
                    tree="t2",
                    protected_hashes={"a": "1"},
                ),
                "needs_fresh_worktree": False,
                "session": "",
            },
        ),
        (
            {"stage": Stage.PREPARE, "first_base": "", **CHECK},
            AttemptStarted(4, "", "b2", "/w2", "h2", fresh=False),
            {
                "stage": Stage.VERIFY,
                "attempt": 4,
                "counts": replace(COUNTS, attempts=4),
                "forgiven_counts": Counts(attempts=1, deliveries=2),
                "work": Work(base="b2", worktree="/w2", host="h2"),
                "first_base": "b2",
            },
        ),
        (
            {"stage": Stage.WORK},
            PromptSent(spend_counted=True),
            {
                "work": replace(WORK, prompt_sent=True, spend_counted=True),
                "spend": Spend(tokens=5).with_start(),
            },
        ),
        ({"stage": Stage.WORK}, PromptSent(), {"work": replace(WORK, prompt_sent=True)}),
        (
            {"stage": Stage.WORK},
            AgentFinished(an_exit(session="s2", tokens=9), "h2", "t2", 4, "d2", ("y",)),
            {
                "stage": Stage.VERIFY,
                "work": replace(
                    WORK,
                    head="h2",
                    tree="t2",
                    diff_digest="d2",
                    exit=an_exit(session="s2", tokens=9),
                    attempt_file_count=4,
                    left_out_files=("y",),
                ),
                "forgiven_counts": Counts(attempts=1, deliveries=2),
                "spend": Spend(tokens=5).with_run(an_exit(tokens=9)),
                "session": "s2",
                "waivers": (),
                "waived_work": "",
            },
        ),
        (
            {
                "stage": Stage.WORK,
                "waived_work": "tree",
                "work": replace(WORK, spend_counted=True),
            },
            AgentFinished(an_exit(limit=AgentLimit.CONTEXT, session="s2"), "head", "tree"),
            {
                "stage": Stage.VERIFY,
                "work": replace(
                    WORK,
                    spend_counted=True,
                    diff_digest="",
                    left_out_files=(),
                    exit=an_exit(limit=AgentLimit.CONTEXT, session="s2"),
                ),
                "forgiven_counts": Counts(attempts=1, deliveries=2),
                "spend": Spend(tokens=5).with_end(an_exit()),
                "session": "",
            },
        ),
        ({}, Judged(False, "bad", "onto2"), {}),
        (
            {},
            Judged(True, "good", "onto2"),
            {
                "stage": Stage.LAND,
                "work": replace(WORK, verified_commit="good", onto="onto2"),
                "forgiven_counts": Counts(attempts=1, deliveries=2),
            },
        ),
        (
            {"stage": Stage.LAND},
            LandingRefused("moved"),
            {
                "stage": Stage.VERIFY,
                "counts": replace(COUNTS, refused_landings=2),
                "work": replace(WORK, verified_commit="", onto="", landing_refusals=2),
            },
        ),
        (
            {"stage": Stage.LAND, "request": PendingRequest.RECALL},
            Landed("c0ffee"),
            {
                **DONE,
                "landed_commit": "c0ffee",
                "reason": None,
                "question": None,
                "request": PendingRequest.NONE,
            },
        ),
        (
            {},
            RETRY,
            {
                **FAILED,
                "state": State.WAITING,
                "due_at": NOW + HOUR,
                "agent_index": 1,
                "session": "",
                "needs_fresh_worktree": True,
            },
        ),
        (
            {"mode": AttemptMode.TAKEN_OVER, "needs_fresh_worktree": True},
            replace(RETRY, fresh=False, agent_index=0),
            {**FAILED, "state": State.WAITING, "due_at": NOW + HOUR, "mode": AttemptMode.NORMAL},
        ),
        (
            {},
            ESCALATED,
            {
                **FAILED,
                "state": State.ESCALATED,
                "reason": Reason.CONFLICT,
                "question": OTHER_QUESTION,
            },
        ),
        (
            {**WAITING, "waiting_for": WaitReason.RERUN},
            ESCALATED,
            {
                "state": State.ESCALATED,
                "waiting_for": WaitReason.CLAIM,
                "reason": Reason.CONFLICT,
                "question": OTHER_QUESTION,
            },
        ),
        (
            {},
            AwaitingRerun(NEW, Reason.CONFLICT, **NUMBERS),
            {
                **FAILED,
                "state": State.WAITING,
                "waiting_for": WaitReason.RERUN,
                "reason": Reason.CONFLICT,
                "due_at": None,
            },
        ),
        (
            {**WAITING, "waiting_for": WaitReason.RERUN},
            RerunGranted("head9"),
            {
                "waiting_for": WaitReason.CLAIM,
                "mode": AttemptMode.RERUN,
                "first_base": "",
                "counts": replace(COUNTS, reruns=1),
                "reason": None,
                "stage": Stage.PREPARE,
                "needs_fresh_worktree": True,
                "same_work_failures": 0,
                "same_fingerprint_failures": 0,
                "failed_work_digest": "",
            },
        ),
        (
            {**WAITING, **GROUP},
            RecoveryStarted(RecoveryStrategy.RETRY_FAILED_ONLY, ("c",), ()),
            {
                "counts": replace(COUNTS, reruns=1),
                "recovery_strategy": RecoveryStrategy.RETRY_FAILED_ONLY,
                "recovered_subtasks": ("c",),
            },
        ),
        (
            {**WAITING, **GROUP},
            RecoveryStarted(RecoveryStrategy.PARTIAL_COMMIT, ("b", "c"), ("a",)),
            {
                "counts": replace(COUNTS, reruns=1),
                "recovery_strategy": RecoveryStrategy.PARTIAL_COMMIT,
                "recovered_subtasks": ("a",),
                "left_out_subtasks": ("b", "c"),
            },
        ),
        ({**WAITING, **GROUP}, RecoveryStarted(RecoveryStrategy.ESCALATE, ("b",), ()), {}),
        (
            {"state": State.ESCALATED},
            Replaced("x-2"),
            {"state": State.REPLACED, "lease": None, "question": None},
        ),
        ({"stage": Stage.LAND, **PLAN}, Planned(("a",)), {}),
        (
            {"stage": Stage.LAND, **PLAN},
            Planned(("a",), by=PlannedBy.PERSON),
            {**DONE, "landed_commit": "", "reason": None, "question": None},
        ),
        (
            CHECK,
            CulpritFound(TaskId("x-1"), (), "c", 3, NEW),
            {"state": State.REPLACED, "lease": None, "question": None},
        ),
        (
            GROUP,
            CulpritFound(TaskId("x-1"), (), "c", 3, NEW),
            {**WAITING, "stage": Stage.PREPARE, "work": Work()},
        ),
        (
            {**DONE, "request": PendingRequest.UNDO},
            LandingReverted("head9"),
            {**RESET, "waiting_for": WaitReason.DECISION},
        ),
        ({**DONE, "revert_cause": None}, LandingReverted("head9"), RESET),
        (
            {**DONE, "revert_cause": None, "mode": AttemptMode.TAKEN_OVER},
            LandingReverted("head9"),
            {**RESET, "mode": AttemptMode.NORMAL},
        ),
        (
            {"mode": AttemptMode.TAKEN_OVER},
            RowRefused("not proven"),
            {
                **RESET,
                "lease": None,
                "waiting_for": WaitReason.DECISION,
                "mode": AttemptMode.NORMAL,
                "revert_cause": None,
                "reason": None,
                "question": None,
            },
        ),
        (
            {"state": State.ESCALATED, "request": PendingRequest.CANCEL, "mode": AttemptMode.RERUN},
            Answered(Choice.RETRY, "use c"),
            {**FRESH_BUDGET, "answer_text": "use c"},
        ),
        (
            {"state": State.ESCALATED, "needs_fresh_worktree": True},
            Answered(Choice.DONE),
            {
                **FRESH_BUDGET,
                "stage": Stage.PREPARE,
                "mode": AttemptMode.TAKEN_OVER,
                "needs_fresh_worktree": False,
            },
        ),
        (
            {"state": State.ESCALATED, "stage": Stage.PREPARE},
            Answered(Choice.WAIVE, check="tests", waived_work="diff"),
            {
                **FRESH_BUDGET,
                "stage": Stage.VERIFY,
                "waivers": ("lint", "tests"),
                "waived_work": "diff",
                "work": replace(WORK, exit=an_exit()),
            },
        ),
        (
            {
                "state": State.ESCALATED,
                "work": replace(WORK, head="", exit=an_exit()),
                "mode": AttemptMode.TAKEN_OVER,
            },
            Answered(Choice.WAIVE, check="lint"),
            {
                **FRESH_BUDGET,
                "stage": Stage.PREPARE,
                "mode": AttemptMode.TAKEN_OVER,
                "waived_work": "",
            },
        ),
        (
            {"state": State.ESCALATED, "request": PendingRequest.RECALL},
            Answered(Choice.ABORT),
            {"state": State.CANCELLED, "question": None, "request": PendingRequest.NONE},
        ),
        ({}, CancelRequested("enough"), {"request": PendingRequest.CANCEL}),
        (
            {"request": PendingRequest.CANCEL},
            Cancelled("enough"),
            {"state": State.CANCELLED, "lease": None, "question": None},
        ),
        ({}, RecallRequested("x"), {"request": PendingRequest.RECALL}),
        ({"request": PendingRequest.CANCEL}, RecallRequested("x"), {}),
        (
            {"request": PendingRequest.RECALL},
            Recalled("x"),
            {
                **WAITING,
                "stage": Stage.PREPARE,
                "request": PendingRequest.NONE,
                "needs_fresh_worktree": True,
                "due_at": None,
            },
        ),
        (DONE, UndoRequested("c"), {"request": PendingRequest.UNDO, "revert_cause": None}),
        (
            {**DONE, "revert_cause": None},
            UndoRequested("c", revert_cause=NEW),
            {"request": PendingRequest.UNDO, "revert_cause": NEW},
        ),
        (
            {**DONE, "request": PendingRequest.UNDO, "revert_cause": NEW},
            UndoDropped("needed"),
            {"request": PendingRequest.NONE, "revert_cause": None, "revert_failed": True},
        ),
        # What a person asked for and did not get is no reason to spare the landing later.
        (
            {**DONE, "request": PendingRequest.UNDO, "revert_cause": None},
            UndoDropped("needed"),
            {"request": PendingRequest.NONE, "revert_cause": None, "revert_failed": False},
        ),
        (
            {
                **DONE,
                "request": PendingRequest.UNDO,
                "revert_cause": None,
                "revert_failed": True,
            },
            UndoDropped("needed"),
            {"request": PendingRequest.NONE, "revert_failed": True},
        ),
        (
            {**DONE, "request": PendingRequest.UNDO, "mode": AttemptMode.TAKEN_OVER},
            UndoCompleted("c", OTHER_QUESTION),
            {
                "state": State.ESCALATED,
                "stage": Stage.PREPARE,
                "reason": Reason.MANUAL,
                "question": OTHER_QUESTION,
                "landed_commit": "",
                "request": PendingRequest.NONE,
                "needs_fresh_worktree": True,
                "mode": AttemptMode.NORMAL,
                "work": replace(WORK, verified_commit="", onto=""),
            },
        ),
        (
            {**WAITING, "due_at": NOW + HOUR, "counts": replace(COUNTS, unanswered=7)},
            WaitEnded("a", "the credit is back"),
            {
                "due_at": None,
                "forgiven_counts": replace(a_full_task().forgiven_counts, unanswered=7),
                "answer_text": "the credit is back",
            },
        ),
        (
            {**WAITING, "due_at": NOW + HOUR, "answer_text": "earlier words"},
            WaitEnded("a", retried_task="run-2"),
            {
                "due_at": None,
                "forgiven_counts": replace(
                    a_full_task().forgiven_counts, unanswered=COUNTS.unanswered
                ),
            },
        ),
        ({}, JournalNote("WARNING", {"message": "x"}), {}),
    ],
    ids=lambda value: getattr(value, "NAME", None),
)
def test_an_event_changes_exactly_its_fields(
    given: dict[str, Any], event: Event, changes: dict[str, Any]
) -> None:
    before = a_full_task(**given)

    after = evolve(before, event)

    changed = {
        each.name: getattr(after, each.name)
        for each in fields(Task)
        if getattr(after, each.name) != getattr(before, each.name)
    }
    expected = {name: value for name, value in changes.items() if getattr(before, name) != value}
    assert changed == expected


# ------------------------------------------------------------------ failures


@pytest.mark.spec("4.8", "5.4", "11.3")
@pytest.mark.parametrize(
    ("failure", "counts"),
    [
        (
            a_failure(FailureKind.LOST),
            replace(COUNTS, failures={"TIMEOUT": 1, "LOST": 1}, interruptions=1),
        ),
        (
            a_failure(FailureKind.TIMEOUT, is_our_fault=True),
            replace(COUNTS, faults=2),
        ),
        (
            a_failure(FailureKind.RATE_LIMIT, account="judge"),
            replace(COUNTS, failures={"TIMEOUT": 1, "RATE_LIMIT": 1}),
        ),
    ],
)
def test_a_failure_outside_the_work_keeps_the_feedback_for_the_agent(
    failure: Failure, counts: Counts
) -> None:
    after = evolve(a_full_task(), replace(RETRY, failure=failure))

    assert (after.failure, after.feedback, after.counts) == (failure, OLD, counts)
    assert (after.same_work_failures, after.same_fingerprint_failures) == (1, 2)
    assert after.failed_work_digest == "olddiff"


@pytest.mark.spec("10.4")
@pytest.mark.parametrize(
    ("failure", "mode"),
    [
        (a_failure(), AttemptMode.NORMAL),
        (a_failure(is_our_fault=True), AttemptMode.TAKEN_OVER),
        (a_failure(account="judge"), AttemptMode.TAKEN_OVER),
    ],
)
def test_a_takeover_continues_unless_its_work_failed(failure: Failure, mode: AttemptMode) -> None:
    task = a_full_task(mode=AttemptMode.TAKEN_OVER)

    assert evolve(task, replace(RETRY, failure=failure)).mode is mode
    rerun = replace(task, mode=AttemptMode.RERUN)
    assert evolve(rerun, replace(RETRY, failure=failure)).mode is AttemptMode.RERUN


@pytest.mark.spec("4.8")
def test_a_landing_with_a_system_fault_keeps_its_verified_commit() -> None:
    task = a_full_task(stage=Stage.LAND)

    after = evolve(task, replace(RETRY, failure=a_failure(is_our_fault=True), stage=Stage.LAND))

    assert (after.stage, after.work) == (Stage.LAND, WORK)


# ------------------------------------------------------------------ the first event, and old ones


@pytest.mark.spec("5.2", "10.6")
def test_a_new_task_inherits_counts_and_spend_and_has_a_fresh_budget() -> None:
    counts, spend = Counts(attempts=4), Spend(tokens=7)

    task = create_task(
        TaskId("run00001-4"),
        RUN_ID,
        Submitted(
            4, a_spec(), parent="run00001-2", lineage="run00001-1", counts=counts, spend=spend
        ),
    )

    assert (task.id, task.run_id, task.n, task.spec) == ("run00001-4", RUN_ID, 4, a_spec())
    assert (task.parent, task.lineage) == ("run00001-2", "run00001-1")
    assert task.counts == task.forgiven_counts == counts
    assert task.spend == task.forgiven_spend == spend
    assert (task.state, task.stage) == (State.WAITING, Stage.PREPARE)


@pytest.mark.spec("10.2")
def test_a_journal_of_an_older_version_folds_as_it_was_written() -> None:
    """A landing kept the request, so the end of the task has none before it today."""
    task = a_full_task()

    assert replay(task, Cancelled("enough")).state is State.CANCELLED
    assert replay(task, Recalled("base gone")) == evolve(
        evolve(task, RecallRequested("base gone")), Recalled("base gone")
    )
    assert replay(task, CancelRequested("x")) == evolve(task, CancelRequested("x"))
    asked = replace(task, request=PendingRequest.CANCEL)
    assert replay(asked, Cancelled("enough")) == evolve(asked, Cancelled("enough"))
    with pytest.raises(IllegalEvent):
        replay(asked, Recalled("base gone"))


@pytest.mark.spec("0.3")
def test_an_illegal_event_names_the_task_its_state_and_stage() -> None:
    with pytest.raises(
        IllegalEvent, match=f"^TASK_LANDED cannot happen to {RUN_ID}-1 in ACTIVE/VERIFY$"
    ):
        evolve(a_full_task(), Landed("c0ffee"))
    with pytest.raises(IllegalEvent):
        evolve(a_full_task(), Submitted(1, a_spec()))


@pytest.mark.spec("1.1", "0.1")
@pytest.mark.parametrize(
    ("given", "event", "may"),
    [
        ({"stage": Stage.LAND}, Landed("c0ffee"), True),
        ({"stage": Stage.LAND}, Landed("other"), False),
        ({"stage": Stage.LAND, "work": Work()}, Landed(""), False),
        ({}, Judged(True, "", "onto"), False),
        ({}, Judged(False, "", "onto"), True),
        (DONE, Replaced("x"), False),
        ({**DONE, **CHECK}, Replaced("x"), True),
        ({**WAITING, **CHECK}, Replaced("x"), False),
        ({**WAITING, "waiting_for": WaitReason.RERUN}, Replaced("x"), True),
        ({"state": State.ESCALATED}, Replaced("x"), True),
        ({**WAITING, **PLAN}, Planned(("a",), by=PlannedBy.PERSON), True),
        ({**WAITING, **PLAN}, Planned(("a",)), False),
        (PLAN, Planned(("a",)), False),
        ({"stage": Stage.LAND, **PLAN}, Planned(("a",)), True),
        ({"stage": Stage.LAND}, Planned(("a",)), False),
        ({**DONE, **PLAN}, Planned(("a",), by=PlannedBy.PERSON), False),
        (WAITING, RETRY, False),
        ({**WAITING, "waiting_for": WaitReason.DECISION}, RETRY, True),
        ({**WAITING, "waiting_for": WaitReason.RERUN}, RETRY, False),
        ({**WAITING, "waiting_for": WaitReason.RERUN}, ESCALATED, True),
        ({**WAITING, "waiting_for": WaitReason.DECISION}, ESCALATED, True),
        (WAITING, ESCALATED, False),
        ({**WAITING, "waiting_for": WaitReason.RERUN}, Claimed("h", 6, NOW), False),
        (WAITING, Claimed("h", 5, NOW), False),
        (GROUP, RecoveryStarted(RecoveryStrategy.ESCALATE, (), ()), False),
        (WAITING, RecoveryStarted(RecoveryStrategy.ESCALATE, (), ()), False),
    ],
)
def test_only_legal_events_are_accepted(given: dict[str, Any], event: Event, may: bool) -> None:
    assert legal(a_full_task(**given), event) is may


@pytest.mark.spec("10.1")
def test_the_note_of_a_check_contains_all_displayed_fields() -> None:
    known = [f"t{n}" for n in range(KNOWN_FAILURES_MAX + 1)]
    finding = a_finding(
        Outcome.FAILED,
        required=False,
        pattern="test-failed",
        message="1 failed",
        items=(FindingItem("t", "boom", "a.py"),),
        params={
            "passedCount": 7,
            "quarantined": [{"test": "t"}],
            "quarantineExpired": [{"test": "u"}],
            "quarantineUnmatched": ["v"],
            "testRuns": [{"test": "t", "passed": 1}],
            "known": known,
            "failToPass": ["t0"],
            "mutants": {"killed": 2, "survived": 1},
        },
        exit_code=1,
        seconds=1.23456,
        rerun_seconds=(2.50001,),
        rerun_passes=1,
        log="/l",
    )

    assert check_finished_note(finding, "c0ffee") == JournalNote(
        "CHECK_FINISHED",
        {
            "check": "tests",
            "outcome": finding.outcome.value,
            "required": False,
            "commit": "c0ffee",
            "pattern": "test-failed",
            "message": "1 failed",
            "tests": 7,
            "fail_to_pass": ["t0"],
            "mutants": {"killed": 2, "survived": 1},
            "hidden": "",
            "key": None,
            "reused": None,
            "quarantined": [{"test": "t"}],
            "quarantine_expired": [{"test": "u"}],
            "quarantine_unmatched": ["v"],
            "test_runs": [{"test": "t", "passed": 1}],
            "known": known[:-1],
            "known_count": len(known),
            "items": [{"name": "t", "message": "boom", "where": "a.py"}],
            "exit_code": 1,
            "seconds": 1.235,
            "rerun_seconds": [2.5],
            "rerun_passes": 1,
            "log": "/l",
        },
    )
    bare = check_finished_note(a_finding(), "c0ffee")
    assert (bare.data["tests"], bare.data["known"], bare.data["items"]) == (None, [], [])


# ------------------------------------------------------------------ what is derived


def test_a_task_answers_questions_about_its_state() -> None:
    done = a_full_task(**DONE)

    assert done.can_be_built_on
    assert not replace(done, request=PendingRequest.UNDO).can_be_built_on
    assert not a_full_task().can_be_built_on
    assert done.can_be_reverted
    assert not replace(done, revert_failed=True).can_be_reverted
    assert not replace(done, spec=a_spec(kind=TaskKind.GROUP)).can_be_reverted
    assert replace(done, spec=a_spec(kind=TaskKind.REPORT)).can_be_reverted
    assert a_full_task(failure_kinds=("LOST", "TIMEOUT", "CONFLICT")).failed_attempts == 2
    assert a_full_task().unforgiven_failures(FailureKind.TIMEOUT) == 1
    assert a_full_task(forgiven_counts=COUNTS).unforgiven_failures(FailureKind.TIMEOUT) == 0
    assert a_full_task().total_unforgiven_failures == 1
