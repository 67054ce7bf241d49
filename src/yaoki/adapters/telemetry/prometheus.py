"""Prometheus' text format, version 0.0.4."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from yaoki.adapters.telemetry.families import METRIC_FAMILIES

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[tuple[str, str], ...]


class Sample(NamedTuple):
    """One line: `name` is that of the family, or of one part of a histogram."""

    family: str
    name: str
    labels: Labels
    value: float


def format_samples(samples: Iterable[Sample]) -> str:
    """All of it, family by family, in the order of the table."""
    held: dict[str, list[Sample]] = {name: [] for name in METRIC_FAMILIES}
    for sample in samples:
        held[sample.family].append(sample)
    return "".join(text for name, found in held.items() if found for text in _family(name, found))


def _family(name: str, samples: Iterable[Sample]) -> Iterator[str]:
    family = METRIC_FAMILIES[name]
    yield f"# HELP {name} {_escaped(family.help)}\n# TYPE {name} {family.type}\n"
    for sample in samples:
        labels = ",".join(f'{key}="{_quoted(value)}"' for key, value in sample.labels)
        yield f"{sample.name}{f'{{{labels}}}' if labels else ''} {_number(sample.value)}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', r"\"")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
