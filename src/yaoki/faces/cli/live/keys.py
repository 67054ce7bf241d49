"""Single keys from a terminal as they are pressed; afterwards the terminal is reset."""

from __future__ import annotations

import codecs
import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta

from yaoki.ports import Clock

# Sequences that a terminal sends for keys without a letter.
KEY_NAMES = {
    "\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down",
    "\x1b[5~": "page-up", "\x1b[6~": "page-down",
    "\x1b[H": "home", "\x1b[1~": "home", "\x1b[F": "end", "\x1b[4~": "end",
    "\r": "enter", "\n": "enter", "\x7f": "back", "\x08": "back", "\x1b": "escape",
}  # fmt: skip
BYTES_MAX = 4096
# After a key press this recent, the next one may come while the screen closes.
RECENTLY_PRESSED, SETTLED_WITHIN = timedelta(seconds=2), timedelta(seconds=3)
QUIET_S = 0.5


class Keys:
    """The keys of one terminal.  Ctrl-C and similar keys stay signals."""

    def __init__(self, descriptor: int, clock: Clock) -> None:
        self._descriptor, self._clock = descriptor, clock
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._before = termios.tcgetattr(descriptor)
        self._pressed = clock.now() - RECENTLY_PRESSED
        tty.setcbreak(descriptor, termios.TCSADRAIN)

    def read(self) -> list[str]:
        """The keys since the last call: characters, and names such as `up`."""
        if not self._has_input(0):
            return []
        try:
            raw = os.read(self._descriptor, BYTES_MAX)
        except OSError:  # the terminal is gone; the next drawing finds out
            return []
        self._pressed = self._clock.now()
        return list(split_keys(self._decoder.decode(raw)))

    def _has_input(self, seconds: float) -> bool:
        return bool(select.select([self._descriptor], [], [], seconds)[0])

    @property
    def idle(self) -> timedelta:
        """The time since the last key."""
        return self._clock.now() - self._pressed

    def close(self) -> None:
        """Keys that were pressed too late are discarded, so that no shell gets them."""
        until = self._clock.now() + SETTLED_WITHIN
        # A terminal that was closed meanwhile cannot be reset.
        with suppress(termios.error):
            if self.idle < RECENTLY_PRESSED:
                while self._clock.now() < until and self._has_input(QUIET_S):
                    termios.tcflush(self._descriptor, termios.TCIFLUSH)
            termios.tcsetattr(self._descriptor, termios.TCSAFLUSH, self._before)


def terminal_keys(clock: Clock) -> Keys | None:
    """The keys of standard input, where it is a terminal."""
    try:
        return Keys(sys.stdin.fileno(), clock) if sys.stdin.isatty() else None
    except (OSError, ValueError, termios.error):
        return None


def split_keys(text: str) -> Iterator[str]:
    """One by one; an unknown sequence is left out as a whole."""
    at = 0
    while at < len(text):
        end = _end(text, at)
        piece = text[at:end]
        at = end
        if piece in KEY_NAMES:
            yield KEY_NAMES[piece]
        elif piece.isprintable():
            yield piece


def _end(text: str, at: int) -> int:
    """The end of the key that begins here: ESC [ or ESC O, up to a letter or a tilde."""
    if text[at] != "\x1b" or text[at + 1 : at + 2] not in {"[", "O"}:
        return at + 1
    end = at + 2
    while end < len(text) and not (text[end].isalpha() or text[end] == "~"):
        end += 1
    return min(end + 1, len(text))
