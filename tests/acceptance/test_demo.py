"""The demo: its folder, its sandbox and its reader.

Its story and the commands at its end are tested with the wheel (tests/packaging).
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.acceptance.project import wait_until
from tests.acceptance.test_sandbox import why_no_sandbox
from tests.faces.cli.terminal import run_on_terminal

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("12.1")]
BOUND_S = 100
DEMO = (sys.executable, "-m", "yaoki", "demo")


@pytest.fixture
def env(pycache: Path) -> dict[str, str]:
    drop = ("PYTHONDONTWRITEBYTECODE", "YAOKI_CONFIG", "YAOKI_HOME", "NO_COLOR", "TERM")
    around = {name: value for name, value in os.environ.items() if name not in drop}
    return {**around, "PYTHONPYCACHEPREFIX": str(pycache), "PATH": "/usr/local/bin:/usr/bin:/bin"}


@pytest.mark.full
@pytest.mark.spec("14.3")
def test_the_demo_says_that_its_agents_run_outside_a_sandbox_and_ends_with_its_reader(
    tmp_path: Path, env: dict[str, str]
) -> None:
    """`yaoki demo | head -2` ends the demo and its worker."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "git").symlink_to(shutil.which("git") or "git")
    around = {**env, "YAOKI_SANDBOX_MODE": "auto", "PATH": str(tmp_path / "tools")}
    demo = subprocess.Popen(
        (*DEMO, "--folder", "d"), cwd=tmp_path, env=around, stdout=subprocess.PIPE, text=True
    )
    assert demo.stdout is not None
    assert demo.stdout.readline().startswith("Ten tasks.")
    second = demo.stdout.readline()
    demo.stdout.close()

    assert demo.wait(BOUND_S) == 141
    wait_until(lambda: not _workers(tmp_path), "no worker is left")
    outside = "agents run with your rights, outside a sandbox (bwrap is not installed); to use one"
    assert second.startswith(outside)


@pytest.mark.full
@pytest.mark.spec("15")
def test_a_folder_that_is_not_empty_is_refused_and_left_alone(
    tmp_path: Path, env: dict[str, str]
) -> None:
    mine = tmp_path / "mine" / "plan.json"
    mine.parent.mkdir()
    mine.write_text("precious")

    done = subprocess.run(
        (*DEMO, "--folder", "mine"), cwd=tmp_path, env=env, capture_output=True, text=True
    )

    assert done.returncode == 6
    assert f"{mine.parent} is not empty: it holds plan.json" in done.stderr
    assert [file.name for file in mine.parent.iterdir()] == ["plan.json"]
    assert mine.read_text() == "precious"


@pytest.mark.spec("15")
def test_a_folder_that_cannot_be_created_is_reported_without_an_internal_error(
    tmp_path: Path, env: dict[str, str]
) -> None:
    (tmp_path / "file").touch()

    done = subprocess.run(
        (*DEMO, "--folder", "file/x"), cwd=tmp_path, env=env, capture_output=True, text=True
    )

    assert done.returncode == 1
    assert "the demo cannot use" in done.stderr
    assert "name a new folder" in done.stderr


def _workers(folder: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            if "yaoki" in words and any(str(folder) in word for word in words):
                found.append(process)
        except psutil.Error:
            continue
    return found


@pytest.mark.full
@pytest.mark.spec("14.3")
def test_the_false_claim_of_a_sandboxed_agent_is_red_on_a_terminal(
    tmp_path: Path, env: dict[str, str]
) -> None:
    """Where no codes are wanted is decided in yaoki.faces.text and tested in tests/faces."""
    around = {**env, "TERM": "xterm", "YAOKI_SANDBOX_MODE": "off" if why_no_sandbox() else "auto"}
    with run_on_terminal(tmp_path, around, "demo", "--folder", "d") as terminal:
        # The raw output, not the current screen: a late reader may have missed the line.
        terminal.until(lambda _: b"LIES" in terminal.raw, "the lie was shown")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.ended() == 130

    assert re.search(rb"\x1b\[31m\x1b\[1m[^\x1b]*LIES[^\x1b]*\x1b\[0m", terminal.raw)
    inside = b"Agents and checks run in a sandbox, because bubblewrap is installed."
    assert (inside in b" ".join(terminal.raw.split())) == (not why_no_sandbox())
