"""Foreign text made fit to show: no terminal codes, no hidden characters, bounded."""

from __future__ import annotations

import re

# Colours and cursor moves, window titles and links, and the two-character codes.
_ANSI = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"
    r"|\x1b[ -/]{0,4}[0-~]"
    # As XML has it, where the character itself is not allowed.
    r"|#x1B\[[0-9;]{0,64}m"
)
# Controls, whatever is not seen or turns the direction of what is, and halves of characters.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)


def replace_lone_surrogates(text: str) -> str:
    """Text that can be stored, sent and hashed: half of a surrogate pair becomes U+FFFD.

    Words of others go through here where they enter, and once more where they leave: JSON knows
    escapes for halves, and a file name or an argument need not be UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def strip_terminal_codes(text: str) -> str:
    """The text without terminal codes; other control characters are shown as `\\x07`."""
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub(lambda hit: _shown(hit[0]), text)


def _shown(char: str) -> str:
    if ord(char) > 0xFFFF:
        return f"\\U{ord(char):08x}"
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"


def clip_head_and_tail(text: str, head: int, tail: int) -> str:
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


def short_path(path: str, limit: int = 100) -> str:
    """Both ends of a path that is longer than anybody reads."""
    half = limit // 2
    return path if len(path) <= limit else f"{path[:half]}…{path[1 - half :]}"
