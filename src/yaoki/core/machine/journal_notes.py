"""Journal entries that change no task, such as the executions of its checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import CheckRunPurpose, Finding

# At most this many failures that the base has too are named; the message has their number.
KNOWN_FAILURES_MAX = 20


@dataclass(frozen=True, slots=True)
class JournalNote:
    """An entry that changes no task; `name` is its name in the journal."""

    name: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckRun:
    """One execution of a check."""

    check: str
    purpose: CheckRunPurpose
    seconds: float


def checks_ran_note(runs: Iterable[CheckRun]) -> JournalNote:
    """The executions of one verification, whatever became of it; added up by check and purpose."""
    added: dict[tuple[str, CheckRunPurpose], list[float]] = {}
    for run in runs:
        added.setdefault((run.check, run.purpose), []).append(run.seconds)
    counts = [
        {
            "check": check,
            "purpose": purpose.value,
            "count": len(seconds),
            "seconds": round(sum(seconds), 3),
        }
        for (check, purpose), seconds in added.items()
    ]
    return JournalNote("CHECKS_RAN", {"runs": counts})


def check_finished_note(finding: Finding, commit: str) -> JournalNote:
    return JournalNote(
        "CHECK_FINISHED",
        {
            "check": finding.check,
            "outcome": finding.outcome.value,
            "required": finding.required,
            "commit": commit,
            "pattern": finding.pattern,
            "message": finding.message,
            "tests": finding.params.get("passedCount"),
            "fail_to_pass": list(finding.params.get("failToPass", ())),
            "mutants": dict(finding.params.get("mutants", {})),
            "hidden": finding.params.get("hiddenDigest", ""),
            "key": finding.params.get("verdictKey"),
            "reused": finding.params.get("reusedFrom"),
            "quarantined": list(finding.params.get("quarantined", ())),
            "quarantine_expired": list(finding.params.get("quarantineExpired", ())),
            "quarantine_unmatched": list(finding.params.get("quarantineUnmatched", ())),
            "test_runs": list(finding.params.get("testRuns", ())),
            "known": list(finding.params.get("known", ()))[:KNOWN_FAILURES_MAX],
            "known_count": len(finding.params.get("known", ())),
            "items": [
                {"name": i.name, "message": i.message, "where": i.where} for i in finding.items
            ],
            "exit_code": finding.exit_code,
            "seconds": round(finding.seconds, 3),
            "rerun_seconds": [round(seconds, 3) for seconds in finding.rerun_seconds],
            "rerun_passes": finding.rerun_passes,
            "log": finding.log,
        },
    )
