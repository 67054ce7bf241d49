"""The files and keys by which yaoki decides: out of an agent's reach (V2, V3)."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Any

import pytest

from tests.acceptance.project import Project, file_contains
from tests.acceptance.test_sandbox import needs_bubblewrap, write_sandbox_settings

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.10")]
# The agent says that it has ended, and lives on for three seconds.
SWAPS = """\
import json, os, pathlib, time
folder = pathlib.Path(os.environ["YAOKI_RESULT"]).parents[1]
pathlib.Path("a.txt").write_text("good\\n")
for act in (
    lambda: (folder / "lock").unlink(),
    lambda: (folder / "lock").touch(),
    lambda: (folder / "exit.json").write_text(json.dumps({
        "code": 0, "signal": None, "ended_by": "", "seconds": 1.0, "output_bytes": 0,
        "start_error": "", "start_errno": 0})),
):
    try:
        act()
    except OSError as error:
        print("refused:", error)
for _ in range(30):
    print(time.time(), flush=True)
    time.sleep(0.1)
"""
MODES = ("off", "on")


def run_agent_code(project: Project, mode: str, code: str, **more: Any) -> int:
    """`code` is the agent's, in the Python of the tests, which has yaoki."""
    if mode == "on":
        needs_bubblewrap()
        write_sandbox_settings(project, mode="on")
    plan = {
        "goal": "Reach",
        "agents": {"bold": {"command": [sys.executable, "-c", code], "prompt": "file"}},
        "agent": "bold",
        "checks": {"good": file_contains("a.txt")},
        "tasks": [{"id": "a", "goal": "Write a.txt.", "checks": ["good"], **more}],
    }
    return project.yaoki("run", project.plan(plan), "--quiet").code


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("mode", MODES)
def test_an_agent_that_replaces_its_lock_and_exit_file_still_counts_as_running(
    project: Project, mode: str
) -> None:
    assert run_agent_code(project, mode, SWAPS) == 0

    (ended,) = [e for e in project.events("a") if e["event"] == "AGENT_FINISHED"]
    output = project.query("logs", "a").out.splitlines()
    beats = [
        float(line.split()[-1]) for line in output if line.split()[-1:][0:1] and _is_time(line)
    ]
    assert len(beats) == 30
    assert datetime.fromisoformat(ended["at"]).timestamp() >= max(beats), "it lived on"
    assert (ended["data"]["exit"]["seconds"]) > 2.5, "the exit is the shim's own"


def _is_time(line: str) -> bool:
    try:
        return float(line.split()[-1]) > 1e9
    except ValueError:
        return False


SECRETS = """\
import os, pathlib, subprocess
pathlib.Path("a.txt").write_text("good\\n")
home, repo = pathlib.Path({home!r}), pathlib.Path({repo!r})
for top in (home, repo / ".yaoki"):
    for file in sorted(top.rglob("*")) if top.is_dir() else ():
        if file.is_file() and pathlib.Path.cwd() not in file.parents:
            print("sees", file)
"""


@pytest.mark.full
@pytest.mark.parametrize("mode", ["on"])
def test_a_sandboxed_agent_sees_neither_store_nor_keys_nor_other_worktrees(
    project: Project, mode: str
) -> None:
    (project.home / "workers" / "x").mkdir(parents=True)
    (project.home / "workers" / "x" / "page.key").write_text("key\n")
    (project.home / "worktrees" / "other").mkdir(parents=True)
    (project.home / "worktrees" / "other" / "secret.txt").write_text("theirs\n")

    assert (
        run_agent_code(
            project, mode, SECRETS.format(home=str(project.home), repo=str(project.repo))
        )
        == 0
    )

    output = project.query("logs", "a").out
    seen = [line.split(" ", 1)[1] for line in output.splitlines() if line.startswith("sees ")]
    own = f"/.lent/{project.task('a')['id']}/"
    others = [one for one in seen if not one.endswith(("prompt.md", "outbox")) and own not in one]
    assert others == []


LINKS = """\
import os, pathlib
pathlib.Path("a.txt").write_text("good\\n")
folder = pathlib.Path(os.environ["YAOKI_RESULT"]).parents[1]
for name in ("out.log", "err.log", "prompt.md"):
    try:
        (folder / name).unlink()
        (folder / name).symlink_to({secret!r})
    except OSError as error:
        print("refused:", error)
"""


@pytest.mark.full
@pytest.mark.parametrize("mode", MODES)
def test_a_log_replaced_by_a_symbolic_link_is_not_read(project: Project, mode: str) -> None:
    """V8: `yaoki logs` showed any file of the user through a planted link."""
    secret = project.folder / "secret.txt"
    secret.write_text("of-the-user-alone\n")

    assert run_agent_code(project, mode, LINKS.format(secret=str(secret))) == 0

    shown = [project.query("logs", "a", *words) for words in ([], ["--err"], ["--prompt"])]
    shown.append(project.query("report", "--format", "html"))
    assert "of-the-user-alone" not in "".join(one.out + one.err for one in shown)


SAYS = """\
import pathlib, subprocess, sys
pathlib.Path("a.txt").write_text("good\\n")
for words in ({words!r}, ["status"]):
    done = subprocess.run([sys.executable, "-m", "yaoki", *words], capture_output=True, text=True)
    print(done.returncode, done.stdout, done.stderr)
"""


@pytest.mark.full
@pytest.mark.spec("16.8")
@pytest.mark.parametrize("mode", MODES)
def test_a_result_reported_inside_the_sandbox_is_recorded(project: Project, mode: str) -> None:
    words = ["result", "--status", "failed", "--summary", "the scale cannot be read"]

    assert run_agent_code(project, mode, SAYS.format(words=words), retry={"max_retries": 0}) == 4

    assert "the scale cannot be read" in project.task("a")["question"]
    output = project.query("logs", "a").out
    assert "failed is noted for attempt 1" in output
    assert ("an agent in the sandbox cannot reach the store" in output) == (mode == "on")
