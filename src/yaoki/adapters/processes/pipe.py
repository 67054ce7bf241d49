"""A child process with which we exchange lines over pipes."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

LINE_BYTES_MAX = 32 << 20
BLOCK_BYTES = 1 << 16


class SignalReceived(Exception):
    """A signal arrived while we waited for a line."""


@contextmanager
def watch_signal(number: int) -> Iterator[int]:
    """A descriptor that becomes readable when the signal arrives."""
    reader, writer = os.pipe()
    for end in (reader, writer):
        os.set_blocking(end, False)
    previous_handler = signal.signal(number, lambda *_: None)
    previous_fd = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(previous_fd)
        signal.signal(number, previous_handler)
        os.close(reader)
        os.close(writer)


class PipedProcess:
    """Writes while it waits for output, so that neither side blocks the other forever.

    The child inherits our standard error.
    """

    def __init__(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert self._process.stdin is not None, "started with pipes"
        assert self._process.stdout is not None, "started with pipes"
        self._in, self._out = self._process.stdin, self._process.stdout
        os.set_blocking(self._in.fileno(), False)
        self._unsent, self._unread = bytearray(), bytearray()
        self._searched, self._skipping = 0, False
        self._deadline: float | None = None

    def set_deadline(self, seconds: float | None) -> None:
        """Limits all waiting from now on; None removes the limit."""
        self._deadline = None if seconds is None else time.monotonic() + seconds

    def send_line(self, line: bytes) -> None:
        self._unsent += line + b"\n"

    def read_line(self, bell: int | None = None) -> bytes | None:
        """The next line; None at the end of the output.

        Raises `TimeoutError` at the deadline and `SignalReceived` if the descriptor `bell` becomes
        readable first.  Of a line longer than `LINE_BYTES_MAX` only the beginning is returned.
        """
        while (line := self._take_line()) is None:
            if not self._exchange(bell):
                return None
        return line

    @property
    def _remaining_s(self) -> float | None:
        return None if self._deadline is None else max(self._deadline - time.monotonic(), 0.0)

    def _take_line(self) -> bytes | None:
        while True:
            at = self._unread.find(b"\n", self._searched)
            if at < 0:
                return self._take_long_line()
            line = bytes(self._unread[:at])
            del self._unread[: at + 1]
            self._searched = 0
            if not self._skipping:
                return line
            self._skipping = False

    def _take_long_line(self) -> bytes | None:
        """The beginning of a line that is too long; the rest of it is skipped."""
        if self._skipping:
            self._unread.clear()
        self._searched = len(self._unread)
        if self._searched <= LINE_BYTES_MAX:
            return None
        line, self._skipping = bytes(self._unread[:BLOCK_BYTES]), True
        self._unread.clear()
        self._searched = 0
        return line

    def _exchange(self, bell: int | None) -> bool:
        """Reads or writes once; False at the end of the output."""
        readers = [self._out.fileno(), *(() if bell is None else (bell,))]
        writers = [self._in.fileno()] if self._unsent else []
        readable, writable, _ = select.select(readers, writers, [], self._remaining_s)
        if bell in readable:
            raise SignalReceived
        if writable:
            self._write()
        if self._out.fileno() in readable:
            block = os.read(self._out.fileno(), BLOCK_BYTES)
            self._unread += block
            return bool(block)
        if not writable:
            raise TimeoutError
        return True

    def _write(self) -> None:
        try:
            sent = os.write(self._in.fileno(), self._unsent[:BLOCK_BYTES])
        except BrokenPipeError:  # it stopped reading; its output says why
            self._unsent.clear()
            return
        del self._unsent[:sent]

    def close(self, seconds: float) -> int | None:
        """Closes the input; returns the exit code, or None if the child does not end in time."""
        with contextlib.suppress(BrokenPipeError):
            self._in.close()
        self.set_deadline(seconds)
        self._unsent.clear()
        with contextlib.suppress(TimeoutError):
            # Drain the output, or a full pipe would keep the child from ending.
            while self.read_line() is not None:
                continue
        self._out.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(self._remaining_s)
        return None
