"""(e) Does the cost of a task grow with the store?  Flat plans, fans, diamonds and chains.

One process on SQLite.  A size that takes too long is cut off by the clock: the cost is that of the
tasks that were done, with all the others in the store.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass

from benchmarks import noop
from benchmarks.place import Place
from benchmarks.results import Line, Part, at_most

GOAL = 1.3
SIZES, QUICK_SIZES = (1000, 10_000, 100_000), (500, 5000)
# What is independent is worked off whole, so that finished work piles up as well.
SECONDS, FLAT_SECONDS, QUICK_SECONDS = 12.0, 80.0, 2.0
THREADS = 8


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one task, in microseconds: to store it and to work it off, by the clock and of CPU."""

    shape: str
    tasks: int
    done: int
    clock_us: float
    cpu_us: float


def measured(place: Place) -> Part:
    sizes = QUICK_SIZES if place.quick else SIZES
    found: list[Cost] = []
    lines: list[Line] = []
    for shape in noop.SHAPES:
        whole = FLAT_SECONDS if shape == "flat" else SECONDS
        seconds = QUICK_SECONDS if place.quick else whole
        costs = [cost(place, shape, size, seconds) for size in sizes]
        # Other work on the machine drifts; the smallest size at both ends shows by how much.
        ends = (costs[0], cost(place, shape, sizes[0], seconds))
        found += costs
        lines.append(_line(shape, ends, costs[-1]))
    return Part(tuple(lines), {"costs": [asdict(each) for each in found]})


def _line(shape: str, ends: tuple[Cost, Cost], last: Cost) -> Line:
    small = sum(end.clock_us for end in ends) / 2
    ratio = last.clock_us / small
    cut = f" ({last.done} done)" if last.done < last.tasks else ""
    note = (
        f"{small:.0f} µs a task at {ends[0].tasks}, {last.clock_us:.0f} at {last.tasks};"
        f" of CPU {sum(end.cpu_us for end in ends) / 2:.0f} and {last.cpu_us:.0f}"
    )
    what = f"{shape}: cost of a task, {last.tasks}{cut} / {ends[0].tasks}"
    if last.done < ends[0].tasks:
        # Fewer tasks than the small store had prove nothing about the large one.
        note = f"too few were done for a verdict; {note}"
        return Line("e", what, ratio, "x", "", ratio, f"<= {GOAL:g} x", None, note)
    return at_most("e", what, ratio, "x", GOAL, ratio=ratio, note=note)


def cost(place: Place, shape: str, tasks: int, seconds: float) -> Cost:
    # A chain has one task to do at a time: more threads would only ask in vain.
    threads = 1 if shape == "chain" else THREADS
    with place.store("sqlite") as address:
        store = noop.opened(address)
        plan, done = noop.specs(shape, tasks), [0]
        cpu = time.process_time()
        stored_s = noop.submitted(store, plan)
        stored_cpu, cpu = time.process_time() - cpu, time.process_time()
        began = time.monotonic()
        give_up = began + seconds

        def count() -> None:
            done[0] += 1

        noop.drained(store, threads, count, lambda: time.monotonic() > give_up)
        worked_s, worked_cpu = time.monotonic() - began, time.process_time() - cpu
        complete = noop.all_done(store, tasks)
        store.close()
    ended = tasks if complete else max(1, done[0])
    clock = stored_s / tasks + worked_s / ended
    return Cost(shape, tasks, ended, clock * 1e6, (stored_cpu / tasks + worked_cpu / ended) * 1e6)
