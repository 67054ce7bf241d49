"""The last guard of trust: no process of an untrusted repository starts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.processes.sandbox import GuardedProcesses

if TYPE_CHECKING:
    from yaoki.app.trust import Trust
    from yaoki.ports import Launch, Processes


class TrustedProcesses(GuardedProcesses):
    """Refuses to start processes of an untrusted repository, whichever caller forgot to ask."""

    def __init__(self, processes: Processes, trust: Trust) -> None:
        super().__init__(processes)
        self._trust = trust

    def start(self, folder: Path, launch: Launch) -> None:
        self._trust.require_trusted()
        super().start(folder, launch)
