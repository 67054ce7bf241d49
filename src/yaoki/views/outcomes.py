"""The outcome of a check in words: `PASSED, 782 tests, 2 known failures`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yaoki.core.model.verdict_key import describe_key
from yaoki.core.text import format_count, format_duration, list_some

TESTS_SHOWN = 3


def outcome_numbers(tests: int | None, known: int = 0) -> str:
    """The numbers after the outcome; empty for a check that counts no tests."""
    parts = [format_count(tests, "test")] if tests is not None else []
    parts += [format_count(known, "known failure")] if known else []
    return "".join(f", {part}" for part in parts)


def mutant_numbers(mutants: Mapping[str, int] | None) -> str:
    """The mutants of the changed lines; empty for other checks."""
    if not mutants:
        return ""
    return f", {format_count(mutants['killed'], 'mutant')} killed, {mutants['survived']} survived"


def quarantine_words(entries: Sequence[Mapping[str, str]]) -> str:
    """The tests whose failure a quarantine excused; empty for other checks."""
    if not entries:
        return ""
    some = [f"{one['test']} (owner {one['owner']}, until {one['expires']})" for one in entries]
    return f", excused by the quarantine: {list_some(some, TESTS_SHOWN)}"


def count_known_failures(data: Mapping[str, Any]) -> int:
    """An older journal has only their names, of which there were few."""
    return int(data.get("known_count", len(data.get("known", ()))))


def outcome_words(data: Mapping[str, Any]) -> str:
    """The outcome in a CHECK_FINISHED; the message of a failure has its own numbers."""
    good = data["outcome"] in {"PASSED", "FLAKY"}
    more = outcome_numbers(data.get("tests"), count_known_failures(data)) if good else ""
    red = len(data.get("fail_to_pass", ()))
    more += f", {format_count(red, 'test fails', 'tests fail')} without the change" if red else ""
    if reused := data.get("reused"):
        more += f", reused from {reused['commit'][:10]} of {reused['task']}"
        more += f" (same {describe_key(data['key'])})"
    more += mutant_numbers(data.get("mutants"))
    more += quarantine_words(data.get("quarantined", ()))
    if hidden := data.get("hidden", ""):
        more += f", hidden: {f'files {hidden[:12]}' if hidden.isalnum() else hidden}"
    return f"{data['outcome']}{more}"


def run_times(outcome: str, seconds: float, reruns: Sequence[float]) -> str:
    """How long a check took, with the re-runs that tell a failure from a flaky one."""
    if not reruns:
        return f" in {format_duration(seconds)}"
    if outcome == "FAILED" and len(reruns) == 1:
        return f" twice, {format_duration(seconds)} + {format_duration(reruns[0])}"
    times = format_count(len(reruns), "time")
    return f" in {format_duration(seconds)}, run again {times} in {format_duration(sum(reruns))}"
