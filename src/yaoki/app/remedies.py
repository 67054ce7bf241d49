"""Commands that fix a problem, as they can be typed on this machine."""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.processes.command import run_command
from yaoki.core.environment import COMMAND_VARIABLES, VIRTUAL_ENV, filter_environment
from yaoki.core.lazy_dataclass import replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import Fault
from yaoki.formats.discovery import TrialResult

# The param of a finding that is the command which helps.
REMEDY = "remedy"
# The longest time of one check on the base.
TRIAL_SECONDS_MAX = 3600
# Stand-ins for a toolchain, and the output by which they say that it is missing.
_SHIMS = (
    (
        lazy_compile(
            r"rustup could not choose a version|no default toolchain|rustup default stable"
        ),
        "rustup default stable",
    ),
    (
        lazy_compile(r"'cargo-(clippy|fmt)(?:\.exe)?' is not installed for the toolchain"),
        "rustup component add {0}",
    ),
    (lazy_compile(r"pyenv: version [`'](\S+?)' is not installed"), "pyenv install {0}"),
    (lazy_compile(r"xcrun: error: invalid active developer path"), "xcode-select --install"),
)
_COMPONENTS = {"fmt": "rustfmt"}
_PIP = lazy_compile(r"(?:\S+/bin/python -m ensurepip && )?(?:\S+/bin/)?python -m pip install\b")


UPGRADE, GROUP_OPTION = " -U pip", " --group "
# The first pip with that option.
PIP_WITH_GROUPS = (25, 1)
LOOKUP_TIMEOUT = timedelta(seconds=20)
_PIP_VERSION = """\
import importlib.metadata
try:
    print(importlib.metadata.version("pip"))
except importlib.metadata.PackageNotFoundError:
    import ensurepip
    print(ensurepip.version())
"""
_NUMBER = lazy_compile(r"(\d+)\.(\d+)")


def choose_local_command(commands: str) -> str:
    """Of `apt install go, or brew install go` the one whose program exists here, else the first."""
    each = commands.split(", or ")
    one = (
        next((command for command in each if shutil.which(command.split()[0])), each[0])
        if commands
        else ""
    )
    of_system = one.startswith(("apt ", "dnf ", "zypper "))
    needs_root = of_system and os.geteuid() != 0 and shutil.which("sudo")
    return f"sudo {one}" if needs_root else one


def find_toolchain_remedy(output: str) -> str:
    """The command that installs what a stand-in lacks; empty when this is no such stand-in."""
    for pattern, command in _SHIMS:
        if match := pattern.search(output):
            words = [_COMPONENTS.get(word, word) for word in match.groups()]
            return command.format(*words)
    return ""


def find_own_python() -> str:
    """The `python` of the PATH when yaoki itself is installed in it; else empty.

    A check that calls it sees yaoki's packages instead of those of the project.
    """
    python = shutil.which("python")
    if not python or sys.prefix == sys.base_prefix:
        return ""
    return python if Path(python).parent.resolve() == _bin().resolve() else ""


def install_into_environment(tried: TrialResult, top: Path) -> TrialResult:
    """The result with remedies that install into the virtual environment of the check."""
    env = tried.check.env
    words = install_for_environment(tried.words, env, top)
    return replace(
        tried, words=words, next_command=install_for_environment(tried.next_command, env, top)
    )


def install_for_environment(text: str, env: Mapping[str, str], top: Path) -> str:
    """The text with commands of pip for the environment."""
    venv = env.get(VIRTUAL_ENV, "")
    is_done = UPGRADE in text  # `upgrade_pip_first` gets a command for the environment
    return _PIP.sub(_pip_command(venv, top), text) if venv and not is_done else text


def _pip_command(venv: str, top: Path) -> str:
    """An environment that uv made has no pip; without uv on the PATH its python brings pip."""
    pip = f"{venv}/bin/python -m pip install"
    if any((top / venv / "bin").glob("pip*")):
        return pip
    if shutil.which("uv"):
        return f"uv pip install --python {venv}"
    return f"{venv}/bin/python -m ensurepip && {pip}"


def upgrade_pip_first(command: str, python: str) -> str:
    """The command with an upgrade of pip before it where this Python's pip has no `--group`.

    `python`: the interpreter of the check; a pip whose version is unknown is upgraded as well.
    """
    is_pip = _PIP.match(command) and not command.startswith("uv ")
    if not is_pip or GROUP_OPTION not in command or _pip_version(python) >= PIP_WITH_GROUPS:
        return command
    first, _, install = command.rpartition(" && ")
    pip = _PIP.match(install)
    upgrade = f"{pip[0]}{UPGRADE}" if pip else ""
    return " && ".join(part for part in (first, upgrade, install) if part)


def _pip_version(python: str) -> tuple[int, ...]:
    """The version of the installed pip, else of the one that ensurepip brings; empty if unknown."""
    env = filter_environment(os.environ, COMMAND_VARIABLES)
    try:
        done = run_command(
            (python, "-I", "-c", _PIP_VERSION), cwd=Path("/"), env=env, timeout=LOOKUP_TIMEOUT
        )
    except Fault:
        return ()
    number = _NUMBER.match(done.out.decode("utf-8", "replace"))
    return tuple(int(part) for part in number.groups()) if number else ()


def suggest_more_time(timeout: timedelta) -> str:
    """The command with three times the time, in full hundreds; empty at the longest time."""
    seconds = min(math.ceil(3 * timeout.total_seconds() / 100) * 100, TRIAL_SECONDS_MAX)
    longer = seconds > timeout.total_seconds()
    return f"yaoki init --again --seconds {seconds}" if longer else ""


def suggest_project_python() -> str:
    """The command that puts the project's own python first and leaves `yaoki` on the PATH."""
    if os.environ.get("VIRTUAL_ENV") == sys.prefix:
        return f'deactivate; export PATH="$PATH:{_bin()}"'
    return f"activate your project's environment: its python must come before {_bin()} on the PATH"


def suggest_path_order() -> str:
    """The same as one shell command, whether or not an environment is active."""
    folder = _bin()
    if os.environ.get("VIRTUAL_ENV") == sys.prefix:
        return suggest_project_python()
    return f'export PATH="${{PATH#{folder}:}}:{folder}"'


def _bin() -> Path:
    return Path(sys.prefix) / "bin"
