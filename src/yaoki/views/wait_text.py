"""The cause of a wait in a few words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from yaoki.core.model import (
    Reason,
    Stage,
    State,
)
from yaoki.core.text import format_duration
from yaoki.views.tasks import TaskView

if TYPE_CHECKING:
    from yaoki.ports import TaskRow

NEEDS_SHOWN = 3


def describe_wait(view: TaskView, now: datetime, names: Mapping[str, str]) -> str:
    """The cause of the wait in a few words; empty when the task does not wait."""
    row = view.row
    if row.state is State.ACTIVE:
        is_queued = row.landing_refusals and row.stage == Stage.LAND
        return view.not_taken_because or (
            "lands after the tasks it was verified with" if is_queued else ""
        )
    if row.state is not State.WAITING:
        return ""
    if view.blocked:
        return f"blocked by {names.get(view.blocked_by, view.blocked_by)}"
    if row.awaiting_rerun:
        return _hold_words(row)
    if row.due_at is not None and row.due_at > now:
        return f"next try in {format_duration(round((row.due_at - now).total_seconds()))}"
    if view.unmet_needs:
        shown = [names.get(need, need) for need in view.unmet_needs]
        more = f" and {len(shown) - NEEDS_SHOWN} more" if len(shown) > NEEDS_SHOWN else ""
        return f"needs {', '.join(shown[:NEEDS_SHOWN])}{more}"
    if view.limited_until is not None and row.stage == Stage.PREPARE:
        left = (view.limited_until - now).total_seconds()
        if left <= 0:
            return f"the rate limit of {row.account} has just ended; one task is testing it first"
        return f"waits for its account {row.account}, limited for {format_duration(round(left))}"
    if row.landing_refusals and row.stage == Stage.VERIFY:
        return view.not_taken_because or "waits for a free slot, to be verified on the moved branch"
    return view.not_taken_because or "waits for a free slot"


def _hold_words(row: TaskRow) -> str:
    """A task that awaits its re-run waits until no other task can run."""
    if row.parent:
        return "waits until no other task can run; then its group is recovered"
    if row.reason == Reason.MAX_RETRIES_INTEGRATION:
        return "waits until no other task can run; its one re-run is used up"
    return "waits for its one re-run, which starts when no other task can run"
