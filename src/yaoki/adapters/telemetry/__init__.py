"""What machines watch: counters and traces, both made from the journal after the fact."""

from __future__ import annotations

from yaoki.adapters.telemetry.families import FAMILIES, Family
from yaoki.adapters.telemetry.metrics import EVENTS, Counters
from yaoki.adapters.telemetry.prometheus import Sample, exposed

__all__ = ["EVENTS", "FAMILIES", "Counters", "Family", "Sample", "exposed"]
