"""Processes that work off tasks side by side; the rate is read from the instants they write.

Each task writes its instant to its process's file.  Counted is the time in which all of the crew
are at work: neither how long a process takes to start nor how the last few tasks trickle in.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WARM_UP_S = 90.0
TAIL = 0.98
STEP_S = 0.02
GRACE_S = 3.0


@dataclass(frozen=True, slots=True)
class Worked:
    """How a crew did: tasks a second while all were at work, and what each process told."""

    done: int
    rate: float
    shares: tuple[int, ...]
    told: tuple[Mapping[str, Any], ...] = ()

    def total(self, name: str) -> float:
        return float(sum(each.get(name, 0) for each in self.told))


def environment() -> dict[str, str]:
    """Bytecode is cached, as in an installation; nothing of the caller's settings counts."""
    drop = ("PYTHONDONTWRITEBYTECODE", "YAOKI_CONFIG")
    around = {name: value for name, value in os.environ.items() if name not in drop}
    paths = f"{ROOT}{os.pathsep}{ROOT / 'src'}"
    return {**around, "PYTHONPATH": paths, "PYTHONPYCACHEPREFIX": str(ROOT / ".venv" / "pycache")}


@contextmanager
def started(
    commands: Sequence[Sequence[str]], folder: Path, env: Mapping[str, str] | None = None
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Ended and collected afterwards, whatever happens."""
    made: list[subprocess.Popen[bytes]] = []
    try:
        for n, words in enumerate(commands):
            with (folder / f"{n}.log").open("wb") as log:
                made.append(
                    subprocess.Popen(
                        words,
                        cwd=folder,
                        env=environment() if env is None else env,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                    )
                )
        yield made
    finally:
        for process in made:
            process.terminate()
        for process in made:
            _collect(process)


def _collect(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def worked(
    commands: Sequence[Sequence[str]],
    folder: Path,
    count: int,
    seconds: float,
    *,
    gate: bool = False,
    env: Mapping[str, str] | None = None,
) -> Worked:
    """Let them work until `count` tasks are done or `seconds` after the first one.

    With a gate they wait for one another: each makes `<pid>.ready` and waits for `go`.
    """
    with started(commands, folder, env) as crew:
        if gate:
            until(lambda: len(list(folder.glob("*.ready"))) == len(crew), crew, WARM_UP_S)
            (folder / "go").touch()
        until(lambda: _done(folder) > 0, crew, WARM_UP_S)
        until(lambda: _done(folder) >= count, crew, seconds)
        if gate and _done(folder) >= count:
            until(lambda: all(each.poll() is not None for each in crew), (), GRACE_S)
    told = tuple(json.loads(file.read_text()) for file in folder.glob("*.json"))
    return rated(list(stamps(folder)), told)


def until(true: Any, crew: Sequence[subprocess.Popen[bytes]], seconds: float) -> bool:
    """Poll, bounded; nobody is waited for when all are gone."""
    give_up = time.monotonic() + seconds
    while not true():
        if time.monotonic() > give_up or (crew and all(p.poll() is not None for p in crew)):
            return bool(true())
        time.sleep(STEP_S)
    return True


def _done(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*.stamps")) // 8


def stamps(folder: Path) -> Iterator[tuple[float, ...]]:
    for file in sorted(folder.glob("*.stamps")):
        data = file.read_bytes()
        yield struct.unpack(f"{len(data) // 8}d", data[: len(data) // 8 * 8])


def rated(held: Sequence[tuple[float, ...]], told: Sequence[Mapping[str, Any]] = ()) -> Worked:
    """Tasks a second from when the last of the crew began until nearly all is done."""
    shares, every = tuple(len(each) for each in held), sorted(at for each in held for at in each)
    if len(every) < 2:
        return Worked(len(every), 0.0, shares, tuple(told))
    end = every[max(1, int(len(every) * TAIL) - 1)]
    begin = max(min(each) for each in held if each)
    if sum(at >= begin for at in every) < len(every) // 5:
        # Some came when nearly all was done already.
        begin = every[0]
    inside = sum(begin < at <= end for at in every)
    return Worked(len(every), inside / (end - begin) if end > begin else 0.0, shares, tuple(told))
