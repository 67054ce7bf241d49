"""One session at the store: what is read of it and what is written."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store import make_home
from yaoki.adapters.store.tables.sessions import record_session, session_lines
from yaoki.adapters.system.machine import machine_id
from yaoki.faces.hooks.call import due_file
from yaoki.faces.hooks.state import Phase, Session, fold, phase_of
from yaoki.faces.hooks.supported_agents import HOOKED

if TYPE_CHECKING:
    from yaoki.app import App

Told = tuple[str, Mapping[str, Any]]
LOCKS_KEPT = 200


def checkout_of(app: App) -> str:
    """This folder on this machine: many may share one store."""
    return hashlib.sha256(f"{machine_id()}:{app.repository.top}".encode()).hexdigest()[:16]


class Desk:
    """A session of one agent in one checkout."""

    def __init__(self, app: App, key: str, agent: str = "") -> None:
        self.app, self.key, self.agent = app, key, agent
        self.checkout = checkout_of(app)
        self.folder = app.home / "hooks"
        self.due = Path(due_file(str(app.home), key))

    @property
    def phase(self) -> Phase:
        return phase_of(session_lines(self.app.store.database, self.checkout))

    @property
    def session(self) -> Session:
        lines = session_lines(self.app.store.database, self.checkout, self.key)
        return fold(lines, self.phase)

    def most(self, phase: Phase) -> int:
        """Tries in one phase.  An agent that stops listening some day gets no more than it hears:
        then the person is asked, and no refusal is passed over.
        """
        usual = self.app.settings.retry.content_retries_max + 1
        cap = HOOKED[self.agent].refusals_max if self.agent in HOOKED else 0
        wanted = phase.iterations_max or usual
        return min(wanted, cap) if cap else wanted

    def record(self, decide: Callable[[Session, Phase], Iterable[Told]]) -> Session:
        """What `decide` makes of the session as it stands inside the transaction.

        The mark for the next prompt stands before the line that it is about, and goes after it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self.due.touch()
        phases: list[Phase] = []

        def told(checkout: Iterable[Any], own: Iterable[Any]) -> Iterable[Told]:
            phases.append(phase_of(checkout))
            return decide(fold(own, phases[-1]), phases[-1])

        now, database = self.app.clock.now(), self.app.store.database
        lines = record_session(database, self.checkout, self.key, now, told)
        session = fold(lines, phases[-1])
        if session.to_inject is None:
            self.due.unlink(missing_ok=True)
        return session

    def tidy(self) -> None:
        """Locks of sessions that are long over go; nobody holds one that is so old."""
        locks = [(file.stat().st_mtime, file) for file in self.folder.glob("*.lock")]
        for _, old in sorted(locks)[:-LOCKS_KEPT]:
            old.unlink(missing_ok=True)

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """True for one hook of a session at a time: a hook that stands in two files counts once."""
        make_home(self.app.home)
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
