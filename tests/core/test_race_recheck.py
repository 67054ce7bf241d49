"""Checks that a person changes during a race: what was proven with the old ones is void (18.4)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import a_failure
from tests.core.test_race import (
    IDS,
    MOMENT,
    a_candidate,
    a_racing_task,
    decision,
    events_of,
    failed,
    follow,
    proven,
)
from tests.core.test_race_judge import JUDGE, a_judge, a_judged_task, called, ended, equals
from yaoki.core.decide.candidate import is_proven, is_settled
from yaoki.core.decide.race import follow_race
from yaoki.core.machine.events import Claimed, Judged
from yaoki.core.machine.evolution import evolve, fold_events
from yaoki.core.machine.legality import legal
from yaoki.core.machine.race_events import (
    CandidateFailed,
    CandidateProven,
    CandidateSettled,
    JudgeEnded,
    RaceDecided,
)
from yaoki.core.machine.request_events import ChecksRevised
from yaoki.core.model import (
    GIT_CONFIG_CHECK,
    CandidateOutcome,
    CandidateScore,
    CheckRevision,
    RaceCriterion,
    RaceEnd,
    RaceJudgment,
    Spend,
    Stage,
    State,
    Task,
    WaitReason,
)

pytestmark = pytest.mark.spec("18.4", "2.6")

REVISED = ChecksRevised(CheckRevision(2), proof_is_void=True)


def reopened(number: int, **values: int) -> Task:
    """Proven before the checks were changed."""
    return evolve(proven(number, **values), REVISED)


def proven_again(task: Task) -> Task:
    lease = Claimed("host:1", task.epoch + 1, MOMENT.now)
    passed = Judged(True, "commit", "onto", {}, False)
    return fold_events(task, (lease, passed, CandidateProven(CandidateScore(changed_lines=9))))


def failed_again(task: Task) -> Task:
    lease = Claimed("host:1", task.epoch + 1, MOMENT.now)
    return fold_events(task, (lease, CandidateFailed(a_failure(), CandidateScore(1))))


def test_a_proven_candidate_is_verified_again_without_its_agent() -> None:
    again = reopened(1, changed_lines=1)

    assert (again.state, again.stage) == (State.WAITING, Stage.VERIFY)
    assert again.waiting_for is WaitReason.CLAIM
    assert not is_proven(again)
    assert not is_settled(again)
    assert legal(again, Claimed("host:1", again.epoch + 1, MOMENT.now))


def test_a_journal_of_an_earlier_version_folds_to_its_row() -> None:
    before = proven(1)

    after = evolve(before, ChecksRevised(CheckRevision(2)))

    assert (after.waiting_for, after.score) == (WaitReason.RACE, before.score)


def test_the_race_waits_for_the_proof_with_the_new_checks() -> None:
    task = a_racing_task(until=RaceEnd.ALL)
    again, new = reopened(1, changed_lines=1), proven(2, changed_lines=5)

    assert follow(task, [again, new, failed(3)], new) == {task.id: ["CANDIDATE_SETTLED"]}


def test_a_candidate_that_fails_the_new_checks_cannot_win() -> None:
    task = a_racing_task(until=RaceEnd.ALL)
    void = failed_again(reopened(1, changed_lines=1))

    decided = decision(task, [void, proven(2, changed_lines=5), failed(3)], void)

    assert (decided.winner, decided.criterion) == (IDS[1], RaceCriterion.ONLY)


def test_a_candidate_that_passes_the_new_checks_is_compared_by_its_new_values() -> None:
    task = a_racing_task(until=RaceEnd.ALL)
    again = proven_again(reopened(1, changed_lines=1))

    decided = decision(task, [again, proven(2, changed_lines=5), failed(3)], again)

    assert (decided.winner, decided.criterion) == (IDS[1], RaceCriterion.DIFF)


def test_what_a_candidate_used_is_added_once() -> None:
    task, used = a_racing_task(until=RaceEnd.ALL), Spend(2.0, 10, 3.0, 1)
    first = replace(proven(1), spend=used)
    others = [a_candidate(2), a_candidate(3)]

    after = fold_events(
        task, events_of(task.id, follow_race(task, [first, *others], first, MOMENT))
    )
    again = proven_again(evolve(first, REVISED))
    events = events_of(task.id, follow_race(after, [again, *others], again, MOMENT))
    twice = fold_events(after, events)

    assert (after.spend, twice.spend) == (used, used)


def test_a_run_of_the_agent_after_the_change_is_added() -> None:
    task, used = a_racing_task(until=RaceEnd.ALL), Spend(2.0, 10, 3.0, 1)
    again = evolve(replace(proven(1), spend=used), REVISED)
    lost = failed_again(replace(again, spend=used.plus(Spend(1.0, 5, 1.0, 1))))

    (settled,) = events_of(task.id, follow_race(task, [lost, a_candidate(2)], lost, MOMENT))

    assert isinstance(settled, CandidateSettled)
    assert settled.spend == Spend(1.0, 5, 1.0, 1)
    assert settled.outcome is CandidateOutcome.FAILED


# ------------------------------------------------------------------ while the judge compares


def with_judge() -> Task:
    candidates = equals(9, 5)
    return evolve(a_judged_task(), replace(called(a_judged_task(), candidates), judge=JUDGE))


def test_the_end_of_the_judge_decides_nothing_while_a_proof_is_made_again() -> None:
    task, candidates = with_judge(), equals(9, 5)
    judge = ended(candidates, JudgeEnded(RaceJudgment("A", "it is simple")))
    again = [evolve(each, REVISED) for each in candidates]

    assert follow(task, again, judge) == {task.id: ["JUDGE_SETTLED"]}


def test_a_proof_that_is_made_again_waits_for_the_judge() -> None:
    task, (first, second) = with_judge(), equals(9, 5)
    again = proven_again(evolve(first, REVISED))

    changes = follow_race(task, [again, second], again, MOMENT, a_judge())

    assert [type(event) for event in events_of(task.id, changes)] == [CandidateSettled]


def test_the_choice_of_the_judge_counts_after_the_proof_is_made_again() -> None:
    task, candidates = with_judge(), equals(9, 5)
    judge = ended(candidates, JudgeEnded(RaceJudgment("A", "it is simple")))
    chosen = judge.spec.judging_brief.works[0].candidate if judge.spec.judging_brief else ""
    again = [proven_again(evolve(each, REVISED)) for each in candidates]

    changes = follow_race(task, again, again[1], MOMENT, judge)
    settled, decided = events_of(task.id, changes)

    assert isinstance(settled, CandidateSettled)
    assert isinstance(decided, RaceDecided)
    assert (decided.winner, decided.criterion) == (chosen, RaceCriterion.JUDGE)


def test_all_may_fail_the_new_checks_while_the_judge_compares() -> None:
    task, candidates = with_judge(), equals(9, 5)
    void = [failed_again(evolve(each, REVISED)) for each in candidates]
    judge = ended(candidates, JudgeEnded(RaceJudgment("A", "it is simple")))

    events = events_of(task.id, follow_race(task, void, judge, MOMENT))

    (decided,) = (event for event in events if isinstance(event, RaceDecided))
    assert (decided.winner, decided.criterion) == ("", RaceCriterion.NONE)


def test_a_changed_git_configuration_ends_the_race_while_proofs_are_made_again() -> None:
    task, candidates = with_judge(), equals(9, 5)
    judge = ended(candidates, JudgeEnded(failure=a_failure(check=GIT_CONFIG_CHECK)))
    again = [evolve(each, REVISED) for each in candidates]

    events = events_of(task.id, follow_race(task, again, judge, MOMENT))

    (decided,) = (event for event in events if isinstance(event, RaceDecided))
    assert decided.winner == ""
