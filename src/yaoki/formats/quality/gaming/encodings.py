"""Texts in common encodings: what a text may be decoded to, and what an input may be encoded to."""

from __future__ import annotations

import base64
import binascii
import bz2
import codecs
import hashlib
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from urllib.parse import unquote

from yaoki.core.lazy_pattern import lazy_compile

CHARS_MIN, CHARS_MAX = 4, 20_000
UNPACKED_BYTES_MAX = 1 << 20
SHIFTED_CHARS_MIN, DISTINCT_MIN = 5, 3
# The option of zlib for a stream with the header of gzip.
_GZIP = 31
# Upper and lower case differ by this.
_CASE = 32
_SEPARATORS = lazy_compile(r"[|,;\s\0]+")
_HEX = lazy_compile(r"(?:[\da-fA-F]{2})+")
_BASE64 = lazy_compile(r"[\w+/-]{4,}={0,2}", re.ASCII)
_HASHES = ("md5", "sha1", "sha256", "sha512")
_UNPACKERS: tuple[tuple[bytes, Callable[[bytes], bytes]], ...] = (
    (b"x", lambda data: zlib.decompressobj().decompress(data, UNPACKED_BYTES_MAX)),
    (b"\x1f\x8b", lambda data: zlib.decompressobj(_GZIP).decompress(data, UNPACKED_BYTES_MAX)),
    (b"BZh", lambda data: bz2.BZ2Decompressor().decompress(data, UNPACKED_BYTES_MAX)),
    (b"\xfd7zXZ", lambda data: lzma.LZMADecompressor().decompress(data, UNPACKED_BYTES_MAX)),
)


def decodings(text: str) -> Iterator[str]:
    """The text decoded from other encodings; never the text itself."""
    if not CHARS_MIN <= len(text) <= CHARS_MAX:
        return
    yield from (one for one in _plain_decodings(text) if one != text)
    for data in _binaries(text):
        try:
            decoded = _unpack(data).decode()
        except UnicodeDecodeError:
            continue
        if decoded and decoded != text:
            yield decoded


def _plain_decodings(text: str) -> Iterator[str]:
    yield text[::-1]
    yield codecs.encode(text, "rot13")
    if "%" in text:
        yield unquote(text)


def _binaries(text: str) -> Iterator[bytes]:
    if _HEX.fullmatch(text):
        yield bytes.fromhex(text)
    if _BASE64.fullmatch(text):
        try:
            yield base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_")
            yield base64.b64decode(text + "=" * (-len(text) % 4))
        except binascii.Error:
            pass
    try:
        yield text.encode("latin-1")
    except UnicodeEncodeError:
        return


def _unpack(data: bytes) -> bytes:
    for start, unpack in _UNPACKERS:
        if data.startswith(start) and len(data) > len(start):
            try:
                return unpack(data)
            except (zlib.error, OSError, EOFError, lzma.LZMAError, ValueError):
                continue
    return data


def pieces(text: str) -> list[str]:
    """The parts of a text between separators, and lines."""
    parts = (one for one in _SEPARATORS.split(text) if one)
    return list(dict.fromkeys((text, *parts, *(line.strip() for line in text.splitlines()))))


def hashes(text: str) -> Iterator[str]:
    """Hashes by which a table may know a text without containing it."""
    data = text.encode("utf-8", "surrogatepass")
    for name in _HASHES:
        yield hashlib.new(name, data, usedforsecurity=False).hexdigest()
    yield format(zlib.crc32(data), "x")
    yield str(zlib.crc32(data))


def is_shifted(text: str, plain: str) -> bool:
    """Is it the other text with each character moved, or masked, by the same number?"""
    if len(text) != len(plain) or len(text) < SHIFTED_CHARS_MIN or len(set(plain)) < DISTINCT_MIN:
        return False
    for other in (plain, plain[::-1]):
        pairs = [(ord(a), ord(b)) for a, b in zip(text, other, strict=True)]
        moved, masked = {a - b for a, b in pairs}, {a ^ b for a, b in pairs}
        if any(len(one) == 1 and not one & {0, _CASE, -_CASE} for one in (moved, masked)):
            return True
    return False
