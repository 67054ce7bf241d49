"""Results that a JavaScript or TypeScript program contains as literals, found in its tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from yaoki.formats.quality.gaming.answers import PARTIAL_COMPARISONS, Answer, KeyUse
from yaoki.formats.quality.gaming.javascript import Token, closing, key_of, read_literal
from yaoki.formats.quality.gaming.literals import UNKNOWN, Literal

_EQUAL_MARKS = frozenset({"===", "=="})
NEAR_TOKENS = 40


def javascript_answers(tokens: Sequence[Token]) -> Iterator[Answer]:
    looked_up = _looks_up(tokens)
    for at, token in enumerate(tokens):
        if token.text == "case":
            yield from _case(tokens, at)
        elif (
            token.text in _EQUAL_MARKS or token.text in PARTIAL_COMPARISONS or token.kind == "regex"
        ):
            yield from _guard(tokens, at)
        elif token.text == "{" and looked_up:
            yield from _object(tokens, at)
            yield from _nested(read_literal(tokens, at)[0], (), token.line)
        elif token.text == "[" and looked_up:
            yield from _rows(tokens, at)
        elif token.text in ("replace", "replaceAll") and at + 1 < len(tokens):
            old, end = read_literal(tokens, at + 2)
            new, _ = read_literal(tokens, end + 1)
            if old is not UNKNOWN and new is not UNKNOWN:
                yield Answer(KeyUse.WHOLE, (old,), new, token.line, token.line)


def _looks_up(tokens: Sequence[Token]) -> bool:
    """Is a table read by a name, by several, or by their JSON?"""
    for at, token in enumerate(tokens[:-2]):
        before = tokens[at - 1] if at else token
        is_read = before.kind == "name" or before.text in ("?.", ")", "]", "}")
        by_name = tokens[at + 1].kind in ("name", "text")
        if token.text == "[" and is_read and by_name and before.text not in ("of", "in", "return"):
            return True
        if token.text in ("get", "has", "find") and tokens[at + 1].text == "(":
            return True
    return False


def _case(tokens: Sequence[Token], at: int) -> Iterator[Answer]:
    """`case A: case B: return VALUE`, or an assignment of a literal."""
    key, end = read_literal(tokens, at + 1)
    if key is UNKNOWN:
        return
    for place in range(end, min(end + NEAR_TOKENS, len(tokens))):
        if tokens[place].text in ("return", "="):
            value, _ = read_literal(tokens, place + 1)
            if value is not UNKNOWN:
                yield Answer(KeyUse.WHOLE, (key,), value, tokens[place].line, 0)
            return
        if tokens[place].text in ("break", "default", "}"):
            return


def _guard(tokens: Sequence[Token], at: int) -> Iterator[Answer]:
    """The literals of a condition, and the literal that follows it."""
    start, end = _condition(tokens, at)
    keys: list[Literal] = []
    use = KeyUse.WHOLE
    for place in range(start, end):
        token = tokens[place]
        if token.text in _EQUAL_MARKS:
            key, _ = read_literal(tokens, place + 1)
            other = tokens[place - 1].literal if key is UNKNOWN else key
            keys += [other] if other is not UNKNOWN else []
            before = [t.text for t in tokens[max(start, place - 4) : place]]
            use = (
                KeyUse.PART if {".", "%", "&"} & set(before) and "stringify" not in before else use
            )
            if "%" in before:
                return
        elif token.text in PARTIAL_COMPARISONS and tokens[place + 1].text == "(":
            key, _ = read_literal(tokens, place + 2)
            keys += [key] if key is not UNKNOWN else []
            use = KeyUse.PART
        elif token.kind == "regex":
            words = re.findall(r"\w{3,}", token.text)
            keys += words[:1]
            use = KeyUse.PART
    value = _result(tokens, end)
    if keys and value is not UNKNOWN:
        yield Answer(use, tuple(keys), value, tokens[at].line, 0)


def _condition(tokens: Sequence[Token], at: int) -> tuple[int, int]:
    """The bounds of the expression around a comparison: of `if (…)`, or before a `?`."""
    start = at
    while start and tokens[start - 1].text not in (
        ";",
        "{",
        "}",
        "return",
        "if",
        "?",
        ":",
        "=",
        "=>",
        "||",
    ):
        start -= 1
    end = at
    depth = 0
    while end < len(tokens) and tokens[end].text not in ("?", ";", "{", "}", "||"):
        depth += tokens[end].text == "("
        depth -= tokens[end].text == ")"
        if depth < 0 and start and tokens[start - 1].text == "if":
            return start, end
        end += 1
    return start, end


def _result(tokens: Sequence[Token], end: int) -> Literal:
    """`) return VALUE`, `) { return VALUE`, `? VALUE`."""
    place = end
    if place < len(tokens) and tokens[place].text == "||":
        while place < len(tokens) and tokens[place].text not in ("return", ";", "?"):
            place += 1
        return read_literal(tokens, place + 1)[0]
    if place < len(tokens) and tokens[place].text == "?":
        return read_literal(tokens, place + 1)[0]
    while place < len(tokens) and tokens[place].text in (")", "{"):
        place += 1
    if place < len(tokens) and tokens[place].text == "return":
        return read_literal(tokens, place + 1)[0]
    return UNKNOWN


def _object(tokens: Sequence[Token], at: int) -> Iterator[Answer]:
    """The pairs of an object whose keys and values are literals."""
    place, end = at + 1, closing(tokens, at)
    while place + 2 < end and tokens[place + 1].text == ":":
        key = key_of(tokens[place])
        value, after = read_literal(tokens, place + 2)
        if key is UNKNOWN or value is UNKNOWN:
            return
        yield Answer(KeyUse.WHOLE, (key,), value, tokens[place].line, tokens[at].line)
        place = after + 1


def _nested(table: Literal, outer: tuple[Literal, ...], line: int) -> Iterator[Answer]:
    """`{2: {3: 5}}` gives 5 for the inputs 2 and 3; such pairs are a table of their own."""
    for key, value in table if isinstance(table, frozenset) else ():
        if isinstance(value, frozenset):
            yield from _nested(value, (*outer, key), line)
        elif outer and any(isinstance(one, float) for one in (*outer, key)):
            yield Answer(KeyUse.WHOLE, (*outer, key), value, line, -line)


def _rows(tokens: Sequence[Token], at: int) -> Iterator[Answer]:
    """A list of pairs, as `new Map([[key, value]])` takes it."""
    rows, _ = read_literal(tokens, at)
    for row in rows if isinstance(rows, tuple) else ():
        if isinstance(row, tuple) and len(row) > 1 and row[0] not in ("call", "constant"):
            yield Answer(KeyUse.WHOLE, row[:-1], row[-1], tokens[at].line, tokens[at].line)


def javascript_sequences(tokens: Sequence[Token]) -> Iterator[tuple[Literal, int]]:
    for at, token in enumerate(tokens):
        if token.text == "[":
            value, _ = read_literal(tokens, at)
            if isinstance(value, tuple) and len(value) > 2:
                yield value, token.line


def javascript_takes_in_order(tokens: Sequence[Token]) -> int:
    """The line of `answers.shift()` or `answers[calls++]`; 0 if there is none."""
    for at, token in enumerate(tokens[:-2]):
        if token.text == "shift" and tokens[at + 1].text == "(":
            return token.line
        if token.text == "[" and tokens[at + 1].kind == "name" and tokens[at + 2].text == "++":
            return token.line
    return 0
