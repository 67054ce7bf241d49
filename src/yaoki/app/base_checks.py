"""Checks tried on one commit outside any run, in a proof room as a run would use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import CheckSpec, Finding
from yaoki.core.model.check_types import PROGRAM_CHECKS
from yaoki.ports import Checker, ProofRoom, ProofRooms, commit_facts


@dataclass(frozen=True, slots=True)
class BaseRoom:
    """A locked proof room and the commit that is checked out in it."""

    room: ProofRoom
    checker: Checker
    commit: str

    def run_check(self, spec: CheckSpec, logs: Path) -> Finding:
        """Run one check; the caller decides about tracked files that it changes."""
        self.room.check_out(self.commit)
        facts = commit_facts(self.commit)
        if spec.type in PROGRAM_CHECKS:
            facts = replace(facts, room=self.room.empty_private_folders())
        return self.checker.check(spec, self.room.files, logs, facts=facts, stop=lambda: False)

    def changed_files(self) -> tuple[str, ...]:
        """The tracked files that the last check changed."""
        return self.room.changed_files()


@contextmanager
def open_base_room(
    rooms: ProofRooms,
    checker: Checker,
    commit: str,
    setup: Sequence[Sequence[str]],
    prepare: Callable[[Path], str],
) -> Iterator[tuple[BaseRoom, str]]:
    """The room, and why set-up failed: `prepare` runs it and returns the reason."""
    with rooms.acquire(rooms.key(commit, setup, ())) as room:
        words = ""
        if not room.is_ready:
            room.check_out(commit)
            words = prepare(room.files)
            if not words:
                room.record_setup_output()
        yield BaseRoom(room, checker, commit), words
