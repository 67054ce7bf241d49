"""(s) What saturates first: workers on each store, landings on one branch, pushes to a remote.

Some points set the model's three numbers; it must give them back, and foretell the others.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import model
from benchmarks.place import Place
from benchmarks.repositories import WHO, Repository
from benchmarks.results import Line, Part
from benchmarks.throughput import Size, yaoki

# The points that the model never sees, and how far any may be off: more says that it leaves
# something out.
FORETOLD = frozenset({3, 6})
CLOSE = 1.3
# Long beside what git takes, short for a benchmark.
CHECK_S = 1.0


def measured(place: Place) -> Part:
    counts = (1, 2, 3, 4) if place.quick else (1, 2, 3, 4, 6, 8)
    wanted = Size(800, 2.0) if place.quick else Size(4000, 3.0)
    lines: list[Line] = []
    data: dict[str, Any] = {}
    for kind in place.kinds:
        points = {n: yaoki(place, kind, wanted, workers=n).drain.rate for n in counts}
        found, told = _held_against(f"{kind}: worker processes", points)
        lines += found
        data[kind] = told
    lines += _landings(place, data)
    pushes = _pushes(place, 6 if place.quick else 20)
    data["pushes_per_s"] = pushes
    lines.append(Line("s", "landings pushed to one remote", pushes["1"], "/s"))
    lines.append(
        Line(
            "s",
            "to two remotes, side by side",
            pushes["2"],
            "/s",
            "one remote",
            pushes["2"] / pushes["1"],
        )
    )
    return Part(tuple(lines), data)


def _held_against(what: str, points: dict[int, float]) -> tuple[list[Line], dict[str, Any]]:
    if not all(points.values()):
        return [Line("s", what, None, "tasks/s", note="nothing was done in time")], {}
    law = model.fitted({n: rate for n, rate in points.items() if n not in FORETOLD})
    worst = model.off(law, points)
    shown = ", ".join(f"{n}: {rate:.0f} ({law.rate(n):.0f})" for n, rate in points.items())
    told = ", ".join(str(n) for n in points if n in FORETOLD) or "none"
    note = f"measured (model): {shown}; foretold: {told}; most with {law.peak} processes"
    line = Line("s", what, worst, "x", "model", worst, f"<= {CLOSE:g} x off", worst <= CLOSE, note)
    data = {
        "measured": {str(n): rate for n, rate in points.items()},
        "model": {str(n): law.rate(n) for n in points},
        "law": asdict(law),
        "peak": {"processes": law.peak, "per_s": law.rate(law.peak)},
    }
    return [line], data


# ------------------------------------------------------------------ one branch


def _landings(place: Place, data: dict[str, Any]) -> list[Line]:
    """Every landing makes the proofs on their way worthless; those made again ride together."""
    share = 1 if place.quick else 3
    found = {slots: landings(place, slots * share + 3, slots) for slots in (1, 4, 8)}
    data["landings"] = {str(slots): asdict(each) for slots, each in found.items()}
    foretold = 1 / CHECK_S
    return [
        Line(
            "s",
            f"landings on one branch, checks of {CHECK_S:g} s, {slots} at once",
            each.per_s,
            "/s",
            "one a check",
            each.per_s / foretold,
            note=f"{each.proofs / each.landed:.1f} verifications for each landing",
        )
        for slots, each in found.items()
    ]


@dataclass(frozen=True, slots=True)
class Landings:
    landed: int
    proofs: int
    per_s: float


def landings(place: Place, tasks: int, slots: int) -> Landings:
    """A real run whose check only takes its time."""
    with place.fresh() as folder:
        repository = Repository(folder)
        plan = repository.plan(tasks, check=f"sleep {CHECK_S}")
        repository.yaoki("run", plan, "--quiet", "--parallel", str(slots))
        journal = repository.journal()
    at = sorted(entry.at.timestamp() for entry in journal if entry.event == "TASK_LANDED")
    proofs = sum(entry.event == "QUALITY_JUDGMENT" for entry in journal)
    return Landings(len(at), proofs, (len(at) - 1) / (at[-1] - at[0]))


# ------------------------------------------------------------------ the git remote


def _pushes(place: Place, count: int) -> dict[str, float]:
    """Landings as workers push them: branch and mark at once, with the expected old value."""
    with place.fresh() as folder:
        homes = [folder / str(n) for n in range(2)]
        for home in homes:
            home.mkdir()
        lanes = [Lane(Repository(home)) for home in homes]
        for lane in lanes:
            lane.land(2)  # the first pushes make folders and caches
        one = _timed(lanes[:1], count)
        return {"1": one, "2": _timed(lanes, count)}


def _timed(lanes: list[Lane], count: int) -> float:
    began = time.monotonic()
    with ThreadPoolExecutor(len(lanes)) as crew:
        list(crew.map(lambda lane: lane.land(count), lanes))
    return count * len(lanes) / (time.monotonic() - began)


class Lane:
    """A clone and its remote."""

    def __init__(self, repository: Repository) -> None:
        self._git = repository.git
        self._remote: Path = repository.folder / "remote.git"
        self._git("init", "-q", "--bare", str(self._remote))
        self._head = self._git("rev-parse", "HEAD")
        self._git("push", "-q", str(self._remote), f"{self._head}:refs/heads/yaoki/run")

    def land(self, count: int) -> None:
        tree = self._git("rev-parse", "HEAD^{tree}")
        for _ in range(count):
            words = ("commit-tree", "-p", self._head, "-m", "land", tree)
            commit = self._git(*WHO, *words)
            lease = f"--force-with-lease=refs/heads/yaoki/run:{self._head}"
            refs = (f"{commit}:refs/heads/yaoki/run", f"+{commit}:refs/yaoki/runs/run")
            self._git("push", "-q", "--atomic", lease, str(self._remote), *refs)
            self._head = commit
