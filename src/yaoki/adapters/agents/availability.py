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

from yaoki.adapters.agents.preset import Description, describe, known_names
from yaoki.adapters.processes.command import run
from yaoki.core.display import one_line, plain
from yaoki.core.environment import BASIC, allowed
from yaoki.errors import Fault

PROBE = timedelta(seconds=10)
OUTPUT_BYTES_MAX = 1 << 20
VERSION_CHARS_MAX = 60
# Who is named first is the default of a first settings file.
FAVOURED = ("claude", "codex", "gemini", "opencode", "aider")


@dataclass(frozen=True, slots=True)
class Answered:
    """A known agent whose program is on the PATH; `words` are its version, or why there is none."""

    about: Description
    answers: bool
    words: str


def on_path() -> list[Description]:
    """The known agents whose program is here; one that speaks two protocols is named once."""
    known = [describe(name) for name in known_names()]
    here = [held for held in known if not held.protocol and shutil.which(held.program)]
    order = {name: place for place, name in enumerate(FAVOURED)}
    return sorted(here, key=lambda held: (order.get(held.name, len(order)), held.name))


def answering(asked: Iterable[Description], timeout: timedelta = PROBE) -> list[Answered]:
    """Ask each of them at the same time; one that hangs holds up nobody and is ended."""
    listed = list(asked)
    if not listed:
        return []
    with (
        tempfile.TemporaryDirectory(prefix="yaoki-probe-") as folder,
        ThreadPoolExecutor(max_workers=len(listed)) as pool,
    ):
        return list(pool.map(lambda held: _asked(held, Path(folder), timeout), listed))


def _asked(about: Description, folder: Path, timeout: timedelta) -> Answered:
    program = shutil.which(about.program)
    if program is None:
        return Answered(about, False, f"{about.program} is not on the PATH")
    env = allowed(os.environ, (*BASIC, *about.pass_env))
    argv = (program, *about.version)
    try:
        done = run(argv, cwd=folder, env=env, timeout=timeout, output_bytes_max=OUTPUT_BYTES_MAX)
    except Fault as fault:
        return Answered(about, False, fault.sentence)
    said = plain((done.out or done.err).decode("utf-8", errors="replace")).split("\n")
    words = one_line(next((line for line in said if line.strip()), ""), VERSION_CHARS_MAX)
    if done.code != 0:
        return Answered(about, False, f"exit code {done.code}{': ' + words if words else ''}")
    return Answered(about, True, words or "answers, and tells no version")
