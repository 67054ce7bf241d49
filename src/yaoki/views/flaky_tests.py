"""Flaky tests as people see them: rate, evidence, quarantine, and a proposal for one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from yaoki.core.decide.flaky_rate import FailureRate, missing_evidence, rate_of
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model.flaky_test import FlakyTest, QuarantineEntry, find_entry
from yaoki.core.text import format_count

# A proposed quarantine lasts this long: time for a repair, and soon enough to be remembered.
PROPOSED_DAYS = 30
COMMITS_SHOWN = 10
SHA_CHARS = 10


@dataclass(frozen=True, slots=True)
class FlakyTestView:
    """One flaky test.

    `missing`: why no quarantine is proposed; empty with a `proposal`, which is an entry of the
    settings, or with an entry that holds.
    """

    test: FlakyTest
    rate: FailureRate
    entry: QuarantineEntry | None
    is_expired: bool
    missing: str
    proposal: str

    @property
    def rate_words(self) -> str:
        """`27% (10% to 57%)`."""
        if self.rate.value is None:
            return "unknown"
        low, high = self.rate.interval
        return f"{self.rate.value:.0%} ({low:.0%} to {high:.0%})"

    @property
    def state_words(self) -> str:
        if self.entry is None:
            return self.missing or "quarantine proposed"
        until = f"{self.entry.expires:%Y-%m-%d %H:%M} UTC"
        if self.is_expired:
            return f"quarantine by {self.entry.owner} expired on {until}"
        return f"quarantined by {self.entry.owner} until {until}"

    @property
    def words(self) -> str:
        """Rate and state; the test itself is not named."""
        always = self.test.always_failed
        runs = format_count(self.test.runs, "run")
        return (
            f"failed in {self.test.failed} of {runs}, {self.rate_words}; "
            + (f"in {format_count(always, 'verification')} every run failed; " if always else "")
            + self.state_words
        )


def view_flaky_tests(
    tests: Iterable[FlakyTest],
    quarantine: Sequence[QuarantineEntry],
    now: datetime,
    owner: str,
) -> list[FlakyTestView]:
    """`owner` is the name in a proposed entry."""
    return [_view(test, find_entry(quarantine, test.test), now, owner) for test in tests]


def _view(
    test: FlakyTest, entry: QuarantineEntry | None, now: datetime, owner: str
) -> FlakyTestView:
    missing = missing_evidence(test)
    proposal = propose_entry(test, now, owner) if not missing and entry is None else ""
    is_expired = entry is not None and entry.has_expired(now)
    return FlakyTestView(test, rate_of(test), entry, is_expired, missing, proposal)


def propose_entry(test: FlakyTest, now: datetime, owner: str) -> str:
    """An entry for the settings, as TOML; the person checks the owner and the date."""
    expires = (now + timedelta(days=PROPOSED_DAYS)).date().isoformat()
    low, high = rate_of(test).interval
    commit = test.sightings[0].commit[:SHA_CHARS]
    reason = (
        f"failed in {test.failed} of {test.runs} runs ({low:.0%} to {high:.0%}),"
        f" last seen {test.last_at:%Y-%m-%d} on {commit}"
    )
    return "\n".join(
        (
            "[[quarantine]]",
            f"test = {_toml_text(test.test)}",
            f"owner = {_toml_text(owner)}",
            f"expires = {expires}",
            f"reason = {_toml_text(reason)}",
        )
    )


def _toml_text(text: str) -> str:
    """A basic string of TOML has the escapes of JSON, and no raw DEL character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def flaky_test_document(view: FlakyTestView) -> dict[str, Any]:
    test, (low, high) = view.test, view.rate.interval
    return {
        "test": test.test,
        "words": view.words,
        "check": test.check,
        "rate": view.rate.value,
        "rate_low": round(low, 4),
        "rate_high": round(high, 4),
        "runs": test.runs,
        "failed": test.failed,
        "always_failed": test.always_failed,
        "first_seen": test.first_at.isoformat(),
        "last_seen": test.last_at.isoformat(),
        "commits": [
            {
                "commit": one.commit,
                "environment": one.environment,
                "run": one.run_id,
                "task": one.task_id,
                "passed": one.passed,
                "failed": one.failed,
                "at": one.at.isoformat(),
            }
            for one in test.sightings[:COMMITS_SHOWN]
        ],
        "quarantine": _entry_document(view) if view.entry else None,
        "missing_evidence": view.missing or None,
        "proposal": view.proposal or None,
    }


def _entry_document(view: FlakyTestView) -> Mapping[str, Any] | None:
    entry = view.entry
    if entry is None:
        return None
    return {
        "test": entry.test,
        "owner": entry.owner,
        "expires": entry.expires.isoformat(),
        "reason": entry.reason,
        "expired": view.is_expired,
    }
