"""Ranges of ports and names of databases, one of each per worktree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile

PORT_LOW, PORT_HIGH = 1024, 65_535
_RANGE = lazy_compile(r"(\d{1,5})\s*-\s*(\d{1,5})")
_UNFIT = lazy_compile(r"[^a-z0-9_]+")


@dataclass(frozen=True, slots=True)
class PortRanges:
    """Ranges of `count` ports each, from `low` to `high`."""

    low: int
    high: int
    count: int

    def bases(self) -> Iterator[int]:
        yield from range(self.low, self.high - self.count + 2, self.count)

    def first_free(self, used: Iterable[tuple[int, int]]) -> int | None:
        """The lowest base whose range overlaps none of the used ones, given as (base, count)."""
        spans = sorted(used)
        taken_ports = {port for base, count in spans for port in range(base, base + count)}
        span = range(self.count)
        free = (base for base in self.bases() if not any(base + n in taken_ports for n in span))
        return next(free, None)


def parse_port_ranges(text: str, count: int) -> PortRanges | None:
    """`20000-20999` as ranges of `count`; None for an empty text; ValueError gives the reason."""
    if not text:
        return None
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        raise ValueError("must be two ports with a hyphen between, such as 20000-20999")
    low, high = int(match[1]), int(match[2])
    if not PORT_LOW <= low <= high <= PORT_HIGH:
        raise ValueError(f"must be two ascending ports from {PORT_LOW} to {PORT_HIGH}")
    if high - low + 1 < count:
        raise ValueError(f"has {high - low + 1} ports, fewer than port_count ({count})")
    return PortRanges(low, high, count)


def database_name(prefix: str, task_id: str) -> str:
    """A name for the databases of one task; it is unique because the task id is."""
    return prefix + _UNFIT.sub("_", task_id.lower())
