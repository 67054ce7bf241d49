"""(a) Durable no-op tasks per second, end to end, with four worker processes.

End to end: a task is paid for when it is stored and when it is worked off, so the figure is
1 / (seconds to store it + seconds to work it off).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import bare, noop
from benchmarks.crew import Worked, worked
from benchmarks.place import Place, python
from benchmarks.results import Line, Part, at_least
from benchmarks.rivals import PEERS, WORKERS, Ran, end_to_end, ran

THREADS = 32
SLOTS = 8
PEERS_GOAL, BARE_GOAL = 3.0, 0.5


@dataclass(frozen=True, slots=True)
class Size:
    """How much is done; a quick run shows the same with less of it."""

    tasks: int
    seconds: float


def size(place: Place) -> Size:
    return Size(2000, 3.0) if place.quick else Size(10_000, 8.0)


@dataclass(frozen=True, slots=True)
class Rate:
    """Tasks per second end to end, and what it is made of."""

    per_s: float
    fill_s: float
    drain: Worked
    batch: float = 1.0


def yaoki(
    place: Place, kind: str, wanted: Size, how: str = "store", workers: int = WORKERS
) -> Rate:
    """Submitted in one transaction, then carried by processes that claim in batches."""
    threads = THREADS if how == "store" else SLOTS
    with place.store(kind) as address, place.fresh() as folder:
        store = noop.opened(address)
        fill_s = noop.submitted(store, noop.specs("flat", wanted.tasks))
        words = (python(), "-m", "benchmarks.noop", how, address, str(folder), str(threads))
        drain = worked([words] * workers, folder, wanted.tasks, wanted.seconds, gate=True)
        store.close()
    per_s = end_to_end(wanted.tasks, fill_s, drain.rate) if drain.rate else 0.0
    return Rate(per_s, fill_s, drain, drain.done / max(1.0, drain.total("commits")))


def limit(place: Place, kind: str, wanted: Size, batch: int) -> Rate:
    """The same rows without yaoki.  SQLite's writers take turns, so one process is its limit."""
    crew = 1 if kind == "sqlite" else WORKERS
    share = wanted.tasks // crew
    with place.store(kind) as address, place.fresh() as folder:
        fill_s = bare.filled(address, wanted.tasks)
        words = (python(), "-m", "benchmarks.bare", address, str(folder))
        commands = [(*words, str(n * share), str(share), str(batch)) for n in range(crew)]
        drain = worked(commands, folder, share * crew, wanted.seconds, gate=True)
    per_s = end_to_end(wanted.tasks, fill_s, drain.rate) if drain.rate else 0.0
    return Rate(per_s, fill_s, drain, batch)


def measured(place: Place) -> Part:
    lines: list[Line] = []
    data: dict[str, Any] = {}
    for kind in place.kinds:
        found, told = _on(place, kind)
        lines += found
        data[kind] = told
    if place.lacking:
        lines.append(Line("a", "postgresql", None, "tasks/s", note=place.lacking))
    return Part(tuple(lines), data)


def _on(place: Place, kind: str) -> tuple[list[Line], dict[str, Any]]:
    wanted = size(place)
    own, engine = yaoki(place, kind, wanted), yaoki(place, kind, wanted, "engine")
    batch = max(2, round(own.batch))
    single, batched = limit(place, kind, wanted, bare.SINGLE), limit(place, kind, wanted, batch)
    peers = [ran(place, peer, kind, wanted.seconds) for peer in PEERS if kind in peer.kinds]
    told = {
        "yaoki": asdict(own),
        "engine": asdict(engine),
        "bare_single": asdict(single),
        "bare_batched": asdict(batched),
        "peers": {each.peer.name: asdict(each) for each in peers},
    }
    return _lines(kind, own, engine, single, batched, peers), told


def _lines(
    kind: str, own: Rate, engine: Rate, single: Rate, batched: Rate, peers: Sequence[Ran]
) -> list[Line]:
    unit, name = "tasks/s", {"sqlite": "SQLite", "postgresql": "PostgreSQL"}[kind]
    shown = [
        Line("a", f"{name}: yaoki", own.per_s, unit, note=_made_of(own)),
        Line("a", f"{name}: yaoki through the engine", engine.per_s, unit, note=_made_of(engine)),
        Line("a", f"{name}: bare, one commit each step", single.per_s, unit),
        Line("a", f"{name}: bare, {batched.batch:.0f} tasks a commit", batched.per_s, unit),
        *(_peer(name, each, own.per_s) for each in peers),
    ]
    there = [each for each in peers if each.per_s]
    if there:
        best = max(there, key=lambda each: each.per_s)
        ratio = own.per_s / best.per_s
        what = f"{name}: yaoki / fastest peer"
        shown.append(at_least("a", what, ratio, best.peer.name, PEERS_GOAL))
        shown.append(_worked_off(name, own, there))
    if kind == "sqlite":
        ratio = own.per_s / batched.per_s if batched.per_s else 0.0
        shown.append(at_least("a", f"{name}: yaoki / bare", ratio, "bare, batched", BARE_GOAL))
    return shown


def _worked_off(name: str, own: Rate, peers: Sequence[Ran]) -> Line:
    """Not every peer stores in batches; without the storing the comparison is another one."""
    rates = {each.peer.name: each.drain.rate for each in peers if each.drain}
    best = max(rates, key=lambda peer: rates[peer])
    ratio = own.drain.rate / rates[best]
    return Line("a", f"{name}: the same, worked off only", ratio, "x", best, ratio)


def _made_of(rate: Rate) -> str:
    drain = rate.drain
    return (
        f"stored in {rate.fill_s:.2f} s, worked off at {drain.rate:.0f}/s,"
        f" {rate.batch:.1f} tasks a commit"
    )


def _peer(name: str, each: Ran, own: float) -> Line:
    what = f"{name}: {each.peer.name}"
    if not each.per_s or each.drain is None:
        return Line("a", what, None, "tasks/s", note=each.missing)
    note = f"{each.peer.note}; worked off at {each.drain.rate:.0f}/s"
    return Line("a", what, each.per_s, "tasks/s", "yaoki", own / each.per_s, note=note)
