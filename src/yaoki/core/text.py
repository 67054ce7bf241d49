"""Every shortening, counting and cleaning of text.

Text of agents, checks and files is untrusted: it may hold terminal codes, invisible characters or
halves of surrogate pairs, and it may be of any length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from yaoki.core.lazy_pattern import lazy_compile

# ------------------------------------------------------------------ cleaning

# Colours and cursor moves, window titles and links, and the two-character codes.
_ANSI = lazy_compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"
    r"|\x1b[ -/]{0,4}[0-~]"
    # Terminal codes in XML, where the escape character itself is not allowed.
    r"|#x1B\[[0-9;]{0,64}m"
)
# Control characters, invisible characters, marks that change the direction of text, and surrogates.
_CONTROL = lazy_compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)


# All white space except the space.
_BREAK = lazy_compile(r"[^\S ]")

_PLAIN_WORD = lazy_compile(r"[\w@%+=:,./~-]+", re.ASCII)


def replace_lone_surrogates(text: str) -> str:
    """Replace each half of a surrogate pair by U+FFFD, so that the text can be encoded.

    JSON has escapes for such halves, and file names and arguments need not be UTF-8; so foreign
    text passes here where it enters and once more where it leaves.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def strip_terminal_codes(text: str) -> str:
    """Remove terminal codes; show other control characters as `\\x07`."""
    if text.isprintable() and "#x1B[" not in text:
        return text
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub(lambda match: _escape(match[0]), text)


def _escape(char: str) -> str:
    if ord(char) > 0xFFFF:
        return f"\\U{ord(char):08x}"
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"


# ------------------------------------------------------------------ shortening


