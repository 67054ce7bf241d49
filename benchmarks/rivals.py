"""The peers: task queues on the same databases, in an environment of their own.

`python3 dev.py bench` installs it below .venv/peers from peers.lock; what is not there is told.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.crew import ROOT, Worked, environment, worked
from benchmarks.place import Place

HOME = ROOT / ".venv" / "peers"
SCRIPTS = Path(__file__).parent / "peers"
FILL_S_MAX = 90
WORKERS = 4


@dataclass(frozen=True, slots=True)
class Peer:
    """`tasks` is what it does in a few seconds."""

    name: str
    kinds: tuple[str, ...]
    tasks: int
    note: str = ""


BOTH = ("sqlite", "postgresql")
PEERS = (
    Peer("dbos", BOTH, 300, "64 workflows at once in each process, polled every 20 ms"),
    Peer("procrastinate", ("postgresql",), 500, "16 jobs at once in each process"),
    Peer("pgqueuer", ("postgresql",), 5000, "batches of 32, all its tables logged"),
    Peer("huey", BOTH, 500, "deletes a task when it takes it: a killed worker loses it"),
    Peer("celery", BOTH, 60, "SQLAlchemy transport (needs no broker), late ack, stored result"),
)


@dataclass(frozen=True, slots=True)
class Ran:
    """How one peer did on one database; `missing` says why there is no number."""

    peer: Peer
    kind: str
    per_s: float = 0.0
    fill_s: float = 0.0
    drain: Worked | None = None
    missing: str = ""


def python() -> Path:
    return HOME / "bin" / "python"


def lacking(peer: Peer) -> str:
    if not python().exists():
        return "not installed; python3 dev.py bench installs it"
    asked = [str(python()), "-c", f"import {peer.name}"]
    done = subprocess.run(asked, capture_output=True, text=True, env=_env(), check=False)
    return "" if done.returncode == 0 else f"cannot be imported: {_last(done.stderr)}"


def ran(place: Place, peer: Peer, kind: str, seconds: float) -> Ran:
    """Fill its queue in the quickest way it has, then let four processes work it off."""
    if missing := lacking(peer):
        return Ran(peer, kind, missing=missing)
    tasks = peer.tasks if place.quick else 4 * peer.tasks
    with place.store(kind) as address, place.fresh() as folder:
        script = (str(python()), str(SCRIPTS / f"{peer.name}_peer.py"))
        filled = subprocess.run(
            (*script, "fill", address, str(tasks)),
            cwd=folder,
            env=_env(),
            capture_output=True,
            text=True,
            timeout=FILL_S_MAX,
            check=False,
        )
        if filled.returncode != 0:
            return Ran(peer, kind, missing=f"failed: {_last(filled.stderr)}")
        fill_s = float(json.loads(filled.stdout.splitlines()[-1])["seconds"])
        command = (*script, "work", address, str(folder))
        drain = worked([command] * WORKERS, folder, tasks, seconds, env=_env())
        if not drain.rate:
            log = (folder / "0.log").read_text(errors="replace")
            return Ran(peer, kind, missing=f"did nothing: {_last(log)}")
        return Ran(peer, kind, end_to_end(tasks, fill_s, drain.rate), fill_s, drain)


def end_to_end(tasks: int, fill_s: float, rate: float) -> float:
    """Tasks a second when each is paid for twice: stored once, worked off once."""
    return 1.0 / (fill_s / tasks + 1.0 / rate)


def _env() -> Mapping[str, str]:
    """Nothing of ours is on their path; as root Celery asks for a word."""
    around = environment()
    del around["PYTHONPATH"]
    return {**around, "C_FORCE_ROOT": "1", "PATH": os.environ.get("PATH", "")}


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it said nothing"
