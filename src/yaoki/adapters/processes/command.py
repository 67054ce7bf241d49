"""Short commands of our own, bounded in time and output; agents run under the shim instead."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import IO

from yaoki.core.lazy_dataclass import dataclass
from yaoki.errors import Fault

OUTPUT_BYTES_MAX = 64 << 20
POLL_S = 0.05
GRACE_S = 1.0


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended.  A negative code is the signal that ended it."""

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
    """Run a command to its end; on time-out its whole group is ended.

    Everything goes through files: whoever keeps a pipe open could keep us waiting.
    """
    with _scratch() as out, _scratch() as err:
        process = _spawn(argv, cwd, env, input, out, err)
        try:
            _wait(process, argv, timeout, (out, err), output_bytes_max)
        except BaseException:  # an interrupt, too, must leave nothing behind
            _end_group(process)
            raise
        return CommandResult(process.returncode, _content(out), _content(err))


def _spawn(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    given: bytes | None,
    out: IO[bytes],
    err: IO[bytes],
) -> subprocess.Popen[bytes]:
    with _scratch() if given else contextlib.nullcontext() as stdin:
        if stdin is not None and given:
            stdin.write(given)
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
            code="RESOURCE_NOT_FOUND",
        )
    codes = {errno.ENOENT: "RESOURCE_NOT_FOUND", errno.EACCES: "PERMISSION_DENIED"}
    return Fault(
        f"cannot run {name}: {error.strerror}",
        transient=error.errno in {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE},
        code=codes.get(error.errno or 0, ""),
        hint=f"install {name}, or make it executable" if error.errno in codes else "",
    )


def _wait(
    process: subprocess.Popen[bytes],
    argv: Sequence[str],
    timeout: timedelta,
    outputs: Sequence[IO[bytes]],
    output_bytes_max: int,
) -> None:
    give_up = time.monotonic() + timeout.total_seconds()
    with _watched(process) as rest:
        while process.poll() is None:
            _refuse_flood(argv, outputs, output_bytes_max)
            if (left := give_up - time.monotonic()) <= 0:
                seconds = timeout.total_seconds()
                raise Fault(f"{_short(argv)} did not end within {seconds:g} s", transient=True)
            rest(min(POLL_S, left))
    _refuse_flood(argv, outputs, output_bytes_max)


def _scratch() -> IO[bytes]:
    """A file without a name; in memory where the system can, for most hold a line or two."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("yaoki"), "w+b")
    return tempfile.TemporaryFile()


@contextlib.contextmanager
def _watched(process: subprocess.Popen[bytes]) -> Iterator[Callable[[float], None]]:
    """Rests until the process ends, at most so long.

    Where the kernel can wake us it does: waiting with a time-out polls, in ever longer steps.
    """
    if not hasattr(os, "pidfd_open"):

        def in_steps(seconds: float) -> None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds)

        yield in_steps
        return
    ended, poll = os.pidfd_open(process.pid), select.poll()
    poll.register(ended, select.POLLIN)

    def woken(seconds: float) -> None:
        poll.poll(seconds * 1000)

    try:
        yield woken
    finally:
        os.close(ended)


def _refuse_flood(argv: Sequence[str], outputs: Sequence[IO[bytes]], output_bytes_max: int) -> None:
    if (size := sum(os.fstat(file.fileno()).st_size for file in outputs)) > output_bytes_max:
        raise Fault(
            f"{_short(argv)} wrote {size} bytes; {output_bytes_max} are allowed", transient=False
        )


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """TERM first: git removes its lock files then.  The leader is collected last."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _short(argv: Sequence[str]) -> str:
    return " ".join(argv[:3])
