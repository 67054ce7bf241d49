"""The referee of a race, which starts candidates, compares them, and decides (rule 18.4).

Pure.  The store calls `follow_race` in the transaction that records a step of a candidate, so that
what follows from the step is recorded with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from yaoki.core.decide.candidate import (
    RACE_IS_OVER,
    SHARED_MEASURES,
    end_candidate,
    is_proven,
    is_settled,
    is_unreleased,
)
from yaoki.core.decide.failure_response import ClockAndChance, plan_retry_or_escalate
from yaoki.core.decide.failures import make_failure
from yaoki.core.decide.race_comparison import NOT_JUDGED, choose_winner, equal_candidates
from yaoki.core.decide.race_judge import call_judge, find_obstacle, settle_judge
from yaoki.core.decide.task_budget import budget_words, describe_spent_budget, find_spent_budget
from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.events import Event
from yaoki.core.machine.evolution import fold_events
from yaoki.core.machine.race_events import (
    CandidateReleased,
    CandidateRetired,
    CandidateSettled,
    JudgeSettled,
    RaceDecided,
)
from yaoki.core.model import (
    CONTENT_KINDS,
    GIT_CONFIG_CHECK,
    CandidateOutcome,
    CandidateScore,
    Failure,
    FailureKind,
    RaceCriterion,
    RaceEnd,
    RaceRules,
    RaceStart,
    Reason,
    Task,
    TaskId,
    TaskKind,
    Work,
)
from yaoki.core.text import shorten

RULE = "18.4"
MESSAGE_MAX = 300

TaskEvents = tuple[TaskId, tuple[Event, ...]]


def first_releases(task: Task, candidates: Sequence[TaskId]) -> tuple[TaskEvents, ...]:
    """The candidates that may be claimed as soon as the race starts."""
    at_once = _rules(task).start is RaceStart.AT_ONCE
    chosen = candidates if at_once else candidates[:1]
    released = CandidateReleased(None, task.feedback, task.answer_text)
    return tuple((candidate, (released,)) for candidate in chosen)


def _rules(task: Task) -> RaceRules:
    assert task.spec.race is not None, f"{task.id} has no race"
    return task.spec.race


# ------------------------------------------------------------------ the whole race


def follow_race(
    task: Task,
    candidates: Sequence[Task],
    changed: Task,
    moment: ClockAndChance,
    judge: Task | None = None,
) -> tuple[TaskEvents, ...]:
    """The steps after the last one of `changed`, a candidate or the judge, for all tasks of its
    race.

    `candidates` are those of the current round, in order.  `judge` is the one that was asked in
    this round: candidates that were proven before their checks changed are verified again
    meanwhile.
    """
    if changed.spec.kind is TaskKind.JUDGE:
        return _follow_judge(task, candidates, changed, moment)
    settled = (_settle(changed),) if is_settled(changed) else ()
    is_open = task.awaiting_race and not task.cancel_requested and changed.id in task.candidates
    if not is_open:
        return ((task.id, settled),) if settled else ()
    if changed.failure is not None and changed.failure.check == GIT_CONFIG_CHECK:
        return _lose(task, candidates, changed, settled, moment)
    if judge is not None and not judge.state.is_final:
        # Its end decides.
        return ((task.id, settled),) if settled else ()
    answer = settle_judge(judge) if judge is not None else None
    return _decide(task, candidates, settled, answer, moment)


def _decide(
    task: Task,
    candidates: Sequence[Task],
    settled: tuple[Event, ...],
    answer: JudgeSettled | None,
    moment: ClockAndChance,
) -> tuple[TaskEvents, ...]:
    """End the race, ask the judge, or start the next candidates.

    `answer` is the end of the judge, if one was asked.
    """
    proven = [each for each in candidates if is_proven(each)]
    rules = _rules(task)
    if proven and (rules.until is RaceEnd.FIRST or not _awaited(candidates, rules)):
        asked = _call_judge(task, proven, settled) if answer is None else ()
        return asked or _win(task, candidates, proven, settled, answer)
    if all(is_settled(each) for each in candidates):
        return _lose(task, candidates, _best_failure(candidates), settled, moment)
    own = ((task.id, settled),) if settled else ()
    return (*own, *_releases(task, candidates, moment))


def _call_judge(
    task: Task, proven: Sequence[Task], settled: tuple[Event, ...]
) -> tuple[TaskEvents, ...]:
    """Ask the judge, if the race has one and its best candidates are equal; else nothing."""
    rules, equals = _rules(task), equal_candidates(proven)
    if not rules.judge or rules.until is not RaceEnd.ALL or len(equals) < 2:
        return ()
    if _obstacle(task, settled):
        return ()
    return ((task.id, (*settled, call_judge(task, rules.judge, equals))),)


def _obstacle(task: Task, settled: tuple[Event, ...]) -> str:
    return find_obstacle(fold_events(task, settled))


def _follow_judge(
    task: Task, candidates: Sequence[Task], judge: Task, moment: ClockAndChance
) -> tuple[TaskEvents, ...]:
    """Decide with the answer of the judge, or without one."""
    if not judge.state.is_final:
        return ()
    settled = settle_judge(judge)
    if not task.awaiting_race or task.cancel_requested or judge.id != task.judge:
        return ((task.id, (settled,)),)
    if judge.failure is not None and judge.failure.check == GIT_CONFIG_CHECK:
        proven = [each for each in candidates if is_proven(each)]
        best = choose_winner(proven)[0] if proven else candidates[0]
        return _lose(task, candidates, replace(best, failure=judge.failure), (settled,), moment)
    return _decide(task, candidates, (settled,), settled, moment)


def _awaited(candidates: Sequence[Task], rules: RaceRules) -> list[Task]:
    """The candidates whose end the decision waits for, once one is proven."""
    is_open = [each for each in candidates if not is_settled(each)]
    if rules.start is not RaceStart.AFTER_FAILURE:
        return is_open
    return [each for each in is_open if not is_unreleased(each)]


def _settle(candidate: Task) -> CandidateSettled:
    if is_proven(candidate):
        outcome = CandidateOutcome.PROVEN
    elif candidate.failure is not None and candidate.score is not None:
        outcome = CandidateOutcome.FAILED
    else:
        started = bool(candidate.attempt)
        outcome = CandidateOutcome.STOPPED if started else CandidateOutcome.NOT_STARTED
    # A proven or stopped candidate may have a failure of an earlier interruption, which did not end
    # it.
    failure = candidate.failure if outcome is CandidateOutcome.FAILED else None
    words = ": ".join(filter(None, (failure.check, failure.message))) if failure else ""
    return CandidateSettled(
        candidate.id,
        candidate.spec.name,
        candidate.agent.title if candidate.agent else "",
        outcome,
        candidate.score or CandidateScore(),
        candidate.spend.minus(candidate.settled_spend),
        candidate.work.head,
        shorten(words, MESSAGE_MAX),
    )


def _releases(
    task: Task, candidates: Sequence[Task], moment: ClockAndChance
) -> tuple[TaskEvents, ...]:
    """The next candidate, where the one before it failed or has run long enough."""
    rules = _rules(task)
    waiting = [each for each in candidates if is_unreleased(each)]
    released = [each for each in candidates if not is_unreleased(each)]
    running = [each for each in released if not is_settled(each)]
    following = waiting[0] if waiting else None
    if not running:
        return (_release(task, following, None),) if following else ()
    if rules.start is not RaceStart.AFTER:
        return ()
    last = released[-1]
    if running == [last] and not last.attempt and last.due_at is not None:
        # Those before it have failed, so it need not wait for their time.
        has_proof = any(is_proven(each) for each in released)
        return () if has_proof else (_release(task, last, None),)
    if last.attempt and following:
        return (_release(task, following, moment),)
    return ()


def _release(task: Task, candidate: Task, moment: ClockAndChance | None) -> TaskEvents:
    due_at = moment.now + _rules(task).delay if moment else None
    return candidate.id, (CandidateReleased(due_at, task.feedback, task.answer_text),)


# ------------------------------------------------------------------ the decision


def _win(
    task: Task,
    candidates: Sequence[Task],
    proven: Sequence[Task],
    settled: tuple[Event, ...],
    answer: JudgeSettled | None = None,
) -> tuple[TaskEvents, ...]:
    """`answer` is the end of the judge, if one was asked."""
    winner, criterion = choose_winner(proven, answer.candidate if answer else NOT_JUDGED)
    rules = _rules(task)
    if rules.until is RaceEnd.FIRST:
        criterion = RaceCriterion.FIRST
    elif rules.judge and answer is None and len(equal_candidates(proven)) > 1:
        answer = JudgeSettled(TaskId(""), rules.judge, message=_obstacle(task, settled))
        settled = (*settled, answer)
    decided = RaceDecided(
        winner.id,
        criterion,
        winner.id,
        _as_work_of(task, winner),
        _rationale(task, proven, criterion, winner.spec.name, answer),
    )
    ended = tuple(_end(each, won=each is winner) for each in candidates)
    return _with_ended(task, candidates, (*settled, decided), ended)


def _lose(
    task: Task,
    candidates: Sequence[Task],
    best: Task,
    settled: tuple[Event, ...],
    moment: ClockAndChance,
) -> tuple[TaskEvents, ...]:
    """The best failure becomes that of the racing task.  A round counts as one attempt."""
    failure = _with_share(task, best, best.failure or _nothing_ended())
    decided = RaceDecided(
        TaskId(""),
        RaceCriterion.NONE,
        best.id,
        _as_work_of(task, best),
        _rationale(task, candidates, RaceCriterion.NONE, ""),
    )
    work = best.work.diff_digest or best.work.tree
    lost = fold_events(task, (*settled, decided))
    judged = replace(lost, spec=replace(lost.spec, policy=lost.spec.policy.for_race()))
    follows = plan_retry_or_escalate(judged, failure, moment, work)
    ended = tuple(_end(each, won=False) for each in candidates)
    return _with_ended(task, candidates, (*settled, decided, *follows), ended)


def _with_ended(
    task: Task,
    candidates: Sequence[Task],
    own: tuple[Event, ...],
    ended: Sequence[tuple[Event, ...]],
) -> tuple[TaskEvents, ...]:
    """The task's own events first; candidates that never started are settled with them."""
    unstarted = tuple(
        _settle(each)
        for each, events in zip(candidates, ended, strict=True)
        if not is_proven(each) and any(isinstance(event, CandidateRetired) for event in events)
    )
    others = ((each.id, events) for each, events in zip(candidates, ended, strict=True) if events)
    return ((task.id, (*unstarted, *own)), *others)


