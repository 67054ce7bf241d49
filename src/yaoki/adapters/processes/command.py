"""Runs short commands, bounded in time and output; agents run under the shim instead."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import IO

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import format_bytes, format_duration
from yaoki.errors import CommandTimedOut, FatalCode, Fault

OUTPUT_BYTES_MAX = 64 << 20
POLL_S = 0.05
GRACE_S = 1.0


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A negative code is the signal that ended the command."""

    code: int
    out: bytes
    err: bytes


def run_command(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: timedelta,
    input: bytes | None = None,
    output_bytes_max: int = OUTPUT_BYTES_MAX,
) -> CommandResult:
    """Runs a command to its end; on timeout its whole process group is ended.

    Input and output are files: a process that keeps a pipe open could block us.
    """
    with _temporary_file() as out, _temporary_file() as err:
        process = _spawn(argv, cwd, env, input, out, err)
        try:
            _wait(process, argv, timeout, (out, err), output_bytes_max)
        except BaseException:  # an interrupt must not leave a process behind either
            _end_group(process)
            raise
        return CommandResult(process.returncode, _read_all(out), _read_all(err))


def _spawn(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    input_: bytes | None,
    out: IO[bytes],
    err: IO[bytes],
) -> subprocess.Popen[bytes]:
    with _temporary_file() if input_ else contextlib.nullcontext() as stdin:
        if stdin is not None and input_:
            stdin.write(input_)
            stdin.seek(0)
        try:
            return subprocess.Popen(
                argv,
                cwd=cwd,
                env=env,
                stdin=stdin or subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        except OSError as error:
            raise make_start_fault(argv[0], cwd, error) from error


def make_start_fault(name: str, cwd: Path, error: OSError) -> Fault:
    if not cwd.is_dir():
        return Fault(
            f"cannot run {name}: there is no folder {cwd}",
            transient=False,
            code=FatalCode.RESOURCE_NOT_FOUND,
        )
    codes = {errno.ENOENT: FatalCode.RESOURCE_NOT_FOUND, errno.EACCES: FatalCode.PERMISSION_DENIED}
    return Fault(
        f"cannot run {name}: {error.strerror}",
        transient=error.errno in {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE},
        code=codes.get(error.errno or 0, FatalCode.NONE),
        hint=f"install {name}, or make it executable" if error.errno in codes else "",
    )


def _wait(
    process: subprocess.Popen[bytes],
    argv: Sequence[str],
    timeout: timedelta,
    outputs: Sequence[IO[bytes]],
    output_bytes_max: int,
) -> None:
    deadline = time.monotonic() + timeout.total_seconds()
    with _process_sleeper(process) as sleep:
        while process.poll() is None:
            _check_output_size(argv, outputs, output_bytes_max)
            if (remaining := deadline - time.monotonic()) <= 0:
                seconds = timeout.total_seconds()
                raise CommandTimedOut(
                    f"{_command_name(argv)} did not end within {format_duration(seconds)}",
                    transient=True,
                )
            sleep(min(POLL_S, remaining))
    _check_output_size(argv, outputs, output_bytes_max)


def _temporary_file() -> IO[bytes]:
    """An unnamed file, in memory if possible: most hold only a line or two."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("yaoki"), "w+b")
    import tempfile

    return tempfile.TemporaryFile()


@contextlib.contextmanager
def _process_sleeper(process: subprocess.Popen[bytes]) -> Iterator[Callable[[float], None]]:
    """Yields a function that sleeps until the process ends, up to a number of seconds.

    Uses a pidfd if possible: `Popen.wait` with a timeout polls in growing intervals.
    """
    if not hasattr(os, "pidfd_open"):

        def sleep_by_polling(seconds: float) -> None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds)

        yield sleep_by_polling
        return
    pidfd, poll = os.pidfd_open(process.pid), select.poll()
    poll.register(pidfd, select.POLLIN)

    def sleep_by_pidfd(seconds: float) -> None:
        poll.poll(seconds * 1000)

    try:
        yield sleep_by_pidfd
    finally:
        os.close(pidfd)


def _check_output_size(
    argv: Sequence[str], outputs: Sequence[IO[bytes]], output_bytes_max: int
) -> None:
    if (size := sum(os.fstat(file.fileno()).st_size for file in outputs)) > output_bytes_max:
        allowed = f"{format_bytes(output_bytes_max)} are allowed"
        raise Fault(f"{_command_name(argv)} wrote {format_bytes(size)}; {allowed}", transient=False)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """TERM first: git then removes its lock files.  The group leader is reaped last."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)


def _read_all(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _command_name(argv: Sequence[str]) -> str:
    return " ".join(argv[:3])
