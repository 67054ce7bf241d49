"""Output during a live screen: stored, and printed when the screen is restored."""

from __future__ import annotations

import io
from collections import deque
from typing import TextIO

LINES_KEPT = 200


class DeferredOutput(io.TextIOBase):
    """Replaces standard error; only the newest lines are kept."""

    def __init__(self, under: TextIO) -> None:
        self.underlying = under
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._open = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *whole, self._open = (self._open + text).split("\n")
        self._lines.extend(line for line in whole if line.strip())
        return len(text)

    @property
    def last_line(self) -> str:
        return self._lines[-1] if self._lines else ""

    def print_lines(self) -> None:
        for line in [*self._lines, *filter(None, [self._open])]:
            print(line, file=self.underlying, flush=True)
        self._lines.clear()
        self._open = ""
