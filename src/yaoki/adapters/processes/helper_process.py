"""A helper process that ends with us: its standard input closes when we end."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress

STOP_S = 10.0


class HelperProcess:
    """Runs in its own session; gets one line on standard input and open descriptors."""

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
