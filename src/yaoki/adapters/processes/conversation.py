"""A program that answers one line at a time, kept for the next question.

It is begun when it is first asked and ends when its input closes: with us, however we end.
"""

from __future__ import annotations

import os
import select
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from yaoki.adapters.processes.command import make_start_fault
from yaoki.errors import Fault

ReplyValue = TypeVar("ReplyValue")
CHUNK = 1 << 16
END_S = 1.0


class _Ended(Exception):
    """The program is gone, or says nothing any more."""


class ProcessReply:
    """What the program says to one question, read as far as it goes."""

    def __init__(self, descriptor: int, timeout: timedelta) -> None:
        self._descriptor = descriptor
        self._until = time.monotonic() + timeout.total_seconds()
        self._held = b""
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def read_line(self) -> bytes:
        while b"\n" not in self._held:
            self._more()
        line, _, self._held = self._held.partition(b"\n")
        return line

    def read_bytes(self, count: int) -> bytes:
        parts, length = [self._held], len(self._held)
        while length < count:
            self._held = b""
            self._more()
            parts.append(self._held)
            length += len(self._held)
        whole = b"".join(parts)
        self._held = whole[count:]
        return whole[:count]

    def _more(self) -> None:
        left = self._until - time.monotonic()
        if left <= 0 or not self._poll.poll(left * 1000):
            raise _Ended
        said = os.read(self._descriptor, CHUNK)
        if not said:
            raise _Ended
        self._held += said


class Conversation:
    """Any thread may ask; they take turns."""

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: timedelta
    ) -> None:
        self._argv, self._cwd, self._env, self._timeout = argv, cwd, env, timeout
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, line: bytes, read: Callable[[ProcessReply], ReplyValue]) -> ReplyValue:
        """Give the line, and let `read` take the answer, all of it.

        A program that died since it was last asked is begun anew, once.
        """
        with self._turn:
            for last in (False, True):
                try:
                    return self._asked(line, read)
                except (_Ended, BrokenPipeError) as error:
                    self._end()
                    if last:
                        name = " ".join(self._argv[:1])
                        raise Fault(f"{name} gave no answer", transient=True) from error
            raise AssertionError("asked at most twice")

    def _asked(self, line: bytes, read: Callable[[ProcessReply], ReplyValue]) -> ReplyValue:
        process = self._process or self._begin()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _give(process.stdin.fileno(), line + b"\n", self._timeout)
            return read(ProcessReply(process.stdout.fileno(), self._timeout))
        except BaseException:
            # Half an answer may be left: the next question must not be given it.
            self._end()
            raise

    def _begin(self) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(
                self._argv,
                cwd=self._cwd,
                env=self._env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise make_start_fault(self._argv[0], self._cwd, error) from error
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)
        self._process = process
        weakref.finalize(self, _end, process)
        return process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            _end(process)


def _give(descriptor: int, question: bytes, timeout: timedelta) -> None:
    """A program that was stopped takes nothing more once its pipe is full."""
    until, poll = time.monotonic() + timeout.total_seconds(), select.poll()
    poll.register(descriptor, select.POLLOUT)
    while question:
        left = until - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise _Ended
        with suppress(BlockingIOError):
            question = question[os.write(descriptor, question) :]


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
