"""Finds known agents on this machine by asking all of them for their version, with a timeout."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.agents.preset import AgentPreset, load_preset, shipped_preset_names
from yaoki.adapters.processes.command import run_command
from yaoki.core.environment import BASIC_VARIABLES, filter_environment
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import one_line, strip_terminal_codes
from yaoki.errors import Fault

PROBE_TIMEOUT = timedelta(seconds=10)
OUTPUT_BYTES_MAX = 1 << 20
VERSION_CHARS_MAX = 60
# The first one found becomes the default in a new settings file.
PREFERRED_PRESETS = ("claude", "codex", "gemini", "opencode", "aider")


@dataclass(frozen=True, slots=True)
class AgentAvailability:
    """A known agent on the PATH; `words` is its version, or why there is none."""

    preset: AgentPreset
    is_responding: bool
    version_or_reason: str


def find_presets_on_path() -> list[AgentPreset]:
    """Known agents on the PATH; an agent with two protocols appears once."""
    presets = [load_preset(name) for name in shipped_preset_names()]
    available = [
        preset for preset in presets if not preset.protocol and shutil.which(preset.program)
    ]
    order = {name: place for place, name in enumerate(PREFERRED_PRESETS)}
    return sorted(available, key=lambda preset: (order.get(preset.name, len(order)), preset.name))


def probe_presets(
    presets: Iterable[AgentPreset], timeout: timedelta = PROBE_TIMEOUT
) -> list[AgentAvailability]:
    """Asks all at the same time; an agent that hangs is ended and does not delay the others."""
    targets = list(presets)
    if not targets:
        return []
    with (
        tempfile.TemporaryDirectory(prefix="yaoki-probe-") as folder,
        ThreadPoolExecutor(max_workers=len(targets)) as pool,
    ):
        return list(pool.map(lambda preset: _probe(preset, Path(folder), timeout), targets))


def _probe(preset: AgentPreset, folder: Path, timeout: timedelta) -> AgentAvailability:
    program = shutil.which(preset.program)
    if program is None:
        return AgentAvailability(preset, False, f"{preset.program} is not on the PATH")
    env = filter_environment(os.environ, (*BASIC_VARIABLES, *preset.pass_env))
    argv = (program, *preset.version)
    try:
        result = run_command(
            argv, cwd=folder, env=env, timeout=timeout, output_bytes_max=OUTPUT_BYTES_MAX
        )
    except Fault as fault:
        return AgentAvailability(preset, False, fault.sentence)
    lines = strip_terminal_codes(
        (result.out or result.err).decode("utf-8", errors="replace")
    ).split("\n")
    version = one_line(next((line for line in lines if line.strip()), ""), VERSION_CHARS_MAX)
    if result.code != 0:
        return AgentAvailability(
            preset, False, f"exit code {result.code}{': ' + version if version else ''}"
        )
    return AgentAvailability(preset, True, version or "works, but reports no version")
