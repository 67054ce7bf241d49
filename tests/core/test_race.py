"""The referee of a race: who starts when, what is compared, and what follows (rule 18.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import MINUTE, NOW, a_failure, a_spec, a_task, an_agent, an_exit
from yaoki.core.decide.candidate import candidate_specs, decide_candidate
from yaoki.core.decide.failure_response import ClockAndChance
from yaoki.core.decide.failures import make_failure
from yaoki.core.decide.race import first_releases, follow_race
from yaoki.core.decide.race_comparison import choose_winner
from yaoki.core.machine.events import (
    AgentFinished,
    Claimed,
    EscalationDecided,
    Event,
    Judged,
    RetryDecided,
    Submitted,
    event_name,
)
from yaoki.core.machine.evolution import create_task, evolve, fold_events
from yaoki.core.machine.legality import legal
from yaoki.core.machine.race_events import (
    CandidateFailed,
    CandidateProven,
    CandidateReleased,
    CandidateRetired,
    CandidateSettled,
    RaceDecided,
    RaceStarted,
)
from yaoki.core.machine.request_events import CancelRequested
from yaoki.core.model import (
    GIT_CONFIG_CHECK,
    AgentExit,
    CandidateOutcome,
    CandidateScore,
    CheckSpec,
    EndCause,
    Failure,
    FailureKind,
    Finding,
    FindingItem,
    HiddenFiles,
    Lease,
    Outcome,
    PendingRequest,
    RaceCriterion,
    RaceEnd,
    RaceRules,
    RaceStart,
    Reason,
    RunId,
    Spend,
    Stage,
    State,
    Task,
    TaskId,
    Verdict,
    WaitReason,
    Work,
)
from yaoki.core.model.stage_report import (
    AgentLost,
    CandidateVerified,
    WorkCommitted,
    WorkInterrupted,
)

pytestmark = pytest.mark.spec("18.4")

MOMENT = ClockAndChance(NOW, 0.5)
IDS = tuple(TaskId(f"run-{n}") for n in (2, 3, 4))


def a_racing_task(**rules: Any) -> Task:
    agents = tuple(map(an_agent, ("small", "large")))
    spec = a_spec(agents=agents, race=RaceRules(3, **rules))
    return replace(
        a_task(spec=spec, attempt=1, stage=Stage.WORK),
        waiting_for=WaitReason.RACE,
        candidates=IDS,
    )


def a_candidate(number: int, **fields: Any) -> Task:
    """One at work."""
    task = a_racing_task()
    made = create_task(
        IDS[number - 1],
        RunId("run"),
        Submitted(number + 1, candidate_specs(task)[number - 1], race_task=task.id),
    )
    lease = Lease(made.id, "host:1", 1, NOW + MINUTE)
    work = Work(head=f"head{number}", worktree=f"/w/run-{number + 1}", diff_digest=f"d{number}")
    active = {
        "state": State.ACTIVE,
        "stage": Stage.VERIFY,
        "epoch": 1,
        "attempt": 1,
        "lease": lease,
        "waiting_for": WaitReason.CLAIM,
        "work": work,
    }
    return replace(made, **{**active, **fields})


def proven(number: int, **values: Any) -> Task:
    return evolve(a_candidate(number, stage=Stage.LAND), CandidateProven(CandidateScore(**values)))


def failed(number: int, failed_checks: int | None = 1, failure: Failure | None = None) -> Task:
    event = CandidateFailed(failure or a_failure(), CandidateScore(failed_checks))
    return evolve(a_candidate(number), event)


def unreleased(number: int) -> Task:
    return a_candidate(
        number,
        state=State.WAITING,
        stage=Stage.PREPARE,
        epoch=0,
        attempt=0,
        lease=None,
        waiting_for=WaitReason.RACE,
        work=Work(),
    )


def ready(number: int) -> Task:
    """Released, and no worker has claimed it."""
    return evolve(unreleased(number), CandidateReleased())


def follow(task: Task, candidates: Sequence[Task], changed: Task) -> dict[TaskId, list[str]]:
    changes = follow_race(task, candidates, changed, MOMENT)
    return {task_id: [event_name(event) for event in events] for task_id, events in changes}


def events_of(task_id: TaskId, changes: Sequence[tuple[TaskId, tuple[Event, ...]]]) -> list[Event]:
    return [event for each, events in changes for event in events if each == task_id]


def decision(task: Task, candidates: Sequence[Task], changed: Task) -> RaceDecided:
    found = events_of(task.id, follow_race(task, candidates, changed, MOMENT))
    (decided,) = (event for event in found if isinstance(event, RaceDecided))
    return decided


# ------------------------------------------------------------------ the first proof wins


def test_the_first_proof_decides_and_the_others_are_stopped() -> None:
    task, won = a_racing_task(), proven(2)
    candidates = [a_candidate(1), won, ready(3)]

    assert follow(task, candidates, won) == {
        task.id: ["CANDIDATE_SETTLED", "CANDIDATE_SETTLED", "RACE_DECIDED"],
        IDS[0]: ["CANCEL_REQUESTED"],
        IDS[1]: ["CANDIDATE_RETIRED"],
        IDS[2]: ["CANDIDATE_RETIRED"],
    }
    decided = decision(task, candidates, won)
    assert (decided.winner, decided.criterion) == (IDS[1], RaceCriterion.FIRST)


def test_the_winners_work_is_verified_as_that_of_the_racing_task() -> None:
    task, won = a_racing_task(), proven(2)

    after = fold_events(task, events_of(task.id, follow_race(task, [won], won, MOMENT)))

    assert (after.state, after.stage) == (State.WAITING, Stage.VERIFY)
    assert after.waiting_for is WaitReason.CLAIM
    assert (after.work.head, after.work.candidate) == ("head2", IDS[1])
    assert after.work.worktree == f"/w/{task.id}"
    assert after.work.verified_commit == after.work.onto == ""


def test_what_a_candidate_used_is_added_to_the_racing_task() -> None:
    used = Spend(money=2.0, tokens=10, seconds=3.0, attempts=1)
    task, won = replace(a_racing_task(), spend=Spend(money=1.0, attempts=4)), proven(1)
    won = replace(won, spend=used)

    after = fold_events(task, events_of(task.id, follow_race(task, [won], won, MOMENT)))

    assert after.spend == Spend(3.0, 10, 3.0, 5)


def test_a_proven_candidate_has_no_word_of_an_earlier_interruption() -> None:
    task, won = a_racing_task(), replace(proven(1), failure=a_failure(FailureKind.LOST, "stopped"))
    lost = failed(2, failure=a_failure(message="it is wrong"))

    settled = [
        event
        for changed in (won, lost)
        for event in events_of(task.id, follow_race(task, [won, lost], changed, MOMENT))
        if isinstance(event, CandidateSettled) and event.candidate == changed.id
    ]

    assert [event.message for event in settled] == ["", "it is wrong"]


def test_a_candidate_that_ends_after_the_decision_is_only_settled() -> None:
    decided = replace(a_racing_task(), waiting_for=WaitReason.CLAIM, stage=Stage.VERIFY)
    late = evolve(a_candidate(1), CandidateRetired("its race is over"))

    assert follow(decided, [late], late) == {decided.id: ["CANDIDATE_SETTLED"]}


def test_nothing_is_decided_for_a_race_that_a_person_cancelled() -> None:
    cancelled = replace(a_racing_task(), request=PendingRequest.CANCEL)
    won = proven(1)

    assert follow(cancelled, [won, a_candidate(2)], won) == {cancelled.id: ["CANDIDATE_SETTLED"]}


# ------------------------------------------------------------------ all are compared


def test_with_until_all_a_proof_waits_for_the_others() -> None:
    task, first = a_racing_task(until=RaceEnd.ALL), proven(1)

    assert follow(task, [first, a_candidate(2), ready(3)], first) == {
        task.id: ["CANDIDATE_SETTLED"]
    }


def test_with_until_all_the_last_end_decides() -> None:
    task, last = a_racing_task(until=RaceEnd.ALL), failed(3)
    candidates = [proven(1, changed_lines=9), proven(2, changed_lines=4), last]

    decided = decision(task, candidates, last)

    assert (decided.winner, decided.criterion) == (IDS[1], RaceCriterion.DIFF)
    assert decided.why["rule"] == "18.4"
    assert decided.why["inputs"]["compared"] == ["login~1.1", "login~1.2"]


ORDERED = {
    RaceCriterion.HIDDEN_CHECKS: "hidden_failures",
    RaceCriterion.MUTANTS: "surviving_mutants",
    RaceCriterion.DIFF: "changed_lines",
    RaceCriterion.COST: "cost",
}


@pytest.mark.parametrize("criterion", ORDERED)
def test_the_first_difference_decides_whatever_the_later_values_are(
    criterion: RaceCriterion,
) -> None:
    names = list(ORDERED.values())
    at = names.index(ORDERED[criterion])
    equal = dict.fromkeys(names[:at], 1)
    better = proven(2, **equal, **{names[at]: 1}, **dict.fromkeys(names[at + 1 :], 9))
    worse = proven(1, **equal, **{names[at]: 2}, **dict.fromkeys(names[at + 1 :], 0))

    assert choose_winner([worse, better]) == (better, criterion)


def test_an_unknown_value_decides_nothing() -> None:
    unknown, cheap = proven(1, changed_lines=2), proven(2, changed_lines=2, cost=0.1)

    assert choose_winner([unknown, cheap]) == (unknown, RaceCriterion.NUMBER)


def test_a_criterion_that_leaves_several_is_followed_by_the_next() -> None:
    """The third is cheapest, but its diff is larger."""
    first = proven(1, changed_lines=2, cost=0.5)
    second = proven(2, changed_lines=2, cost=0.4)
    third = proven(3, changed_lines=3, cost=0.1)

    assert choose_winner([first, second, third]) == (second, RaceCriterion.COST)


def test_a_single_proof_needs_no_comparison() -> None:
    assert choose_winner([proven(3)])[1] is RaceCriterion.ONLY


# ------------------------------------------------------------------ nobody is right


def test_without_a_proof_the_best_failure_is_that_of_the_task_once() -> None:
    best = a_failure(message="one test is left")
    task, last = a_racing_task(), failed(3, 2)
    candidates = [failed(1, None), failed(2, 1, best), last]

    after = fold_events(task, events_of(task.id, follow_race(task, candidates, last, MOMENT)))

    assert after.failure == best
    assert after.feedback == best
    assert after.counts.total_failures == 1
    assert (after.state, after.stage) == (State.WAITING, Stage.PREPARE)
    assert after.waiting_for is WaitReason.CLAIM
    assert after.work.head == "head2"


def test_among_equally_many_failed_checks_the_fewest_details_are_best() -> None:
    many = replace(a_failure(), items=(FindingItem("test_a"), FindingItem("test_b")))
    task, last = a_racing_task(), failed(3, 1, many)

    assert decision(task, [failed(1, 1, many), failed(2, 1), last], last).best == IDS[1]


def test_what_the_candidates_repeated_already_is_not_repeated_by_the_task() -> None:
    lost = replace(a_failure(), kind=FailureKind.TRANSIENT_ERROR)
    task, last = a_racing_task(), failed(1, None, lost)

    events = events_of(task.id, follow_race(task, [last], last, MOMENT))

    assert not any(isinstance(event, RetryDecided) for event in events)


def test_a_question_of_the_only_candidate_left_becomes_that_of_the_task() -> None:
    asked = replace(a_failure(), kind=FailureKind.ESCALATE_REQUIRED, message="Which one?")
    task, last = a_racing_task(), failed(1, None, asked)

    after = fold_events(task, events_of(task.id, follow_race(task, [last], last, MOMENT)))

    assert after.state is State.ESCALATED
    assert after.failure is not None
    assert after.failure.message == "Which one?"


def over_budget(number: int, tokens: int) -> Task:
    """One whose agent was stopped at its share, 100 of the 300 tokens."""
    stopped = make_failure(FailureKind.RESOURCE_EXHAUSTED, "stopped at its budget")
    candidate = failed(number, None, stopped)
    spec = replace(candidate.spec, budget={"attempts": 1.0, "tokens": 100.0})
    counts = replace(candidate.counts, attempts=1)
    return replace(candidate, spec=spec, spend=Spend(tokens=tokens), counts=counts)


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (200, "the task used 310 of its 300 tokens; stopped at its budget: login~1.1 used 110"),
        (0, "login~1.1 used 110 of its 100 tokens, a share of the task's 300 tokens"),
    ],
    ids=["all-of-it", "a-share"],
)
def test_the_question_of_a_race_at_its_budget_names_what_was_used_and_allowed(
    before: int, words: str
) -> None:
    """The last candidate counts as well: its use was missing in the decision."""
    task, last = a_racing_task(), over_budget(1, 110)
    task = replace(
        task,
        spec=replace(task.spec, budget={"tokens": 300.0}),
        spend=Spend(tokens=before),
        candidates=IDS[:1],
    )

    after = fold_events(task, events_of(task.id, follow_race(task, [last], last, MOMENT)))

    assert after.state is State.ESCALATED
    assert after.question is not None
    assert words in after.question.text


@pytest.mark.parametrize("measure", ["money", "tokens", "seconds"])
def test_the_use_of_the_last_candidate_decides_about_the_next_round(measure: str) -> None:
    task, last = a_racing_task(), failed(1)
    task = replace(task, spec=replace(task.spec, budget={measure: 3.0}), candidates=IDS[:1])
    last = replace(last, spend=Spend(**{measure: 4}))

    after = fold_events(task, events_of(task.id, follow_race(task, [last], last, MOMENT)))

    assert (after.state, after.reason) == (State.ESCALATED, Reason.RESOURCE_EXHAUSTED)


def test_changed_git_configuration_ends_the_race_with_a_question() -> None:
    """Another candidate may be right, but the repository itself was touched."""
    changed = replace(
        a_failure(), kind=FailureKind.ESCALATE_REQUIRED, check=GIT_CONFIG_CHECK, pattern=""
    )
    task, culprit = a_racing_task(until=RaceEnd.ALL), failed(1, None, changed)

    changes = follow_race(task, [culprit, proven(2), a_candidate(3)], culprit, MOMENT)

    assert any(isinstance(e, EscalationDecided) for e in events_of(task.id, changes))
    assert [event_name(e) for e in events_of(IDS[1], changes)] == ["CANDIDATE_RETIRED"]
    assert [event_name(e) for e in events_of(IDS[2], changes)] == ["CANCEL_REQUESTED"]


# ------------------------------------------------------------------ when candidates start


@pytest.mark.parametrize(
    ("start", "count"),
    [(RaceStart.AT_ONCE, 3), (RaceStart.AFTER_FAILURE, 1), (RaceStart.AFTER, 1)],
)
def test_a_race_starts_with_all_or_with_the_first(start: RaceStart, count: int) -> None:
    task = replace(a_racing_task(start=start), feedback=a_failure(), answer_text="try b")

    released = first_releases(task, IDS)

    assert [task_id for task_id, _ in released] == list(IDS[:count])
    assert released[0][1] == (CandidateReleased(None, a_failure(), "try b"),)


def test_after_a_failure_the_next_candidate_starts() -> None:
    task, first = a_racing_task(start=RaceStart.AFTER_FAILURE), failed(1)
    candidates = [first, unreleased(2), unreleased(3)]

    assert follow(task, candidates, first) == {
        task.id: ["CANDIDATE_SETTLED"],
        IDS[1]: ["CANDIDATE_RELEASED"],
    }


def test_nobody_starts_while_the_one_before_works() -> None:
    task, first = a_racing_task(start=RaceStart.AFTER_FAILURE), a_candidate(1)

    assert follow(task, [first, unreleased(2)], first) == {}


def test_a_proof_ends_a_race_whose_others_wait_for_a_failure() -> None:
    rules = {"start": RaceStart.AFTER_FAILURE, "until": RaceEnd.ALL}
    task, first = a_racing_task(**rules), proven(1)

    decided = decision(task, [first, unreleased(2), unreleased(3)], first)

    assert (decided.winner, decided.criterion) == (IDS[0], RaceCriterion.ONLY)


LATER = {"start": RaceStart.AFTER, "delay": 10 * MINUTE}


def test_the_next_candidate_is_due_when_the_one_before_has_run_so_long() -> None:
    task, first = a_racing_task(**LATER), a_candidate(1, stage=Stage.WORK)

    changes = follow_race(task, [first, unreleased(2), unreleased(3)], first, MOMENT)

    (released,) = events_of(IDS[1], changes)
    assert released == CandidateReleased(NOW + 10 * MINUTE)
    assert events_of(IDS[2], changes) == []


def test_a_candidate_that_is_due_later_starts_when_the_one_before_failed() -> None:
    task, first = a_racing_task(**LATER), failed(1)
    second = replace(ready(2), due_at=NOW + timedelta(minutes=7))

    changes = follow_race(task, [first, second, unreleased(3)], first, MOMENT)

    assert events_of(IDS[1], changes) == [CandidateReleased()]
    assert evolve(second, CandidateReleased()).due_at is None


def test_a_due_candidate_is_not_released_again_at_every_step() -> None:
    task, first = a_racing_task(**LATER), a_candidate(1)
    second = replace(ready(2), due_at=NOW + timedelta(minutes=7))

    assert follow(task, [first, second, unreleased(3)], first) == {}


# ------------------------------------------------------------------ one candidate


def verified(*outcomes: tuple[str, Outcome, bool], lines: int | None = None) -> CandidateVerified:
    findings = tuple(
        Finding(check, outcome, required, message=check) for check, outcome, required in outcomes
    )
    return CandidateVerified(Verdict(findings), "c0ffee", "onto", ("a.py",), changed_lines=lines)


def test_a_candidate_that_passes_lands_nothing() -> None:
    hidden = CheckSpec("secret", hidden=HiddenFiles(), required=False)
    candidate = a_candidate(1, work=Work(head="head", exit=an_exit(cost=0.25)))
    spec = replace(candidate.spec, checks=(*candidate.spec.checks, hidden))
    report = verified(("tests", Outcome.PASSED, True), ("secret", Outcome.FAILED, False), lines=12)

    events = decide_candidate(replace(candidate, spec=spec), report, MOMENT)

    assert isinstance(events[-2], Judged)
    assert events[-1] == CandidateProven(
        CandidateScore(
            failed_checks=0, hidden_failures=1, surviving_mutants=None, changed_lines=12, cost=0.25
        )
    )
    after = fold_events(candidate, events)
    assert (after.state, after.waiting_for) == (State.WAITING, WaitReason.RACE)


def test_surviving_mutants_are_read_from_their_finding() -> None:
    found = Finding("mutants", Outcome.PASSED, params={"mutants": {"killed": 5, "survived": 2}})
    tests = Finding("tests", Outcome.PASSED)
    report = CandidateVerified(Verdict((tests, found)), "c0ffee", "onto", ("a.py",))

    last = decide_candidate(a_candidate(1), report, MOMENT)[-1]

    assert isinstance(last, CandidateProven)
    assert last.score.surviving_mutants == 2


def test_a_candidate_that_fails_is_over_and_asks_nobody() -> None:
    candidate = a_candidate(1, work=Work(head="head", exit=an_exit()))

    events = decide_candidate(candidate, verified(("tests", Outcome.FAILED, True)), MOMENT)

    last = events[-1]
    assert isinstance(last, CandidateFailed)
    assert last.score.failed_checks == 1
    assert not any(event_name(event).startswith("ESCALATE") for event in events)
    after = fold_events(candidate, events)
    assert (after.state, after.lease, after.question) == (State.REPLACED, None, None)
    assert after.failure_kinds == (FailureKind.QUALITY_FAILURE,)


def test_a_candidate_that_was_interrupted_is_tried_again() -> None:
    events = decide_candidate(
        a_candidate(1, stage=Stage.WORK), AgentLost("its machine is gone"), MOMENT
    )

    assert [type(event) for event in events] == [RetryDecided]


def at_its_last_run(number: int, runs: int) -> Task:
    """One at work, whose budget allows so many agent runs."""
    candidate = a_candidate(number, stage=Stage.WORK)
    spec = replace(candidate.spec, budget={"attempts": float(runs)})
    return replace(candidate, spec=spec, counts=replace(candidate.counts, attempts=runs))


def test_a_candidate_that_was_interrupted_in_its_last_run_fails() -> None:
    """Lost runs had no limit but that of interruptions, whatever `budget.attempts` said."""
    candidate = at_its_last_run(1, 2)

    events = decide_candidate(candidate, AgentLost("its machine is gone"), MOMENT)

    assert [type(event) for event in events] == [CandidateFailed]


@pytest.mark.parametrize(
    ("rounds", "words"),
    [
        (1, "the task used 1 of its 1 attempts; its machine is gone: login~1.1 used 1 of its 1"),
        (2, "its best candidate used up its attempts; its machine is gone: login~1.1 used 2 of"),
    ],
)
def test_a_race_whose_candidates_were_all_interrupted_asks_once(rounds: int, words: str) -> None:
    """No further round, and no re-run from the run branch, starts as many agents again."""
    task = a_racing_task()
    task = replace(
        task,
        spec=replace(task.spec, budget={"attempts": float(rounds)}),
        counts=replace(task.counts, attempts=1),
        candidates=IDS[:1],
    )
    candidate = at_its_last_run(1, rounds)
    lost = fold_events(
        candidate, decide_candidate(candidate, AgentLost("its machine is gone"), MOMENT)
    )

    events = events_of(task.id, follow_race(task, [lost], lost, MOMENT))
    after = fold_events(task, events)

    assert (after.state, after.reason) == (State.ESCALATED, Reason.RESOURCE_EXHAUSTED)
    (asked,) = (event for event in events if isinstance(event, EscalationDecided))
    assert asked.why is not None
    assert asked.why.rule == "10.6"
    assert after.question is not None
    assert words in after.question.text


@pytest.mark.spec("18.7")
@pytest.mark.parametrize(
    ("allowed", "end"), [(2, RetryDecided), (1, CandidateFailed)], ids=["continues", "was the last"]
)
def test_a_candidate_that_was_stopped_on_request_continues_within_its_budget(
    allowed: int, end: type[Event]
) -> None:
    last = at_its_last_run(1, allowed)
    candidate = replace(last, counts=replace(last.counts, attempts=1))
    stopped = AgentExit(code=None, ended_by=EndCause.STOP, seconds=1.0)
    report = WorkCommitted(stopped, "head", "tree", stopped_on_request=True)

    events = decide_candidate(candidate, report, MOMENT)

    assert [type(event) for event in events] == [AgentFinished, end]


def test_a_race_that_only_interruptions_ended_offers_the_work_that_is_left() -> None:
    task = replace(a_racing_task(), candidates=IDS[:2])
    before = [
        replace(at_its_last_run(n, 1), work=Work(worktree=f"/w/{n}", prompt_sent=True))
        for n in (1, 2)
    ]
    reports = (AgentLost("gone"), AgentLost("gone", head="part", tree="tree"))
    lost = [
        fold_events(each, decide_candidate(each, report, MOMENT))
        for each, report in zip(before, reports, strict=True)
    ]

    events = events_of(task.id, follow_race(task, lost, lost[1], MOMENT))

    (settled,) = (event for event in events if isinstance(event, CandidateSettled))
    (decided,) = (event for event in events if isinstance(event, RaceDecided))
    assert settled.head == "part"
    assert (decided.best, decided.work.head) == (IDS[1], "part")


def test_a_candidate_that_is_stopped_names_its_saved_work() -> None:
    candidate = evolve(a_candidate(1), CancelRequested("its race is over"))

    events = decide_candidate(candidate, WorkInterrupted("cancelled", "abc"), MOMENT)

    assert events == (CandidateRetired("its race is over", saved_ref="abc"),)
    assert evolve(candidate, events[0]).state is State.REPLACED


# ------------------------------------------------------------------ specifications


def test_the_agents_of_a_race_take_turns_and_fall_over_to_the_others() -> None:
    turns = candidate_specs(a_racing_task(agents_take_turns=True))
    same = candidate_specs(a_racing_task())

    assert [[agent.name for agent in spec.agents] for spec in turns] == [
        ["small", "large"],
        ["large", "small"],
        ["small", "large"],
    ]
    assert [spec.agents[0].name for spec in same] == ["small"] * 3


def test_a_race_begins_with_the_agent_that_the_task_has_come_to() -> None:
    task = replace(a_racing_task(agents_take_turns=True), agent_index=1)

    assert [spec.agents[0].name for spec in candidate_specs(task)] == ["large", "small", "large"]


def test_a_candidate_is_an_optional_task_without_needs_or_retries() -> None:
    task = a_racing_task()
    task = replace(task, spec=replace(task.spec, needs=("a",), phase="p", group="g"))

    spec = candidate_specs(task)[2]

    assert (spec.name, spec.needs, spec.required) == ("login~1.3", (), False)
    assert (spec.race, spec.phase, spec.group) == (None, "", "")
    assert spec.checks == task.spec.checks
    policy = spec.policy
    assert policy.rules[FailureKind.QUALITY_FAILURE].retries_max == 0
    assert policy.rules[FailureKind.LOST] == task.spec.policy.rules[FailureKind.LOST]
    assert (policy.content_retries_max, policy.reruns_max) == (0, 0)


def test_the_candidates_share_what_is_left_of_the_budget() -> None:
    task = a_racing_task()
    budget = {"attempts": 4.0, "money": 9.0, "tokens": 600.0}
    task = replace(task, spec=replace(task.spec, budget=budget), spend=Spend(money=3.0))

    share = {"attempts": 4.0, "money": 2.0, "tokens": 200.0}
    assert [spec.budget for spec in candidate_specs(task)] == [share] * 3


@pytest.mark.parametrize(("rounds_before", "runs"), [(0, 3.0), (2, 1.0), (3, 1.0)])
def test_each_candidate_may_start_its_agent_as_often_as_rounds_are_left(
    rounds_before: int, runs: float
) -> None:
    task = a_racing_task()
    spec = replace(task.spec, budget={"attempts": 3.0})
    counts = replace(task.counts, attempts=rounds_before)

    specs = candidate_specs(replace(task, spec=spec, counts=counts))

    assert [spec.budget for spec in specs] == [{"attempts": runs}] * 3


def test_a_budget_that_is_used_up_leaves_nothing_to_share() -> None:
    task = a_racing_task()
    spec = replace(task.spec, budget={"money": 1.0})

    (first, *_) = candidate_specs(replace(task, spec=spec, spend=Spend(money=3.0)))

    assert first.budget == {"money": 0.0}


# ------------------------------------------------------------------ what may happen when


def test_only_a_claimed_task_with_a_race_starts_one() -> None:
    task = a_racing_task()
    active = replace(task, state=State.ACTIVE, waiting_for=WaitReason.CLAIM)
    started = RaceStarted(IDS)

    assert legal(active, started)
    assert not legal(task, started)
    assert not legal(replace(active, stage=Stage.VERIFY), started)
    assert not legal(replace(active, spec=a_spec()), started)


def test_a_racing_task_is_claimed_only_to_be_cancelled() -> None:
    task = a_racing_task()
    claimed = Claimed("host:2", task.epoch + 1, NOW)

    assert not legal(task, claimed)
    assert legal(evolve(task, CancelRequested()), claimed)


def test_a_race_is_decided_once() -> None:
    task, won = a_racing_task(), proven(1)
    decided = decision(task, [won], won)

    assert legal(task, decided)
    assert not legal(evolve(task, decided), decided)
    assert not legal(won, decided)


@pytest.mark.parametrize(
    "event",
    [
        CandidateReleased(),
        CandidateProven(CandidateScore()),
        CandidateFailed(a_failure(), CandidateScore()),
        CandidateRetired("over"),
    ],
    ids=event_name,
)
def test_only_a_candidate_has_the_events_of_one(event: Event) -> None:
    stage = Stage.LAND if isinstance(event, CandidateProven) else Stage.PREPARE
    waits = isinstance(event, CandidateReleased)
    candidate = a_candidate(1, stage=stage, state=State.WAITING if waits else State.ACTIVE)

    assert legal(candidate, event)
    assert not legal(replace(candidate, race_task=TaskId("")), event)
    assert not legal(replace(candidate, state=State.REPLACED), event)


def test_a_settled_candidate_is_told_to_a_task_with_a_race_in_any_state() -> None:
    settled = CandidateSettled(IDS[0], "login~1.1", "small", CandidateOutcome.STOPPED)

    assert legal(replace(a_racing_task(), state=State.DONE), settled)
    assert not legal(a_task(), settled)


def test_a_candidate_waits_for_its_release() -> None:
    candidate = unreleased(1)

    assert candidate.awaiting_race
    assert not legal(candidate, Claimed("host:1", 1, NOW))
    assert legal(ready(1), Claimed("host:1", 1, NOW))


def test_a_person_who_took_the_task_over_starts_no_race() -> None:
    from yaoki.core.model import AttemptMode

    task = a_racing_task()

    assert task.starts_race
    assert not replace(task, mode=AttemptMode.TAKEN_OVER).starts_race
    assert not a_task().starts_race
