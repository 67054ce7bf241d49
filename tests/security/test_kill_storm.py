"""A storm of kill -9 over workers, shims, agents, checks and git: nothing lost, nothing twice.

Processes are killed as fast as they appear, fifty times in both modes together.  Then the run is
resumed to its end.
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

from tests.acceptance.project import Project, Stores, wait_until
from tests.acceptance.test_sandbox import needs_bubblewrap

KILLS = int(os.environ.get("YAOKI_TEST_KILLS", "25"))
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


def project_processes(project: Project) -> dict[int, str]:
    """Processes that have the place in their environment or words, by what they are."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes()
            known = (entry / "environ").read_bytes() + words
        except OSError:
            continue
        if str(project.folder).encode() in known and int(entry.name) != os.getpid():
            found[int(entry.name)] = _kind(words.split(b"\0"))
    return found


def _kind(words: list[bytes]) -> str:
    name = Path(os.fsdecode(words[0])).name
    if b"yaoki" in words[1:3] or b"run" in words or b"resume" in words:
        return "worker"
    if any(word.endswith(b"adapters/processes/shim/__main__.py") for word in words):
        return "shim"
    return "git" if name == "git" else "agent or check"


class KillStorm:
    """A run whose processes are killed at random."""

    def __init__(self, project: Project) -> None:
        self.project, self.dice, self.killed = project, random.Random(7), Counter[str]()
        self.log = project.folder / "yaoki.log"

    def run(self, *words: str) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                (sys.executable, "-m", "yaoki", *words),
                cwd=self.project.repo,
                env=self.project.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill_randomly(self) -> None:
        worker = self.run("run", self.project.plan(a_plan()))
        wait_until(lambda: "attempt 1" in self.log.read_text(), "the run began", 60)
        while self.killed.total() < KILLS:
            if worker.poll() is not None:
                self.answer_questions()
                worker = self.run("resume")
            time.sleep(self.dice.uniform(0.02, 0.2))
            self.kill_one()
        worker.kill()
        worker.wait()

    def kill_one(self) -> None:
        """Kill one process of a random kind; a worker seldom, because without it
        no other process would start.
        """
        there: dict[str, list[int]] = {}
        for pid, kind in project_processes(self.project).items():
            there.setdefault(kind, []).append(pid)
        kinds = [kind for kind in sorted(there) if kind != "worker"]
        if "worker" in there and self.dice.random() < WORKER:
            kinds = ["worker"]
        if kinds:
            kind = self.dice.choice(kinds)
            self.killed[kind] += _kill(self.dice.choice(there[kind]))

    def answer_questions(self) -> None:
        """Answer every question with retry, and retry a task if there is none."""
        tasks = self.project.status()["tasks"]
        for task in tasks:
            if task["state"] == "ESCALATED":
                self.project.query("answer", task["id"], "retry", "It was killed.")
        if all(task["state"] == "DONE" for task in tasks):
            self.project.query("retry", tasks[0]["id"])

    def finish(self) -> int:
        for _ in range(10):
            code = self.run("resume").wait(200)
            if code == 0:
                return 0
            self.answer_questions()
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
        project = Project(tmp_path, pycache, url)
        project.settings(SETTINGS.format(mode=mode))
        storm = KillStorm(project)
        storm.kill_randomly()
        code = storm.finish()
        assert code == 0, storm.log.read_text()[-4000:]
        assert storm.killed.total() == KILLS
        print(mode, dict(storm.killed))
        branch = project.status()["run_branch"]
        for name in NAMES:
            assert project.show(branch, f"{name}.txt") == name
        trailers = project.git(
            "log", "--first-parent", "--format=%(trailers:key=Yaoki-Task)", branch
        )
        landed = Counter(line for line in trailers.splitlines() if line.strip())
        assert len(landed) >= len(NAMES)
        assert project.git("fsck", "--strict", "--no-dangling") == ""
        assert project.query("verify").code == 0
        wait_until(
            lambda: not project_processes(project), f"nothing is left: {project_processes(project)}"
        )
        assert [str(p) for p in (project.home / "worktrees").glob("*/*") if p.name[0] != "."] == []
