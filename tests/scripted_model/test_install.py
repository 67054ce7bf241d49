"""The installation of real agent programs, with a package manager that lacks one of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

INSTALL = Path(__file__).parents[1] / "tools" / "agents" / "install.py"
NPM = """\
#!/bin/sh
[ "$(basename "$PWD")" = gemini ] || exit 0
echo 'npm error code E404' >&2
echo 'npm error 404 there is no package for this platform' >&2
echo 'npm error A complete log of this run can be found in: /nowhere' >&2
exit 1
"""


def install(top: Path, *names: str) -> subprocess.CompletedProcess[str]:
    npm = top / "bin" / "npm"
    npm.parent.mkdir(exist_ok=True)
    npm.write_text(NPM)
    npm.chmod(0o755)
    env = {**os.environ, "PATH": f"{npm.parent}:{os.environ['PATH']}"}
    argv = [sys.executable, str(INSTALL), str(top / "agents"), *names]
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)


@pytest.mark.spec("12.8")
def test_a_program_that_cannot_be_installed_loses_only_itself(tmp_path: Path) -> None:
    done = install(tmp_path, "codex", "gemini")

    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("not installed: gemini 0.")
    assert line.endswith(": 404 there is no package for this platform")
    assert (tmp_path / "agents" / "codex" / ".done").exists()
    assert (tmp_path / "agents" / "gemini.missing").read_text() in line
    assert install(tmp_path, "codex").returncode == 0


@pytest.mark.spec("0.6")
def test_an_unknown_program_is_refused(tmp_path: Path) -> None:
    done = install(tmp_path, "clod")

    assert done.returncode == 2
    assert "there is no agent 'clod'; known: claude, codex" in done.stderr
