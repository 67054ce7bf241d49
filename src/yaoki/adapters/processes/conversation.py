"""A program that answers one request line at a time and keeps running for the next one.

It starts with the first request and ends when its input closes, at the latest with this process.
A program that somebody has stopped (SIGSTOP) is not waited for until the timeout: it is replaced.
"""

from __future__ import annotations

import os
import select
import signal
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
from yaoki.adapters.processes.shim.process_table import PROC, read_stat_fields
from yaoki.errors import Fault

ReplyValue = TypeVar("ReplyValue")
CHUNK = 1 << 16
END_S = 1.0
# After this long without an answer we check whether the program is stopped.
LOOK_AFTER_S = 2.0
STOPPED = "T"


class _NoAnswer(Exception):
    """The program ended or does not answer."""


class ProcessReply:
    """The answer of the program to one request."""

    def __init__(self, descriptor: int, pid: int, timeout: timedelta) -> None:
        self._descriptor, self._pid = descriptor, pid
        self._deadline = time.monotonic() + timeout.total_seconds()
        self._buffer = b""
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def read_line(self) -> bytes:
        while b"\n" not in self._buffer:
            self._receive()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def read_bytes(self, count: int) -> bytes:
        parts, length = [self._buffer], len(self._buffer)
        while length < count:
            self._buffer = b""
            self._receive()
            parts.append(self._buffer)
            length += len(self._buffer)
        content = b"".join(parts)
        self._buffer = content[count:]
        return content[:count]

    def _receive(self) -> None:
        _wait(self._poll, self._pid, self._deadline)
        data = os.read(self._descriptor, CHUNK)
        if not data:
            raise _NoAnswer
        self._buffer += data


class Conversation:
    """Threads that ask at the same time wait for each other."""

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: timedelta
    ) -> None:
        self._argv, self._cwd, self._env, self._timeout = argv, cwd, env, timeout
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, line: bytes, read: Callable[[ProcessReply], ReplyValue]) -> ReplyValue:
        """Sends the line; `read` must read the whole answer.

        A program that died since the last request is started again, once.
        """
        with self._lock:
            for is_last in (False, True):
                try:
                    return self._send_and_read(line, read)
                except (_NoAnswer, BrokenPipeError) as error:
                    self._end()
                    if is_last:
                        name = " ".join(self._argv[:1])
                        raise Fault(f"{name} gave no answer", transient=True) from error
            raise AssertionError("asked at most twice")

    def _send_and_read(self, line: bytes, read: Callable[[ProcessReply], ReplyValue]) -> ReplyValue:
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _send(process.stdin.fileno(), process.pid, line + b"\n", self._timeout)
            return read(ProcessReply(process.stdout.fileno(), process.pid, self._timeout))
        except BaseException:
            # A partial answer may remain, which the next request must not read.
            self._end()
            raise

    def _start(self) -> subprocess.Popen[bytes]:
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


def _wait(poll: select.poll, pid: int, deadline: float) -> None:
    """Wait until something can be read or written, or until the program cannot answer."""
    while (remaining_s := deadline - time.monotonic()) > 0:
        if poll.poll(min(remaining_s, LOOK_AFTER_S) * 1000):
            return
        if _is_stopped(pid):
            break
    raise _NoAnswer


def _is_stopped(pid: int) -> bool:
    try:
        return PROC and read_stat_fields(pid)[0] == STOPPED
    except (FileNotFoundError, ProcessLookupError):  # it has ended, which its pipe reports
        return False


def _send(descriptor: int, pid: int, request: bytes, timeout: timedelta) -> None:
    """Send with a timeout: a stopped program reads nothing once its pipe is full."""
    deadline, poll = time.monotonic() + timeout.total_seconds(), None
    while True:
        with suppress(BlockingIOError):
            request = request[os.write(descriptor, request) :]
        if not request:
            return
        if poll is None:
            poll = select.poll()
            poll.register(descriptor, select.POLLOUT)
        _wait(poll, pid, deadline)


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    if _is_stopped(process.pid):
        # It ends itself and removes its lock files when it continues.
        process.terminate()
        process.send_signal(signal.SIGCONT)
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
