"""The text that a JavaScript expression of constants gives: `'as' + 'sert'`, `['as'].join('')`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence

from yaoki.formats.quality.gaming.javascript import Token, closing, read_literal

NAMES_MAX = 200


def named_texts(tokens: Sequence[Token]) -> dict[str, str]:
    """The names that a program binds to such a text."""
    found: dict[str, str] = {}
    for at in range(2, len(tokens)):
        if tokens[at - 1].text == "=" and tokens[at - 2].kind == "name" and len(found) < NAMES_MAX:
            text, _ = read_text(tokens, at, found)
            if text is not None:
                found[tokens[at - 2].text] = text
    return found


def read_text(tokens: Sequence[Token], at: int, names: Mapping[str, str]) -> tuple[str | None, int]:
    """The text of the expression that begins here, and the place behind it; None if unknown."""
    text, at = _read_part(tokens, at, names)
    while text is not None and _text_at(tokens, at) == "+":
        more, at = _read_part(tokens, at + 1, names)
        text = text + more if more is not None else None
    return text, at


def _text_at(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].text if at < len(tokens) else ""


def _read_part(
    tokens: Sequence[Token], at: int, names: Mapping[str, str]
) -> tuple[str | None, int]:
    start = _text_at(tokens, at)
    if start == "(":
        text, end = read_text(tokens, at + 1, names)
        return (text, end + 1) if _text_at(tokens, end) == ")" else (None, end)
    if start == "[":
        return _read_joined(tokens, at, names)
    if start in ("String", "Buffer", "atob", "globalThis"):
        return _read_call(tokens, at, names)
    if at >= len(tokens):
        return None, at
    value = tokens[at].literal
    if isinstance(value, str):
        return _read_turned(tokens, at + 1, value)
    following = _text_at(tokens, at + 1)
    is_plain = tokens[at].kind == "name" and following not in (".", "?.", "(", "[", "=")
    return (names.get(start), at + 1) if is_plain else (None, at + 1)


def _read_joined(
    tokens: Sequence[Token], at: int, names: Mapping[str, str]
) -> tuple[str | None, int]:
    """`['as', 'sert'].join('')`, also with `.reverse()` before."""
    end, place, parts = closing(tokens, at), at + 1, list[str]()
    while place < end:
        part, place = read_text(tokens, place, names)
        if part is None or _text_at(tokens, place) not in (",", "]"):
            return None, end + 1
        parts.append(part)
        place += _text_at(tokens, place) == ","
    place = end + 1
    while [one.text for one in tokens[place : place + 4]] == [".", "reverse", "(", ")"]:
        parts.reverse()
        place += 4
    if [one.text for one in tokens[place : place + 3]] != [".", "join", "("]:
        return None, place
    between = tokens[place + 3].literal if place + 3 < len(tokens) else None
    after = closing(tokens, place + 2) + 1
    return (between if isinstance(between, str) else ",").join(parts), after


def _read_turned(tokens: Sequence[Token], at: int, text: str) -> tuple[str | None, int]:
    """`'tressa'.split('').reverse().join('')`; any other method gives an unknown text."""
    if _text_at(tokens, at) not in (".", "?.", "["):
        return text, at
    words = [one.text.strip("\"'`") for one in tokens[at : at + 14]]
    turned = [*(".", "split", "(", "", ")"), *(".", "reverse", "(", ")"), *(".", "join", "(", "")]
    if words == [*turned, ")"]:
        return text[::-1], at + 14
    return None, at


def _read_call(
    tokens: Sequence[Token], at: int, names: Mapping[str, str]
) -> tuple[str | None, int]:
    """`String.fromCharCode(97)`, `atob('…')`, `Buffer.from('…', 'hex').toString()`."""
    while _text_at(tokens, at + 1) == "." and _text_at(tokens, at) != "(":
        at += 2
    name, opens = _text_at(tokens, at), at + 1
    if _text_at(tokens, opens) != "(":
        return None, at + 1
    end = closing(tokens, opens)
    if name in ("fromCharCode", "fromCodePoint"):
        codes = [one.literal for one in tokens[opens + 1 : end] if one.text != ","]
        known = all(isinstance(one, float) and 0 <= one < 0x110000 for one in codes)
        return ("".join(chr(int(one)) for one in codes) if known else None), end + 1
    text, after = read_text(tokens, opens + 1, names)
    coding = read_literal(tokens, after + 1)[0] if _text_at(tokens, after) == "," else "base64"
    if name not in ("atob", "from") or text is None:
        return None, end + 1
    if [one.text for one in tokens[end + 1 : end + 4]] == [".", "toString", "("]:
        end = closing(tokens, end + 3)
    return decode_text(text, str(coding)), end + 1


def decode_text(text: str, coding: str) -> str | None:
    try:
        if coding == "hex":
            return bytes.fromhex(text).decode()
        if coding in ("base64", "base64url"):
            return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_").decode()
    except (ValueError, binascii.Error):
        return None
    return text
