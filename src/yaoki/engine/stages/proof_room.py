"""Runs checks on exact commits in proof rooms, set up once and restored before every check.

The content of a room depends only on the commit and the set-up key, so a verdict does not depend
on anything that an agent, an earlier check or an earlier verification left behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType

from yaoki.core.commands.installers import list_installed_folders
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.machine.journal_notes import CheckRun, checks_ran_note
from yaoki.core.model import CheckRunPurpose, CheckSpec, EndCause, Finding, Outcome, Run, Task
from yaoki.core.model.check_types import PROGRAM_CHECKS
from yaoki.engine.claim_context import ClaimContext
from yaoki.engine.stages.own_findings import check_changed_files_finding
from yaoki.engine.stages.processes import AttemptProcesses
from yaoki.errors import FatalCode
from yaoki.ports import (
    SETUP_REASON,
    Checker,
    CheckFacts,
    Processes,
    ProcessPhase,
    ProcessState,
    ProofRoom,
    ProofRooms,
    SetupCopy,
)

SETUP = "setup"


class SetupFailed(Exception):
    """A set-up command failed in a room, so no check can run there."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class ProofSessions:
    """Opens a session for each verification."""

    def __init__(
        self,
        rooms: ProofRooms,
        checker: Checker,
        processes: Processes,
        attempts: AttemptProcesses,
        *,
        copy_setup: bool = True,
    ) -> None:
        self._rooms, self._checker = rooms, checker
        self._processes, self._attempts = processes, attempts
        self._copy_setup = copy_setup

    @contextmanager
    def session(
        self, run: Run, task: Task, home: Path, claim: ClaimContext
    ) -> Iterator[ProofSession]:
        """`home` gets the logs of set-up; the rooms are released when the session ends.

        The journal gets every execution of a check, also of a verification that is given up.
        """
        with ExitStack() as acquired:
            session = ProofSession(self._opener(acquired), self._checker, run, task, home, claim)
            try:
                yield session
            finally:
                if session.runs:
                    note = checks_ran_note(session.runs)
                    claim.note(note.name, note.data)

    def set_up_room(
        self, task: Task, landed_commit: str, home: Path, claim: ClaimContext
    ) -> Finding | None:
        """Have a room that is set up for this commit; returns why it failed."""
        with ExitStack() as acquired:
            try:
                self._opener(acquired).room(task, landed_commit, landed_commit, home, claim)
            except SetupFailed as failed:
                return failed.finding
        return None

    def _opener(self, acquired: ExitStack) -> _Opener:
        return _Opener(
            self._rooms,
            self._processes,
            self._attempts,
            acquired,
            copy_setup=self._copy_setup,
        )


class ProofSession:
    """A verification: its rooms, by set-up key, and the checks run in them."""

    def __init__(
        self,
        opener: _Opener,
        checker: Checker,
        run: Run,
        task: Task,
        home: Path,
        claim: ClaimContext,
    ) -> None:
        self._opener, self._checker = opener, checker
        self._run, self._task, self._home, self._hold = run, task, home, claim
        self.runs: list[CheckRun] = []
        # Failures on a base that are no baseline, by commit and key of the command.
        self.incomplete_bases: dict[tuple[str, str], Finding] = {}

    def run_check(
        self,
        spec: CheckSpec,
        commit: str,
        folder: Path,
        facts: CheckFacts,
        add_files: Callable[[Path], None] | None = None,
        replaced: Mapping[str, str] = MappingProxyType({}),
        purpose: CheckRunPurpose = CheckRunPurpose.CANDIDATE,
    ) -> Finding:
        """Run one check on one commit; a check that changes tracked files proves nothing.

        `add_files` adds files to the room for this run and `replaced` has other texts of tracked
        files; such a run proves nothing of the commit.
        """
        try:
            room = self._opener.room(
                self._task,
                commit,
                facts.onto,
                self._home,
                self._hold,
                is_hidden=spec.hidden is not None,
            )
        except SetupFailed as failed:
            return failed.finding
        room.check_out(commit)
        if spec.inputs:
            room.keep_only(spec.inputs)
        if add_files is not None:
            add_files(room.files)
        for path, text in replaced.items():
            room.replace_file(path, text)
        facts = replace(facts, commit=commit)
        if spec.type not in PROGRAM_CHECKS:
            return self._check(spec, room, folder, facts)
        private = room.empty_private_folders()
        room.occupy(folder)
        finding = self._check(spec, room, folder, replace(facts, room=private))
        self.runs.append(CheckRun(spec.name, purpose, finding.seconds))
        room.occupy(None)
        changed = tuple(path for path in room.changed_files() if path not in replaced)
        if changed and finding.outcome in {Outcome.PASSED, Outcome.FLAKY}:
            return check_changed_files_finding(finding, changed)
        return finding

    def setup_key(self, commit: str) -> str:
        return self._opener.key(self._task, commit)

    def _check(self, spec: CheckSpec, room: ProofRoom, folder: Path, facts: CheckFacts) -> Finding:
        stop = self._hold.stop_reason
        return self._checker.check(spec, room.files, folder, facts=facts, stop=lambda: bool(stop()))


@dataclass(frozen=True, slots=True)
class ProofCheck:
    """A check of one verification; `folder` gets the logs of its first run."""

    task: Task
    spec: CheckSpec
    folder: Path
    claim: ClaimContext
    session: ProofSession

    def run_on(
        self,
        commit: str,
        facts: CheckFacts,
        suffix: str = "",
        add_files: Callable[[Path], None] | None = None,
        *,
        purpose: CheckRunPurpose = CheckRunPurpose.CANDIDATE,
    ) -> Finding:
        folder = self.folder.with_name(f"{self.folder.name}{suffix}")
        return self.session.run_check(self.spec, commit, folder, facts, add_files, purpose=purpose)

    def run_with(
        self,
        commit: str,
        facts: CheckFacts,
        replaced: Mapping[str, str],
        suffix: str = "",
        *,
        purpose: CheckRunPurpose = CheckRunPurpose.MUTANT,
    ) -> Finding:
        """Run it with other texts of these tracked files."""
        folder = self.folder.with_name(f"{self.folder.name}{suffix}")
        return self.session.run_check(
            self.spec, commit, folder, facts, replaced=replaced, purpose=purpose
        )


