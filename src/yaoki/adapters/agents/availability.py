"""Which known agents answer here: their version is asked for, all at once, in bounded time."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.agents.preset import AgentPreset, load_preset, shipped_preset_names
from yaoki.adapters.processes.command import run_command
from yaoki.core.environment import BASIC_VARIABLES, filter_environment
from yaoki.core.text import one_line, strip_terminal_codes
from yaoki.errors import Fault

PROBE_TIMEOUT = timedelta(seconds=10)
OUTPUT_BYTES_MAX = 1 << 20
VERSION_CHARS_MAX = 60
# Who is named first is the default of a first settings file.
PREFERRED_PRESETS = ("claude", "codex", "gemini", "opencode", "aider")


@dataclass(frozen=True, slots=True)
class AgentAvailability:
    """A known agent whose program is on the PATH; `words` are its version, or why there is none."""

    preset: AgentPreset
    is_responding: bool
    version_or_reason: str


def find_presets_on_path() -> list[AgentPreset]:
    """The known agents whose program is here; one that speaks two protocols is named once."""
    known = [load_preset(name) for name in shipped_preset_names()]
    here = [held for held in known if not held.protocol and shutil.which(held.program)]
    order = {name: place for place, name in enumerate(PREFERRED_PRESETS)}
    return sorted(here, key=lambda held: (order.get(held.name, len(order)), held.name))


def probe_presets(
    asked: Iterable[AgentPreset], timeout: timedelta = PROBE_TIMEOUT
) -> list[AgentAvailability]:
    """Ask each of them at the same time; one that hangs holds up nobody and is ended."""
    listed = list(asked)
    if not listed:
        return []
    with (
        tempfile.TemporaryDirectory(prefix="yaoki-probe-") as folder,
        ThreadPoolExecutor(max_workers=len(listed)) as pool,
    ):
        return list(pool.map(lambda held: _asked(held, Path(folder), timeout), listed))


def _asked(about: AgentPreset, folder: Path, timeout: timedelta) -> AgentAvailability:
    program = shutil.which(about.program)
    if program is None:
        return AgentAvailability(about, False, f"{about.program} is not on the PATH")
    env = filter_environment(os.environ, (*BASIC_VARIABLES, *about.pass_env))
    argv = (program, *about.version)
    try:
        done = run_command(
            argv, cwd=folder, env=env, timeout=timeout, output_bytes_max=OUTPUT_BYTES_MAX
        )
    except Fault as fault:
        return AgentAvailability(about, False, fault.sentence)
    said = strip_terminal_codes((done.out or done.err).decode("utf-8", errors="replace")).split(
        "\n"
    )
    words = one_line(next((line for line in said if line.strip()), ""), VERSION_CHARS_MAX)
    if done.code != 0:
        return AgentAvailability(
            about, False, f"exit code {done.code}{': ' + words if words else ''}"
        )
    return AgentAvailability(about, True, words or "answers, and tells no version")
