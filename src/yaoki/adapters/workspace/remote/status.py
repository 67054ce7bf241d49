"""The state of the remote: its last answer, and refs that still have to be pushed."""

from __future__ import annotations

from yaoki.adapters.workspace.os_errors import translates_os_errors
from yaoki.adapters.workspace.remote.mode import RemoteMode


class RemoteStatus:
    def __init__(self, mode: RemoteMode) -> None:
        self._mode = mode

    @property
    def name(self) -> str:
        """The name of the remote in git's settings; empty without one."""
        return self._mode.name

    @translates_os_errors
    def catch_up_with_remote(self) -> None:
        """Ask an unreachable remote again, and push what is pending."""
        if self._mode.problem:
            self._mode.check_reachable()
        self._mode.push_pending()

    @translates_os_errors
    def remote_problem(self) -> str:
        """A sentence when the remote did not answer the last call; else empty."""
        return self._mode.problem

    @translates_os_errors
    def check_remote(self) -> str:
        """Ask the remote; returns its name for people, empty without a remote."""
        self._mode.check_reachable()
        return self._mode.display_name

    @translates_os_errors
    def worktree_host(self, machine: str) -> str:
        """Identifies where a worktree is: the machine, and the clone if several share a remote."""
        return self._mode.worktree_host(machine)