def _end(candidate: Task, *, won: bool) -> tuple[Event, ...]:
    return end_candidate(candidate, "it won its race" if won else RACE_IS_OVER, won=won)


def _best_failure(candidates: Sequence[Task]) -> Task:
    """The one that was verified and failed the fewest checks, with the fewest details; before one
    that left nothing.
    """

    def rank(candidate: Task) -> tuple[bool, bool, int, int, bool]:
        failed = candidate.score.failed_checks if candidate.score else None
        listed = candidate.failure.items if candidate.failure else ()
        items = sum(item.unlisted_count or 1 for item in listed)
        return (
            candidate.failure is None,
            failed is None,
            failed or 0,
            items,
            not candidate.work.head,
        )

    return min(candidates, key=rank)


def _with_share(task: Task, best: Task, failure: Failure) -> Failure:
    """The failure of a candidate that used up its share of the budget, with the numbers."""
    if failure.kind is not FailureKind.RESOURCE_EXHAUSTED:
        return _with_runs(best, failure)
    measure = find_spent_budget(best, SHARED_MEASURES)
    if not measure:
        return failure
    whole = budget_words(measure, task.spec.budget[measure])
    share = (
        f"{best.spec.name} {describe_spent_budget(best, measure)}, a share of the task's {whole}"
    )
    return replace(failure, message=f"{failure.message}: {share}")


