"""`dev.py`: documents, Makefile and build server call only existing commands."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dev

TOP = Path(dev.__file__).parent
CALLED = re.compile(r"python3 dev\.py (\w+)")


def said(*words: str) -> subprocess.CompletedProcess[str]:
    call = (sys.executable, str(TOP / "dev.py"), *words)
    return subprocess.run(call, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    "name", ["README.md", "CONTRIBUTING.md", ".ci/run", "benchmarks/README.md", "pyproject.toml"]
)
def test_every_called_dev_command_exists(name: str) -> None:
    called = set(CALLED.findall((TOP / name).read_text()))

    assert called
    assert called <= set(dev.COMMANDS) | {"X", "COMMAND"}


def test_the_makefile_has_the_same_commands() -> None:
    makefile = (TOP / "Makefile").read_text()
    targets = re.search(r"^(help .*):$", makefile, re.MULTILINE)

    assert targets
    assert set(targets[1].split()) == set(dev.COMMANDS)


def test_help_describes_every_command() -> None:
    lines = said("help").stdout.splitlines()

    assert [line.split()[2] for line in lines] == list(dev.COMMANDS)
    assert all(len(line.split()) > 3 for line in lines)


def test_an_unknown_dev_command_is_refused() -> None:
    done = said("tset")

    assert done.returncode == 1
    assert done.stderr == "yaoki: there is no command 'tset'; python3 dev.py help\n"


def test_an_older_python_can_parse_dev_py() -> None:
    """It must come as far as saying which one is needed."""
    source = (TOP / "dev.py").read_text()

    ast.parse(source, feature_version=(3, 8))
