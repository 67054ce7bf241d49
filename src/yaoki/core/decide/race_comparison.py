"""The comparison of proven candidates: the first difference decides (rule 18.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from yaoki.core.model import CandidateScore, RaceCriterion, Task, TaskId

NOT_JUDGED = TaskId("")


def choose_winner(
    proven: Sequence[Task], judged: TaskId = NOT_JUDGED
) -> tuple[Task, RaceCriterion]:
    """The first criterion on which only one of the best candidates is left.

    A value that one of them lacks decides nothing.  `judged` is the choice of the judge, if any.
    """
    if len(proven) == 1:
        return proven[0], RaceCriterion.ONLY
    best = list(proven)
    for criterion in _ORDER:
        best = _best_by(criterion, best, judged)
        if len(best) == 1:
            return best[0], criterion
    return best[0], RaceCriterion.NUMBER


def equal_candidates(proven: Sequence[Task]) -> list[Task]:
    """The best candidates by the criteria that come before the judge."""
    best = list(proven)
    for criterion in _ORDER[: _ORDER.index(RaceCriterion.JUDGE)]:
        best = _best_by(criterion, best, NOT_JUDGED)
    return best


def _best_by(criterion: RaceCriterion, candidates: list[Task], judged: TaskId) -> list[Task]:
    if criterion is RaceCriterion.JUDGE:
        return [each for each in candidates if each.id == judged] or candidates
    values = [_VALUES[criterion](each.score or CandidateScore()) for each in candidates]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return candidates
    least = min(known)
    return [each for each, value in zip(candidates, values, strict=True) if value == least]


_VALUES: Mapping[RaceCriterion, Callable[[CandidateScore], float | None]] = {
    RaceCriterion.HIDDEN_CHECKS: lambda score: score.hidden_failures,
    RaceCriterion.MUTANTS: lambda score: score.surviving_mutants,
    RaceCriterion.DIFF: lambda score: score.changed_lines,
    RaceCriterion.COST: lambda score: score.cost,
}
_ORDER = (
    RaceCriterion.HIDDEN_CHECKS,
    RaceCriterion.MUTANTS,
    RaceCriterion.JUDGE,
    RaceCriterion.DIFF,
    RaceCriterion.COST,
)