def _room_name(key: str, *, is_hidden: bool) -> str:
    return f"{key}-hidden" if is_hidden else key


class _Opener:
    """Acquires a room for each set-up key that a session needs, and sets it up if necessary."""

    def __init__(
        self,
        rooms: ProofRooms,
        processes: Processes,
        attempts: AttemptProcesses,
        acquired: ExitStack,
        *,
        copy_setup: bool,
    ) -> None:
        self._rooms, self._processes = rooms, processes
        self._attempts, self._acquired = attempts, acquired
        self._copy_setup = copy_setup
        self._open: dict[str, ProofRoom] = {}

    def room(
        self,
        task: Task,
        commit: str,
        onto: str,
        home: Path,
        claim: ClaimContext,
        *,
        is_hidden: bool = False,
    ) -> ProofRoom:
        """A shared room, or one for this commit alone.

        Set-up runs programs of a commit, and other tasks are verified with its output.  So a
        shared room is set up on what has landed.  If the commit changes the inputs of set-up, it
        gets its own room; if set-up builds from the sources, any change does.  Hidden checks have
        rooms apart: code that read their files must not find a way to leave something for a check
        whose output an agent reads.
        """
        shared = self.key(task, onto)
        own = self.key(task, commit) != shared
        on = commit if own or not task.spec.setup else onto
        key = f"{self.key(task, commit)}-{commit}" if own else shared
        name = _room_name(key, is_hidden=is_hidden)
        if name in self._open:
            return self._open[name]
        room = self._acquired.enter_context(self._rooms.acquire(name))
        self._end_occupant(room)
        if not room.is_ready and not self._copy_output(room, key, task, on):
            place = home / f"room-{'own-' if own else ''}{key[:8]}"
            if own:
                self._record_reason(task, commit, onto, place)
            self._set_up(room, task, on, place, claim, own=own)
        if own or (known := self.key(task, onto)) == shared:
            self._open[name] = room
            return room
        # Set-up has shown that it builds from the sources, so this room is for their state.
        self._open[_room_name(known, is_hidden=is_hidden)] = room
        return self.room(task, commit, onto, home, claim, is_hidden=is_hidden)

    def _copy_output(self, room: ProofRoom, key: str, task: Task, commit: str) -> bool:
        """Take the output of a room with the same key, if only package managers made it."""
        folders = list_installed_folders(task.spec.setup) if self._copy_setup else ()
        if not folders:
            return False
        room.check_out(commit)
        if self._rooms.copy_setup_output(key, room.files, folders) is not SetupCopy.COPIED:
            return False
        room.record_setup_output(is_copy=True)
        return True

    def key(self, task: Task, commit: str) -> str:
        return self._rooms.key(commit, task.spec.setup, task.spec.setup_inputs)

    def _record_reason(self, task: Task, commit: str, onto: str, place: Path) -> None:
        """Why this room is for one commit, for those who watch its set-up."""
        setup, inputs = task.spec.setup, task.spec.setup_inputs
        reason = self._rooms.describe_difference(commit, onto, setup, inputs)
        place.mkdir(parents=True, exist_ok=True)
        (place / SETUP_REASON).write_text(reason, "utf-8", "replace")

    def _end_occupant(self, room: ProofRoom) -> None:
        """A killed worker may have left a check running here."""
        folder = room.occupant
        if folder is None:
            return
        for place in folder.parent.glob(f"{folder.name}*"):
            if self._processes.inspect(place).phase in {ProcessPhase.RUNNING, ProcessPhase.GONE}:
                self._processes.end(place, EndCause.STOP)
        room.occupy(None)

    def _set_up(
        self,
        room: ProofRoom,
        task: Task,
        commit: str,
        home: Path,
        claim: ClaimContext,
        *,
        own: bool,
    ) -> None:
        """`own`: the task changed the inputs of set-up, so a failure of set-up is the task's."""
        room.check_out(commit)
        for n, argv in enumerate(task.spec.setup, start=1):
            room.occupy(home / f"setup-{n}")
            result = self._attempts.run_to_end(home / f"setup-{n}", argv, room.files, claim, ())
            if (finding := self._setup_finding(argv, *result, own=own)) is not None:
                raise SetupFailed(finding)
        room.occupy(None)
        room.record_setup_output()

    def _setup_finding(
        self, argv: tuple[str, ...], folder: Path, state: ProcessState, *, own: bool
    ) -> Finding | None:
        if state.code == 0 and not state.start_error:
            return None
        command, output = " ".join(argv), self._attempts.last_output_line(folder, ())
        if state.start_error or state.code in {126, 127}:
            message = f"set-up command {command!r} cannot run: {state.start_error or output}"
            return Finding(
                SETUP, Outcome.BROKEN, message=message, code=FatalCode.RESOURCE_NOT_FOUND
            )
        message = f"set-up command {command!r} ended with {state.code}: {output}; log: {folder}"
        if not own:
            return Finding(SETUP, Outcome.BROKEN, message=message, transient=True)
        return Finding(
            SETUP,
            Outcome.FAILED,
            pattern="check-failed",
            message=f"with this change the {message}",
            exit_code=state.code,
            log=str(folder),
        )
