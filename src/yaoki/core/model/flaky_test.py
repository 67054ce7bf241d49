"""Tests that gave different results on the same commit, and the quarantine that excuses some."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from yaoki.core.lazy_dataclass import dataclass

EXPIRY_MAX = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class SameCommitRuns:
    """The results of one test on one commit, in one verification."""

    test: str
    commit: str
    passed: int
    failed: int

    @property
    def is_mixed(self) -> bool:
        return self.passed > 0 and self.failed > 0


@dataclass(frozen=True, slots=True)
class FlakySighting:
    """A commit on which a test gave both results; `environment` identifies set-up and tools."""

    commit: str
    environment: str
    run_id: str
    task_id: str
    passed: int
    failed: int
    at: datetime


@dataclass(frozen=True, slots=True)
class FlakyTest:
    """The runs of a test since it was first seen flaky.

    The failure by which it was first seen flaky is not counted.  `always_failed` counts the
    verifications in which every run failed; these runs are not counted either.  `sightings`: the
    newest first.
    """

    test: str
    check: str
    passed: int
    failed: int
    always_failed: int
    first_at: datetime
    last_at: datetime
    sightings: tuple[FlakySighting, ...] = ()

    @property
    def runs(self) -> int:
        return self.passed + self.failed


@dataclass(frozen=True, slots=True)
class QuarantineEntry:
    """A person's decision to excuse a flaky test until `expires`."""

    test: str
    owner: str
    expires: datetime
    reason: str

    def covers(self, test: str) -> bool:
        """An entry without parameters covers every parametrization of the test."""
        return test == self.test or test.startswith(f"{self.test}[")

    def has_expired(self, now: datetime) -> bool:
        return now >= self.expires

    def distant_expiry(self, now: datetime) -> str:
        """The reason to refuse an entry that lasts too long; empty if it does not."""
        if self.expires - now <= EXPIRY_MAX:
            return ""
        return f"expires {self.expires:%Y-%m-%d}, more than {EXPIRY_MAX.days} days from now"

    @property
    def words(self) -> str:
        return f"{self.test} (owner {self.owner}, until {self.expires:%Y-%m-%d %H:%M} UTC)"


def find_entry(entries: Iterable[QuarantineEntry], test: str) -> QuarantineEntry | None:
    """The entry for a test; of several the one that names it exactly, then the longest name."""
    covering = [entry for entry in entries if entry.covers(test)]
    return max(covering, key=lambda entry: len(entry.test), default=None)
