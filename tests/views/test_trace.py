"""Spans are the ended intervals of the history, with the same times and causes."""

from __future__ import annotations

import pytest

from tests.views.test_history import STORY, at, entry
from yaoki.ports import JournalEntry
from yaoki.ports.spans import Span
from yaoki.views.telemetry.trace import TraceBuilder


def build_spans(entries: list[JournalEntry]) -> list[Span]:
    builder = TraceBuilder(lambda _, before: [line for line in entries if line.seq < before])
    return [span for line in entries for span in builder.add(line)]


@pytest.mark.spec("14.2")
def test_a_trace_has_the_attempts_stages_checks_and_waits_of_the_history() -> None:
    spans = build_spans(list(STORY))

    assert [(span.name, span.start, span.end) for span in spans if span.name != "check"] == [
        ("wait NEEDS", at(1), at(2)),
        ("prepare", at(2), at(3)),
        ("work", at(3), at(5)),
        ("verify", at(5), at(7)),
        ("attempt", at(2), at(7)),
        ("wait BACKOFF", at(7), at(8)),
        ("prepare", at(8), at(9)),
        ("work", at(9), at(10)),
        ("verify", at(10), at(12)),
        ("attempt", at(8), at(12)),
        ("wait PERSON", at(12), at(14)),
        ("wait SLOT", at(14), at(15)),
        ("verify", at(15), at(16)),
        ("land", at(16), at(17)),
        ("attempt", at(15), at(17)),
    ]


@pytest.mark.spec("14.2")
@pytest.mark.parametrize("cut", range(len(STORY)))
def test_a_builder_that_starts_later_builds_the_same_spans(cut: int) -> None:
    entries = list(STORY)
    later = TraceBuilder(lambda _, before: [line for line in entries if line.seq < before])

    spans = [span for line in entries[cut:] for span in later.add(line)]

    whole = build_spans(entries)
    assert spans == (whole[-len(spans) :] if spans else [])


@pytest.mark.spec("14.2")
def test_the_wait_for_a_person_after_an_undo_is_a_span() -> None:
    undone = [*STORY, entry(18, "TASK_UNDONE", 2), entry(19, "ESCALATION_ANSWERED", choice="retry")]

    last = build_spans(undone)[-1]

    assert (last.name, last.start, last.end) == ("wait PERSON", at(18), at(19))
