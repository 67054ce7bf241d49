"""Dependencies of a fresh worktree: copied from a proof room with the same lock file.

The set-up runs once, in a proof room, on what has landed.  Every worktree that starts on a commit
with the same inputs gets a copy of its own.  Nothing ever goes the other way: what an agent did to
its copy reaches no proof.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from yaoki.core.commands.installers import list_installed_folders
from yaoki.core.model import Finding, Task
from yaoki.core.model.stage_report import StageFaulted
from yaoki.engine.claim_context import ClaimContext, ClaimSuperseded, StopReason
from yaoki.engine.stages.proof_room import ProofSessions
from yaoki.ports import Clock, ProofRooms, SetupCopy

POLL = timedelta(milliseconds=250)


class DependencyCopy:
    """Used where only package managers set a worktree up; any other command runs in each."""

    def __init__(
        self, rooms: ProofRooms, sessions: ProofSessions, clock: Clock, *, is_enabled: bool
    ) -> None:
        self._rooms, self._sessions, self._clock = rooms, sessions, clock
        self._is_enabled = is_enabled

    def install(
        self, task: Task, landed_commit: str, worktree: Path, home: Path, claim: ClaimContext
    ) -> bool | StageFaulted:
        """True when the worktree, which contains `landed_commit`, needs no set-up of its own.

        `home` gets the logs of a set-up that has to run first.
        """
        spec = task.spec
        folders = list_installed_folders(spec.setup) if self._is_enabled else ()
        if not folders:
            return False
        key = self._rooms.key(landed_commit, spec.setup, spec.setup_inputs)
        while True:
            copied = self._rooms.copy_setup_output(key, worktree, folders)
            if copied is not SetupCopy.ABSENT:
                return copied is SetupCopy.COPIED
            with self._rooms.lock_setup(key) as is_mine:
                if is_mine:
                    failed = self._sessions.set_up_room(task, landed_commit, home, claim)
                    if failed is not None:
                        return _as_fault(failed)
                    copied = self._rooms.copy_setup_output(key, worktree, folders)
                    return copied is SetupCopy.COPIED
            if stopped := _stop(claim):
                return stopped
            # Another task runs the same set-up.
            self._clock.sleep(POLL)


def _stop(claim: ClaimContext) -> StageFaulted | None:
    reason = claim.stop_reason()
    if reason is StopReason.LOST:
        raise ClaimSuperseded
    return StageFaulted(f"ended by {reason} before set-up", transient=True) if reason else None


def _as_fault(finding: Finding) -> StageFaulted:
    return StageFaulted(finding.message, transient=finding.transient, code=finding.code)
