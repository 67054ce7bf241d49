"""Events to plain JSON data and back; `value_codec` does the same for all other values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from yaoki.core.lazy_dataclass import fields, replace
from yaoki.core.machine import events
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.machine.value_codec import (
    BARE_SPEC,
    fields_from_data,
    fields_to_data,
    from_data,
    spec_from_data,
    spec_to_data,
    to_data,
)
from yaoki.core.model import Catalogue
from yaoki.core.model.stored_word import stored_word

__all__ = [
    "EVENT_CLASSES",
    "event_from_data",
    "event_to_data",
    "fields_from_data",
    "fields_to_data",
    "from_data",
    "spec_from_data",
    "spec_to_data",
    "to_data",
]

EVENT_CLASSES: dict[str, type[Any]] = {
    cls.NAME: cls for cls in get_args(events.Event) if cls is not JournalNote
}


_WRITTEN_IN_FULL = (
    events.RetryDecided,
    events.EscalationDecided,
    events.PromptSent,
    events.AwaitingRerun,
)


def event_to_data(event: events.Event, catalogue: Catalogue) -> dict[str, Any]:
    if isinstance(event, JournalNote):
        return {key: to_data(content) for key, content in event.data.items()}
    if isinstance(event, events.Submitted):
        inherited = fields_to_data(event, ("parent", "lineage", "counts", "spend", "race_task"))
        return {"n": event.n, "spec": spec_to_data(event.spec, catalogue), **inherited}
    if isinstance(event, events.Planned):
        # Each new task has its own TASK_SUBMITTED event.
        event = replace(event, specs=())
    if isinstance(event, _WRITTEN_IN_FULL):
        # People and tools read these events, so even fields at their default are written.
        return {stored_word(field): to_data(getattr(event, field.name)) for field in fields(event)}
    data: dict[str, Any] = to_data(event)
    return data


def event_from_data(name: str, data: Mapping[str, Any], catalogue: Catalogue) -> events.Event:
    """An event whose name belongs to no class is a `JournalNote`."""
    cls = EVENT_CLASSES.get(name)
    if cls is None:
        return JournalNote(name, data)
    if cls is events.Submitted:
        rest = from_data(events.Submitted, {**data, "spec": BARE_SPEC})
        return replace(rest, spec=spec_from_data(data["spec"], catalogue))
    event: events.Event = from_data(cls, data)
    return event
