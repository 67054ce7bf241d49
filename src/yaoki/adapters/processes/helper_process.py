"""A process that serves another and ends with it: its standard input is the line between them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress

STOP_S = 10.0


class HelperProcess:
    """Started in a session of its own, with one line of words and open descriptors."""

    def __init__(self, argv: Sequence[str], told: bytes, descriptors: Sequence[int] = ()) -> None:
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, pass_fds=tuple(descriptors), start_new_session=True
        )
        assert self._process.stdin is not None
        self._line = self._process.stdin
        with suppress(BrokenPipeError):  # it has ended already, which `wait` tells
            self._line.write(told + b"\n")
            self._line.flush()

    def wait(self) -> int:
        return self._process.wait()

    def stop(self) -> None:
        """The line closes, which ends it; whatever hangs is killed."""
        with suppress(OSError):
            self._line.close()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
