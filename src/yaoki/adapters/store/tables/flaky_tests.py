"""Tests that gave different results on the same commit: counts of the journal, kept by `prune`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.database import Database, retries_reads
from yaoki.adapters.store.rows import from_ms, to_ms
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.model.flaky_test import FlakySighting, FlakyTest

if TYPE_CHECKING:
    from datetime import datetime

    from yaoki.adapters.store.database import Transaction
    from yaoki.adapters.store.rows import SqlRow
    from yaoki.core.machine.events import Event
    from yaoki.core.model import Task

CHECK_FINISHED = "CHECK_FINISHED"
SIGHTINGS_KEPT = 50
TEST_COUNTS = ("passed", "failed", "always_failed", "first_ms", "last_ms")
SIGHTING_COUNTS = ("passed", "failed", "at_ms")
# No count and no time in milliseconds of this millennium is as large.
COUNT_MAX = 1 << 45
# These writes keep their order: a sighting creates the row to which later runs are added.
ORDER = "flaky_tests"

NAMES = "SELECT test FROM flaky_tests"
TESTS = "SELECT * FROM flaky_tests ORDER BY last_ms DESC, test"
SIGHTINGS = "SELECT * FROM flaky_sightings ORDER BY at_ms DESC, commit_id"
# Without the failure by which the test is first seen flaky; later ones count.
ADD_SIGHTING = """
INSERT INTO flaky_tests (test, check_name, passed, failed, always_failed, first_ms, last_ms)
VALUES (:test, :check_name, :passed, :failed - 1, 0, :at_ms, :at_ms)
ON CONFLICT (test) DO UPDATE SET
    passed = flaky_tests.passed + excluded.passed,
    failed = flaky_tests.failed + excluded.failed + 1,
    check_name = excluded.check_name, last_ms = excluded.last_ms
"""
ADD_PASSES = "UPDATE flaky_tests SET passed = passed + :passed WHERE test = :test"
ADD_ALWAYS_FAILED = "UPDATE flaky_tests SET always_failed = always_failed + 1 WHERE test = :test"
ADD_EVIDENCE = """
INSERT INTO flaky_sightings
    (test, commit_id, environment, run_id, task_id, passed, failed, at_ms)
VALUES (:test, :commit_id, :environment, :run_id, :task_id, :passed, :failed, :at_ms)
ON CONFLICT (test, commit_id, environment) DO UPDATE SET
    passed = flaky_sightings.passed + excluded.passed,
    failed = flaky_sightings.failed + excluded.failed, at_ms = excluded.at_ms
"""
DROP_OLD_EVIDENCE = f"""
DELETE FROM flaky_sightings WHERE test = :test AND at_ms < (
    SELECT at_ms FROM flaky_sightings WHERE test = :test
    ORDER BY at_ms DESC LIMIT 1 OFFSET {SIGHTINGS_KEPT - 1})
"""


def count_flaky_tests(tx: Transaction, task: Task, events: Sequence[Event], now: datetime) -> None:
    """Add the runs that a finished check reports."""
    for event in events:
        if isinstance(event, JournalNote) and event.name == CHECK_FINISHED:
            for runs in event.data.get("test_runs", ()):
                _add(tx, task, event.data["check"], runs, to_ms(now))


def _add(tx: Transaction, task: Task, check: str, runs: Mapping[str, Any], at_ms: int) -> None:
    test = {"test": runs["test"]}
    counts = {"passed": runs["passed"], "failed": runs["failed"], "at_ms": at_ms}
    if not runs["failed"]:
        tx.enqueue(ADD_PASSES, {**test, "passed": runs["passed"]}, ORDER)
        return
    if not runs["passed"]:
        tx.enqueue(ADD_ALWAYS_FAILED, test, ORDER)
        return
    tx.enqueue(ADD_SIGHTING, {**test, **counts, "check_name": check}, ORDER)
    evidence = {
        "commit_id": runs["commit"],
        "environment": runs["environment"],
        "run_id": task.run_id,
        "task_id": task.id,
    }
    tx.enqueue(ADD_EVIDENCE, {**test, **counts, **evidence}, ORDER)
    tx.enqueue(DROP_OLD_EVIDENCE, test, ORDER)


class FlakyTestRows:
    """Reads flaky tests.  Each public method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @retries_reads
    def known_flaky_tests(self) -> frozenset[str]:
        with self._db.read() as tx:
            return frozenset(row["test"] for row in tx.rows(NAMES))

    @retries_reads
    def flaky_tests(self) -> list[FlakyTest]:
        with self._db.read() as tx:
            sightings: dict[str, list[FlakySighting]] = {}
            for row in tx.rows(SIGHTINGS):
                if _has_counts(row, SIGHTING_COUNTS):
                    sightings.setdefault(row["test"], []).append(_sighting(row))
            return [
                _flaky_test(row, sightings.get(row["test"], []))
                for row in tx.rows(TESTS)
                if _has_counts(row, TEST_COUNTS)
            ]


def _has_counts(row: SqlRow, names: Sequence[str]) -> bool:
    """A row that was edited by hand may have anything in its columns; it is left out."""
    return all(isinstance(row[name], int) and 0 <= row[name] < COUNT_MAX for name in names)


def _sighting(row: SqlRow) -> FlakySighting:
    return FlakySighting(
        row["commit_id"],
        row["environment"],
        row["run_id"],
        row["task_id"],
        row["passed"],
        row["failed"],
        from_ms(row["at_ms"]),
    )


def _flaky_test(row: SqlRow, sightings: Sequence[FlakySighting]) -> FlakyTest:
    return FlakyTest(
        row["test"],
        row["check_name"],
        row["passed"],
        row["failed"],
        row["always_failed"],
        from_ms(row["first_ms"]),
        from_ms(row["last_ms"]),
        tuple(sightings),
    )
