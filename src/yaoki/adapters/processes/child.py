"""A child whose output is followed while it runs: another yaoki, started by this one."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


class ChildProcess:
    """Started at once; its standard error goes where ours goes."""

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
        """Every line as it comes, until the child has closed its output."""
        assert self._process.stdout is not None, "the child was started with a pipe"
        for line in self._process.stdout:
            yield line.rstrip("\n")

    def kill(self) -> None:
        """SIGKILL: no last word, no cleaning up."""
        self._process.kill()

    def wait(self) -> int:
        code = self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        return code
