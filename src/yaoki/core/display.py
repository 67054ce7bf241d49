"""Foreign text made fit to show: no terminal codes, no hidden characters, bounded."""

from __future__ import annotations

import re

# Colours and cursor moves, window titles and links, and the two-character codes.
_ANSI = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"
    r"|\x1b[ -/]{0,4}[0-~]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """The text without terminal codes; other control characters are shown as `\\x07`."""
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub(lambda hit: _shown(hit[0]), text)


def _shown(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"


def clip(text: str, head: int, tail: int) -> str:
    """Both ends of a long text, with the size of what was left out between them."""
    left_out = len(text) - head - tail
    if left_out <= 0:
        return text
    end = text[-tail:] if tail else ""
    return f"{text[:head]}\n[{left_out} characters left out]\n{end}"


def one_line(text: str, limit: int = 200) -> str:
    """All words on one line, cut at the limit."""
    words = " ".join(text.split())
    return words if len(words) <= limit else words[: limit - 1] + "…"
