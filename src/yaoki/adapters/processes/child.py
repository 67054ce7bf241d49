"""A child process, another yaoki, whose output is read while it runs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


class ChildProcess:
    """Starts at once and inherits our standard error."""

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
