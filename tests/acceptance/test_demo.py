"""The demo: its story, its folder, and the commands it prints at the end."""

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

from tests.acceptance.demo_story import check_story, last_commands
from tests.acceptance.project import wait_until
from tests.acceptance.test_sandbox import needs_bubblewrap
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
@pytest.mark.long
def test_the_demo_shows_the_false_claim_and_its_fix_and_its_last_commands_work_as_printed(
    tmp_path: Path, env: dict[str, str]
) -> None:
    """The folder is given as a relative path.  A quick run plays the demo of the wheel."""
    done = subprocess.run(
        (*DEMO, "--folder", "it's here"),
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    check_story(done.stdout)

    walked = last_commands(done.stdout)
    last = subprocess.run(
        ("bash", "-e", "-o", "pipefail", "-c", walked),
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
    )
    assert last.returncode == 0, walked + last.stdout + last.stderr
    assert "10 of 10 tasks landed" in last.stdout
    assert not (tmp_path / "it's here").exists()


@pytest.mark.full
@pytest.mark.spec("14.3")
@pytest.mark.parametrize("had", [True, False], ids=["bubblewrap", "none"])
def test_the_demo_says_whether_its_agents_run_in_the_sandbox_and_ends_with_its_reader(
    tmp_path: Path, env: dict[str, str], had: bool
) -> None:
    """`yaoki demo | head -2` ends the demo and its worker."""
    if had:
        needs_bubblewrap()
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "git").symlink_to(shutil.which("git") or "git")
    path = env["PATH"] if had else str(tmp_path / "tools")
    around = {**env, "YAOKI_SANDBOX_MODE": "auto", "PATH": path}
    demo = subprocess.Popen(
        (*DEMO, "--folder", "d"), cwd=tmp_path, env=around, stdout=subprocess.PIPE, text=True
    )
    assert demo.stdout is not None
    assert demo.stdout.readline().startswith("Ten tasks.")
    second = demo.stdout.readline()
    demo.stdout.close()

    assert demo.wait(BOUND_S) == 141
    wait_until(lambda: not _workers(tmp_path), "no worker is left")
    inside = "Agents and checks run in a sandbox, because bubblewrap is installed."
    outside = "agents run with your rights, outside a sandbox (bwrap is not installed); to use one"
    assert second.startswith(inside if had else outside)


@pytest.mark.full
@pytest.mark.spec("15")
@pytest.mark.parametrize("how", ["absolute", "relative"])
def test_a_folder_that_is_not_empty_is_refused_and_left_alone(
    tmp_path: Path, env: dict[str, str], how: str
) -> None:
    mine = tmp_path / "mine" / "plan.json"
    mine.parent.mkdir()
    mine.write_text("precious")
    named = str(mine.parent) if how == "absolute" else "mine"

    done = subprocess.run(
        (*DEMO, "--folder", named), cwd=tmp_path, env=env, capture_output=True, text=True
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
def test_the_false_claim_is_red_on_a_terminal(tmp_path: Path, env: dict[str, str]) -> None:
    """Where no codes are wanted is decided in yaoki.faces.text and tested in tests/faces."""
    around = {**env, "TERM": "xterm"}
    with run_on_terminal(tmp_path, around, "demo", "--folder", "d") as terminal:
        # The raw output, not the current screen: a late reader may have missed the line.
        terminal.until(lambda _: b"LIES" in terminal.raw, "the lie was shown")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.ended() == 130

    assert re.search(rb"\x1b\[31m\x1b\[1m[^\x1b]*LIES[^\x1b]*\x1b\[0m", terminal.raw)
