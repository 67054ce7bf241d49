"""Child processes of yaoki itself: another yaoki, and helpers that end with us."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

STOP_S = 10.0


class ChildProcess:
    """A process whose output is read while it runs; it inherits our standard error."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def lines(self) -> Iterator[str]:
        """Yields every line as it arrives, until the child closes its output."""
        assert self._process.stdout is not None, "the child was started with a pipe"
        for line in self._process.stdout:
            yield line.rstrip("\n")

    def kill(self) -> None:
        """SIGKILL: the child cannot clean up."""
        self._process.kill()

    def wait(self) -> int:
        code = self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        return code


class HelperProcess:
    """A process in its own session, with a first line of input and open descriptors.

    It ends with us: its standard input closes when we end.
    """

    def __init__(
        self, argv: Sequence[str], first_line: bytes, descriptors: Sequence[int] = ()
    ) -> None:
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, pass_fds=tuple(descriptors), start_new_session=True
        )
        assert self._process.stdin is not None
        self._input = self._process.stdin
        with suppress(BrokenPipeError):  # it has already ended, which `wait` reports
            self._input.write(first_line + b"\n")
            self._input.flush()

    def wait(self) -> int:
        return self._process.wait()

    def stop(self) -> None:
        """Closes the input, which ends the helper; kills it if it hangs."""
        with suppress(OSError):
            self._input.close()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
