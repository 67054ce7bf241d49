"""Reads and writes one session in the store."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store import make_home
from yaoki.adapters.store.tables.sessions import read_session_lines, record_session
from yaoki.adapters.system.machine import machine_id
from yaoki.faces.hooks.call import pending_reason_file
from yaoki.faces.hooks.state import HookSession, SessionPhase, current_phase, fold_session
from yaoki.faces.hooks.supported_agents import HOOKED_AGENTS

if TYPE_CHECKING:
    from yaoki.app.build import App

NewSessionEvent = tuple[str, Mapping[str, Any]]
LOCKS_KEPT = 200


def checkout_name(app: App) -> str:
    """Names this folder on this machine, because several machines may share one store."""
    return hashlib.sha256(f"{machine_id()}:{app.repository.top}".encode()).hexdigest()[:16]


class SessionStore:
    """A session of one agent in one checkout."""

    def __init__(self, app: App, key: str, agent: str = "") -> None:
        self.app, self.key, self.agent = app, key, agent
        self.checkout = checkout_name(app)
        self.folder = app.yaoki_folder / "hooks"
        self.pending_file = Path(pending_reason_file(str(app.yaoki_folder), key))

    @property
    def phase(self) -> SessionPhase:
        return current_phase(read_session_lines(self.app.store.database, self.checkout))

    @property
    def session(self) -> HookSession:
        lines = read_session_lines(self.app.store.database, self.checkout, self.key)
        return fold_session(lines, self.phase)

    def tries_max(self, phase: SessionPhase) -> int:
        """The tries in one phase: never more refusals in a row than the agent obeys, so that the
        person is asked before the agent ignores a refusal.
        """
        usual = self.app.settings.retry.content_retries_max + 1
        cap = HOOKED_AGENTS[self.agent].refusals_max if self.agent in HOOKED_AGENTS else 0
        wanted = phase.iterations_max or usual
        return min(wanted, cap) if cap else wanted

    def record(
        self, decide: Callable[[HookSession, SessionPhase], Iterable[NewSessionEvent]]
    ) -> HookSession:
        """Record what `decide` returns for the session, inside one transaction.

        The file that marks a pending reason is written before the entry and deleted after it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self.pending_file.touch()
        phases: list[SessionPhase] = []

        def told(checkout: Iterable[Any], own: Iterable[Any]) -> Iterable[NewSessionEvent]:
            phases.append(current_phase(checkout))
            return decide(fold_session(own, phases[-1]), phases[-1])

        now, database = self.app.clock.now(), self.app.store.database
        lines = record_session(database, self.checkout, self.key, now, told)
        session = fold_session(lines, phases[-1])
        if session.reason_to_inject is None:
            self.pending_file.unlink(missing_ok=True)
        return session

    def delete_old_locks(self) -> None:
        """Delete the locks of old sessions; no process holds one that is so old."""
        locks = [(file.stat().st_mtime, file) for file in self.folder.glob("*.lock")]
        for _, old in sorted(locks)[:-LOCKS_KEPT]:
            old.unlink(missing_ok=True)

    @contextmanager
    def lock_session(self) -> Iterator[bool]:
        """True for one hook call of a session at a time: a hook in two settings files runs once."""
        make_home(self.app.yaoki_folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.folder / f"{self.key}.lock", os.O_RDWR | os.O_CREAT, 0o644)
        os.utime(descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield True
        except BlockingIOError:
            yield False
        finally:
            os.close(descriptor)
