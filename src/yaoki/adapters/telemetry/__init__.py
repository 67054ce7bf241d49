"""Metrics and traces, both derived from the journal after the fact."""

from __future__ import annotations

from yaoki.adapters.telemetry.families import METRIC_FAMILIES, MetricFamily, Sample
from yaoki.adapters.telemetry.metrics import COUNTED_EVENTS, Counters

__all__ = ["COUNTED_EVENTS", "METRIC_FAMILIES", "Counters", "MetricFamily", "Sample"]
