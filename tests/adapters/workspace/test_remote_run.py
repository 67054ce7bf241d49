"""One run, one store, two clones: two workers execute the run, one of them is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import a_plan, wait_until, waits_for, writes
from tests.repositories import a_repository, git
from tests.trusted_folders import trust_folder

TASKS = 12
ATTEMPTS = 6
SETTINGS = """\
[limits]
parallel = 4
heartbeat_s = 0.5
lease_s = 6.0
hang_warning_s = 20.0
hang_s = 30.0
deadline_s = 60.0

[retry.default_backoff]
initial_delay_ms = 50
max_delay_ms = 500

[store]
url = "{store}"

[workspace]
remote = "origin"
"""


class Machine:
    """A clone with its own worktrees; store and remote are shared."""

    def __init__(self, folder: Path, bare: Path, name: str) -> None:
        home = folder / name
        home.mkdir()
        git(home, "clone", "-q", f"file://{bare}", "repo")
        self.repo = home / "repo"
        (self.repo / "yaoki.toml").write_text(SETTINGS.format(store=folder / "state.db"))
        self._env = {**os.environ, "YAOKI_HOME": str(home / "state")}
        trust_folder(home / "state", home)

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            (sys.executable, "-m", "yaoki", *words),
            cwd=self.repo,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def document(self, *words: str) -> dict[str, Any]:
        process = self.start(*words, "--json")
        out, _ = process.communicate(timeout=60)
        held: dict[str, Any] = json.loads(out) if out.startswith("{") else {}
        return held

    def hosts(self, run_id: str) -> set[str]:
        """The clones in which attempts were started."""
        entries = self.document("trace", run_id).get("entries", [])
        return {e["data"]["host"] for e in entries if e["event"] == "ATTEMPT_STARTED"}


def the_plan(folder: Path) -> str:
    """Agents end when the test lets them."""
    acts = {f"t{n}": [waits_for(folder / "go"), *writes(f"f{n}", f"{n}\n")] for n in range(TASKS)}
    script = {name: [held] * ATTEMPTS for name, held in acts.items()}
    tasks = [{"id": name, "checks": ["there"]} for name in script]
    file = folder / "plan.json"
    file.write_text(json.dumps(a_plan(script, tasks, {"there": {"shell": "ls f*"}})))
    return str(file)


@pytest.mark.full
@pytest.mark.spec("13.1", "13.3", "0.2", "0.3", "3.4")
def test_two_clones_execute_one_run_and_one_of_them_is_killed(tmp_path: Path) -> None:
    seed, bare = a_repository(tmp_path), tmp_path / "remote.git"
    git(tmp_path, "clone", "-q", "--bare", str(seed), str(bare))
    one, other = (Machine(tmp_path, bare, name) for name in ("one", "other"))

    first = one.start("run", the_plan(tmp_path), "--parallel", "2")
    wait_until(lambda: one.document("status").get("run"), "the run is stored")
    run_id = str(one.document("status")["run"])
    second = other.start("resume", run_id, "--parallel", "4")
    wait_until(lambda: len(other.hosts(run_id)) == len((one, other)), "both have begun")
    first.kill()
    first.communicate(timeout=30)
    third = one.start("resume", run_id, "--parallel", "4")
    (tmp_path / "go").touch()
    output = [process.communicate(timeout=120)[0] for process in (second, third)]

    assert (second.returncode, third.returncode) == (0, 0), "\n".join(output)
    tasks = other.document("status", run_id)["tasks"]
    assert [task["state"] for task in tasks] == ["DONE"] * TASKS
    line = ("log", "--first-parent", "--format=%(trailers:key=Yaoki-Task,valueonly)")
    steps = git(bare, *line, f"main..yaoki/{run_id}").split()
    assert Counter(steps) == Counter(task["id"] for task in tasks)
    names = git(bare, "ls-tree", "-r", "--name-only", f"yaoki/{run_id}").splitlines()
    assert {f"f{n}" for n in range(TASKS)} <= set(names)