def shorten(text: str, limit: int) -> str:
    """The text within `limit` characters; an ellipsis replaces the end."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def one_line(text: str, limit: int = 200) -> str:
    """All words on one line, within `limit` characters.

    Spaces inside a line stay: a failed comparison may be about them.
    """
    return shorten(_join_lines(text), limit)


def _join_lines(text: str) -> str:
    """The text on one line: one space for line breaks and tabs and what surrounds them."""
    return " ".join(filter(None, (part.strip() for part in _BREAK.split(text))))


def first_line(text: str, limit: int = 160) -> str:
    return shorten(next(iter(text.strip().splitlines()), ""), limit)


def first_sentences(text: str, limit: int = 160) -> str:
    """The sentences that fit into `limit` characters on one line; an ellipsis replaces the rest."""
    line = _join_lines(text)
    if len(line) <= limit:
        return line
    whole = re.match(rf".{{1,{limit - 3}}}[.!?](?= )", line)
    return f"{whole[0]} …" if whole else shorten(line, limit)


def last_line(text: str, limit: int = 160) -> str:
    return shorten(next(reversed(text.strip().splitlines()), ""), limit)


def as_sentence(text: str) -> str:
    """The words with a capital letter and a full stop; empty for an empty text."""
    return f"{text[0].upper()}{text[1:]}." if text else ""


def short_path(path: str, limit: int = 100) -> str:
    """Both ends of a long path."""
    half = limit // 2
    return path if len(path) <= limit else f"{path[:half]}…{path[1 - half :]}"


def clip_head_and_tail(text: str, head: int, tail: int) -> str:
    """Both ends of a long text and, between them, the number of characters left out."""
    left_out = len(text) - head - tail
    if left_out <= 0:
        return text
    end = text[-tail:] if tail else ""
    return f"{text[:head]}\n[{left_out} characters left out]\n{end}"


# The mark of `clip_bytes`, and the one that the readers of a log's ends write.
_CUT_MARK = lazy_compile(
    rb"\n\[(?:\xe2\x80\xa6 )?(\d{1,15}) bytes (?:cut \xe2\x80\xa6|left out)\]\n"
)


def clip_bytes(text: str, limit: int) -> str:
    """Both ends of a long text within `limit` bytes and, between them, the number of bytes cut.

    Characters that UTF-8 cannot encode, as in a file name of another encoding, are escaped.
    """
    raw = text.encode(errors="backslashreplace")
    if len(raw) <= limit:
        return raw.decode()
    room = max(0, limit - len(_cut_mark(len(raw)).encode()))
    head = raw[: room // 3].decode(errors="ignore")
    tail = raw[len(raw) - (room - room // 3) :].decode(errors="ignore")
    cut = raw[len(head.encode()) : len(raw) - len(tail.encode())]
    mark = _cut_mark(len(cut) + _bytes_cut_before(cut))
    return head + mark + tail if room else mark.encode()[:limit].decode(errors="ignore")


def _bytes_cut_before(cut: bytes) -> int:
    """The bytes that earlier cuts took out of this part, whose marks are cut out now."""
    return sum(int(mark[1]) - len(mark[0]) for mark in _CUT_MARK.finditer(cut))


def _cut_mark(count: int) -> str:
    return f"\n[… {count} bytes cut …]\n"


# ------------------------------------------------------------------ counting


def format_count(n: int, one: str, many: str = "") -> str:
    """`1 task`, `2 tasks`, `1,000 tasks`; `many` is a plural that is not made with an s."""
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"


def format_bytes(count: int) -> str:
    """`512 bytes`, `1.5 KiB`, `256 MiB`, `54.2 GiB`."""
    if abs(count) < 1024:
        return format_count(count, "byte")
    amount, units = count / 1024, ["KiB", "MiB", "GiB", "TiB"]
    while abs(amount) >= 1023.95 and len(units) > 1:
        amount /= 1024
        del units[0]
    return f"{amount:,.1f}".removesuffix(".0") + f" {units[0]}"


def format_duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 5 s`, `2 h 7 min`, `3 d 4 h`; a second part of zero is left out."""
    whole = round(seconds)
    if seconds < 9.95:
        return f"{round(seconds, 1):g} s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        first, second = f"{whole // 60} min", (whole % 60, "s")
    elif whole < 48 * 3600:
        first, second = f"{whole // 3600} h", (whole % 3600 // 60, "min")
    else:
        first, second = f"{whole // 86400} d", (whole % 86400 // 3600, "h")
    return f"{first} {second[0]} {second[1]}" if second[0] else first


def quote_path(path: str) -> str:
    """The path as one word of a shell line."""
    if _PLAIN_WORD.fullmatch(path):
        return path
    escaped = path.replace("'", "'\\''")
    return f"'{escaped}'"


def list_some(names: Sequence[str], limit: int) -> str:
    """`a, b, c and 4 more`: at most `limit` of the names, and how many are not shown."""
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def bullet_some(lines: Sequence[str], limit: int) -> list[str]:
    """Bullets for the first `limit` lines, and a last one that counts the rest."""
    rest = len(lines) - limit
    return [*(f"- {line}" for line in lines[:limit]), *([f"- and {rest} more"] if rest > 0 else [])]


# ------------------------------------------------------------------ suggestions

# The comparison is slow: with more words than this, a suggestion is not worth the wait.
SUGGESTION_WORDS_MAX = 1_000
SUGGESTION_CHARS_MAX = 200
# Words that are less similar than the best one by at most this are suggested with it.
SUGGESTION_MARGIN = 0.1
SUGGESTIONS_MAX = 3


def nearest(word: str, known: Iterable[str]) -> str:
    """The most similar known word; empty when none is similar."""
    # Slow to import and seldom needed.
    from difflib import get_close_matches

    words = [str(candidate) for candidate in known]
    if len(words) > SUGGESTION_WORDS_MAX or len(word) > SUGGESTION_CHARS_MAX:
        return ""
    return next(iter(get_close_matches(word, words, n=1)), "")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'stats' or 'status'?`, ready to append to a sentence: the most similar words.

    Empty when no word is similar.
    """
    from difflib import SequenceMatcher, get_close_matches

    words = list(dict.fromkeys(str(candidate) for candidate in known))
    if not (best := nearest(word, words)):
        return ""
    cutoff = max(0.0, SequenceMatcher(None, best, word).ratio() - SUGGESTION_MARGIN)
    near = get_close_matches(word, words, n=SUGGESTIONS_MAX, cutoff=cutoff)
    return f"; did you mean {' or '.join(map(repr, near))}?"
