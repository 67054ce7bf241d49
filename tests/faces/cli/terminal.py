"""The program on a pseudo-terminal, and the screen that a person would see."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import subprocess
import sys
import termios
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

BOUND_S = 40.0
CODE = re.compile(rb"\x1b\[([?0-9;]*)([A-Za-z])")


class Grid:
    """As much of a terminal as rich uses: places, lines, clearing, the second screen."""

    def __init__(self, rows: int, cols: int) -> None:
        self.resize(rows, cols)
        self.second = False
        self._rest = b""

    def resize(self, rows: int, cols: int) -> None:
        self.rows, self.cols = rows, cols
        self.cells = [[" "] * cols for _ in range(rows)]
        self._row = self._col = 0
        self.wrapped = False

    def feed(self, data: bytes) -> None:
        data, self._rest = self._rest + data, b""
        at = 0
        while at < len(data):
            if data[at : at + 1] == b"\x1b":
                found = CODE.match(data, at)
                if found is None:
                    self._rest = data[at:]
                    return
                self._code(found[1].decode(), found[2].decode())
                at = found.end()
                continue
            end = data.find(b"\x1b", at)
            piece = data[at : end if end >= 0 else len(data)]
            self._text(piece.decode("utf-8", "replace"))
            at += len(piece)

    def _code(self, given: str, letter: str) -> None:
        match letter:
            case "H":
                row, _, col = given.partition(";")
                self._row, self._col = int(row or 1) - 1, int(col or 1) - 1
            case "J" | "K" if given in {"2", "0", ""}:
                self._clear(whole=letter == "J")
            case "h" | "l" if given == "?1049":
                self.second = letter == "h"
                self.resize(self.rows, self.cols)
            case _:
                pass

    def _clear(self, *, whole: bool) -> None:
        if whole:
            self.cells = [[" "] * self.cols for _ in range(self.rows)]
        else:
            self.cells[self._row] = [" "] * self.cols

    def _text(self, text: str) -> None:
        for char in text:
            match char:
                case "\r":
                    self._col = 0
                case "\n":
                    self._down()
                case _ if char.isprintable():
                    self._put(char)
                case _:
                    pass

    def _down(self) -> None:
        if self._row == self.rows - 1:
            self.cells = [*self.cells[1:], [" "] * self.cols]
        else:
            self._row += 1

    def _put(self, char: str) -> None:
        width = 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if self._col + width > self.cols:
            self.wrapped = True
            self._col = 0
            self._down()
        self.cells[self._row][self._col] = char
        for more in range(1, width):
            self.cells[self._row][self._col + more] = ""
        self._col += width

    @property
    def whole(self) -> bool:
        """Is the frame on the second screen there to its last cell?  A pipe may bring half of one,
        and the rest of the screen is then of the frame before."""
        return not self.second or (self._row, self._col) == (self.rows - 1, self.cols)

    @property
    def lines(self) -> list[str]:
        return ["".join(row).rstrip() for row in self.cells]


class Terminal:
    """Every wait is bounded; a failed one shows the current screen."""

    def __init__(self, process: subprocess.Popen[bytes], ours: int, grid: Grid) -> None:
        self.process, self._ours, self.grid = process, ours, grid
        self.raw = b""
        self.before = termios.tcgetattr(ours)

    def read(self, seconds: float = 0.05) -> bool:
        """False when the program has closed the terminal."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return self.process.poll() is None
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # Linux says so when the other side is closed
            return False
        self.raw += data
        self.grid.feed(data)
        return True

    def until(self, holds: Callable[[str], object], what: str) -> str:
        give_up = time.monotonic() + BOUND_S
        while not (self.grid.whole and holds(self.text)):
            going = self.read()
            assert going or holds(self.text), f"it ended, and not: {what}\n{self.text}"
            assert time.monotonic() < give_up, f"still not: {what}\n{self.text}"
        return self.text

    def wait_for_text(self, *words: str) -> str:
        return self.until(lambda text: all(word in text for word in words), f"{words} are shown")

    def wait_until_hidden(self, word: str) -> str:
        return self.until(lambda text: word not in text, f"{word!r} is gone")

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def resize(self, rows: int, cols: int) -> None:
        while self.read(0):
            if not select.select([self._ours], [], [], 0)[0]:
                break
        self.grid.resize(rows, cols)
        _sized(self._ours, rows, cols)

    def ended(self) -> int:
        give_up = time.monotonic() + BOUND_S
        while self.read():
            assert time.monotonic() < give_up, f"it does not end\n{self.text}"
        return self.process.wait(timeout=BOUND_S)

    @property
    def text(self) -> str:
        return "\n".join(self.grid.lines)

    def modes(self) -> list[object]:
        return list(termios.tcgetattr(self._ours))

    def line(self, word: str) -> str:
        return next((text for text in self.grid.lines if word in text), "")


def _sized(descriptor: int, rows: int, cols: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


@contextmanager
def run_on_terminal(
    cwd: Path,
    env: Mapping[str, str],
    *words: str,
    rows: int = 30,
    cols: int = 100,
    shell: str = "",
) -> Iterator[Terminal]:
    """With `shell` the words of a shell around it, in which `"$@"` is the program."""
    ours, theirs = os.openpty()
    _sized(theirs, rows, cols)
    around = {k: v for k, v in env.items() if k not in {"COLUMNS", "LINES"}}
    around_it = ("sh", "-c", shell, "sh") if shell else ()
    process = subprocess.Popen(
        (*around_it, sys.executable, "-m", "yaoki", *words),
        cwd=cwd,
        env=around,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    terminal = Terminal(process, ours, Grid(rows, cols))
    os.close(theirs)
    try:
        yield terminal
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(ours)
