"""The referee in detail: every value of its events (rule 18.4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.builders import NOW, a_failure, a_task, an_agent, an_exit
from tests.core.test_race import (
    IDS,
    LATER,
    MOMENT,
    a_candidate,
    a_racing_task,
    decision,
    events_of,
    failed,
    follow,
    proven,
    ready,
    unreleased,
    verified,
)
from yaoki.core.decide.candidate import candidate_specs, decide_candidate, end_candidate
from yaoki.core.decide.race import follow_race
from yaoki.core.machine.evolution import evolve, fold_events
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
    CandidateOutcome,
    CandidateScore,
    Counts,
    FailureKind,
    Lease,
    Outcome,
    PendingRequest,
    RaceCriterion,
    RaceEnd,
    RaceRules,
    RaceStart,
    Spend,
    Stage,
    State,
    Task,
    TaskId,
    WaitReason,
    Work,
)
from yaoki.core.model.stage_report import AgentLost

pytestmark = pytest.mark.spec("18.4")


def settled(task: Task, candidates: list[Task], changed: Task) -> list[CandidateSettled]:
    events = events_of(task.id, follow_race(task, candidates, changed, MOMENT))
    return [event for event in events if isinstance(event, CandidateSettled)]


def test_a_settled_candidate_has_its_name_agent_values_use_and_failure() -> None:
    task, used = a_racing_task(until=RaceEnd.ALL), Spend(attempts=1, unknown=1)
    failure = a_failure(message="two of nine failed", check="tests")
    lost = replace(failed(2, 3, failure), spend=used)

    assert settled(task, [a_candidate(1), lost], lost) == [
        CandidateSettled(
            IDS[1],
            "login~1.2",
            "small",
            CandidateOutcome.FAILED,
            CandidateScore(3),
            used,
            "head2",
            "tests: two of nine failed",
        )
    ]


def test_a_proven_candidate_is_settled_without_a_failure() -> None:
    task, won = a_racing_task(until=RaceEnd.ALL), proven(1, cost=0.5)

    (event,) = settled(task, [won, a_candidate(2)], won)

    assert (event.outcome, event.score.cost, event.message) == (CandidateOutcome.PROVEN, 0.5, "")


def test_a_stopped_candidate_that_had_failed_before_is_no_failed_one() -> None:
    """An interruption that was to be repeated, when the race ended."""
    task = replace(a_racing_task(), waiting_for=WaitReason.CLAIM)
    lost = replace(a_candidate(1), failure=a_failure())
    stopped = evolve(lost, CandidateRetired("its race is over"))

    (event,) = settled(task, [], stopped)

    assert (event.outcome, event.score) == (CandidateOutcome.STOPPED, CandidateScore())


def test_a_candidate_that_never_began_is_not_called_stopped() -> None:
    task = a_racing_task(start=RaceStart.AFTER_FAILURE)
    won, last = proven(1), unreleased(2)

    found = {one.name: one.outcome for one in settled(task, [won, last], won)}

    assert found == {"login~1.1": "proven", "login~1.2": "not-started"}


def test_a_candidate_without_an_agent_is_settled_without_its_name() -> None:
    task, won = a_racing_task(until=RaceEnd.ALL), proven(1)
    won = replace(won, spec=replace(won.spec, agents=()))

    assert settled(task, [won, a_candidate(2)], won)[0].agent == ""


def test_a_candidate_of_an_earlier_round_decides_nothing() -> None:
    task, old = a_racing_task(), replace(proven(1), id=TaskId("run-9"))

    assert follow(task, [a_candidate(2)], old) == {task.id: ["CANDIDATE_SETTLED"]}
    assert follow(replace(task, waiting_for=WaitReason.CLAIM), [], a_candidate(1)) == {}


def test_a_decision_names_winner_rule_inputs_and_what_would_have_changed_it() -> None:
    task, won = a_racing_task(until=RaceEnd.ALL), proven(2)

    decided = decision(task, [failed(1), won, failed(3)], won)

    assert decided.why == {
        "rule": "18.4",
        "inputs": {
            "winner": "login~1.2",
            "criterion": "only",
            "tries": 3,
            "until": "all",
            "compared": ["login~1.2"],
        },
        "otherwise": ["another candidate that passes its checks"],
    }


def test_a_decision_without_a_winner_says_what_was_missing() -> None:
    task, last = a_racing_task(), failed(1)

    decided = decision(task, [last], last)

    assert (decided.winner, decided.best, decided.criterion) == ("", IDS[0], RaceCriterion.NONE)
    assert decided.why["inputs"]["winner"] == ""
    assert decided.why["otherwise"] == ["a candidate that passes its checks"]


def test_each_candidate_is_retired_with_its_part_in_the_race() -> None:
    task, won = a_racing_task(until=RaceEnd.ALL), proven(2, changed_lines=1)
    changes = follow_race(task, [proven(1, changed_lines=2), won], won, MOMENT)

    assert events_of(IDS[0], changes) == [CandidateRetired("its race is over", False, "head1")]
    assert events_of(IDS[1], changes) == [CandidateRetired("it won its race", True, "head2")]


def test_the_work_of_a_winner_starts_without_its_place_in_a_queue() -> None:
    work = Work(
        base="b",
        head="h",
        worktree="/deep/w/run-2",
        host="host",
        tree="t",
        diff_digest="d",
        verified_commit="c",
        onto="o",
        landing_refusals=2,
        joint_failures=1,
        discarded_proofs=1,
        exit=an_exit(),
    )
    won = replace(proven(1), work=work)

    found = decision(a_racing_task(), [won], won).work

    assert found == Work(
        base="b",
        head="h",
        worktree=f"/deep/w/{a_racing_task().id}",
        host="host",
        tree="t",
        diff_digest="d",
        exit=an_exit(),
        candidate=IDS[0],
    )


def test_work_without_a_worktree_stays_without_one() -> None:
    last = replace(failed(1, None), work=Work())

    assert decision(a_racing_task(), [last], last).work.worktree == ""


@pytest.mark.parametrize("work", [Work(diff_digest="same"), Work(tree="same")])
def test_the_same_failure_with_the_same_work_is_counted_across_rounds(work: Work) -> None:
    task = replace(
        a_racing_task(), feedback=a_failure(), failed_work_digest="same", same_work_failures=1
    )
    last = replace(failed(1), work=work)

    after = fold_events(task, events_of(task.id, follow_race(task, [last], last, MOMENT)))

    assert after.same_work_failures == 2
    assert after.failed_work_digest == "same"


def test_candidates_that_were_all_stopped_leave_no_failure_of_the_work() -> None:
    task = a_racing_task()
    stopped = evolve(a_candidate(1), CandidateRetired("stopped"))

    after = fold_events(task, events_of(task.id, follow_race(task, [stopped], stopped, MOMENT)))

    assert after.failure is not None
    assert (after.failure.kind, after.failure.message) == (
        FailureKind.LOST,
        "its candidates were stopped",
    )


def test_a_failure_is_better_than_none_and_a_verified_one_better_than_another() -> None:
    task, last = a_racing_task(), failed(3, 5)
    stopped = evolve(a_candidate(1), CandidateRetired("stopped"))

    assert decision(task, [stopped, failed(2, None), last], last).best == IDS[2]
    assert decision(task, [stopped, failed(2, None), stopped], stopped).best == IDS[1]


# ------------------------------------------------------------------ starts


def test_a_later_candidate_is_told_what_the_task_learned() -> None:
    task = replace(
        a_racing_task(start=RaceStart.AFTER_FAILURE), feedback=a_failure(), answer_text="try b"
    )
    first = failed(1)

    changes = follow_race(task, [first, unreleased(2)], first, MOMENT)

    assert events_of(IDS[1], changes) == [CandidateReleased(None, a_failure(), "try b")]


def test_nothing_is_released_when_nobody_is_left() -> None:
    task, first = a_racing_task(start=RaceStart.AFTER_FAILURE, until=RaceEnd.ALL), a_candidate(1)

    assert follow(task, [first], first) == {}


def test_a_proof_does_not_hurry_the_candidate_that_is_due_later() -> None:
    task, first = a_racing_task(**LATER, until=RaceEnd.ALL), proven(1)
    due = replace(ready(2), due_at=NOW + LATER["delay"])  # type: ignore[operator]

    assert follow(task, [first, due, unreleased(3)], first) == {task.id: ["CANDIDATE_SETTLED"]}


def test_a_candidate_that_waits_for_its_claim_is_not_released_again() -> None:
    task, first = a_racing_task(**LATER), failed(1)

    assert follow(task, [first, ready(2), unreleased(3)], first) == {task.id: ["CANDIDATE_SETTLED"]}


def test_an_interrupted_candidate_is_not_hurried() -> None:
    """It waits for its own retry, and the next one is already due at its time."""
    task, first = a_racing_task(**LATER), failed(1)
    again = replace(ready(2), attempt=1, due_at=NOW + LATER["delay"])  # type: ignore[operator]

    assert follow(task, [first, again], first) == {task.id: ["CANDIDATE_SETTLED"]}


# ------------------------------------------------------------------ one candidate


def test_a_candidate_is_ended_once() -> None:
    asked = evolve(a_candidate(1), CancelRequested("over"))

    assert end_candidate(asked, "over") == ()
    assert end_candidate(evolve(a_candidate(1), CandidateRetired("over")), "over") == ()
    assert end_candidate(a_candidate(1), "over") == (CancelRequested("over"),)
    assert end_candidate(ready(1), "over") == (CandidateRetired("over"),)


def test_a_candidate_that_was_not_verified_has_only_its_cost() -> None:
    work = Work(head="head", exit=an_exit(cost=0.5))
    candidate = a_candidate(1, stage=Stage.WORK, work=work)
    policy = replace(candidate.spec.policy, rules={})
    candidate = replace(candidate, spec=replace(candidate.spec, policy=policy))

    (event,) = decide_candidate(candidate, AgentLost("gone"), MOMENT)

    assert isinstance(event, CandidateFailed)
    assert event.score == CandidateScore(cost=0.5)


def test_a_task_without_hidden_checks_or_mutants_has_no_such_values() -> None:
    events = decide_candidate(a_candidate(1), verified(("tests", Outcome.PASSED, True)), MOMENT)

    assert events[-1] == CandidateProven(CandidateScore(failed_checks=0))


def test_the_accounts_of_one_agent_are_one_turn() -> None:
    first, second = (replace(an_agent("small"), account=f"small/{n}") for n in (1, 2))
    task = a_racing_task(agents_take_turns=True)
    task = replace(task, spec=replace(task.spec, agents=(first, second, an_agent("large"))))

    chains = [[agent.billed_account for agent in spec.agents] for spec in candidate_specs(task)]

    assert chains == [
        ["small/1", "small/2", "large"],
        ["large", "small/1", "small/2"],
        ["small/1", "small/2", "large"],
    ]


# ------------------------------------------------------------------ what the events change


def test_a_task_that_starts_a_race_gives_its_claim_back() -> None:
    lease = Lease(TaskId("run-1"), "host:1", 1, NOW)
    task = replace(
        a_task(spec=a_racing_task().spec, state=State.ACTIVE, stage=Stage.WORK), lease=lease
    )

    after = evolve(task, RaceStarted(IDS))

    assert (after.state, after.lease) == (State.WAITING, None)
    assert (after.waiting_for, after.candidates) == (WaitReason.RACE, IDS)


def test_a_release_keeps_what_an_earlier_one_told() -> None:
    told = evolve(unreleased(1), CandidateReleased(NOW, a_failure(), "try b"))
    again = evolve(told, CandidateReleased())

    assert (told.due_at, told.feedback, told.answer_text) == (NOW, a_failure(), "try b")
    assert (again.due_at, again.feedback, again.answer_text) == (None, a_failure(), "try b")


def test_a_proven_candidate_has_no_claim_and_a_failed_one_no_request() -> None:
    asked = replace(a_candidate(1), request=PendingRequest.CANCEL)
    lost = evolve(asked, CandidateFailed(a_failure(), CandidateScore()))

    assert proven(1).lease is None
    assert lost.request is PendingRequest.NONE
    assert lost.counts == Counts(failures={FailureKind.QUALITY_FAILURE: 1})


@pytest.mark.parametrize(
    ("winner", "stage", "waits"),
    [(IDS[0], Stage.VERIFY, WaitReason.CLAIM), ("", Stage.PREPARE, WaitReason.DECISION)],
)
def test_a_decided_race_continues_with_new_work_and_no_conversation(
    winner: str, stage: Stage, waits: WaitReason
) -> None:
    task = replace(a_racing_task(), session="s", waivers=("tests",), waived_work="old")
    work = Work(head="new", diff_digest="new")

    after = evolve(task, RaceDecided(TaskId(winner), RaceCriterion.ONLY, IDS[0], work))

    assert (after.stage, after.waiting_for, after.work) == (stage, waits, work)
    assert (after.session, after.waivers) == ("", ())


def test_a_spend_adds_every_measure() -> None:
    one = Spend(1.5, 10, 2.25, 1, 1)

    assert one.plus(Spend(0.25, 5, 1.0, 2, 1)) == Spend(1.75, 15, 3.25, 3, 2)


def test_the_policies_of_a_race_divide_the_retries() -> None:
    """Candidates repeat everything but failed work; the racing task repeats only failed work."""
    policy: Any = a_racing_task().spec.policy
    content, other = FailureKind.QUALITY_FAILURE, FailureKind.LOST

    assert policy.for_candidate().rules[other] == policy.rules[other]
    assert policy.for_candidate().rules[content].retries_max == 0
    assert policy.for_race().rules[content] == policy.rules[content]
    assert policy.for_race().rules[other].retries_max == 0
    assert policy.for_race().content_retries_max == policy.content_retries_max


def test_race_rules_start_at_once_and_end_with_the_first_proof() -> None:
    rules = RaceRules(3)

    assert (rules.start, rules.until) == (RaceStart.AT_ONCE, RaceEnd.FIRST)
