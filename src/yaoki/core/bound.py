"""The worst case: how often an agent can run for one task, from the settings alone."""

from __future__ import annotations

from yaoki.core.decide.account import unanswered_max
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import (
    CONTENT_KINDS,
    JUDGE_TRIES_MAX,
    RACE_JUDGE_CALLS_MAX,
    FailureKind,
    RetryPolicy,
    TaskKind,
    TaskSpec,
)


@dataclass(frozen=True, slots=True)
class WorstCase:
    """`content` counts runs whose work failed, `repeats` runs that failed for other reasons.

    `reruns` are those from the run branch, `judge_runs` the runs of agents that judge.
    `unanswered` are short runs while the service of an account is away; they are not in `total`.
    """

    content: int
    repeats: int
    interruptions: int
    judge_runs: int = 0
    reruns: int = 0
    unanswered: int = 0

    @property
    def total(self) -> int:
        return self.content + self.reruns + self.repeats + self.interruptions + self.judge_runs


def worst_case(spec: TaskSpec) -> WorstCase:
    """The most agent runs before a person must answer; each answer allows as many again."""
    runs = replace(_runs(spec.policy), reruns=_reruns(spec))
    rounds = runs.content + runs.reruns
    if spec.race is not None:
        runs = _of_race(runs, spec, spec.race.tries)
    judging = _judging(spec, runs.total)
    if spec.race is not None and spec.race.judge:
        judging += rounds * RACE_JUDGE_CALLS_MAX
    if spec.kind in {TaskKind.CHECK, TaskKind.GROUP}:
        return WorstCase(0, 0, 0, judging)
    return replace(runs, judge_runs=judging, unanswered=unanswered_max(spec.policy))


def _of_race(runs: WorstCase, spec: TaskSpec, tries: int) -> WorstCase:
    """Every attempt is a round of candidates, each of which may be interrupted and repeated."""
    one = _runs(spec.policy.for_candidate())
    candidates = (runs.content + runs.reruns) * tries
    return replace(
        runs,
        content=runs.content * tries,
        reruns=runs.reruns * tries,
        repeats=candidates * one.repeats,
        interruptions=candidates * one.interruptions,
    )


def _reruns(spec: TaskSpec) -> int:
    """A subtask may start once more when its whole group is rolled back."""
    if not (spec.kind.is_change or spec.kind is TaskKind.REPORT):
        return 0
    group_runs = _runs(spec.policy).content if spec.group else 0
    return spec.policy.reruns_max + group_runs


def _judging(spec: TaskSpec, attempts: int) -> int:
    """Each attempt is verified once, and again after each move of the run branch and each fault of
    yaoki.
    """
    policy, judges = spec.policy, sum(check.agent is not None for check in spec.checks)
    interrupted = policy.faults_max + policy.deliveries_max
    return judges * JUDGE_TRIES_MAX * (attempts * (1 + policy.landing_refusals_max) + interrupted)


def _runs(policy: RetryPolicy) -> WorstCase:
    content = 1 + min(
        policy.content_retries_max, sum(_most(policy, kind) for kind in CONTENT_KINDS)
    )
    others = set(policy.rules) - CONTENT_KINDS - {FailureKind.LOST}
    repeats = sum(_most(policy, kind) for kind in others)
    # The total of failed attempts has a limit too; an interruption does not count.
    total = min(content + repeats, policy.total_attempts_max)
    return WorstCase(min(content, total), max(0, total - content), _most(policy, FailureKind.LOST))


def _most(policy: RetryPolicy, kind: FailureKind) -> int:
    rule = policy.rules.get(kind)
    return rule.retries_max if rule else 0
