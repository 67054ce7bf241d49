"""(b) From ready to started: in the worker that made it ready, and in one that waits elsewhere.

`python -m benchmarks.latency ADDRESS FILE` is the waiting worker: the engine's pool around stages
that only write down when they begin and when they are over.
"""

from __future__ import annotations

import os
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import noop
from benchmarks.crew import WARM_UP_S, started, until
from benchmarks.place import Place, python
from benchmarks.results import Line, Part, at_most
from yaoki.core.model import Task

SLOTS = 4
WAIT_S_MAX = 20.0
WAITING_GOAL_MS = 20
# Not a multiple of any poll, so that all instants within one are met.
PAUSE_S = 0.137


def measured(place: Place) -> Part:
    lines: list[Line] = []
    data: dict[str, Any] = {}
    for kind in place.kinds:
        chain, submit = _on(place, kind, 10 if place.quick else 60)
        data[kind] = {"chain_ms": chain, "submit_ms": submit}
        lines.append(_line(f"{kind}: a need is done -> next started, same worker", chain))
        lines.append(
            _line(f"{kind}: stored -> started by a waiting worker", submit, WAITING_GOAL_MS)
        )
    return Part(tuple(lines), data)


def _line(what: str, found: Sequence[float], goal: float | None = None) -> Line:
    if len(found) < 2:
        return Line("b", what, None, "ms", note="nothing was started in time")
    high, middle = sorted(found)[int(len(found) * 0.95)], statistics.median(found)
    note = f"median of {len(found)}; 95 % within {high:.0f} ms"
    if goal is None:
        return Line("b", what, middle, "ms", note=note)
    return at_most("b", what, middle, "ms", goal, note=note)


def _on(place: Place, kind: str, count: int) -> tuple[list[float], list[float]]:
    with place.store(kind) as address, place.fresh() as folder:
        store, seen = noop.opened(address), folder / "seen"
        noop.submitted(store, [noop.spec("first")])
        words = (python(), "-m", "benchmarks.latency", address, str(seen))
        with started([words], folder) as crew:
            until(lambda: "ended first" in _text(seen), crew, WARM_UP_S)
            stored = {}
            for n in range(count):
                time.sleep(PAUSE_S)
                store.add_tasks(noop.RUN, [noop.spec(f"s{n}")])
                stored[f"s{n}"] = time.monotonic()
            chain = [noop.spec(f"c{n}", (f"c{n - 1}",) if n else ()) for n in range(count)]
            store.add_tasks(noop.RUN, chain)
            until(lambda: f"ended c{count - 1}" in _text(seen), crew, WAIT_S_MAX)
        store.close()
        began, ended = _instants(seen, "began"), _instants(seen, "ended")
    # The worker may begin before the commit's answer is here: that is no time at all.
    submit = [max(0.0, began[n] - at) * 1e3 for n, at in stored.items() if n in began]
    pairs = [(f"c{n}", f"c{n - 1}") for n in range(1, count)]
    follow = [(began[b] - ended[a]) * 1e3 for b, a in pairs if b in began and a in ended]
    return follow, submit


def _text(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def _instants(file: Path, word: str) -> dict[str, float]:
    rows = (line.split() for line in _text(file).splitlines())
    return {name: float(at) for at, said, name in rows if said == word}


def main(address: str, file: Path) -> None:
    store = noop.opened(address)
    out = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def wrote(word: str) -> Callable[[Task], None]:
        return lambda task: _write(out, word, task)

    pool = noop.pool(store, noop.NoStages(wrote("began"), wrote("ended")), SLOTS)
    asked = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked.set())
    noop.obeying(pool, asked)
    pool.serve_all(lambda: [noop.RUN])
    store.close()


def _write(out: int, word: str, task: Task) -> None:
    os.write(out, f"{time.monotonic()} {word} {task.spec.name}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
