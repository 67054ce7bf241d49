"""Measured attempts, and the pools from which a simulation draws."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from enum import StrEnum
from math import exp, log

from yaoki.core.lazy_dataclass import dataclass, replace

# A number from 0 up to 1.
Chance = Callable[[], float]

# A smaller pool is replaced by a wider one; with fewer attempts in all there is no forecast.
POOL_MIN = 5
# The spread between runs is estimated from this many runs.
RUNS_MIN = 3
# A duration below this is noise of the machine, and its logarithm must exist.
SHORTEST_S = 0.01


class AttemptResult(StrEnum):
    """The result of an attempt, as far as the rest of the run depends on it."""

    PASSED = "passed"
    # The work failed: a retry is used up.
    FAILED = "failed"
    # The service refused, or the attempt was lost: it is repeated.
    REPEATED = "repeated"
    # A person is asked at once.
    ASKED = "asked"
    # The race of a candidate was over before its work was: it would have taken longer.
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class AttemptSample:
    """A measured attempt.

    `work_s`: from the claim to the end of the agent.  `proof_s`: from there to the end of the
    attempt.  `delay_s`: until the next try.  The agent of a task that only runs checks is empty.
    """

    run: str
    agent: str
    is_retry: bool
    checks: tuple[str, ...]
    work_s: float
    proof_s: float
    result: AttemptResult
    cost: float | None = None
    delay_s: float = 0.0
    # It closed the account of its agent for all tasks.
    closes_account: bool = False

    @property
    def has_ended(self) -> bool:
        return self.result is not AttemptResult.STOPPED

    @property
    def seconds(self) -> float:
        return self.work_s + self.proof_s


@dataclass(frozen=True, slots=True)
class RunEffect:
    """How much slower than usual the agents of a run are, as a logarithm, and how sure that is.

    `freedom`: the degrees of freedom of the spread.
    """

    mean: float = 0.0
    spread: float = 0.0
    freedom: int = 1


@dataclass(frozen=True, slots=True)
class WorkPools:
    """The attempts from which a simulation draws, by agent and by checks.

    The keys of `by_agent` are the agent and whether the attempt is a retry.  `retries` counts the
    retries of each agent that passed and that failed.
    """

    by_agent: Mapping[tuple[str, bool], Sequence[AttemptSample]]
    by_checks: Mapping[tuple[str, ...], Sequence[AttemptSample]]
    costs: Mapping[str, Sequence[float]]
    retries: Mapping[str, tuple[int, int]]

    @property
    def is_sufficient(self) -> bool:
        """Does every agent have attempts from which its work can be drawn?"""
        return all(
            sum(sample.has_ended for sample in pool) >= POOL_MIN for pool in self.by_agent.values()
        )

    def resample(self, chance: Chance) -> WorkPools:
        """Pools of one round: what a second history of the same size might have contained."""
        return WorkPools(
            {key: _resample(pool, chance) for key, pool in self.by_agent.items()},
            {key: _resample(pool, chance) for key, pool in self.by_checks.items()},
            self.costs,
            self.retries,
        )


def _resample(pool: Sequence[AttemptSample], chance: Chance) -> Sequence[AttemptSample]:
    """As many attempts as have ended."""
    stopped = AttemptResult.STOPPED
    size = len(pool)
    ended = size - sum(sample.result is stopped for sample in pool)
    if ended == size:
        # The same draws; a forecast makes hundreds of thousands of them.
        return [pool[int(chance() * size)] for _ in range(size)]
    return [_draw(pool, chance) for _ in range(ended)]


def _draw(pool: Sequence[AttemptSample], chance: Chance) -> AttemptSample:
    """The pool is ordered by duration: a stopped attempt would have been one of those behind it.

    Without that only the quick attempts of a race would count (Efron's estimate of a distribution
    from observations that were cut off).
    """
    size = len(pool)
    place = int(chance() * size)
    while not pool[place].has_ended:
        behind = size - place - 1
        if not behind:
            return next(sample for sample in reversed(pool) if sample.has_ended)
        place += 1 + int(chance() * behind)
    return pool[place]


def build_pools(
    samples: Sequence[AttemptSample],
    accounts: Mapping[str, Set[str]],
    check_sets: Sequence[tuple[str, ...]],
) -> WorkPools:
    """A pool for each agent and each set of checks that the simulated tasks have.

    `accounts` are those of each agent: it does not meet the limits of others.
    """
    worked = [sample for sample in samples if sample.agent]
    by_agent = {}
    for agent in accounts:
        usable = [sample for sample in worked if not _is_foreign_limit(sample, agent, accounts)]
        for is_retry in (False, True):
            by_agent[agent, is_retry] = _pool_of_agent(usable, agent, is_retry=is_retry)
    ended = [sample for sample in samples if sample.has_ended]
    checked = [sample for sample in ended if sample.checks] or ended
    by_checks = {checks: _pool_of_checks(checked, checks) for checks in check_sets}
    costs: dict[str, list[float]] = defaultdict(list)
    for sample in worked:
        if sample.cost is not None and sample.has_ended:
            costs[sample.agent].append(sample.cost)
    retries = {agent: _count_retries(worked, agent) for agent in accounts}
    return WorkPools(by_agent, by_checks, costs, retries)


def _count_retries(worked: Sequence[AttemptSample], agent: str) -> tuple[int, int]:
    results = [one.result for one in worked if one.agent == agent and one.is_retry]
    return results.count(AttemptResult.PASSED), results.count(AttemptResult.FAILED)


def _is_foreign_limit(sample: AttemptSample, agent: str, accounts: Mapping[str, Set[str]]) -> bool:
    """Did the attempt close an account that the agent does not use?"""
    if not sample.closes_account or sample.agent == agent:
        return False
    return accounts[agent].isdisjoint(accounts.get(sample.agent, {sample.agent}))


def _pool_of_agent(
    worked: Sequence[AttemptSample], agent: str, *, is_retry: bool
) -> Sequence[AttemptSample]:
    own = [sample for sample in worked if sample.agent == agent]
    alike = [sample for sample in own if sample.is_retry is is_retry]
    of_all = [sample for sample in worked if sample.is_retry is is_retry]
    pool = _first_sufficient(alike, own, of_all, worked)
    return sorted(pool, key=lambda sample: sample.seconds)


def _pool_of_checks(
    checked: Sequence[AttemptSample], checks: tuple[str, ...]
) -> Sequence[AttemptSample]:
    wanted = set(checks)
    alike = [sample for sample in checked if sample.checks == checks]
    related = [sample for sample in checked if wanted & set(sample.checks)]
    return _first_sufficient(alike, related, checked)


def _first_sufficient(*pools: Sequence[AttemptSample]) -> Sequence[AttemptSample]:
    enough = (pool for pool in pools if sum(one.has_ended for one in pool) >= POOL_MIN)
    return next(enough, pools[-1])


# ------------------------------------------------------------------ runs differ


def separate_run_effects(
    samples: Sequence[AttemptSample], run: str
) -> tuple[list[AttemptSample], RunEffect]:
    """The samples as if all runs were alike, and the effect of the run to be forecast.

    Random effects on the logarithm of the work: the variance between runs is what is left of the
    variance of their means when that within runs is taken off.  The mean of a run with few attempts
    is believed less.
    """
    logs: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        if sample.agent and sample.has_ended:
            logs[sample.run].append(log(max(SHORTEST_S, sample.work_s)))
    within = _variance_within(logs.values())
    between = _variance_between(logs, within)
    if between <= 0:
        return list(samples), RunEffect()
    means = {one: sum(values) / len(values) for one, values in logs.items()}
    usual = sum(means.values()) / len(means)
    trust = {one: between / (between + within / len(values)) for one, values in logs.items()}
    effects = {one: trust[one] * (mean - usual) for one, mean in means.items()}
    alike = [
        _scale(sample, exp(-effects.get(sample.run, 0.0))) if sample.agent else sample
        for sample in samples
    ]
    doubt = between * (1 - trust.get(run, 0.0) + 1 / len(means))
    return alike, RunEffect(effects.get(run, 0.0), doubt**0.5, len(means) - 1)


def _scale(sample: AttemptSample, factor: float) -> AttemptSample:
    """A slower run is a more expensive one."""
    cost = None if sample.cost is None else sample.cost * factor
    return replace(sample, work_s=sample.work_s * factor, cost=cost)


def _variance_within(groups: Iterable[Sequence[float]]) -> float:
    total, freedom = 0.0, 0
    for values in groups:
        mean = sum(values) / len(values)
        total += sum((value - mean) ** 2 for value in values)
        freedom += len(values) - 1
    return total / freedom if freedom else 0.0


def _variance_between(logs: Mapping[str, Sequence[float]], within: float) -> float:
    if len(logs) < RUNS_MIN:
        return 0.0
    means = [sum(values) / len(values) for values in logs.values()]
    usual = sum(means) / len(means)
    seen = sum((mean - usual) ** 2 for mean in means) / (len(means) - 1)
    by_chance = within * sum(1 / len(values) for values in logs.values()) / len(logs)
    return max(0.0, seen - by_chance)
