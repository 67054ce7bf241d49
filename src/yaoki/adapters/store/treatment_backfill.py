"""Fills the table of treatments when a store of an earlier version is migrated, from its journal.

The journal of that time does not say whether a conversation was continued.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from yaoki.adapters.store.tables.treatments import DECIDE, INSERT, treatment_columns
from yaoki.core.decide.cures import judge_treatment
from yaoki.core.machine.codec import event_from_data
from yaoki.core.machine.events import AttemptStarted, Event, PromptSent
from yaoki.core.model import Catalogue
from yaoki.core.model.treatment import AttemptConversation, Treatment

if TYPE_CHECKING:
    from yaoki.adapters.store.database import Transaction
    from yaoki.adapters.store.rows import SqlRow

PAGE_ENTRIES = 2000
ENTRIES = """
SELECT seq, at_ms, task_id, attempt, event, data FROM journal WHERE seq > :after AND event IN
('ATTEMPT_STARTED', 'PROMPT_SENT', 'RETRY_DECISION', 'ESCALATE_DECISION', 'RERUN_HELD',
 'TASK_LANDED')
ORDER BY seq LIMIT :limit
"""
# An entry that cannot be read is not counted: statistics must not keep a store from opening.
UNREADABLE = (AssertionError, LookupError, TypeError, ValueError)


def fill_treatments(tx: Transaction) -> None:
    """Write a row for each retry in the journal."""
    backfill, after = _Backfill(tx), 0
    while rows := tx.rows(ENTRIES, {"after": after, "limit": PAGE_ENTRIES}):
        for row in rows:
            try:
                event = event_from_data(row["event"], json.loads(row["data"]), Catalogue())
            except UNREADABLE:
                continue
            backfill.add(row, event)
        after = rows[-1]["seq"]


class _Backfill:
    """The agents and the open treatments of the tasks, entry by entry."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._agents: dict[str, str] = {}
        self._open: dict[str, tuple[int, Treatment]] = {}

    def add(self, row: SqlRow, event: Event) -> None:
        task_id = row["task_id"]
        if isinstance(event, AttemptStarted):
            self._agents[task_id] = event.agent
            self._open.pop(task_id, None)
        elif isinstance(event, PromptSent):
            if event.kind:
                self._insert(row, event)
        elif task_id in self._open:
            self._decide(row, event)

    def _insert(self, row: SqlRow, event: PromptSent) -> None:
        agent = self._agents.get(row["task_id"], "")
        pattern = event.pattern or event.kind
        treatment = event.treatment or Treatment(
            pattern, event.path, agent, AttemptConversation.UNKNOWN
        )
        key = {"task_id": row["task_id"], "attempt": row["attempt"], "sent_ms": row["at_ms"]}
        self._tx.run(INSERT, {**key, **treatment_columns(treatment)})
        self._open[row["task_id"]] = (row["attempt"], treatment)

    def _decide(self, row: SqlRow, event: Event) -> None:
        attempt, treatment = self._open[row["task_id"]]
        cured = judge_treatment(treatment, event)
        if cured is not None:
            key = {"task_id": row["task_id"], "attempt": attempt}
            self._tx.run(DECIDE, {**key, "decided_ms": row["at_ms"], "cured": int(cured)})
            del self._open[row["task_id"]]
