"""`python -m benchmarks [--quick] [--only a,b] [--json FILE] [--svg FILE]`: one table of ratios."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

from benchmarks import (
    clean_room,
    git_loop,
    growth,
    latency,
    merge_queue,
    scaling,
    startup,
    takeover,
    throughput,
    walls,
)
from benchmarks.place import Place
from benchmarks.plot import svg
from benchmarks.quiet import load, probe, words
from benchmarks.results import Part, document
from benchmarks.table import table

PARTS: Mapping[str, tuple[str, Callable[[Place], Part]]] = {
    "a": ("durable no-op tasks per second", throughput.measured),
    "b": ("latency from ready to started", latency.measured),
    "c": ("going on after kill -9", takeover.measured),
    "d": ("real git with a no-op agent", git_loop.measured),
    "e": ("growth", growth.measured),
    "f": ("start-up", startup.measured),
    "m": ("the merge queue", merge_queue.measured),
    "p": ("the clean room", clean_room.measured),
    "s": ("what saturates, and the model", scaling.measured),
    "w": ("the sandbox", walls.measured),
}


def main(argv: Sequence[str] | None = None) -> int:
    asked = _asked(argv)
    signal.signal(signal.SIGTERM, _stopped)
    began, busy = time.monotonic(), load()
    with ExitStack() as around:
        place = Place(quick=asked.quick, around=around, at=asked.folder)
        facts = place.facts()
        _say(_about(facts))
        probes = [probe(place.folder)]
        parts: dict[str, Part] = {}
        for letter in asked.only:
            parts[letter] = _measured(letter, place)
            probes.append(probe(place.folder))
    facts |= {
        "seconds": round(time.monotonic() - began, 1),
        "probes_ms": probes,
        "load_before": busy,
    }
    held = document(parts, facts)
    print(table([line for part in parts.values() for line in part.lines]))
    print(f"\n{_about(facts)}\n{words(probes, busy)}; {held['seconds']:.0f} s")
    if asked.json:
        asked.json.write_text(json.dumps(held, indent=1) + "\n")
    if asked.svg:
        asked.svg.write_text(svg(held))
    return 0


def _asked(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="less of everything: two minutes")
    letters = ",".join(PARTS)
    parser.add_argument("--only", type=_letters, default=list(PARTS), help=f"some of {letters}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="everything that was measured")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="the figures as a plot")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="measure on this disk")
    return parser.parse_args(argv)


def _letters(given: str) -> list[str]:
    named = [letter.strip() for letter in given.split(",")]
    unknown = [letter for letter in named if letter not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no part {unknown[0]!r}")
    return named


def _measured(letter: str, place: Place) -> Part:
    about, measured = PARTS[letter]
    _say(f"({letter}) {about} ...")
    began = time.monotonic()
    part = measured(place)
    _say(f"({letter}) took {time.monotonic() - began:.0f} s")
    return part


def _about(facts: Mapping[str, object]) -> str:
    machine, durable = facts["machine"], facts["durability"]
    assert isinstance(machine, dict)
    assert isinstance(durable, dict)
    said = "; ".join(f"{kind}: {words}" for kind, words in durable.items())
    return (
        f"{machine['cores']} cores, Python {facts['python']}, SQLite {facts['sqlite']}."
        f" Durability: {said}"
    )


def _say(words: str) -> None:
    """Beside the table, which stands alone on standard output."""
    print(words, file=sys.stderr, flush=True)


def _stopped(*_: object) -> NoReturn:
    """So that everything that was started is ended on the way out."""
    raise SystemExit(143)


if __name__ == "__main__":
    raise SystemExit(main())
