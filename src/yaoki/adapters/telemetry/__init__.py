"""What machines watch: counters and traces, both made from the journal after the fact."""

from __future__ import annotations

from yaoki.adapters.telemetry.families import METRIC_FAMILIES, MetricFamily
from yaoki.adapters.telemetry.metrics import COUNTED_EVENTS, Counters
from yaoki.adapters.telemetry.prometheus import Sample, format_samples

__all__ = [
    "COUNTED_EVENTS",
    "METRIC_FAMILIES",
    "Counters",
    "MetricFamily",
    "Sample",
    "format_samples",
]
