"""The rate of failure of a flaky test, and the evidence that a proposed quarantine needs."""

from __future__ import annotations

from math import comb

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model.flaky_test import FlakyTest
from yaoki.core.rate_interval import wilson_interval
from yaoki.core.text import format_count

# The evidence for a proposal.
COMMITS_MIN = 2
# Attempts of one task may share a mistake, which makes a good test fail at random.
TASKS_MIN = 2
RUNS_MIN = 10
RATE_LOW = 0.01
# A test that fails more often than it passes is broken.
RATE_MAX = 0.5
WORSE_PROBABILITY = 0.05


@dataclass(frozen=True, slots=True)
class FailureRate:
    """Failures divided by runs, with the 95 % Wilson interval; from 0 to 1 without a run."""

    failed: int
    runs: int

    @property
    def value(self) -> float | None:
        return self.failed / self.runs if self.runs else None

    @property
    def interval(self) -> tuple[float, float]:
        return wilson_interval(self.failed, self.runs)


def rate_of(test: FlakyTest) -> FailureRate:
    return FailureRate(test.failed, test.runs)


def missing_evidence(test: FlakyTest) -> str:
    """The objection to proposing a quarantine; empty when the evidence is enough."""
    rate, commits = rate_of(test), len({sighting.commit for sighting in test.sightings})
    low, _ = rate.interval
    if commits < COMMITS_MIN:
        return f"seen flaky on {format_count(commits, 'commit')}; at least {COMMITS_MIN} are needed"
    tasks = len({(sighting.run_id, sighting.task_id) for sighting in test.sightings})
    if tasks < TASKS_MIN:
        return f"seen flaky in {format_count(tasks, 'task')}; at least {TASKS_MIN} are needed"
    if rate.runs < RUNS_MIN:
        return f"{format_count(rate.runs, 'run')}; at least {RUNS_MIN} are needed"
    if low <= RATE_LOW:
        return f"the lower bound of its rate, {low:.1%}, is not above {RATE_LOW:.0%}"
    if rate.failed > RATE_MAX * rate.runs:
        return "it fails more often than it passes: repair it"
    return ""


def is_worse(failed: int, runs: int, base_failed: int, base_runs: int) -> bool:
    """Do the runs with a change fail significantly more often than those without it?

    One-sided Fisher's exact test: the probability that at least this many of all failures fall
    on the runs with the change.
    """
    if not runs or not base_runs:
        return False
    total, failures = runs + base_runs, failed + base_failed
    ways = sum(
        comb(runs, k) * comb(base_runs, failures - k)
        for k in range(failed, min(runs, failures) + 1)
    )
    return ways / comb(total, failures) < WORSE_PROBABILITY
