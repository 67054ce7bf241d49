"""A child that is spoken with, line by line, over pipes."""

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
    """A signal came while we listened."""


@contextmanager
def watch_signal(number: int) -> Iterator[int]:
    """A descriptor that can be read once that signal came."""
    reader, writer = os.pipe()
    for end in (reader, writer):
        os.set_blocking(end, False)
    before = signal.signal(number, lambda *_: None)
    woken = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield reader
    finally:
        signal.set_wakeup_fd(woken)
        signal.signal(number, before)
        os.close(reader)
        os.close(writer)


class PipedProcess:
    """What is sent is written while we listen, so neither side waits for the other for ever.

    Its standard error goes where ours goes.
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
        self._give_up: float | None = None

    def set_deadline(self, seconds: float | None) -> None:
        """From now on whatever is awaited has to come within so many seconds; None: ever."""
        self._give_up = None if seconds is None else time.monotonic() + seconds

    def send_line(self, line: bytes) -> None:
        self._unsent += line + b"\n"

    def read_line(self, bell: int | None = None) -> bytes | None:
        """The next line; None when there will be none.

        `TimeoutError` when it does not come in time, `SignalReceived` when the bell rings first.
        Of a line that is longer than any frame only the beginning is given.
        """
        while (line := self._line()) is None:
            if not self._exchange(bell):
                return None
        return line

    @property
    def _left(self) -> float | None:
        return None if self._give_up is None else max(self._give_up - time.monotonic(), 0.0)

    def _line(self) -> bytes | None:
        while True:
            at = self._unread.find(b"\n", self._searched)
            if at < 0:
                return self._cut()
            line = bytes(self._unread[:at])
            del self._unread[: at + 1]
            self._searched = 0
            if not self._skipping:
                return line
            self._skipping = False

    def _cut(self) -> bytes | None:
        """The beginning of a line that is too long; what follows of it is skipped."""
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
        """Read or write once; False at the end of its output."""
        readers = [self._out.fileno(), *(() if bell is None else (bell,))]
        writers = [self._in.fileno()] if self._unsent else []
        readable, writable, _ = select.select(readers, writers, [], self._left)
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
        except BrokenPipeError:  # it reads no more; its output tells the rest
            self._unsent.clear()
            return
        del self._unsent[:sent]

    def close(self, seconds: float) -> int | None:
        """Say that nothing more comes; the exit code, or None if it did not end in time."""
        with contextlib.suppress(BrokenPipeError):
            self._in.close()
        self.set_deadline(seconds)
        self._unsent.clear()
        with contextlib.suppress(TimeoutError):
            # Whatever it still says must not keep it from ending.
            while self.read_line() is not None:
                continue
        self._out.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(self._left)
        return None
