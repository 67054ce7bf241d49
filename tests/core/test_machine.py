"""The machine: every state, stage and event against a table written out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from tests.builders import (
    MINUTE,
    NOW,
    SECOND,
    a_failure,
    a_retry,
    a_spec,
    a_task,
    an_active_task,
    an_agent,
    an_exit,
)
from yaoki.core.machine.events import (
    AgentFinished,
    AgentRunLost,
    AgentSwitched,
    AttemptStarted,
    AwaitingRerun,
    Claimed,
    CulpritFound,
    EscalationDecided,
    Event,
    JointProofFailed,
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
    event_name,
)
from yaoki.core.machine.evolution import evolve
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.machine.legality import IllegalEvent, legal
from yaoki.core.machine.race_events import (
    CandidateFailed,
    CandidateProven,
    CandidateReleased,
    CandidateRetired,
    CandidateSettled,
    JudgeCalled,
    JudgeEnded,
    JudgeSettled,
    RaceDecided,
    RaceStarted,
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
    AttemptMode,
    CandidateOutcome,
    CandidateScore,
    CheckRevision,
    Choice,
    ComparedWork,
    Counts,
    FailureKind,
    Lease,
    PendingRequest,
    Question,
    RaceCriterion,
    RaceJudgment,
    Reason,
    RecoveryStrategy,
    Stage,
    State,
    Task,
    TaskId,
    TaskKind,
    Work,
)

QUESTION = Question("Try again?", (Choice.RETRY, Choice.ABORT))
ESCALATED = EscalationDecided(
    a_failure(), Reason.MAX_RETRIES, {"type": "MAX_RETRIES"}, {"total_attempts": 1}, QUESTION
)

EVENTS: tuple[Event, ...] = (
    Submitted(1, a_spec()),
    Claimed("host:2", 5, NOW + MINUTE),
    AgentSwitched(1, "second", "the key was refused"),
    LeaseExpired("host:1", 4, counted=True),
    LeaseReleased("host:1", 4),
    AttemptStarted(3, "small", "ba5e", "/w", "host", fresh=True),
    PromptSent(path="steps/retry/issue/f_failed.md"),
    AgentFinished(an_exit(), "head2", "tree2"),
    AgentRunLost(6.5),
    Judged(True, "c0ffee2", "onto2"),
    JointProofFailed("c0ffee", ("run-2",), "tests failed"),
    LandingRefused("moved"),
    Landed("c0ffee"),
    a_retry(),
    ESCALATED,
    Answered(Choice.RETRY, "try the other door"),
    WaitEnded("a", "the credit is back"),
    CancelRequested("enough"),
    Cancelled("enough"),
    UndoRequested("c0ffee"),
    UndoCompleted("c0ffee", QUESTION),
    AwaitingRerun(a_failure(), Reason.MAX_RETRIES),
    RerunGranted("head"),
    RecoveryStarted(RecoveryStrategy.RETRY_FAILED_ONLY, ("a",), ("b",)),
    Replaced("other-2", "another way"),
    Planned(("a", "b")),
    CulpritFound(TaskId("run-1"), (), "c0ffee", 3, a_failure()),
    LandingReverted("head", "a proof fails"),
    RecallRequested("its ground is gone"),
    Recalled("its ground is gone"),
    UndoDropped("others stand on it"),
    ChecksRevised(CheckRevision(2)),
    RaceStarted((TaskId("run-2"),)),
    CandidateReleased(),
    CandidateProven(CandidateScore()),
    CandidateFailed(a_failure(), CandidateScore()),
    CandidateRetired("its race is over"),
    CandidateSettled(TaskId("run-2"), "one~1.1", "small", CandidateOutcome.PROVEN),
    JudgeCalled("careful", (ComparedWork(TaskId("run-2"), "one~1.1", "ba5e", "head"),)),
    JudgeEnded(RaceJudgment("A", "simple"), a_failure(), NOW),
    JudgeSettled(TaskId("run-5"), "careful", RaceJudgment("A", "simple"), TaskId("run-2")),
    RaceDecided(TaskId("run-2"), RaceCriterion.ONLY, TaskId("run-2"), Work(head="head")),
    RowRefused("no proof of it"),
    JournalNote("WARNING", {"message": "careful"}),
)

# Event -> state -> the stages it may happen in: P(repare), W(ork), V(erify), L(and).
LEGAL: dict[str, dict[str, str]] = {
    "TASK_SUBMITTED": {},
    "TASK_CLAIMED": {"WAITING": "PWVL"},
    "AGENT_SWITCHED": {"WAITING": "P"},
    "LEASE_EXPIRED": {"ACTIVE": "PWVL"},
    "LEASE_RELEASED": {"ACTIVE": "PWVL"},
    "ATTEMPT_STARTED": {"ACTIVE": "P"},
    "PROMPT_SENT": {"ACTIVE": "W"},
    "AGENT_FINISHED": {"ACTIVE": "W"},
    "AGENT_RUN_LOST": {"ACTIVE": "W"},
    "QUALITY_JUDGMENT": {"ACTIVE": "V"},
    "JOINT_PROOF_FAILED": {"ACTIVE": "V"},
    "LAND_REFUSED": {"ACTIVE": "L"},
    "TASK_LANDED": {"ACTIVE": "L"},
    "RETRY_DECISION": {"ACTIVE": "PWVL"},
    "ESCALATE_DECISION": {"ACTIVE": "PWVL"},
    "ESCALATION_ANSWERED": {"ESCALATED": "PWVL"},
    "WAIT_ENDED": {"WAITING": "PWVL"},
    "CANCEL_REQUESTED": {"WAITING": "PWVL", "ACTIVE": "PWVL", "ESCALATED": "PWVL"},
    "TASK_CANCELLED": {"WAITING": "PWVL", "ACTIVE": "PWVL", "ESCALATED": "PWVL"},
    "UNDO_REQUESTED": {"DONE": "PWVL"},
    "TASK_UNDONE": {"DONE": "PWVL"},
    "RERUN_HELD": {"ACTIVE": "PWVL"},
    "RERUN_GRANTED": {},
    "RECOVERY_START": {},
    "TASK_REPLACED": {"ESCALATED": "PWVL"},
    "TASKS_PLANNED": {},
    "TASK_BLAMED": {"ACTIVE": "V"},
    "TASK_UNLANDED": {"DONE": "PWVL"},
    "RECALL_REQUESTED": {"ACTIVE": "PWVL"},
    "TASK_RECALLED": {"ACTIVE": "PWVL"},
    "UNDO_DROPPED": {"DONE": "PWVL"},
    "CHECKS_REVISED": dict.fromkeys(("WAITING", "ACTIVE", "ESCALATED", "DONE"), "PWVL"),
    # Only of a racing task, of candidates and of a judge: see test_race.py, test_race_judge.py.
    **{key: {} for key in ("JUDGE_CALLED", "JUDGE_ENDED", "JUDGE_SETTLED")},
    **{key: {} for key in ("RACE_STARTED", "RACE_DECIDED", "CANDIDATE_SETTLED")},
    **{key: {} for key in ("CANDIDATE_RELEASED", "CANDIDATE_PROVEN", "CANDIDATE_FAILED")},
    "CANDIDATE_RETIRED": {},
    "ROW_REFUSED": dict.fromkeys(
        ("WAITING", "ACTIVE", "ESCALATED", "DONE", "CANCELLED", "REPLACED"), "PWVL"
    ),
    "WARNING": dict.fromkeys(
        ("WAITING", "ACTIVE", "ESCALATED", "DONE", "CANCELLED", "REPLACED"), "PWVL"
    ),
}
STAGES = {"P": Stage.PREPARE, "W": Stage.WORK, "V": Stage.VERIFY, "L": Stage.LAND}


def task_in(state: State, stage: Stage, event: Event) -> Task:
    """A task with everything an event could ask for, save the right state and stage."""
    task = a_task(spec=a_spec(agents=(an_agent("first"), an_agent("second"))))
    return replace(
        task,
        state=state,
        stage=stage,
        epoch=4,
        attempt=2,
        lease=Lease(task.id, "host:1", 4, NOW),
        work=Work(head="head", verified_commit="c0ffee", onto="onto"),
        request=PendingRequest.RECALL if isinstance(event, Recalled) else PendingRequest.CANCEL,
    )


@pytest.mark.spec("1.1", "0.3")
def test_the_table_of_legal_events_is_complete() -> None:
    assert {event_name(event) for event in EVENTS} == set(LEGAL)
    assert {type(event) for event in EVENTS} == set(get_args(Event)), "a new event has no row"


@pytest.mark.spec("1.1", "0.3")
@pytest.mark.parametrize("event", EVENTS, ids=event_name)
def test_only_events_of_the_table_are_legal(event: Event) -> None:
    row = {State(state): letters for state, letters in LEGAL[event_name(event)].items()}

    for state in State:
        allowed = [name for name, stage in STAGES.items() if is_accepted(state, stage, event)]
        assert "".join(allowed) == row.get(state, ""), state


def is_accepted(state: State, stage: Stage, event: Event) -> bool:
    """`legal` and `evolve` agree, and neither changes the task that it is given."""
    task = task_in(state, stage, event)
    accepted = legal(task, event)
    if accepted:
        evolve(task, event)
    else:
        with pytest.raises(IllegalEvent):
            evolve(task, event)
    assert task == task_in(state, stage, event)
    return accepted


GUARDED: list[tuple[str, Task, Event]] = [
    ("a claim skips no epoch", a_task(), Claimed("h", 2, NOW)),
    ("a claim repeats no epoch", a_task(epoch=3), Claimed("h", 3, NOW)),
    ("an older claim cannot expire", an_active_task(epoch=3), LeaseExpired("h", 2, True)),
    ("an older claim cannot be released", an_active_task(epoch=3), LeaseReleased("h", 2)),
    (
        "an attempt starts once",
        an_active_task(attempt=2),
        AttemptStarted(2, "a", "b", "w", "h", True),
    ),
    ("nothing unproven lands", an_active_task(Stage.LAND, work=Work()), Landed("c0ffee")),
    ("nothing but the proven commit lands", an_active_task(Stage.LAND), Landed("other")),
    ("an empty commit is no proof", an_active_task(Stage.VERIFY), Judged(True, "", "onto")),
    ("no agent follows the last one", a_task(), AgentSwitched(1, "none", "why")),
    ("no agent follows itself", a_task(), AgentSwitched(0, "same", "why")),
    ("nothing is cancelled without a wish", a_task(), Cancelled("no")),
]


@pytest.mark.spec("0.1", "0.3", "11.2")
@pytest.mark.parametrize(("promise", "task", "event"), GUARDED, ids=[g[0] for g in GUARDED])
def test_an_event_refused_by_a_guard_is_illegal(promise: str, task: Task, event: Event) -> None:
    assert not legal(task, event), promise
    with pytest.raises(IllegalEvent):
        evolve(task, event)


# ------------------------------------------------------------------ what each event makes


@pytest.mark.spec("11.1")
def test_a_claim_creates_a_lease_with_a_new_epoch() -> None:
    task = evolve(a_task(epoch=4, due_at=NOW), Claimed("host:2", 5, NOW + MINUTE))

    assert task.state is State.ACTIVE
    assert task.lease == Lease(task.id, "host:2", 5, NOW + MINUTE)
    assert (task.epoch, task.due_at) == (5, None)


@pytest.mark.spec("3.7", "5.2", "11.3")
@pytest.mark.parametrize(("counted", "deliveries"), [(True, 1), (False, 0)])
@pytest.mark.parametrize("stage", Stage)
def test_an_expired_claim_returns_the_task_at_the_same_stage(
    stage: Stage, counted: bool, deliveries: int
) -> None:
    before = an_active_task(stage)

    task = evolve(before, LeaseExpired("host:1", 1, counted))

    assert (task.state, task.stage, task.lease) == (State.WAITING, stage, None)
    assert task.counts == Counts(deliveries=deliveries)
    assert (task.work, task.attempt, task.epoch) == (before.work, before.attempt, 1)


@pytest.mark.spec("11.8")
@pytest.mark.parametrize("stage", Stage)
def test_a_released_claim_changes_no_count(stage: Stage) -> None:
    before = an_active_task(stage)

    task = evolve(before, LeaseReleased("host:1", 1))

    assert task == replace(before, state=State.WAITING, lease=None)


@pytest.mark.spec("17.7")
def test_a_discarded_proof_is_counted_and_costs_no_attempt() -> None:
    before = an_active_task(Stage.VERIFY)

    task = evolve(before, LeaseReleased("host:1", 1, proof_discarded=True))

    assert task.work == replace(before.work, discarded_proofs=1)
    assert (task.stage, task.counts) == (Stage.VERIFY, before.counts)


@pytest.mark.spec("3.3", "17.7")
def test_rejected_work_leaves_the_merge_queue_whatever_happened_before() -> None:
    before = an_active_task(Stage.VERIFY, work=Work(landing_refusals=1, joint_failures=1))

    task = evolve(before, LeaseReleased("host:1", 1, avoids_queue=True))

    assert before.work.is_queued
    assert not task.work.is_queued
    again = evolve(replace(before, work=task.work), LeaseReleased("host:1", 1))
    assert not again.work.is_queued


@pytest.mark.spec("3.1", "5.2")
def test_an_attempt_starts_with_clean_work_and_resets_deliveries() -> None:
    before = an_active_task(
        counts=Counts(deliveries=3),
        needs_fresh_worktree=True,
        work=Work(head="old", verified_commit="old"),
    )

    task = evolve(
        before, AttemptStarted(1, "small", "ba5e", "/w", "host", True, "tree", "s", {"a": "b"})
    )

    assert task.stage is Stage.WORK
    assert task.work == Work(
        base="ba5e", worktree="/w", host="host", tree="tree", protected_hashes={"a": "b"}
    )
    assert (task.attempt, task.counts.attempts, task.needs_fresh_worktree) == (1, 1, False)
    assert task.counts.deliveries == task.forgiven_counts.deliveries == 3


@pytest.mark.spec("1.2")
def test_a_check_task_needs_no_agent() -> None:
    before = an_active_task(spec=a_spec(kind=TaskKind.CHECK, agents=()))

    task = evolve(before, AttemptStarted(1, "", "ba5e", "/w", "host", True))

    assert task.stage is Stage.VERIFY


@pytest.mark.spec("3.2")
def test_finished_work_moves_the_task_to_verify() -> None:
    task = evolve(an_active_task(Stage.WORK), AgentFinished(an_exit(), "head2", "tree2", 3))

    assert task.stage is Stage.VERIFY
    assert (task.work.head, task.work.tree, task.work.exit) == ("head2", "tree2", an_exit())


@pytest.mark.spec("10.4", "4.8")
def test_a_takeover_lasts_until_its_work_fails() -> None:
    """A system fault keeps the takeover; a failed check returns the task to the agent."""
    before = an_active_task(Stage.WORK, mode=AttemptMode.TAKEN_OVER)

    verifying = evolve(before, AgentFinished(an_exit(), "head2", "tree2"))
    faulted = evolve(verifying, a_retry(a_failure(FailureKind.TRANSIENT_ERROR, is_our_fault=True)))
    failed = evolve(verifying, a_retry(a_failure()))

    assert (verifying.taken_over, faulted.taken_over, failed.taken_over) == (True, True, False)


@pytest.mark.spec("10.4", "9.6")
def test_a_reverted_takeover_returns_to_the_agent() -> None:
    done = evolve(an_active_task(Stage.LAND, mode=AttemptMode.TAKEN_OVER), Landed("c0ffee"))

    undone = evolve(done, UndoCompleted("c0ffee", QUESTION))

    assert not evolve(undone, Answered(Choice.RETRY, "once more")).taken_over


@pytest.mark.spec("0.1")
def test_a_passed_judgment_names_the_commit_to_land() -> None:
    task = evolve(an_active_task(Stage.VERIFY), Judged(True, "c0ffee", "onto"))

    assert (task.stage, task.work.verified_commit, task.work.onto) == (Stage.LAND, "c0ffee", "onto")


@pytest.mark.spec("0.1")
def test_a_failed_judgment_does_not_change_the_stage() -> None:
    before = an_active_task(Stage.VERIFY)

    assert evolve(before, Judged(False, "c0ffee", "onto")) == before


@pytest.mark.spec("3.4")
def test_a_refused_landing_returns_to_verify() -> None:
    task = evolve(an_active_task(Stage.LAND), LandingRefused("moved"))

    assert (task.stage, task.work.verified_commit, task.work.onto) == (Stage.VERIFY, "", "")
    assert (task.counts.refused_landings, task.work.landing_refusals) == (1, 1)


@pytest.mark.spec("0.1", "3.4")
def test_landed_is_done() -> None:
    task = evolve(an_active_task(Stage.LAND), Landed("c0ffee"))

    assert (task.state, task.landed_commit, task.lease) == (State.DONE, "c0ffee", None)


@pytest.mark.spec("5.2", "3.7")
def test_a_retry_counts_the_failure_and_waits() -> None:
    event = a_retry(
        due_at=NOW + SECOND, agent_index=1, fresh=True, same_work_failures=2, work_digest="t"
    )

    task = evolve(an_active_task(Stage.VERIFY), event)

    assert (task.state, task.stage, task.lease) == (State.WAITING, Stage.PREPARE, None)
    assert (task.due_at, task.agent_index, task.needs_fresh_worktree) == (NOW + SECOND, 1, True)
    assert task.counts.failures == {"QUALITY_FAILURE": 1}
    assert task.failure == task.feedback == event.failure
    assert (task.same_work_failures, task.failed_work_digest) == (2, "t")


@pytest.mark.spec("5.5")
def test_a_transient_failure_keeps_the_feedback_for_the_agent() -> None:
    earlier = a_failure(message="test_login fails")
    before = an_active_task(
        Stage.VERIFY, feedback=earlier, same_work_failures=2, failed_work_digest="t"
    )

    task = evolve(
        before, a_retry(a_failure(FailureKind.RATE_LIMIT), same_work_failures=1, work_digest="u")
    )

    assert task.feedback == earlier
    assert (task.same_work_failures, task.failed_work_digest) == (2, "t")


@pytest.mark.spec("3.7", "5.2")
def test_an_interruption_is_not_counted_as_a_failed_attempt() -> None:
    task = evolve(an_active_task(Stage.WORK), a_retry(a_failure(FailureKind.LOST)))

    assert task.counts.interruptions == 1
    assert task.counts.total_failures == task.counts.content_failures == 0


@pytest.mark.spec("4.8")
@pytest.mark.parametrize("stage", Stage)
def test_a_system_fault_repeats_the_stage_unchanged(stage: Stage) -> None:
    """A landing with a system fault must keep its verified commit."""
    before = an_active_task(stage)
    fault = a_failure(FailureKind.TRANSIENT_ERROR, is_our_fault=True)

    task = evolve(before, a_retry(fault, stage=stage))

    assert (task.stage, task.work) == (stage, before.work)
    assert (task.counts.faults, task.counts.failures, task.feedback) == (1, {}, None)
    assert legal(replace(task, state=State.ACTIVE), Landed("c0ffee")) is (stage is Stage.LAND)


@pytest.mark.spec("0.1")
def test_a_failure_of_the_work_clears_the_verified_commit() -> None:
    task = evolve(an_active_task(Stage.LAND), a_retry(a_failure()))

    assert (task.work.verified_commit, task.work.onto) == ("", "")


@pytest.mark.spec("1.3", "10.4")
def test_an_escalation_stores_its_reason_and_question() -> None:
    task = evolve(an_active_task(Stage.VERIFY), ESCALATED)

    assert (task.state, task.lease) == (State.ESCALATED, None)
    assert (task.reason, task.question) == (Reason.MAX_RETRIES, QUESTION)
    assert task.counts.failures == {"QUALITY_FAILURE": 1}


def escalated(**given: object) -> Task:
    return replace(evolve(an_active_task(Stage.VERIFY), ESCALATED), **given)  # type: ignore[arg-type]


@pytest.mark.spec("10.4", "5.2")
def test_an_answer_grants_a_fresh_budget_and_keeps_the_counts() -> None:
    before = escalated(same_work_failures=3, failed_work_digest="t")

    task = evolve(before, Answered(Choice.RETRY, "use the other door"))

    assert (task.state, task.answer_text) == (State.WAITING, "use the other door")
    assert (task.reason, task.question, task.same_work_failures, task.failed_work_digest) == (
        None,
        None,
        0,
        "",
    )
    assert task.counts == task.forgiven_counts == before.counts
    assert (
        task.unforgiven_failures(FailureKind.QUALITY_FAILURE) == task.total_unforgiven_failures == 0
    )


@pytest.mark.spec("10.4")
def test_a_takeover_keeps_the_worktree() -> None:
    task = evolve(escalated(needs_fresh_worktree=True), Answered(Choice.DONE))

    assert (task.state, task.stage) == (State.WAITING, Stage.PREPARE)
    assert (task.taken_over, task.needs_fresh_worktree) == (True, False)


@pytest.mark.spec("10.4", "6.8")
def test_a_waiver_is_stored_once_and_the_same_work_is_verified() -> None:
    once = evolve(escalated(), Answered(Choice.WAIVE, check="tests"))
    twice = evolve(replace(once, state=State.ESCALATED), Answered(Choice.WAIVE, check="tests"))

    assert once.waivers == twice.waivers == ("tests",)
    assert once.stage is Stage.VERIFY


def attempted(task: Task, digest: str) -> Task:
    """The task after another attempt, whose agent left the work of this digest."""
    started = AttemptStarted(2, "small", "b2", "/w2", "h2", fresh=False)
    claimed = replace(task, state=State.ACTIVE, stage=Stage.PREPARE)
    finished = AgentFinished(an_exit(), "head2", "tree2", 1, digest)
    return evolve(evolve(claimed, started), finished)


@pytest.mark.spec("10.4", "0.1")
def test_a_waiver_holds_for_the_same_work_and_ends_with_other_work() -> None:
    before = escalated(work=Work(base="b", head="h", tree="t", diff_digest="seen"))
    answer = Answered(Choice.WAIVE, check="tests", waived_work=before.work_identity)
    waived = evolve(before, answer)

    same, other = attempted(waived, "seen"), attempted(waived, "unseen")

    assert (same.waivers, same.waived_work) == (("tests",), "seen")
    assert (other.waivers, other.waived_work) == ((), "")


@pytest.mark.spec("10.4", "0.1")
@pytest.mark.parametrize(("head", "waivers"), [("h", ("tests",)), ("h2", ())])
def test_a_waiver_of_a_group_ends_when_its_subtasks_landed_other_work(
    head: str, waivers: tuple[str, ...]
) -> None:
    before = escalated(spec=a_spec(kind=TaskKind.GROUP), work=Work(base="b", head="h"))
    answer = Answered(Choice.WAIVE, check="tests", waived_work=before.work_identity)
    claimed = replace(evolve(before, answer), state=State.ACTIVE, stage=Stage.PREPARE)

    task = evolve(claimed, AttemptStarted(2, "", "b2", "/w2", "h2", fresh=False, head=head))

    assert task.waivers == waivers


@pytest.mark.spec("10.4")
def test_a_waiver_of_an_older_journal_folds_to_the_row_written_with_it() -> None:
    waived = evolve(escalated(), Answered(Choice.WAIVE, check="tests"))

    assert attempted(waived, "unseen").waivers == ("tests",)


@pytest.mark.spec("10.4")
def test_a_waiver_without_work_starts_at_the_beginning() -> None:
    task = evolve(escalated(work=Work()), Answered(Choice.WAIVE, check="tests"))

    assert task.stage is Stage.PREPARE


@pytest.mark.spec("10.4")
def test_an_abort_ends_the_task() -> None:
    task = evolve(escalated(), Answered(Choice.ABORT))

    assert (task.state, task.question) == (State.CANCELLED, None)


@pytest.mark.spec("9.5")
def test_a_cancel_request_alone_ends_nothing() -> None:
    before = an_active_task(Stage.WORK)

    wished = evolve(before, CancelRequested("enough"))
    ended = evolve(wished, Cancelled("enough"))

    assert wished == replace(before, request=PendingRequest.CANCEL)
    assert (ended.state, ended.lease) == (State.CANCELLED, None)


@pytest.mark.spec("9.6")
def test_reverted_work_is_escalated_again() -> None:
    done = evolve(an_active_task(Stage.LAND), Landed("c0ffee"))

    task = evolve(done, UndoCompleted("c0ffee", QUESTION))

    assert (task.state, task.stage, task.reason) == (
        State.ESCALATED,
        Stage.PREPARE,
        Reason.MANUAL,
    )
    assert (task.landed_commit, task.work.verified_commit, task.needs_fresh_worktree) == (
        "",
        "",
        True,
    )


def test_a_note_changes_nothing() -> None:
    task = an_active_task()

    assert evolve(task, JournalNote("WARNING", {"message": "careful"})) is task


@pytest.mark.spec("18.7")
def test_an_agent_run_counts_from_its_start_and_its_cost_is_unknown_until_it_ends() -> None:
    begun = evolve(an_active_task(Stage.WORK), PromptSent(spend_counted=True))
    told = an_exit(cost=0.5, tokens=7)

    ended = evolve(begun, AgentFinished(told, "head", "tree"))

    assert (begun.spend.attempts, begun.spend.unknown) == (1, 1)
    assert (ended.spend.attempts, ended.spend.unknown) == (1, 0)
    assert (ended.spend.money, ended.spend.tokens) == (0.5, 7)


@pytest.mark.spec("18.7", "10.2")
def test_a_run_of_an_older_journal_is_counted_at_its_end() -> None:
    begun = evolve(an_active_task(Stage.WORK), PromptSent())

    ended = evolve(begun, AgentFinished(an_exit(), "head", "tree"))

    assert (begun.spend.attempts, ended.spend.attempts) == (0, 1)
