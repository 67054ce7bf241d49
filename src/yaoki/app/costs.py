"""What agents cost before, read from the newest part of the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yaoki.adapters.store.tables import journal_pages
from yaoki.errors import StoreError
from yaoki.views.costs import TELLING, Known, known_costs

if TYPE_CHECKING:
    from yaoki.app import App

# How far is looked back, and how many lines are taken.
LINES_BACK, LINES_MAX = 200_000, 5_000


def costs_before(app: App) -> dict[str, Known]:
    """Of each agent by name; a store that is not there, or away, knows nothing."""
    if not app.has_store:
        return {}
    try:
        after = max(0, app.store.cursor() - LINES_BACK)
        database = app.store.database
        found = journal_pages.newest(database, events=TELLING, after=after, limit=LINES_MAX)
    except StoreError:
        return {}
    return known_costs(reversed(found))
