"""A fingerprint of a failure: the same on any machine and at any time."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from yaoki.core.lazy_pattern import lazy_compile

if TYPE_CHECKING:
    from yaoki.core.model import FindingItem

# Order matters: times before plain numbers, addresses before hexadecimal words.
_NOISE: tuple[tuple[re.Pattern[str], str], ...] = (
    (lazy_compile(r"\x1b\[[0-9;]*[A-Za-z]"), ""),
    (lazy_compile(r"\b0x[0-9a-fA-F]+\b"), "<address>"),
    (lazy_compile(r"\b[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "<id>"),
    (lazy_compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (lazy_compile(r"\b\d{4}-\d\d-\d\d\b"), "<time>"),
    (lazy_compile(r"\b\d{1,2}:\d\d:\d\d(\.\d+)?\b"), "<time>"),
    (lazy_compile(r"\b(\d+h)?\d+m\d+(\.\d+)?s\b"), "<span>"),
    (lazy_compile(r"\b\d+(\.\d+)? ?(ms|s|sec|secs|seconds|m|min|minutes|h|µs|us|ns)\b"), "<span>"),
    (lazy_compile(r"\bduration_ms[ =:]+\d+(\.\d+)?"), "<span>"),
    (lazy_compile(r"<span>( <span>)+"), "<span>"),
    (lazy_compile(r"(?<![\w.])(/[\w.@+-]+){2,}/(?=[\w.@+-])"), ""),
    (lazy_compile(r"[A-Za-z]:(\\[\w.@+ -]+)+\\"), ""),
    (lazy_compile(r"\btmp[a-z0-9_]{6,10}\b"), "<temporary>"),
    (lazy_compile(r"(?<=[\w)\]]):\d+(:\d+)?\b"), ":<line>"),
    (lazy_compile(r"(?<=\w)\(\d+,\d+\):"), ":<line>:"),
    (lazy_compile(r"\b(line|lines|col|column) \d+\b", re.I), r"\1 <line>"),
    (lazy_compile(r"\b(pid|PID|tid|port)[ =:]+\d+\b"), r"\1 <id>"),
    (lazy_compile(r"\b[0-9a-f]{7,64}\b"), "<hash>"),
    (lazy_compile(r"\s+"), " "),
)


def normalize(text: str) -> str:
    """The text without the parts that change from run to run."""
    for noise, placeholder in _NOISE:
        text = noise.sub(placeholder, text)
    return text.strip()


def fingerprint(
    kind: str, pattern: str, check: str, message: str, items: Sequence[FindingItem]
) -> str:
    """Twelve hexadecimal digits; the order of items does not count, since runners shuffle tests."""
    details = sorted(normalize(f"{i.name} {i.message}") for i in items)
    words = details or [normalize(message)]
    text = "\n".join((kind, pattern, check, *words))
    # A file name need not be UTF-8, so a text may hold lone surrogates.
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:12]
