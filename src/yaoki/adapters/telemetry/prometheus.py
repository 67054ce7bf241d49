"""Samples in Prometheus' text format, written by `prometheus-client`.

Imported only where metrics are rendered: the client library costs 105 ms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from yaoki.ports.metric_families import METRIC_FAMILIES, MetricType, Sample

# Older releases of the library do not name this form, which every scraper reads.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class SampleCollector(Collector):
    """Hands the client library finished samples, family by family in the order of the table.

    The library's own counters live as long as a process.  Ours follow the journal, so a restart or
    a second process shows the same numbers.
    """

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._by_family: dict[str, list[Sample]] = {name: [] for name in METRIC_FAMILIES}
        for sample in samples:
            self._by_family[sample.family].append(sample)

    def collect(self) -> Iterator[Metric]:
        for name, samples in self._by_family.items():
            if samples:
                yield _metric(name, samples)


def _metric(name: str, samples: Iterable[Sample]) -> Metric:
    family = METRIC_FAMILIES[name]
    # The library appends `_total` to the name of a counter itself.
    base = name.removesuffix("_total") if family.type is MetricType.COUNTER else name
    metric = Metric(base, family.help, family.type.value)
    for sample in samples:
        metric.add_sample(sample.name, dict(sample.labels), sample.value)
    return metric


def format_samples(samples: Iterable[Sample]) -> str:
    return generate_latest(SampleCollector(samples)).decode()
