"""The common encodings of a value, each made by one shell command or line of code."""

from __future__ import annotations

from collections.abc import Iterator


def encoded_variants(value: str) -> Iterator[str]:
    """Reversed, upper and lower case, base64 at any offset, hex, and escaped bytes."""
    raw = value.encode("utf-8", "surrogatepass")
    yield value[::-1]
    yield value.upper()
    yield value.lower()
    for digits in (raw.hex(), raw.hex().upper()):
        yield digits
        pairs = [digits[at : at + 2] for at in range(0, len(digits), 2)]
        for between in ("%", "\\x", ":", " "):
            yield between.join(pairs)
    for shift in range(3):
        plain = _base64_at_offset(raw, shift)
        yield plain
        yield plain.replace("+", "-").replace("/", "_")


def _base64_at_offset(raw: bytes, shift: int) -> str:
    """The base64 letters of the value at this offset, without those shared with its neighbours."""
    from base64 import b64encode  # few values are encoded, and most commands mask none

    text = b64encode(bytes(shift) + raw).decode("ascii")
    first = (8 * shift + 5) // 6
    whole = 8 * (shift + len(raw)) // 6
    return text[first:whole]
