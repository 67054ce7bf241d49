"""Random histories of tasks, made by `decide` from any stage report and any answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import MINUTE, NOW, SECOND, a_policy, a_spec, a_task, an_agent, an_exit
from yaoki.core.bound import worst_case
from yaoki.core.decide import rules
from yaoki.core.decide.failure_response import ClockAndChance, escalate_without_rerun
from yaoki.core.machine.codec import event_from_data, event_to_data
from yaoki.core.machine.events import (
    Claimed,
    Event,
    Judged,
    Landed,
    LeaseExpired,
    LeaseReleased,
    RerunGranted,
    event_name,
)
from yaoki.core.machine.evolution import evolve, fold_events
from yaoki.core.machine.request_events import Answered, Cancelled, CancelRequested, UndoCompleted
from yaoki.core.model import (
    AgentExit,
    AgentLimit,
    Backoff,
    BackoffType,
    Catalogue,
    Choice,
    Counts,
    FailureKind,
    Finding,
    FindingItem,
    OnFailure,
    Outcome,
    Question,
    RetryPolicy,
    RetryRule,
    Stage,
    State,
    Task,
    TaskKind,
    TaskSpec,
    Verdict,
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
from yaoki.core.settings.retry import RETRYABLE_KINDS

EMPTY = Catalogue()


@dataclass
class TaskHistory:
    """One task, its journal, and the invariants that hold after every event."""

    spec: TaskSpec
    task: Task = field(init=False)
    now: datetime = NOW
    journal: list[Event] = field(default_factory=list)
    steps: int = 0

    def __post_init__(self) -> None:
        self.task = a_task(spec=self.spec)

    def add(self, *events: Event) -> None:
        for event in events:
            before = self.task
            self.task = evolve(before, event)
            self.journal.append(event)
            assert_invariants(before, event, self.task)

    def claim(self) -> None:
        self.now = max(self.now, self.task.due_at or self.now)
        self.add(Claimed("host:1", self.task.epoch + 1, self.now + MINUTE))

    def decide_rerun(self, *, rerun: bool) -> None:
        """Nothing else can be claimed: the task gets its re-run, or a person is asked."""
        moment = ClockAndChance(self.now, 0.5)
        grant = (RerunGranted("head"),)
        self.add(*(grant if rerun else escalate_without_rerun(self.task, "nothing landed", moment)))

    def step(self, *, rerun: bool = True) -> None:
        if self.task.awaiting_rerun:
            self.decide_rerun(rerun=rerun)
        elif self.task.state is State.WAITING:
            self.claim()

    def report(self, report: StageReport, chance: float = 0.5) -> None:
        self.steps += 1
        self.now += SECOND
        self.add(*rules.decide(self.task, report, ClockAndChance(self.now, chance)))


def assert_invariants(before: Task, event: Event, after: Task) -> None:
    assert after.epoch >= before.epoch
    assert after.epoch == before.epoch + isinstance(event, Claimed)
    assert not decreased_counts(before.counts, after.counts), event_name(event)
    assert not decreased_counts(after.forgiven_counts, after.counts), "more forgiven than counted"
    assert (after.lease is not None) == (after.state is State.ACTIVE)
    assert bool(after.landed_commit) == (after.state is State.DONE)
    assert (after.question is not None) == (after.state is State.ESCALATED)
    assert after.stage is not Stage.LAND or after.work.verified_commit, (
        "at land with nothing to land"
    )
    if after.state is State.ESCALATED:
        assert after.reason is not None


def decreased_counts(before: Counts, after: Counts) -> bool:
    numbers = (
        "faults",
        "deliveries",
        "interruptions",
        "attempts",
        "refused_landings",
        "total_failures",
    )
    fewer = any(getattr(after, name) < getattr(before, name) for name in numbers)
    return fewer or any(after.failures_of(kind) < before.failures_of(kind) for kind in FailureKind)


def verified_before_landing(journal: list[Event]) -> bool:
    """The last thing said of the work before it landed: passed, on this commit, in this attempt."""
    proven = ""
    for event in journal:
        match event:
            case Judged(passed=passed, commit=commit):
                proven = commit if passed else ""
            case Landed(commit=commit):
                if commit != proven:
                    return False
                proven = ""
            case _ if event_name(event) in {"ATTEMPT_STARTED", "LAND_REFUSED"}:
                proven = ""
    return True


# ------------------------------------------------------------------ what may be seen

EXITS = (
    an_exit(),
    an_exit(code=1),
    an_exit(code=127),
    an_exit(code=None, signal=9),
    an_exit(ended_by="deadline"),
    an_exit(ended_by="hang"),
    an_exit(ended_by="output"),
    an_exit(code=1, limit=AgentLimit("rate"), retry_after=MINUTE),
    an_exit(code=1, limit=AgentLimit("rate")),
    an_exit(code=1, limit=AgentLimit("auth")),
    an_exit(code=1, limit=AgentLimit("overloaded")),
    an_exit(code=1, retry_safe=False, stderr_tail="half done"),
    an_exit(question="May I?"),
    an_exit(code=None, start_error="Permission denied"),
)
MILD_EXITS = tuple(
    e for e in EXITS if e.retry_safe and not e.question and not e.start_error and e.limit != "auth"
)


def a_finding_of(dice: Random) -> Finding:
    return Finding(
        dice.choice(["tests", "types"]),
        dice.choice([Outcome.FAILED, Outcome.FAILED, Outcome.BROKEN]),
        on_failure=dice.choice([OnFailure.RETRY] * 9 + [OnFailure.ABORT]),
        pattern=dice.choice(["test-failed", "no-change", ""]),
        message=f"failure {dice.randrange(3)}",
        items=tuple(FindingItem(f"t{n}", "no") for n in range(dice.randrange(3))),
        transient=dice.random() < 0.8,
    )


def a_failing_report(task: Task, dice: Random, exits: tuple[AgentExit, ...]) -> StageReport:
    """Any failing report; trees repeat often, so identical failures occur."""
    tree = dice.choice(["t1", "t2"])
    if dice.random() < 0.1:
        return StageFaulted(f"our disk hiccuped {dice.randrange(9)}", transient=dice.random() < 0.9)
    match task.stage:
        case Stage.PREPARE:
            return WorktreePrepared("ba5e", "/w", "host", fresh=task.needs_fresh_worktree)
        case Stage.WORK:
            if dice.random() < 0.2:
                return AgentLost("cut off")
            return WorkCommitted(dice.choice(exits), f"head{task.attempt}", tree)
        case Stage.VERIFY:
            if dice.random() < 0.2:
                return MergeConflicted(("a.py",), "onto", tree)
            changed = ("a.py",) if dice.random() < 0.7 else ()
            return CandidateVerified(Verdict((a_finding_of(dice),)), "bad", "onto", changed)
        case Stage.LAND:
            return CommitNotLanded("elsewhere")


def any_report(task: Task, dice: Random) -> StageReport:
    """Success is as likely as failure."""
    if dice.random() < 0.4:
        return a_failing_report(task, dice, EXITS)
    match task.stage:
        case Stage.PREPARE:
            return WorktreePrepared(
                "ba5e", "/w", "host", True, warning=dice.choice(["", "no snapshot"])
            )
        case Stage.WORK:
            return WorkCommitted(
                an_exit(), f"head{task.attempt}", f"tree{dice.randrange(3)}", ("a.py",)
            )
        case Stage.VERIFY:
            passed = Verdict((Finding("tests", Outcome.PASSED),))
            return CandidateVerified(passed, f"commit{dice.randrange(9)}", "onto", ("a.py",))
        case Stage.LAND:
            return CommitLanded(task.work.verified_commit, was_there_before=dice.random() < 0.2)


def do_anything(life: TaskHistory, dice: Random) -> None:
    """One random event that is legal for the task."""
    task = life.task
    if not task.state.is_final and not task.cancel_requested and dice.random() < 0.02:
        life.add(CancelRequested("enough"))
        if task.state is not State.ACTIVE:
            life.add(Cancelled("enough"))
        return
    match task.state:
        case State.WAITING:
            life.step(rerun=dice.random() < 0.7)
        case State.ACTIVE if dice.random() < 0.1:
            lost: Event = LeaseExpired("host:1", task.epoch, counted=dice.random() < 0.5)
            back: Event = LeaseReleased("host:1", task.epoch)
            life.add(dice.choice([lost, back]))
        case State.ACTIVE if task.cancel_requested and dice.random() < 0.8:
            life.report(WorkInterrupted("cancelled", saved_ref="kept"))
        case State.ACTIVE:
            life.report(any_report(task, dice), dice.random())
        case State.ESCALATED:
            choice = dice.choice([Choice.RETRY] * 4 + list(Choice))
            life.add(Answered(choice, "words", "tests"))
        case State.DONE if dice.random() < 0.5:
            life.add(
                UndoCompleted(task.landed_commit, Question("Again?", (Choice.RETRY, Choice.ABORT)))
            )
        case _:
            pass


# ------------------------------------------------------------------ promises


@st.composite
def policies(draw: st.DrawFn) -> RetryPolicy:
    kinds = draw(st.sets(st.sampled_from(RETRYABLE_KINDS)))
    backoff = Backoff(BackoffType.FIXED, SECOND, 1.0, SECOND, 0.0)
    few = st.integers(0, 5)
    return RetryPolicy(
        rules={kind: RetryRule(draw(few), backoff) for kind in kinds},
        content_retries_max=draw(few),
        total_attempts_max=draw(st.integers(1, 15)),
        faults_max=draw(st.integers(0, 3)),
        landing_refusals_max=draw(st.integers(1, 4)),
    )


@st.composite
def specs(draw: st.DrawFn) -> TaskSpec:
    agents = tuple(an_agent(f"agent{n}") for n in range(draw(st.integers(1, 3))))
    kind = draw(st.sampled_from([TaskKind.CHANGE, TaskKind.CHANGE, TaskKind.REPORT]))
    policy = draw(st.one_of(st.just(a_policy()), policies()))
    return a_spec(agents=agents, kind=kind, policy=policy)


# Seeds, not drawn dice: a life is long, and every part of it should be as likely as it says.
dice_ = st.integers(0, 2**32).map(Random)


@pytest.mark.spec("0.1", "0.3", "5.2", "10.2", "11.1")
@given(specs(), dice_)
def test_the_journal_of_any_history_folds_to_the_task(spec: TaskSpec, dice: Random) -> None:
    """A round trip through JSON keeps the whole task."""
    life = TaskHistory(spec)
    for _ in range(60):
        do_anything(life, dice)

    written = [(event_name(e), json.dumps(event_to_data(e, EMPTY))) for e in life.journal]
    read = [event_from_data(name, json.loads(text), EMPTY) for name, text in written]

    assert fold_events(a_task(spec=spec), read) == life.task
    assert verified_before_landing(life.journal)


@pytest.mark.spec("0.4", "4.6")
@given(specs(), dice_)
def test_a_task_that_always_fails_ends_within_its_bound(spec: TaskSpec, dice: Random) -> None:
    """Without answers and with failing reports only, the task ends within the published bound."""
    life, bound = TaskHistory(spec), worst_case(spec)
    policy = spec.policy
    per_attempt = 2 + 2 * (policy.landing_refusals_max + 1)
    runs_max = bound.total + bound.unanswered
    steps_max = runs_max * per_attempt + 3 * (policy.faults_max + 1)
    while life.task.state in {State.WAITING, State.ACTIVE}:
        life.step()
        if life.task.state is State.ACTIVE:
            life.report(a_failing_report(life.task, dice, MILD_EXITS), dice.random())
        assert life.steps <= steps_max

    assert life.task.state is State.ESCALATED
    counts = life.task.counts
    assert counts.unanswered <= bound.unanswered
    assert counts.attempts - counts.unanswered <= bound.total
    assert counts.attempts - counts.unanswered - counts.interruptions <= (
        bound.content + bound.repeats + bound.reruns
    )


@pytest.mark.spec("0.4", "3.4")
def test_a_branch_that_moves_at_every_landing_ends_in_an_escalation() -> None:
    """Every verdict passes, and every landing finds the branch moved."""
    life = TaskHistory(a_spec())
    passed = Verdict((Finding("tests", Outcome.PASSED),))
    reports: dict[Stage, StageReport] = {
        Stage.PREPARE: WorktreePrepared("ba5e", "/w", "host", True),
        Stage.WORK: WorkCommitted(an_exit(), "head", "tree", ("a.py",)),
        Stage.VERIFY: CandidateVerified(passed, "commit", "onto", ("a.py",)),
        Stage.LAND: CommitNotLanded("elsewhere"),
    }
    while life.task.state in {State.WAITING, State.ACTIVE}:
        life.step()
        if life.task.state is State.ACTIVE:
            life.report(reports[life.task.stage])
        assert life.steps < 100

    assert life.task.state is State.ESCALATED
    assert life.task.counts.attempts == 2
    assert life.task.counts.failures == {}


@pytest.mark.spec("0.4", "4.6", "8.4")
@pytest.mark.parametrize(
    ("rerun", "runs", "reason"), [(False, 4, "MAX_RETRIES"), (True, 5, "MAX_RETRIES_INTEGRATION")]
)
def test_the_defaults_run_an_agent_at_most_five_times_on_failing_tests(
    rerun: bool, runs: int, reason: str
) -> None:
    """Each time the work is other work, so futility does not cut it short."""
    life, bound = TaskHistory(a_spec()), worst_case(a_spec())
    while life.task.state in {State.WAITING, State.ACTIVE}:
        life.step(rerun=rerun)
        if life.task.state is not State.ACTIVE:
            continue
        life.report(WorktreePrepared("ba5e", "/w", "host", True))
        life.report(WorkCommitted(an_exit(), "head", f"tree{life.task.attempt}", ("a.py",)))
        failing = Finding("tests", Outcome.FAILED, message="test_login failed")
        life.report(CandidateVerified(Verdict((failing,)), "commit", "onto", ("a.py",)))

    assert life.task.counts.attempts == runs <= bound.content + bound.reruns == 5
    assert life.task.reason is not None
    assert life.task.reason.value == reason


@pytest.mark.spec("10.4", "5.2")
@given(dice_)
def test_every_answer_grants_at_most_the_same_bound_again(dice: Random) -> None:
    life, bound = TaskHistory(a_spec()), worst_case(a_spec())
    for answers in range(1, 4):
        while life.task.state in {State.WAITING, State.ACTIVE}:
            life.step()
            if life.task.state is State.ACTIVE:
                life.report(a_failing_report(life.task, dice, MILD_EXITS), dice.random())
        assert life.task.counts.attempts <= answers * bound.total
        life.add(Answered(Choice.RETRY, "again"))


def test_the_fold_needs_nothing_but_the_events() -> None:
    life = TaskHistory(replace(a_spec(), agents=()))
    life.claim()
    assert fold_events(a_task(spec=life.spec), life.journal) == life.task
