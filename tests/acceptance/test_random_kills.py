"""Twelve real tasks whose worker is killed at random moments land once each."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project, wait_until, waits_for
from tests.quick_selection import is_quick

NAMES = [f"task{n:02}" for n in range(1, 13)]
NEEDS = {"task05": ["task01"], "task06": ["task01", "task02"], "task12": ["task06", "task07"]}
KILLS = 4 if is_quick() else 30

SETTINGS = """\
[retry.default_backoff]
initial_delay_ms = 50
max_delay_ms = 100

[limits]
parallel = 2
heartbeat_s = 1.0
lease_s = 20.0
hang_warning_s = 60.0
hang_s = 120.0
deadline_s = 240.0
"""


def plan(gate: Path) -> dict[str, Any]:
    """The last one waits for the gate, so that no run is over before all kills were."""
    dice = random.Random(12)
    script = {
        name: [[{"sleep": round(dice.uniform(1, 3), 2)}, {"write": {f"{name}.txt": f"{name}\n"}}]]
        for name in NAMES
    }
    # One makes a false claim first, so that a retry is interrupted as well.
    script["task03"] = [["claim_done"], *script["task03"]]
    script["task12"] = [[waits_for(gate), *script["task12"][0]]]
    return {
        "goal": "Twelve files",
        "agents": {"actor": {"preset": "scripted", "options": {"scenario": {"tasks": script}}}},
        "agent": "actor",
        "checks": {
            name: {"run": ["grep", "-qx", name, f"{name}.txt"], "pattern": "test-failed"}
            for name in NAMES
        },
        "tasks": [
            {"id": name, "goal": f"Write {name}.", "checks": [name], "needs": NEEDS.get(name, [])}
            for name in NAMES
        ],
    }


class KilledProject(Project):
    """A repository with a separate state home."""

    def __init__(self, folder: Path, pycache: Path, store: str) -> None:
        folder.mkdir()
        super().__init__(folder, pycache, store)
        self.log = folder / "yaoki.log"
        self.settings(SETTINGS)

    def start_logged(self, *words: str) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                (sys.executable, "-m", "yaoki", *words),
                cwd=self.repo,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def branch(self) -> str:
        return str(self.status()["run_branch"])

    def landed_files(self) -> dict[str, str]:
        """What the tasks wrote, by name and content."""
        branch = self.branch()
        files = self.git("ls-tree", "-r", "--name-only", branch).splitlines()
        written = [file for file in files if file.startswith("task")]
        return {file: self.git("show", f"{branch}:{file}") for file in written}

    def leftovers(self) -> list[str]:
        """Leftover processes, worktrees and locks."""
        found = [str(p) for p in (self.home / "worktrees").glob("*/*") if p.name[0] != "."]
        found += [str(p) for p in (self.repo / ".git").glob("**/*.lock")]
        found += [str(p) for p in (self.repo / ".git" / "worktrees").glob("*")]
        return found + self.processes()

    def processes(self) -> list[str]:
        """Processes whose environment contains this state home."""
        found = []
        for project in Path("/proc").glob("[0-9]*"):
            try:
                environ = (project / "environ").read_bytes()
                words = (project / "cmdline").read_bytes()
            except OSError:
                continue
            if str(self.repo.parent).encode() in environ + words:
                found.append(words.replace(b"\0", b" ").decode(errors="replace"))
        return found


@pytest.mark.acceptance
@pytest.mark.timeout(300)
@pytest.mark.spec("0.2", "0.3", "3.7", "9.8", "11.1", "8.6")
@pytest.mark.long
def test_a_run_killed_at_random_moments_lands_each_task_once(
    tmp_path: Path, pycache: Path, store_url: str
) -> None:
    killed = KilledProject(tmp_path / "killed", pycache, store_url)
    kills, code = kill_repeatedly(killed, tmp_path / "gate")

    assert kills == KILLS, "the run was over before it was killed often enough"
    assert code == 0, killed.log.read_text()
    assert killed.landed_files() == {f"{name}.txt": name for name in NAMES}
    trailers = killed.git(
        "log", "--first-parent", "--format=%(trailers:key=Yaoki-Task)", killed.branch()
    )
    landed = Counter(line for line in trailers.splitlines() if line.strip())
    assert len(landed) == len(NAMES)
    assert set(landed.values()) == {1}
    # Helper processes of an agent may end slightly later than the run.
    wait_until(lambda: killed.leftovers() == [], f"nothing is left: {killed.leftovers()}")
    story = Counter(killed.event_names())
    # The final check counts as landed too, without a change.
    assert story["TASK_LANDED"] == len(NAMES) + 1
    # Agents survive their worker: twelve attempts, the retry of the false claim, the final check.
    assert story["ATTEMPT_STARTED"] == len(NAMES) + 2


def kill_repeatedly(project: KilledProject, gate: Path) -> tuple[int, int]:
    """The number of kills, and the exit code of the last worker."""
    dice = random.Random(KILLS)
    worker = project.start_logged("run", project.plan(plan(gate)))
    while "started" not in project.log.read_text():
        time.sleep(0.02)
    kills = 0
    while kills < KILLS and worker.poll() is None:
        # Some lives end before the worker has claimed anything, some in the middle of a stage.
        time.sleep(dice.uniform(0.2, 1.2))
        worker.send_signal(signal.SIGKILL)
        kills += worker.wait() == -signal.SIGKILL
        worker = project.start_logged("resume")
    gate.touch()
    return kills, worker.wait()
