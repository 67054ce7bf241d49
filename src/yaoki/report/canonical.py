"""The canonical form of a receipt: sorted JSON, a digest of each entry, one over the whole.

The second line holds the digest of all the others, so `sed 2d FILE | sha256sum` recomputes it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from yaoki.core.lazy_dataclass import dataclass

DIGEST, PART_DIGEST = "digest", "sha256"
BYTES_MAX = 256 << 20
# Lists whose entries have digests of their own, so that a change can be located.
LISTS = ("landed", "line")
Data = dict[str, Any]


def canonical_text(body: Mapping[str, Any]) -> str:
    """The same data always gives the same bytes: one line for each field and each entry."""
    fields = (f" {_line(name)}: {_field(name, body[name])}" for name in sorted(body))
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _field(name: str, value: Any) -> str:
    if name not in LISTS or not isinstance(value, list) or not value:
        return _line(value)
    return "[\n" + ",\n".join(f"  {_line(part)}" for part in value) + "\n ]"


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


def receipt_digest(body: Mapping[str, Any]) -> str:
    return _sum(canonical_text(body))


def entry_digest(part: Mapping[str, Any]) -> str:
    """The digest of one entry, without its own digest field."""
    body = {key: value for key, value in part.items() if key != PART_DIGEST}
    return _sum(_line(body))


def _sum(words: str) -> str:
    """SHA-256 of any text; lone surrogates in a file are hashed here and refused later."""
    return hashlib.sha256(words.encode(errors="surrogatepass")).hexdigest()


def seal(body: Mapping[str, Any]) -> Data:
    """The receipt with its digests; the digest of the whole comes first."""
    parts = {
        name: [{**part, PART_DIGEST: entry_digest(part)} for part in body[name]] for name in LISTS
    }
    whole = {**body, **parts}
    return {DIGEST: receipt_digest(whole), **whole}


def receipt_text(receipt: Mapping[str, Any]) -> str:
    """The file that `--receipt` writes: the canonical text with the digest as its second line."""
    body = {key: value for key, value in receipt.items() if key != DIGEST}
    return canonical_text(body).replace("{\n", f'{{\n "{DIGEST}": "{receipt.get(DIGEST)}",\n', 1)


@dataclass(frozen=True, slots=True)
class UnreadableReceipt:
    """The file is not a receipt; the message says why and where."""

    reason: str


def parse_receipt(data: bytes) -> Data | UnreadableReceipt:
    """Parse the file, or say where it is unreadable.  Nothing is verified yet."""
    if len(data) > BYTES_MAX:
        return UnreadableReceipt(f"{len(data)} bytes are more than a receipt can have")
    try:
        receipt = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_refuse_duplicates,
            parse_constant=_refuse_constant,
        )
    except UnicodeDecodeError as error:
        return UnreadableReceipt(f"{_place(data, error.start)}: not UTF-8")
    except json.JSONDecodeError as error:
        return UnreadableReceipt(f"line {error.lineno}, column {error.colno}: {error.msg}")
    except (RecursionError, ValueError) as error:
        return UnreadableReceipt(str(error))
    if not isinstance(receipt, dict):
        return UnreadableReceipt("line 1: it is not a JSON object")
    return receipt


def find_misprint(data: bytes, receipt: Mapping[str, Any]) -> str:
    """The first place where the file is not the canonical text of its data; empty without one."""
    try:
        wanted = receipt_text(receipt).encode()
    except (UnicodeEncodeError, ValueError) as error:
        return f"it cannot be written canonically: {error}"
    if wanted == data:
        return ""
    pairs = zip(data, wanted, strict=False)
    short = min(len(data), len(wanted))
    at = next((n for n, (one, other) in enumerate(pairs) if one != other), short)
    return _place(data, at)


def _place(data: bytes, at: int) -> str:
    before = data[:at]
    return f"line {before.count(10) + 1}, byte {at - before.rfind(10)}"


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> Data:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} occurs twice in one object")
    return fields


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")
