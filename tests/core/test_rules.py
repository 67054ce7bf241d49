"""`decide`: what follows from each report, and why."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import (
    MINUTE,
    NOW,
    SECOND,
    a_failure,
    a_finding,
    a_policy,
    a_spec,
    a_verdict,
    an_active_task,
    an_agent,
    an_exit,
)
from yaoki.core.decide import exit_classification
from yaoki.core.decide.failure_response import ClockAndChance
from yaoki.core.decide.rules import decide
from yaoki.core.machine.events import (
    AgentFinished,
    AgentRunLost,
    AttemptStarted,
    AwaitingRerun,
    EscalationDecided,
    Event,
    Judged,
    Landed,
    LandingRefused,
    RetryDecided,
    event_name,
)
from yaoki.core.machine.evolution import fold_events
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.machine.request_events import Cancelled
from yaoki.core.model import (
    PERSON_AGENT,
    AgentExit,
    AgentLimit,
    AttemptMode,
    Choice,
    Counts,
    EndCause,
    FailureKind,
    OnFailure,
    Outcome,
    PendingRequest,
    Reason,
    Spend,
    Stage,
    State,
    Task,
    TaskKind,
    Verdict,
    Work,
)
from yaoki.core.model.stage_report import (
    AgentLost,
    CandidateVerified,
    CommitLanded,
    CommitNotLanded,
    MergeConflicted,
    StageFaulted,
    StageReport,
    WorkCommitted,
    WorkInterrupted,
    WorktreePrepared,
)
from yaoki.errors import FatalCode

MOMENT = ClockAndChance(NOW, 0.5)
PREPARED = WorktreePrepared("ba5e", "/w/login", "host", fresh=True, tree="t0", snapshot="s1")
WORKED = WorkCommitted(an_exit(), "head2", "tree2", ("a.py",))
PASSED = CandidateVerified(a_verdict(Outcome.PASSED), "c0ffee", "onto", ("a.py",))
FAILED = CandidateVerified(a_verdict(Outcome.FAILED), "bad", "onto", ("a.py",))


def decide_events(task: Task, report: StageReport) -> tuple[Event, ...]:
    """Decide, and assert that the events are legal."""
    events = decide(task, report, MOMENT)
    fold_events(task, events)
    return events


def the_retry(events: tuple[Event, ...]) -> RetryDecided:
    (found,) = (event for event in events if isinstance(event, RetryDecided))
    return found


def the_escalation(events: tuple[Event, ...]) -> EscalationDecided:
    (found,) = (event for event in events if isinstance(event, EscalationDecided))
    return found


# ------------------------------------------------------------------ prepare


@pytest.mark.spec("3.1", "10.1")
def test_a_prepared_worktree_starts_the_attempt() -> None:
    (event,) = decide_events(an_active_task(), PREPARED)

    assert event == AttemptStarted(1, "small", "ba5e", "/w/login", "host", True, "t0", "s1")


@pytest.mark.spec("8.1")
def test_a_warning_of_prepare_is_journalled() -> None:
    events = decide_events(an_active_task(), replace(PREPARED, warning="no snapshot"))

    assert JournalNote("WARNING", {"message": "no snapshot"}) in events


@pytest.mark.spec("10.1")
def test_a_second_attempt_names_the_failure_it_fixes() -> None:
    failure = a_failure()
    task = an_active_task(
        attempt=1,
        failure=failure,
        feedback=failure,
        failure_kinds=("QUALITY_FAILURE",),
    )

    _, note = decide_events(task, PREPARED)

    assert isinstance(note, JournalNote)
    assert note.name == "RETRY_START"
    assert note.data["retry_count"] == 1
    assert note.data["previous_failure_type"] == "QUALITY_FAILURE"
    assert note.data["modification_hint"]


@pytest.mark.spec("10.4")
def test_a_takeover_names_the_person_as_the_agent() -> None:
    event = decide_events(an_active_task(mode=AttemptMode.TAKEN_OVER), PREPARED)[0]

    assert isinstance(event, AttemptStarted)
    assert event.agent == PERSON_AGENT


# ------------------------------------------------------------------ work


@pytest.mark.spec("3.2", "4.2")
@pytest.mark.parametrize("code", [0, 1, 127])
def test_work_is_verified_regardless_of_the_exit_code(code: int) -> None:
    report = replace(WORKED, exit=an_exit(code=code))

    assert [event_name(e) for e in decide_events(an_active_task(Stage.WORK), report)] == [
        "AGENT_FINISHED"
    ]


@pytest.mark.spec("3.9", "1.3")
def test_a_question_of_an_agent_is_escalated() -> None:
    report = replace(WORKED, exit=an_exit(question="Which database?"))

    events = decide_events(an_active_task(Stage.WORK), report)

    assert isinstance(events[0], AgentFinished)
    asked = the_escalation(events)
    assert (asked.blocked, asked.question.text) == (Reason.NEEDS_HUMAN, "Which database?")


@pytest.mark.spec("14.3", "0.6")
def test_a_changed_git_configuration_is_escalated() -> None:
    report = replace(WORKED, changed_git_config=("config", "hooks/pre-commit"))

    asked = the_escalation(decide_events(an_active_task(Stage.WORK), report))

    assert asked.blocked is Reason.NEEDS_HUMAN
    assert "config, hooks/pre-commit" in asked.failure.message


@pytest.mark.spec("5.7")
def test_a_failure_that_is_not_safe_to_retry_is_escalated() -> None:
    report = replace(WORKED, exit=an_exit(code=1, retry_safe=False, stderr_tail="half done"))

    asked = the_escalation(decide_events(an_active_task(Stage.WORK), report))

    assert asked.why.rule == "4.1"


# ------------------------------------------------------------------ verify


@pytest.mark.spec("0.1", "10.1")
def test_each_passed_check_is_recorded_before_the_judgment() -> None:
    told, judged = decide_events(an_active_task(Stage.VERIFY), PASSED)

    assert isinstance(told, JournalNote)
    assert (told.name, told.data["check"], told.data["outcome"], told.data["commit"]) == (
        "CHECK_FINISHED",
        "check0",
        "PASSED",
        "c0ffee",
    )
    assert judged == Judged(True, "c0ffee", "onto", {"check0": "PASSED"}, False)


@pytest.mark.spec("0.1")
def test_a_verdict_without_findings_does_not_pass() -> None:
    events = decide_events(an_active_task(Stage.VERIFY), replace(PASSED, verdict=Verdict(())))

    assert [e.passed for e in events if isinstance(e, Judged)] == [False]
    assert the_retry(events).failure.kind is FailureKind.QUALITY_FAILURE


@pytest.mark.spec("5.1", "10.1")
def test_a_failing_check_is_retried_at_a_date() -> None:
    retry = the_retry(decide_events(an_active_task(Stage.VERIFY), FAILED))

    assert (retry.decision, retry.failure_type) == ("RETRY", "QUALITY_FAILURE")
    assert (retry.stage, retry.due_at, retry.delay_ms) == (Stage.PREPARE, NOW + SECOND, 1000)
    assert (retry.current_retry_count, retry.max_retries) == (0, 3)
    assert retry.modification_hint
    assert retry.reasoning


@pytest.mark.spec("3.5")
def test_a_task_without_changes_is_retried_although_all_checks_pass() -> None:
    """The checks pass on the base already, so they do not verify an idle agent."""
    task = an_active_task(Stage.VERIFY, work=Work(exit=an_exit(output_tail="Done already.")))

    failure = the_retry(decide_events(task, replace(PASSED, changed=()))).failure

    assert (failure.kind, failure.pattern, failure.check) == (
        FailureKind.INCOMPLETE,
        "no-change",
        "no-change",
    )
    assert failure.params["agentSaid"] == "Done already."


@pytest.mark.spec("3.5", "6.9")
@pytest.mark.parametrize("report", [PASSED, FAILED])
def test_new_files_that_the_scope_left_out_are_named(report: CandidateVerified) -> None:
    work = Work(exit=an_exit(), left_out_files=("f", "g"))
    task = an_active_task(Stage.VERIFY, work=work, spec=a_spec(scope=("lib/**", "m")))

    failure = the_retry(decide_events(task, replace(report, changed=()))).failure

    words = "New files outside the task's scope were left out: f, g; its scope is lib/**, m"
    assert failure.message.endswith(f". {words}")
    assert failure.params["outsideFiles"] == ["f", "g"]
    assert failure.params["scope"] == ["lib/**", "m"]
    changed = the_retry(decide_events(task, replace(FAILED, changed=("lib/x",)))).failure
    assert "left out" not in changed.message


@pytest.mark.spec("3.5")
def test_a_second_attempt_without_changes_is_escalated() -> None:
    before = exit_classification.classify_needless_run(an_exit())
    work = Work(head="head", exit=an_exit(output_tail="Done."))
    task = an_active_task(Stage.VERIFY, work=work, feedback=before)

    asked = decide_events(task, replace(PASSED, changed=()))[-2]

    assert isinstance(asked, EscalationDecided)
    assert asked.blocked is Reason.NEEDS_HUMAN
    assert 'The agent says: "Done."' in asked.question.text
    assert Choice.WAIVE in asked.question.choices


@pytest.mark.spec("3.5")
@pytest.mark.parametrize(
    "may",
    [
        {"waivers": ("no-change",)},
        {"spec": a_spec(may_change_nothing=True)},
    ],
)
def test_a_task_without_changes_is_done_where_the_plan_or_a_person_allows_it(
    may: dict[str, Any],
) -> None:
    task = an_active_task(Stage.VERIFY, work=Work(exit=an_exit()), **may)

    judged = decide_events(task, replace(PASSED, changed=()))[-1]

    assert judged == Judged(True, "c0ffee", "onto", {"check0": "PASSED"}, unchanged=True)


@pytest.mark.spec("3.5", "4.2")
@pytest.mark.parametrize(
    ("exit_", "kind"),
    [
        (an_exit(code=1), FailureKind.INCOMPLETE),
        (an_exit(code=1, limit=AgentLimit("rate")), FailureKind.RATE_LIMIT),
        (an_exit(ended_by="deadline"), FailureKind.TIMEOUT),
    ],
)
def test_a_task_without_changes_fails_when_its_agent_did_not_end_cleanly(
    exit_: object, kind: FailureKind
) -> None:
    """The checks passed on the base already, so they do not verify this agent."""
    task = an_active_task(Stage.VERIFY, work=Work(exit=exit_))  # type: ignore[arg-type]

    assert the_retry(decide_events(task, replace(PASSED, changed=()))).failure.kind is kind


@pytest.mark.spec("16.8")
@pytest.mark.parametrize("changed", [("a.py",), ()])
def test_passing_checks_do_not_overrule_a_reported_failure(
    changed: tuple[str, ...],
) -> None:
    exit_ = an_exit(reports_failure=True, failure_claim="no network")
    task = an_active_task(Stage.VERIFY, work=Work(head="h", exit=exit_))

    events = decide_events(task, replace(PASSED, changed=changed))

    failure = the_retry(events).failure
    assert (failure.kind, failure.pattern) == (FailureKind.INCOMPLETE, "agent-failed")
    assert "no network" in failure.message
    assert not next(event for event in events if isinstance(event, Judged)).passed


@pytest.mark.spec("16.8", "4.6")
def test_a_reported_failure_in_other_words_has_the_same_fingerprint() -> None:
    """Words differ from try to try; if they were compared, no try would ever be futile."""
    one, other = (
        the_retry(
            decide_events(an_active_task(Stage.VERIFY, work=Work(head="h", exit=exit_)), PASSED)
        ).failure
        for exit_ in (
            an_exit(reports_failure=True, failure_claim="no net"),
            an_exit(reports_failure=True, failure_claim="alas"),
        )
    )

    assert one.fingerprint == other.fingerprint


@pytest.mark.spec("16.8", "6.9")
def test_a_failing_check_is_sent_back_with_the_reported_failure() -> None:
    exit_ = an_exit(code=1, reports_failure=True, failure_claim="no network")
    task = an_active_task(Stage.VERIFY, work=Work(head="h", exit=exit_))

    failure = the_retry(decide_events(task, FAILED)).failure

    assert failure.check == "check0"
    assert "no network" in failure.message


@pytest.mark.spec("16.8")
def test_a_contradiction_is_escalated_with_both_sides() -> None:
    task = an_active_task(Stage.WORK)
    report = replace(WORKED, exit=an_exit(contradiction="test_a wants 3"))

    asked = the_escalation(decide_events(task, report))

    assert (asked.failure.kind, asked.blocked) == (
        FailureKind.ESCALATE_REQUIRED,
        Reason.NEEDS_HUMAN,
    )
    assert "Make login work." in asked.question.text
    assert "test_a wants 3" in asked.question.text


@pytest.mark.spec("3.5", "6.9")
def test_a_task_without_changes_is_incomplete_and_lists_the_failing_checks() -> None:
    task = an_active_task(Stage.VERIFY, work=Work(exit=an_exit()))

    failure = the_retry(decide_events(task, replace(FAILED, changed=()))).failure

    assert (failure.kind, failure.pattern, failure.check) == (
        FailureKind.INCOMPLETE,
        "no-change",
        "check0",
    )
    assert failure.params["exitCode"] == 0, "the agent's, not that of the failing check"


@pytest.mark.spec("3.5", "5.1")
def test_a_task_without_changes_whose_check_fails_has_all_its_retries() -> None:
    """Only where the checks pass is a person asked after one retry."""
    task = an_active_task(Stage.VERIFY, work=Work(exit=an_exit()))
    before = the_retry(decide_events(task, replace(FAILED, changed=()))).failure

    again = the_retry(decide_events(replace(task, feedback=before), replace(FAILED, changed=())))

    assert again.max_retries == 3


@pytest.mark.spec("6.8")
def test_a_check_that_forbids_retries_also_does_so_without_changes() -> None:
    task = an_active_task(Stage.VERIFY, work=Work(exit=an_exit()))
    final = Verdict((a_finding(Outcome.FAILED, on_failure=OnFailure.ABORT),))

    asked = the_escalation(decide_events(task, replace(FAILED, verdict=final, changed=())))

    assert asked.blocked is Reason.NEEDS_HUMAN


@pytest.mark.spec("4.8", "6.8")
def test_a_check_that_cannot_run_is_retried_without_the_agent() -> None:
    broken = Verdict((a_finding(Outcome.BROKEN, transient=True),))
    task = an_active_task(Stage.VERIFY)

    events = decide_events(task, replace(FAILED, verdict=broken))

    assert the_retry(events).stage is Stage.VERIFY
    assert fold_events(task, events).counts == Counts(faults=1)


@pytest.mark.spec("1.2")
def test_a_report_need_not_change_files() -> None:
    task = an_active_task(Stage.VERIFY, spec=a_spec(kind=TaskKind.REPORT))

    judged = decide_events(task, replace(PASSED, changed=()))[-1]

    assert isinstance(judged, Judged)
    assert (judged.passed, judged.unchanged) == (True, False)


@pytest.mark.spec("4.1", "4.5")
def test_a_conflict_names_the_files() -> None:
    report = MergeConflicted(("a.py", "b.py"), "onto", "tree")

    retry = the_retry(decide_events(an_active_task(Stage.VERIFY), report))

    assert (retry.failure.kind, retry.failure.pattern) == (FailureKind.CONFLICT, "merge-conflict")
    assert [item.name for item in retry.failure.items] == ["a.py", "b.py"]


# ------------------------------------------------------------------ land


@pytest.mark.spec("3.4", "0.3")
@pytest.mark.parametrize("already", [False, True])
def test_a_landing_is_one_event(already: bool) -> None:
    events = decide_events(an_active_task(Stage.LAND), CommitLanded("c0ffee", already))

    assert events == (Landed("c0ffee", already),)


@pytest.mark.spec("10.1", "7.5")
def test_a_landing_after_failures_is_recorded_as_a_successful_retry() -> None:
    failure = a_failure(pattern="test-failed")
    task = an_active_task(
        Stage.LAND,
        attempt=2,
        feedback=failure,
        failure_kinds=("QUALITY_FAILURE",),
    )

    _, note = decide_events(task, CommitLanded("c0ffee"))

    assert note == JournalNote(
        "RETRY_SUCCESS",
        {
            "retry_count": 1,
            "total_attempts": 2,
            "final_status": "PASS",
            "cured": "test-failed",
            "waived": "",
        },
    )


@pytest.mark.spec("3.4")
def test_a_branch_that_moved_is_verified_again() -> None:
    assert decide_events(an_active_task(Stage.LAND), CommitNotLanded("new")) == (
        LandingRefused("new"),
    )


@pytest.mark.spec("3.4", "0.4", "4.8")
def test_a_branch_that_always_moves_becomes_a_system_fault() -> None:
    task = an_active_task(Stage.LAND, work=Work(verified_commit="c0ffee", landing_refusals=10))

    refused, retry = decide_events(task, CommitNotLanded("new"))

    assert refused == LandingRefused("new")
    assert isinstance(retry, RetryDecided)
    assert retry.failure.is_our_fault
    assert retry.stage is Stage.VERIFY


# ------------------------------------------------------------------ trouble anywhere


@pytest.mark.spec("4.8")
@pytest.mark.parametrize("stage", Stage)
def test_a_system_fault_repeats_the_stage(stage: Stage) -> None:
    task = an_active_task(stage)

    events = decide_events(task, StageFaulted("index.lock exists", transient=True))

    after = fold_events(task, events)
    assert (the_retry(events).stage, after.counts) == (stage, Counts(faults=1))
    assert (after.attempt, after.feedback) == (task.attempt, None)


@pytest.mark.spec("4.2", "4.7", "1.3")
@pytest.mark.parametrize("stage", Stage)
def test_a_permanent_fault_is_escalated_and_continues_at_its_stage(stage: Stage) -> None:
    report = StageFaulted("git is missing", transient=False, code=FatalCode.RESOURCE_NOT_FOUND)

    asked = the_escalation(decide_events(an_active_task(stage), report))

    assert (asked.blocked, asked.stage) == (Reason.SYSTEM_ERROR_PERMANENT, stage)
    assert asked.reason["type"] == "FATAL_ERROR"


@pytest.mark.spec("3.7")
@pytest.mark.parametrize("report", [AgentLost("cut off"), WorkInterrupted("cut off")])
def test_an_interrupted_agent_is_restarted_in_a_fresh_worktree(report: StageReport) -> None:
    task = an_active_task(Stage.WORK)

    events = decide_events(task, report)

    after = fold_events(task, events)
    assert (after.stage, after.needs_fresh_worktree) == (Stage.PREPARE, True)
    assert (after.counts.interruptions, after.counts.total_failures) == (1, 0)


@pytest.mark.spec("18.7", "3.7")
@pytest.mark.parametrize("request_", [PendingRequest.NONE, PendingRequest.CANCEL])
@pytest.mark.parametrize("seconds", [6.5, None])
def test_the_seconds_of_a_lost_agent_run_are_recorded_and_added_up(
    request_: PendingRequest, seconds: float | None
) -> None:
    work = Work(prompt_sent=True, spend_counted=True)
    spend = Spend(attempts=2, unknown=1, seconds=1.0)
    task = an_active_task(Stage.WORK, request=request_, work=work, spend=spend)

    events = decide_events(task, AgentLost("cut off", seconds=seconds))

    assert events[0] == AgentRunLost(seconds)
    total = 1.0 + (seconds or 0.0)
    assert fold_events(task, events).spend == Spend(attempts=2, unknown=1, seconds=total)


@pytest.mark.spec("3.7")
def test_what_a_lost_agent_run_left_is_the_work_of_its_attempt() -> None:
    work = Work(base="base", tree="before", prompt_sent=True)
    task = an_active_task(Stage.WORK, work=work)

    left = fold_events(task, decide_events(task, AgentLost("cut off", head="head", tree="tree")))
    nothing = fold_events(task, decide_events(task, AgentLost("cut off")))

    assert (left.work.head, left.work.tree) == ("head", "tree")
    assert (nothing.work.head, nothing.work.tree) == ("", "before")


@pytest.mark.spec("18.7")
def test_an_attempt_that_never_started_its_agent_loses_no_run() -> None:
    events = decide_events(an_active_task(Stage.WORK, work=Work()), AgentLost("its host is gone"))

    assert [type(event) for event in events] == [RetryDecided]


@pytest.mark.spec("18.7", "10.6")
@pytest.mark.parametrize(
    "report",
    [
        AgentLost("cut off", seconds=5.0),
        WorkCommitted(AgentExit(ended_by=EndCause.LEASE, seconds=5.0), "head", "tree"),
    ],
)
def test_the_run_that_just_ended_counts_in_the_decision_about_the_next_one(
    report: StageReport,
) -> None:
    task = an_active_task(
        Stage.WORK,
        spec=a_spec(budget={"seconds": 8.0}),
        work=Work(prompt_sent=True, spend_counted=True),
        spend=Spend(seconds=3.0, attempts=2, unknown=2),
    )

    asked = the_escalation(decide_events(task, report))

    assert asked.blocked is Reason.RESOURCE_EXHAUSTED


@pytest.mark.spec("9.5")
@pytest.mark.parametrize(
    ("stage", "report"),
    [
        (Stage.PREPARE, PREPARED),
        (Stage.WORK, AgentLost("cut off")),
        (Stage.VERIFY, PASSED),
        (Stage.VERIFY, FAILED),
        (Stage.VERIFY, MergeConflicted(("a.py",), "onto", "tree")),
        (Stage.LAND, CommitNotLanded("new")),
        (Stage.LAND, StageFaulted("disk", transient=True)),
    ],
)
def test_a_cancel_request_takes_precedence_over_every_report(
    stage: Stage, report: StageReport
) -> None:
    task = an_active_task(stage, request=PendingRequest.CANCEL)

    events = decide_events(task, report)

    assert events == (Cancelled("cancelled by a person", ""),)


@pytest.mark.spec("9.5", "10.6")
@pytest.mark.parametrize("ended_by", [EndCause.NONE, EndCause.CANCEL])
def test_an_agent_run_is_recorded_before_its_task_is_cancelled(ended_by: EndCause) -> None:
    task = an_active_task(Stage.WORK, request=PendingRequest.CANCEL)
    exit_ = replace(WORKED.exit, ended_by=ended_by, cost=0.5)

    finished, cancelled = decide_events(task, replace(WORKED, exit=exit_))

    assert isinstance(finished, AgentFinished)
    assert finished.exit.cost == 0.5
    assert cancelled == Cancelled("cancelled by a person", WORKED.head)


@pytest.mark.spec("3.7", "10.6")
@pytest.mark.parametrize("ended_by", [EndCause.STOP, EndCause.LEASE, EndCause.CANCEL])
def test_the_cost_of_an_interrupted_agent_counts_and_its_attempt_does_not(
    ended_by: EndCause,
) -> None:
    task = an_active_task(Stage.WORK)
    exit_ = replace(WORKED.exit, code=None, ended_by=ended_by, cost=0.5)

    after = fold_events(task, decide_events(task, replace(WORKED, exit=exit_)))

    assert (after.stage, after.needs_fresh_worktree) == (Stage.PREPARE, True)
    assert (after.counts.interruptions, after.counts.total_failures) == (1, 0)
    assert after.spend.money == 0.5


STOPPED = replace(
    WORKED,
    exit=replace(WORKED.exit, code=None, ended_by=EndCause.STOP, cost=0.5, seconds=4.0),
    stopped_on_request=True,
)


@pytest.mark.spec("3.7", "18.7", "10.6")
def test_a_stop_that_was_asked_for_uses_no_retry() -> None:
    spec = a_spec(budget={"attempts": 2.0})
    counts = Counts(attempts=1, failures={"LOST": 6})
    task = an_active_task(Stage.WORK, spec=spec, counts=counts)

    events = decide_events(task, STOPPED)
    after = fold_events(task, events)

    assert (after.state, after.stage, after.needs_fresh_worktree) == (
        State.WAITING,
        Stage.PREPARE,
        True,
    )
    assert (after.budgeted_attempts, after.counts.failures, after.counts.interruptions) == (
        1,
        {"LOST": 6},
        0,
    )
    assert (after.spend.money, after.spend.seconds, after.failure_kinds) == (0.5, 4.0, ())
    assert isinstance(events[-1], RetryDecided)
    assert "uses no retry" in events[-1].reasoning


@pytest.mark.spec("18.7", "10.6")
@pytest.mark.parametrize(
    ("budget", "report"),
    [
        # What it used was used.
        ({"money": 0.5}, STOPPED),
        ({"seconds": 4.0}, STOPPED),
        ({"attempts": 1.0}, STOPPED),
        # Nobody asked this worker: the agent itself may have written the word.
        ({"attempts": 1.0}, replace(STOPPED, stopped_on_request=False)),
    ],
)
def test_a_stopped_agent_that_used_up_its_budget_is_asked_about(
    budget: dict[str, float], report: WorkCommitted
) -> None:
    task = an_active_task(Stage.WORK, spec=a_spec(budget=budget), counts=Counts(attempts=1))

    after = fold_events(task, decide_events(task, report))

    assert (after.state, after.reason) == (State.ESCALATED, Reason.RESOURCE_EXHAUSTED)


@pytest.mark.spec("3.8")
def test_an_agent_that_reached_its_deadline_is_judged_as_such_although_its_worker_stops() -> None:
    exit_ = replace(WORKED.exit, code=None, ended_by=EndCause.DEADLINE)
    task = an_active_task(Stage.WORK)

    after = fold_events(task, decide_events(task, replace(STOPPED, exit=exit_)))

    assert after.stage is Stage.VERIFY


@pytest.mark.spec("9.5", "0.2")
def test_cancelled_work_is_saved_on_a_ref() -> None:
    task = an_active_task(Stage.WORK, request=PendingRequest.CANCEL)

    assert decide_events(task, WorkInterrupted("cancelled", saved_ref="kept")) == (
        Cancelled("cancelled by a person", "kept"),
    )


@pytest.mark.spec("9.5", "0.1")
def test_a_landing_takes_precedence_over_a_cancel_request() -> None:
    task = an_active_task(Stage.LAND, request=PendingRequest.CANCEL)

    assert fold_events(task, decide_events(task, CommitLanded("c0ffee"))).state is State.DONE


# ------------------------------------------------------------------ why


@pytest.mark.spec("0.5")
@pytest.mark.parametrize(
    ("stage", "report", "rule"),
    [
        (Stage.VERIFY, FAILED, "5.1"),
        (Stage.WORK, AgentLost("cut off"), "3.7"),
        (Stage.VERIFY, StageFaulted("disk", transient=True), "4.8"),
        (Stage.VERIFY, StageFaulted("git", transient=False), "4.2"),
        (Stage.WORK, replace(WORKED, exit=an_exit(question="?")), "4.1"),
    ],
)
def test_every_decision_records_its_rule_its_inputs_and_what_would_change_it(
    stage: Stage, report: StageReport, rule: str
) -> None:
    events = decide_events(an_active_task(stage), report)
    (decided,) = (e for e in events if isinstance(e, RetryDecided | EscalationDecided))

    assert decided.why.rule == rule
    assert decided.why.inputs["kind"] == decided.failure.kind.value
    assert {"count", "maximum", "total", "max_total_attempts", "fingerprint", "reasoning"} <= set(
        decided.why.inputs
    )
    assert all(decided.why.otherwise)
    assert decided.why.otherwise


@pytest.mark.spec("4.6", "5.6")
def test_an_identical_failure_switches_to_the_next_agent() -> None:
    """Four identical failures: continue, fresh worktree, next agent, escalation."""
    spec = a_spec(
        agents=(an_agent("small"), an_agent("large")),
        policy=a_policy(content_retries_max=9, rules=a_policy().rules),
    )
    task = an_active_task(Stage.VERIFY, spec=spec, work=Work(head="h", tree="same"))
    seen = []
    for _ in range(3):
        events = decide_events(task, FAILED)
        retry = the_retry(events)
        seen.append((retry.strategy, retry.fresh, retry.agent_index))
        after = fold_events(task, events)
        task = replace(
            after, state=State.ACTIVE, stage=Stage.VERIFY, work=task.work, lease=task.lease
        )

    (awaiting,) = (
        event for event in decide_events(task, FAILED) if isinstance(event, AwaitingRerun)
    )

    assert seen == [("continue", False, 0), ("fresh", True, 0), ("next-agent", True, 1)]
    assert awaiting.blocked is Reason.MAX_RETRIES
    assert awaiting.why.rule == "5.1"


@pytest.mark.spec("10.1", "10.3")
def test_an_escalation_has_a_message_for_a_person() -> None:
    spec = a_spec(policy=a_policy(reruns_max=0))
    spent = Counts(failures={"QUALITY_FAILURE": 3})
    before = ("TIMEOUT", "QUALITY_FAILURE", "QUALITY_FAILURE")
    task = an_active_task(Stage.VERIFY, spec=spec, counts=spent, failure_kinds=before)

    events = decide_events(task, FAILED)

    asked, told = events[-2:]
    assert isinstance(asked, EscalationDecided)
    assert asked.failure_summary["failure_types"] == [*before, "QUALITY_FAILURE"]
    assert asked.failure_summary["last_failure"]["timestamp"] == NOW.isoformat()
    assert isinstance(told, JournalNote)
    assert told.name == "ESCALATE_EXECUTED"
    assert "yaoki" in told.data["user_message"]
    assert told.data["recommended_actions"]


@pytest.mark.spec("5.4")
def test_a_long_wait_is_a_date_in_the_store() -> None:
    limited = an_exit(code=1, limit=AgentLimit("rate"), retry_after=90 * MINUTE)
    task = an_active_task(Stage.VERIFY, work=Work(exit=limited))

    retry = the_retry(decide_events(task, FAILED))

    assert retry.due_at == NOW + 90 * MINUTE
    assert retry.delay_ms == timedelta(minutes=90) // timedelta(milliseconds=1)
