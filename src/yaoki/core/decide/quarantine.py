"""A quarantine excuses the failure of a listed test that passes on the same commit (rule 18.8).

A test that fails in every run, one that the change has made worse, and one whose entry has expired
are never excused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum, unique
from typing import Any

from yaoki.core.decide.baseline import has_all_names
from yaoki.core.decide.flaky_rate import is_worse
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import Finding, Outcome
from yaoki.core.model.flaky_test import QuarantineEntry, SameCommitRuns, find_entry
from yaoki.core.text import list_some

# The params of a finding: what a quarantine excused, what it no longer excuses, the entries for
# none of its tests, and the results of the tests that are known to be flaky.
QUARANTINED, EXPIRED, TEST_RUNS = "quarantined", "quarantineExpired", "testRuns"
UNMATCHED = "quarantineUnmatched"
PASSED_COUNT = "passedCount"
RERUNS_MAX = 5
# A quarantined test that fails this often is compared with the base; the first failure counts.
FAILURES_TO_COMPARE = 3
NAMES_SHOWN = 5
OBSERVED_MAX = 50


@unique
class ExcuseVerdict(StrEnum):
    """The judgment on one failing test.  CLEARED: every re-run passed (rule 6.5)."""

    CLEARED = "cleared"
    EXCUSED = "excused"
    EXPIRED = "expired"
    WORSE = "worse"
    COUNTS = "counts"


@dataclass(frozen=True, slots=True)
class ObservedTests:
    """The tests of one run of a check."""

    failed: frozenset[str]
    passed: frozenset[str]
    # The run passed and did not name the tests that passed.
    all_passed: bool = False

    def result(self, test: str) -> bool | None:
        """Did the test pass?  None if the run does not say."""
        if test in self.failed:
            return False
        return True if test in self.passed or self.all_passed else None


def observe_tests(finding: Finding) -> ObservedTests:
    passed = finding.outcome is Outcome.PASSED
    names = frozenset(finding.passing_tests)
    unnamed = passed and not names and not finding.params.get("skippedCount")
    failed = frozenset(item.name for item in finding.items if not item.unlisted_count)
    return ObservedTests(frozenset() if passed else failed, names, unnamed)


@dataclass(frozen=True, slots=True)
class RepeatedTests:
    """The first run of a check, which failed, and its re-runs on the candidate and on the base."""

    first: ObservedTests
    candidate: tuple[ObservedTests, ...] = ()
    base: tuple[ObservedTests, ...] = ()

    @property
    def failing(self) -> tuple[str, ...]:
        """Every test that failed on the candidate in any run."""
        runs = (self.first, *self.candidate)
        return tuple(sorted({name for run in runs for name in run.failed}))

    def reruns(self, test: str) -> tuple[bool, ...]:
        return _known_results(self.candidate, test)

    def runs_on(self, test: str, *, base: bool) -> tuple[bool, ...]:
        return _known_results(self.base if base else (self.first, *self.candidate), test)

    def are_undecided(self, quarantined: Collection[str], needed: int) -> bool:
        """Can another run still excuse or clear each failing test?"""
        others = [self.reruns(test) for test in self.failing if test not in quarantined]
        if not all(all(reruns) for reruns in others):
            return False
        waits = any(not any(self.reruns(test)) for test in quarantined)
        return waits or any(len(reruns) < needed for reruns in others)

    def seldom_passes(self, test: str) -> bool:
        """Did it fail so often before it passed that the change may have made it worse?"""
        runs = self.runs_on(test, base=False)
        return any(runs) and len(runs) - sum(runs) >= FAILURES_TO_COMPARE

    def judge(
        self, test: str, needed: int, entry: QuarantineEntry | None, now: datetime
    ) -> ExcuseVerdict:
        """Judge one failing test; `needed` passes in a row clear one without an entry."""
        reruns = self.reruns(test)
        if entry is not None and entry.has_expired(now):
            return ExcuseVerdict.EXPIRED
        if not any(reruns):
            return ExcuseVerdict.COUNTS
        if all(reruns) and len(reruns) >= needed:
            return ExcuseVerdict.CLEARED
        if entry is None:
            return ExcuseVerdict.COUNTS
        runs, base = (self.runs_on(test, base=is_base) for is_base in (False, True))
        worse = is_worse(len(runs) - sum(runs), len(runs), len(base) - sum(base), len(base))
        worse = worse and self.seldom_passes(test)
        return ExcuseVerdict.WORSE if worse else ExcuseVerdict.EXCUSED

    def observations(self, commit: str, base: str) -> Iterator[SameCommitRuns]:
        """The results of each failing test on both commits; mixed ones first."""
        counted = [
            SameCommitRuns(test, at, sum(results), len(results) - sum(results))
            for test in self.failing
            for at, is_base in ((commit, False), (base, True))
            if (results := self.runs_on(test, base=is_base))
        ]
        yield from sorted(counted, key=lambda one: not one.is_mixed)


def _known_results(runs: Sequence[ObservedTests], test: str) -> tuple[bool, ...]:
    results = (run.result(test) for run in runs)
    return tuple(result for result in results if result is not None)


def count_passed_tests(finding: Finding, tests: RepeatedTests) -> Finding:
    """The finding of a flaky check with the tests that passed in a re-run among those that passed:
    otherwise they would be missed as tests that the change removed.
    """
    passed = [test for test in tests.failing if any(tests.reruns(test))]
    if finding.outcome is not Outcome.FLAKY or not passed:
        return finding
    params = dict(finding.params)
    if PASSED_COUNT in params:
        params[PASSED_COUNT] += len(tests.first.failed.intersection(passed))
    names = finding.passing_tests
    new = [test for test in passed if test not in names] if names else []
    return replace(finding, params=params, passing_tests=(*names, *new))


def names_every_failure(findings: Sequence[Finding]) -> bool:
    """Is every failing test named?  Otherwise an unknown failure could be excused."""
    return all(has_all_names(one) for one in findings if one.outcome is not Outcome.PASSED)


def note_unmatched(finding: Finding, entries: Sequence[QuarantineEntry]) -> Finding:
    """Record the entries for none of the tests that ran, if all of them are named."""
    failed = finding.outcome is not Outcome.PASSED
    if not entries or not finding.passing_tests or (failed and not has_all_names(finding)):
        return finding
    ran = (*finding.passing_tests, *(item.name for item in finding.items))
    unmatched = [entry.test for entry in entries if not any(map(entry.covers, ran))]
    return replace(finding, params={**finding.params, UNMATCHED: unmatched[:OBSERVED_MAX]})


def apply_quarantine(
    finding: Finding,
    tests: RepeatedTests,
    verdicts: Mapping[str, ExcuseVerdict],
    entries: Sequence[QuarantineEntry],
) -> Finding:
    """The finding as FLAKY if each failing test is excused or cleared, and red after an expiry."""
    by_verdict = {
        verdict: [test for test, one in verdicts.items() if one is verdict]
        for verdict in ExcuseVerdict
    }
    if expired := by_verdict[ExcuseVerdict.EXPIRED]:
        return _as_expired(finding, expired, entries)
    if worse := by_verdict[ExcuseVerdict.WORSE]:
        words = f"quarantined, but it fails more often than without the change: {_list(worse)}"
        return _as_failed(finding, words)
    if by_verdict[ExcuseVerdict.COUNTS]:
        return _note_broken(finding, by_verdict[ExcuseVerdict.COUNTS], tests, entries)
    if not by_verdict[ExcuseVerdict.EXCUSED]:
        return finding
    excused = _entries_of(tuple(verdicts), entries)
    words = ", ".join(entry.words for entry in excused[:NAMES_SHOWN])
    return replace(
        finding,
        outcome=Outcome.FLAKY,
        message=f"flaky, excused by the quarantine: {words} ({finding.message})",
        params={**finding.params, QUARANTINED: [_entry_data(entry) for entry in excused]},
    )


def name_entries(
    finding: Finding, tests: Sequence[str], entries: Sequence[QuarantineEntry]
) -> Finding:
    """The finding of a check that is flaky even without a quarantine, with the entries for its
    failing tests.
    """
    named = _entries_of(tests, entries)
    words = ", ".join(entry.words for entry in named[:NAMES_SHOWN])
    return replace(
        finding,
        message=f"{finding.message}; in quarantine: {words}",
        params={**finding.params, QUARANTINED: [_entry_data(entry) for entry in named]},
    )


def _as_expired(
    finding: Finding, tests: Sequence[str], entries: Sequence[QuarantineEntry]
) -> Finding:
    expired = _entries_of(tests, entries)
    first = expired[0]
    words = (
        f"the quarantine of {_list([entry.test for entry in expired])} expired on"
        f" {first.expires:%Y-%m-%d %H:%M} UTC (owner {first.owner}), so its failure counts"
    )
    red = _as_failed(finding, words)
    return replace(red, params={**red.params, EXPIRED: [_entry_data(entry) for entry in expired]})


def _note_broken(
    finding: Finding,
    tests: Sequence[str],
    repeated: RepeatedTests,
    entries: Sequence[QuarantineEntry],
) -> Finding:
    """Say why a quarantined test is not excused."""
    broken = [
        test
        for test in tests
        if find_entry(entries, test) is not None and not any(repeated.reruns(test))
    ]
    if not broken:
        return finding
    runs = len(repeated.runs_on(broken[0], base=False))
    words = f"quarantined, but it failed {runs} of {runs} times on this commit: {_list(broken)}"
    return _as_failed(finding, words)


def _as_failed(finding: Finding, words: str) -> Finding:
    return replace(finding, outcome=Outcome.FAILED, message=f"{finding.message}; {words}")


def _entries_of(
    tests: Sequence[str], entries: Sequence[QuarantineEntry]
) -> tuple[QuarantineEntry, ...]:
    found = (find_entry(entries, test) for test in tests)
    return tuple(dict.fromkeys(entry for entry in found if entry is not None))


def _entry_data(entry: QuarantineEntry) -> dict[str, Any]:
    return {
        "test": entry.test,
        "owner": entry.owner,
        "expires": entry.expires.isoformat(timespec="seconds"),
        "reason": entry.reason,
    }


def _list(names: Sequence[str]) -> str:
    return list_some(list(names), NAMES_SHOWN)


def select_observations(
    observed: Sequence[SameCommitRuns], known: Collection[str]
) -> tuple[SameCommitRuns, ...]:
    """The results of tests that were seen flaky, now or before; other tests only failed."""
    flaky = {*known, *(one.test for one in observed if one.is_mixed)}
    return tuple(one for one in observed if one.test in flaky)[:OBSERVED_MAX]


def observe_known(
    finding: Finding, commit: str, known: frozenset[str]
) -> tuple[SameCommitRuns, ...]:
    """The passes of known flaky tests in an ordinary run, which count as well."""
    passed = sorted(known & observe_tests(finding).passed)
    return tuple(SameCommitRuns(test, commit, 1, 0) for test in passed)[:OBSERVED_MAX]


def with_test_runs(
    finding: Finding, observed: Sequence[SameCommitRuns], environment: str
) -> Finding:
    if not observed:
        return finding
    rows = [
        {
            "test": one.test,
            "commit": one.commit,
            "passed": one.passed,
            "failed": one.failed,
            "environment": environment,
        }
        for one in observed
    ]
    return replace(finding, params={**finding.params, TEST_RUNS: rows})
