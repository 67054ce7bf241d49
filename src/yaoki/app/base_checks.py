"""Checks tried on one commit outside any run, in a proof room as a run would use."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path

from yaoki.adapters.processes.command import run_command
from yaoki.app.remedies import choose_local_command
from yaoki.core.environment import COMMAND_VARIABLES, filter_environment
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import CheckSpec, Finding
from yaoki.core.model.check_types import PROGRAM_CHECKS
from yaoki.core.text import one_line, strip_terminal_codes
from yaoki.errors import Fault
from yaoki.ports import Checker, ProofRoom, ProofRooms, commit_facts

SETUP_TIMEOUT = timedelta(minutes=10)
WORDS_CHARS_MAX = 200
# Prints progress lines while the context is open.
Progress = Callable[[str], AbstractContextManager[object]]


def report_nothing(_: str) -> AbstractContextManager[object]:
    return nullcontext()


@dataclass(frozen=True, slots=True)
class BaseSetup:
    """The commands that prepare a checkout, and the globs of the files that they read."""

    commands: tuple[tuple[str, ...], ...] = ()
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SetupProblem:
    """Why set-up failed, and the command that helps."""

    words: str
    remedy: str


@dataclass(frozen=True, slots=True)
class BaseRoom:
    """A locked proof room and the commit that is checked out in it."""

    room: ProofRoom
    checker: Checker
    commit: str

    def run_check(self, spec: CheckSpec, logs: Path) -> Finding:
        """Run one check; the caller decides about tracked files that it changes."""
        self.room.check_out(self.commit)
        if spec.inputs:
            self.room.keep_only(spec.inputs)
        facts = commit_facts(self.commit)
        if spec.type in PROGRAM_CHECKS:
            facts = replace(facts, room=self.room.empty_private_folders())
        return self.checker.check(spec, self.room.files, logs, facts=facts, stop=lambda: False)

    def changed_files(self) -> tuple[str, ...]:
        """The tracked files that the last check changed."""
        return self.room.changed_files()


@contextmanager
def open_base_room(
    rooms: ProofRooms, checker: Checker, commit: str, setup: BaseSetup, progress: Progress
) -> Iterator[tuple[BaseRoom, SetupProblem | None]]:
    """The room that a run with this set-up uses, and why the set-up failed in it."""
    with rooms.acquire(rooms.key(commit, setup.commands, setup.inputs)) as room:
        problem = None
        if not room.is_ready:
            room.check_out(commit)
            problem = _run_setup(setup.commands, room.files, progress)
            if problem is None:
                room.record_setup_output()
        yield BaseRoom(room, checker, commit), problem


def _run_setup(
    commands: tuple[tuple[str, ...], ...], place: Path, progress: Progress
) -> SetupProblem | None:
    for argv in commands:
        command = shlex.join(argv)
        with progress(f"preparing: {command}"):
            words, code = _run_to_end(argv, place)
        if code != 0:
            missing = "/" not in argv[0] and shutil.which(argv[0]) is None
            remedy = suggest_install(argv[0]) if missing else command
            return SetupProblem(f"set-up command {command!r} {words}", remedy)
    return None


def _run_to_end(argv: tuple[str, ...], place: Path) -> tuple[str, int]:
    env = filter_environment(os.environ, COMMAND_VARIABLES)
    try:
        done = run_command(argv, cwd=place, env=env, timeout=SETUP_TIMEOUT)
    except Fault as fault:
        return f"failed: {fault.sentence}", 1
    lines = (done.err or done.out).decode("utf-8", "replace").strip().splitlines()
    last = one_line(strip_terminal_codes(lines[-1]), WORDS_CHARS_MAX) if lines else ""
    return f"ended with code {done.code}" + (f": {last}" if last else ""), done.code


def suggest_install(program: str) -> str:
    """The command that installs a program; the program's name when none is known."""
    from yaoki.formats.discovery import install_command

    return choose_local_command(install_command(program)) or f"install {program}"
