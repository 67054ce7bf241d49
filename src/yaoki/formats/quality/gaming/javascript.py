"""JavaScript as a list of tokens: enough to read literals, calls and branches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.gaming.literals import UNKNOWN, Literal, canonical
from yaoki.formats.quality.languages import language_of
from yaoki.formats.quality.lexer import scan_source
from yaoki.formats.quality.suites import without_comments

ENDS = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")
CHARS_MAX = 400_000
_TOKEN = lazy_compile(
    r"(?P<text>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)"
    r"|(?P<number>\b(?:0[xX][\da-fA-F]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)n?\b)"
    r"|(?P<regex>(?<=[(,=:!&|?{};\s])/(?![*/\s])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]{0,6}(?=\s*[.,;)\n]))"
    r"|(?P<name>[A-Za-z_$][\w$]*)"
    r"|(?P<mark>===|!==|==|!=|=>|\?\?|\?\.|\+\+|--|\+=|-=|&&|\|\||<=|>=|\.\.\.|[^\s\w])"
)
_ESCAPE = lazy_compile(r"\\(u\{?[\da-fA-F]{2,6}\}?|x[\da-fA-F]{2}|\n|.)")
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "0": "\0", "\n": ""}
_WORDS = {"true": True, "false": False, "null": None, "undefined": None}
CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    line: int

    @property
    def literal(self) -> Literal:
        """The value of a text without holes, or of a number; UNKNOWN for other tokens."""
        if self.kind == "text":
            holes = self.text[0] == "`" and "${" in self.text
            return UNKNOWN if holes else _ESCAPE.sub(_unescape, self.text[1:-1])
        if self.kind == "number":
            digits = self.text.rstrip("n").replace("_", "")
            return float(int(digits, 16)) if digits[:2] in ("0x", "0X") else float(digits)
        return canonical(_WORDS[self.text]) if self.text in _WORDS else UNKNOWN


def _unescape(hit: re.Match[str]) -> str:
    word = hit[1]
    if word[0] in "ux" and len(word) > 1:
        return chr(min(int(word[1:].strip("{}"), 16), 0x10FFFF))
    return _SIMPLE.get(word, word)


@lru_cache(maxsize=64)
def tokens_of(path: str, text: str) -> tuple[Token, ...]:
    grammar = language_of(path)
    if len(text) > CHARS_MAX or grammar is None:
        return ()
    return tuple(_tokens(without_comments(scan_source(text, grammar))))


def _tokens(bare: str) -> Iterator[Token]:
    line, at = 1, 0
    for hit in _TOKEN.finditer(bare):
        line += bare.count("\n", at, hit.start())
        at = hit.start()
        yield Token(hit.lastgroup or "mark", hit[0], line)


def read_literal(tokens: Sequence[Token], at: int) -> tuple[Literal, int]:
    """The literal that begins here, and the place behind it; UNKNOWN if there is none."""
    if at >= len(tokens):
        return UNKNOWN, at
    token = tokens[at]
    if token.text == "-" and at + 1 < len(tokens) and tokens[at + 1].kind == "number":
        return -tokens[at + 1].literal, at + 2
    if token.text == "[":
        return _read_array(tokens, at + 1)
    if token.text == "{":
        return _read_object(tokens, at + 1)
    if token.text == "new" and at + 2 < len(tokens) and tokens[at + 2].text == "(":
        value, end = _read_array(tokens, at + 3, ")")
        known = value is not UNKNOWN
        return (("call", tokens[at + 1].text, *value) if known else UNKNOWN), end
    return token.literal, at + 1


def _read_array(tokens: Sequence[Token], at: int, close: str = "]") -> tuple[Literal, int]:
    values: list[Literal] = []
    while at < len(tokens) and tokens[at].text != close:
        value, at = read_literal(tokens, at)
        if value is UNKNOWN or at >= len(tokens) or tokens[at].text not in (",", close):
            return UNKNOWN, at
        values.append(value)
        at += tokens[at].text == ","
    return tuple(values), at + 1


def _read_object(tokens: Sequence[Token], at: int) -> tuple[Literal, int]:
    pairs: list[tuple[Literal, Literal]] = []
    while at < len(tokens) and tokens[at].text != "}":
        key = key_of(tokens[at])
        if key is UNKNOWN or at + 1 >= len(tokens) or tokens[at + 1].text != ":":
            return UNKNOWN, at
        value, at = read_literal(tokens, at + 2)
        if value is UNKNOWN or at >= len(tokens) or tokens[at].text not in (",", "}"):
            return UNKNOWN, at
        pairs.append((key, value))
        at += tokens[at].text == ","
    return frozenset(pairs), at + 1


def key_of(token: Token) -> Literal:
    """The key of an object: a name is a text."""
    return token.text if token.kind == "name" else token.literal


def closing(tokens: Sequence[Token], at: int) -> int:
    """The place of the bracket that closes the one at `at`; the end if there is none."""
    depth = 0
    for place in range(at, len(tokens)):
        if tokens[place].kind == "mark":
            depth += tokens[place].text in CLOSING
            depth -= tokens[place].text in ")]}"
            if depth == 0:
                return place
    return len(tokens)


def depths(tokens: Sequence[Token]) -> Iterator[int]:
    """For each token, the number of braces around it."""
    depth = 0
    for token in tokens:
        depth -= token.text == "}" and token.kind == "mark"
        yield depth
        depth += token.text == "{" and token.kind == "mark"
