"""Checks on exact commits in proof rooms: taken, set up once, restored before every look.

The content of a room is a function of the commit and the set-up key, so a verdict made in it does
not depend on anything that an agent, an earlier check or an earlier proof left behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yaoki.core.model import CheckSpec, EndCause, Finding, Outcome, Run, Task
from yaoki.engine.claim_context import ClaimContext
from yaoki.engine.stages.own_findings import check_changed_files_finding
from yaoki.engine.stages.processes import AttemptProcesses
from yaoki.ports import Checker, Processes, ProcessState, ProofRoom, ProofRooms

CheckFacts = Mapping[str, Any]
# Checks that start a program, which could change something.
PROGRAM_CHECK_TYPES = frozenset({"command", "judge", "python"})
SETUP = "setup"


class SetupFailed(Exception):
    """A set-up command failed in a room, so no check can run there."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class ProofSessions:
    """Opens a session for each proof."""

    def __init__(
        self, rooms: ProofRooms, checker: Checker, processes: Processes, attending: AttemptProcesses
    ) -> None:
        self._rooms, self._checker = rooms, checker
        self._processes, self._attending = processes, attending

    @contextmanager
    def session(
        self, run: Run, task: Task, home: Path, hold: ClaimContext
    ) -> Iterator[ProofSession]:
        """`home` holds the logs of set-up; the rooms are held until the session ends."""
        with ExitStack() as held:
            opener = _Opener(self._rooms, self._processes, self._attending, held)
            yield ProofSession(opener, self._checker, run, task, home, hold)


class ProofSession:
    """One proof: its rooms, by set-up key, and the looks made in them."""

    def __init__(
        self,
        opener: _Opener,
        checker: Checker,
        run: Run,
        task: Task,
        home: Path,
        hold: ClaimContext,
    ) -> None:
        self._opener, self._checker = opener, checker
        self._run, self._task, self._home, self._hold = run, task, home, hold

    def run_check(
        self,
        spec: CheckSpec,
        commit: str,
        folder: Path,
        facts: CheckFacts,
        bring: Callable[[Path], None] = lambda _: None,
    ) -> Finding:
        """Run one check on one commit; a check that changes tracked files proves nothing.

        `bring` adds files to the room for this one look, which then proves nothing of the commit.
        """
        try:
            room = self._opener.room(self._task, commit, facts["onto"], self._home, self._hold)
        except SetupFailed as failed:
            return failed.finding
        room.check_out(commit)
        bring(room.files)
        facts = {**facts, "commit": commit}
        if spec.type not in PROGRAM_CHECK_TYPES:
            return self._check(spec, room, folder, facts)
        places = room.empty_private_folders()
        room.occupy(folder)
        finding = self._check(spec, room, folder, {**facts, "room": places})
        room.occupy(None)
        changed = room.changed_files()
        good = finding.outcome in {Outcome.PASSED, Outcome.FLAKY}
        if changed and good:
            return check_changed_files_finding(finding, changed)
        return finding

    def _check(self, spec: CheckSpec, room: ProofRoom, folder: Path, facts: CheckFacts) -> Finding:
        stop = self._hold.stop_reason
        return self._checker.check(spec, room.files, folder, facts=facts, stop=lambda: bool(stop()))


@dataclass(frozen=True, slots=True)
class ProofCheck:
    """One check of one proof; `folder` holds the logs of its first look."""

    task: Task
    spec: CheckSpec
    folder: Path
    hold: ClaimContext
    session: ProofSession

    def run_on(
        self,
        commit: str,
        facts: CheckFacts,
        suffix: str = "",
        bring: Callable[[Path], None] = lambda _: None,
    ) -> Finding:
        folder = self.folder.with_name(f"{self.folder.name}{suffix}")
        return self.session.run_check(self.spec, commit, folder, facts, bring)


class _Opener:
    """Takes a room for each set-up key that a session needs, and runs set-up where it is due."""

    def __init__(
        self, rooms: ProofRooms, processes: Processes, attending: AttemptProcesses, held: ExitStack
    ) -> None:
        self._rooms, self._processes = rooms, processes
        self._attending, self._held = attending, held
        self._open: dict[str, ProofRoom] = {}

    def room(self, task: Task, commit: str, onto: str, home: Path, hold: ClaimContext) -> ProofRoom:
        """Set-up runs programs of the commit it works on, and others prove their work in what it
        made.  So a room that is shared is set up on what has landed; where the inputs of set-up
        are not those of `onto`, the room is for this commit alone.
        """
        key = self._key(task, commit)
        own = key != self._key(task, onto)
        key, on = (f"{key}-{commit}", commit) if own else (key, onto if task.spec.setup else commit)
        if key not in self._open:
            room = self._held.enter_context(self._rooms.acquire(key))
            self._end_occupant(room)
            if not room.is_ready:
                self._set_up(room, task, on, home / f"room-{key[:8]}", hold, own=own)
            self._open[key] = room
        return self._open[key]

    def _key(self, task: Task, commit: str) -> str:
        return self._rooms.key(commit, task.spec.setup, task.spec.setup_inputs)

    def _end_occupant(self, room: ProofRoom) -> None:
        """A killed worker may have left a check running here."""
        folder = room.occupant
        if folder is None:
            return
        for place in folder.parent.glob(f"{folder.name}*"):
            if self._processes.inspect(place).phase in {"running", "gone"}:
                self._processes.end(place, EndCause.STOP)
        room.occupy(None)

    def _set_up(
        self, room: ProofRoom, task: Task, commit: str, home: Path, hold: ClaimContext, *, own: bool
    ) -> None:
        """`own`: the task changed the inputs of set-up, so a failure is its own."""
        room.check_out(commit)
        for n, argv in enumerate(task.spec.setup, start=1):
            room.occupy(home / f"setup-{n}")
            ran = self._attending.run_to_end(home / f"setup-{n}", argv, room.files, hold, ())
            if (finding := self._setup_finding(argv, *ran, own=own)) is not None:
                raise SetupFailed(finding)
        room.occupy(None)
        room.record_setup_output()

    def _setup_finding(
        self, argv: tuple[str, ...], folder: Path, look: ProcessState, *, own: bool
    ) -> Finding | None:
        if look.code == 0 and not look.start_error:
            return None
        command, said = " ".join(argv), self._attending.last_output_line(folder, ())
        if look.start_error or look.code in {126, 127}:
            words = f"set-up command {command!r} cannot run: {look.start_error or said}"
            return Finding(SETUP, Outcome.BROKEN, message=words, code="RESOURCE_NOT_FOUND")
        words = f"set-up command {command!r} ended with {look.code}: {said}; log: {folder}"
        if not own:
            return Finding(SETUP, Outcome.BROKEN, message=words, transient=True)
        return Finding(
            SETUP,
            Outcome.FAILED,
            pattern="check-failed",
            message=f"with this change the {words}",
            exit_code=look.code,
            log=str(folder),
        )