def _with_runs(best: Task, failure: Failure) -> Failure:
    """The failure of a candidate whose last run was interrupted; failed work is one by itself."""
    if failure.kind in CONTENT_KINDS or not find_spent_budget(best, ("attempts",)):
        return failure
    runs = f"{best.spec.name} {describe_spent_budget(best, 'attempts')}"
    return replace(failure, message=f"{failure.message}: {runs}", reason=Reason.RESOURCE_EXHAUSTED)


def _nothing_ended() -> Failure:
    return make_failure(FailureKind.LOST, "its candidates were stopped")


def _as_work_of(task: Task, candidate: Task) -> Work:
    """The candidate's work as that of the racing task, whose worktree is beside the candidate's."""
    work = candidate.work
    folder = work.worktree.rpartition("/")[0]
    return replace(
        work,
        worktree=f"{folder}/{task.id}" if work.worktree else "",
        verified_commit="",
        onto="",
        queue_choice=None,
        landing_refusals=0,
        joint_failures=0,
        discarded_proofs=0,
        avoids_queue=False,
        candidate=candidate.id,
    )


def _rationale(
    task: Task,
    compared: Sequence[Task],
    criterion: RaceCriterion,
    winner: str,
    answer: JudgeSettled | None = None,
) -> dict[str, object]:
    """As a `Rationale` is stored: the rule, its inputs, what would have changed the decision."""
    rules = _rules(task)
    inputs = {
        "winner": winner,
        "criterion": criterion.value,
        "tries": rules.tries,
        "until": rules.until.value,
        "compared": [each.spec.name for each in compared],
        **(_judge_inputs(answer) if answer else {}),
    }
    return {"rule": RULE, "inputs": inputs, "otherwise": [_OTHERWISE[criterion]]}


def _judge_inputs(answer: JudgeSettled) -> dict[str, object]:
    judgment = answer.judgment
    if judgment.choice:
        return {"judge": answer.agent, "choice": judgment.choice, "reason": judgment.reason}
    return {"judge": answer.agent, "judge_decided_nothing": answer.message}


_OTHERWISE: Mapping[RaceCriterion, str] = {
    RaceCriterion.NONE: "a candidate that passes its checks",
    RaceCriterion.FIRST: "until: all, which compares every proven candidate",
    RaceCriterion.ONLY: "another candidate that passes its checks",
    RaceCriterion.HIDDEN_CHECKS: "another candidate that passes as many hidden checks",
    RaceCriterion.MUTANTS: "another candidate with as few surviving mutants",
    RaceCriterion.JUDGE: "another choice of the judge",
    RaceCriterion.DIFF: "another candidate with as small a diff",
    RaceCriterion.COST: "another candidate that costs as little",
    RaceCriterion.NUMBER: "any difference between the best candidates",
}
