"""A storm of kill -9 over workers, shims, agents, checks and git: nothing lost, nothing twice.

Whoever comes up next is killed, as fast as there is somebody to kill; `python3 dev.py full` does so
three hundred times in both modes together.  Then the run is carried to its end.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Place, Stores, until
from tests.acceptance.test_sandbox import needs_bubblewrap

KILLS = int(os.environ.get("YAOKI_TEST_KILLS", "40"))
# How likely a strike hits the worker.
WORKER = 0.08
NAMES = [f"task{n:02}" for n in range(1, 9)]
SETTINGS = """\
[retry]
default_max_retries = 20
max_total_attempts = 60

[retry.default_backoff]
initial_delay_ms = 20
max_delay_ms = 40

[limits]
parallel = 3
heartbeat_s = 0.5
lease_s = 10.0
hang_warning_s = 60.0
hang_s = 120.0
deadline_s = 240.0

[sandbox]
mode = "{mode}"
"""
# An agent that commits, so that git is among its processes and its own repository is taken over.
AGENT = """\
sleep 0.{n}; echo {name} > {name}.txt; git add -A
git -c user.name=a -c user.email=a@localhost commit -qm "{name}, by its agent"; sleep 0.{n}
"""


def a_plan() -> dict[str, Any]:
    agents = {
        name: {"command": ["sh", "-c", AGENT.format(name=name, n=1 + n % 5)]}
        for n, name in enumerate(NAMES)
    }
    checks = {
        name: {"shell": f"sleep 0.2; grep -qx {name} {name}.txt", "pattern": "test-failed"}
        for name in NAMES
    }
    tasks = [
        {"id": name, "goal": f"Write {name}.", "agent": name, "checks": [name]} for name in NAMES
    ]
    return {"goal": "Eight files", "agents": agents, "checks": checks, "tasks": tasks}


def ours(place: Place) -> dict[int, str]:
    """Processes that have the place in their environment or words, by what they are."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes()
            known = (entry / "environ").read_bytes() + words
        except OSError:
            continue
        if str(place.folder).encode() in known and int(entry.name) != os.getpid():
            found[int(entry.name)] = _kind(words.split(b"\0"))
    return found


def _kind(words: list[bytes]) -> str:
    name = Path(os.fsdecode(words[0])).name
    if b"yaoki" in words[1:3] or b"run" in words or b"resume" in words:
        return "worker"
    if any(word.endswith(b"adapters/processes/shim/__main__.py") for word in words):
        return "shim"
    return "git" if name == "git" else "agent or check"


class Storm:
    """Carries a run through its kills."""

    def __init__(self, place: Place) -> None:
        self.place, self.dice, self.killed = place, random.Random(7), Counter[str]()
        self.log = place.folder / "yaoki.log"

    def carry(self, *words: str) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                (sys.executable, "-m", "yaoki", *words),
                cwd=self.place.repo,
                env=self.place.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def rage(self) -> None:
        worker = self.carry("run", self.place.plan(a_plan()))
        until(lambda: "attempt 1" in self.log.read_text(), "the run began", 60)
        while self.killed.total() < KILLS:
            if worker.poll() is not None:
                self.answer()
                worker = self.carry("resume")
            time.sleep(self.dice.uniform(0.02, 0.2))
            self.strike()
        worker.kill()
        worker.wait()

    def strike(self) -> None:
        """One of a kind that is there, each kind as likely as the others; a worker seldom, or
        nobody else would ever be there.
        """
        there: dict[str, list[int]] = {}
        for pid, kind in ours(self.place).items():
            there.setdefault(kind, []).append(pid)
        kinds = [kind for kind in sorted(there) if kind != "worker"]
        if "worker" in there and self.dice.random() < WORKER:
            kinds = ["worker"]
        if kinds:
            kind = self.dice.choice(kinds)
            self.killed[kind] += _kill(self.dice.choice(there[kind]))

    def answer(self) -> None:
        """A person wants whatever asks to be tried again; new landings need somebody to want."""
        tasks = self.place.status()["tasks"]
        for task in tasks:
            if task["state"] == "ESCALATED":
                self.place.look("answer", task["id"], "retry", "It was killed.")
        if all(task["state"] == "DONE" for task in tasks):
            self.place.look("retry", tasks[0]["id"])

    def to_the_end(self) -> int:
        for _ in range(10):
            code = self.carry("resume").wait(200)
            if code == 0:
                return 0
            self.answer()
        return code


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.timeout(600)
@pytest.mark.spec("0.1", "0.2", "0.3", "3.7", "16.10")
@pytest.mark.parametrize("mode", ["off", "on"])
def test_a_storm_of_kills_loses_nothing_and_does_nothing_twice(
    tmp_path: Path, pycache: Path, stores: Stores, mode: str
) -> None:
    if mode == "on":
        needs_bubblewrap()
    with stores.new() as url:
        place = Place(tmp_path, pycache, url)
        place.settings(SETTINGS.format(mode=mode))
        storm = Storm(place)
        storm.rage()
        code = storm.to_the_end()
        assert code == 0, storm.log.read_text()[-4000:]
        assert storm.killed.total() == KILLS
        print(mode, dict(storm.killed))
        branch = place.status()["run_branch"]
        for name in NAMES:
            assert place.show(branch, f"{name}.txt") == name
        trailers = place.git("log", "--first-parent", "--format=%(trailers:key=Yaoki-Task)", branch)
        landed = Counter(line for line in trailers.splitlines() if line.strip())
        assert len(landed) >= len(NAMES)
        assert place.git("fsck", "--strict", "--no-dangling") == ""
        assert place.look("verify").code == 0
        until(lambda: not ours(place), f"nothing is left: {ours(place)}")
        assert [str(p) for p in (place.home / "worktrees").glob("*/*") if p.name[0] != "."] == []
