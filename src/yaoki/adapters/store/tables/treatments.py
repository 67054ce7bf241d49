"""Treatments of failures: one row for each retry, written and decided with the events of its task.

The rows belong to no run, so they stay when a run is archived.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from yaoki.adapters.store.database import Database, retries_reads
from yaoki.adapters.store.rows import SqlRow, to_ms
from yaoki.core.decide.cures import judge_treatment, pattern_of
from yaoki.core.decide.next_try import uses_outcomes
from yaoki.core.decide.thompson import OUTCOMES_READ_MAX
from yaoki.core.machine.events import PromptSent, RetryDecided
from yaoki.core.model import CONTENT_KINDS
from yaoki.core.model.treatment import (
    AttemptConversation,
    Treatment,
    TreatmentCount,
    TreatmentOutcome,
)

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Transaction
    from yaoki.core.machine.events import Event
    from yaoki.core.model import Task

INSERT = """
INSERT INTO treatments (task_id, attempt, sent_ms, pattern, prompt, agent, conversation)
VALUES (:task_id, :attempt, :sent_ms, :pattern, :prompt, :agent, :conversation)
ON CONFLICT (task_id, attempt) DO NOTHING
"""
DECIDE = """
UPDATE treatments SET decided_ms = :decided_ms, cured = :cured
WHERE task_id = :task_id AND attempt = :attempt
"""
# A newer version may write words that this one does not know: its rows are left out.
KNOWN = "conversation IN ({}) AND (cured IS NULL OR cured IN (0, 1))".format(
    ", ".join(f"'{one.value}'" for one in AttemptConversation)
)
# The newest first, in an order that does not depend on the database.
OUTCOMES = f"""
SELECT pattern, prompt, agent, conversation, cured FROM treatments
WHERE pattern = :pattern AND decided_ms > 0 AND {KNOWN}
ORDER BY decided_ms DESC, task_id DESC, attempt DESC LIMIT :limit
"""
COUNTS = f"""
SELECT pattern, prompt, agent, conversation, count(*) AS sent,
       sum(CASE WHEN cured = 1 THEN 1 ELSE 0 END) AS cured,
       sum(CASE WHEN cured = 0 THEN 1 ELSE 0 END) AS failed
FROM treatments WHERE {KNOWN} GROUP BY pattern, prompt, agent, conversation
ORDER BY count(*) DESC, pattern, prompt, agent, conversation
"""


def record_treatments(
    tx: Transaction, before: Task, events: Sequence[Event], now: datetime
) -> None:
    """Write a treatment when its prompt is sent; decide it when its attempt ends."""
    treatment = before.work.treatment
    row = {"task_id": before.id, "attempt": before.attempt}
    for event in events:
        if isinstance(event, PromptSent) and event.treatment is not None:
            treatment = event.treatment
            tx.enqueue(INSERT, {**row, "sent_ms": to_ms(now), **treatment_columns(treatment)})
        cured = judge_treatment(treatment, event) if treatment else None
        if cured is not None:
            tx.enqueue(DECIDE, {**row, "decided_ms": to_ms(now), "cured": int(cured)})
            treatment = None


def treatment_columns(treatment: Treatment) -> dict[str, str]:
    return {
        "pattern": treatment.pattern,
        "prompt": treatment.prompt,
        "agent": treatment.agent,
        "conversation": treatment.conversation.value,
    }


def failed_pattern(task: Task, events: Sequence[Event]) -> str:
    """The pattern whose treatments a decision among these events depends on; empty if on none."""
    if not uses_outcomes(task):
        return ""
    decided = next((event for event in events if isinstance(event, RetryDecided)), None)
    if decided is None or decided.failure.kind not in CONTENT_KINDS:
        return ""
    return pattern_of(decided.failure)


def load_outcomes(tx: Transaction, pattern: str) -> tuple[TreatmentOutcome, ...]:
    """The newest decided treatments of a pattern, in all runs."""
    rows = tx.rows(OUTCOMES, {"pattern": pattern, "limit": OUTCOMES_READ_MAX})
    return tuple(TreatmentOutcome(_treatment(row), bool(row["cured"])) for row in rows)


def _treatment(row: SqlRow) -> Treatment:
    return Treatment(
        row["pattern"], row["prompt"], row["agent"], AttemptConversation(row["conversation"])
    )


class TreatmentRows:
    """Reads treatments.  Each public method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    @retries_reads
    def treatment_counts(self) -> list[TreatmentCount]:
        """Every treatment of all runs, the most used first."""
        with self._db.read() as tx:
            return [
                TreatmentCount(
                    _treatment(row), int(row["sent"]), int(row["cured"]), int(row["failed"])
                )
                for row in tx.rows(COUNTS)
            ]

    @retries_reads
    def treatment_outcomes(self, pattern: str) -> tuple[TreatmentOutcome, ...]:
        """The newest decided treatments of a pattern, in all runs."""
        with self._db.read() as tx:
            return load_outcomes(tx, pattern)
