"""Is the machine quiet?  The same small piece of work before and after every part."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROUNDS = 40
# Figures of a machine that changes its speed by more than this in one run compare nothing.
DRIFT_MAX = 1.5
# So much other work is none.
LOAD_MAX = 0.25


def probe(folder: Path) -> float:
    """Milliseconds of a little arithmetic and forty syncs to the disk."""
    began = time.perf_counter()
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(ROUNDS):
            sum(range(20_000))
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
    return (time.perf_counter() - began) * 1e3


def load() -> float:
    """How many processes wanted a core in the last minute, for each core there is."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


def words(probes: Sequence[float], before: float) -> str:
    """What the figures are worth: `before` is the load when nothing of ours ran yet."""
    drift = max(probes) / min(probes)
    said = (
        f"its own speed differed by {drift:.1f} x, and it had a load of {before:.1f} a core before"
    )
    if drift > DRIFT_MAX or before > LOAD_MAX:
        return f"NOT QUIET: {said}; take no figure of this run for the machine's"
    return f"the machine was quiet: {said}"
