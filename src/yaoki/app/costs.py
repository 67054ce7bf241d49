"""Costs of agents so far, read from the newest part of the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yaoki.adapters.store.tables import journal_pages
from yaoki.errors import StoreError
from yaoki.views.costs import COST_EVENTS, AgentCostHistory, fold_agent_costs

if TYPE_CHECKING:
    from yaoki.app.build import App

# How far back the journal is read, and how many entries.
LINES_BACK, LINES_MAX = 200_000, 5_000


def load_known_costs(app: App) -> dict[str, AgentCostHistory]:
    """By the name of the agent; empty when the store is missing or unreachable."""
    if not app.has_store:
        return {}
    try:
        after = max(0, app.store.last_seq() - LINES_BACK)
        database = app.store.database
        found = journal_pages.read_newest(
            database, events=COST_EVENTS, after=after, limit=LINES_MAX, mark_damaged=True
        )
    except StoreError:
        return {}
    return fold_agent_costs(journal_pages.intact_entries(reversed(found)))
