"""Signals that wake the shim, and signals that it sends."""

from __future__ import annotations

import os
import select
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType

# The sleep without a signal.
POLL_S_MIN, POLL_S_MAX = 0.05, 0.25


class SignalWaiter:
    """Sleeps until a signal arrives or the time is over."""

    def __init__(self) -> None:
        self.stop_requested = False
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, self._on_signal)
        signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        self.stop_requested = self.stop_requested or number == signal.SIGTERM

    def wait(self, seconds: float) -> None:
        if select.select([self._reader], [], [], max(seconds, 0.0))[0]:
            os.read(self._reader, 4096)


def send_signal(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue  # gone meanwhile, or of another user; the next scan of the tree shows it
