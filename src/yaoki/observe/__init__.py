"""What machines watch: counters and traces, both made from the journal after the fact."""

from __future__ import annotations

from yaoki.observe.exposition import Sample, exposed
from yaoki.observe.families import FAMILIES, Family
from yaoki.observe.measures import EVENTS, Counters

__all__ = ["EVENTS", "FAMILIES", "Counters", "Family", "Sample", "exposed"]
