"""The trust file of the user, which no repository and no other user can write.

If the file is damaged, a link or of another user, nothing is trusted, and the reason is reported.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from yaoki.adapters.system.files import (
    make_file_fault,
    make_private_folder,
    open_plain_file,
    state_home,
    write_atomically,
)
from yaoki.core.trust import SETTINGS, TrustedTexts, TrustRecord
from yaoki.errors import Fault

SCHEMA = 1
BYTES_MAX = 8 << 20
PLANS_MAX = 100
OPEN_TO_OTHERS = 0o022


class TrustFile:
    """`trust/trusted.json` in the state folder of the user."""

    def __init__(self, home: Path | None = None) -> None:
        self.folder = (home or state_home()) / "trust"
        self.path = self.folder / "trusted.json"

    def read(self) -> tuple[TrustRecord, str]:
        """The record and the defect of the file; with a defect the record is empty."""
        try:
            if defect := self._folder_defect():
                return TrustRecord(), defect
            if not self.path.is_symlink() and not self.path.exists():
                return TrustRecord(), ""
            with open_plain_file(self.path) as stream:
                if stream is None:
                    return TrustRecord(), f"{self.path} is a link, or not a readable file"
                if defect := _ownership_defect(os.fstat(stream.fileno())):
                    return TrustRecord(), f"{self.path} {defect}"
                raw = stream.read(BYTES_MAX + 1)
            return _parse_record(raw), ""
        except OSError as error:
            return TrustRecord(), f"{self.path} cannot be read: {error.strerror}"
        except (ValueError, TypeError, AttributeError, RecursionError):
            return TrustRecord(), f"{self.path} is damaged"

    def update(self, change: Callable[[TrustRecord], TrustRecord]) -> None:
        """Replaces the record under a lock; an unreadable file counts as empty."""
        try:
            if self.folder.is_symlink():
                self.folder.unlink()
            make_private_folder(self.folder)
            if defect := self._folder_defect():
                raise Fault(f"nothing can be trusted: {defect}", transient=False, hint=self._remedy)
            with self._lock():
                record = change(self.read()[0])
                write_atomically(self.path, _encode_record(record), mode=0o600)
        except OSError as error:
            raise make_file_fault(f"write {self.path}", error) from error

    def _folder_defect(self) -> str:
        try:
            facts = self.folder.lstat()
        except FileNotFoundError:
            return ""
        if not stat.S_ISDIR(facts.st_mode):
            return f"{self.folder} is not a folder"
        defect = _ownership_defect(facts)
        return f"{self.folder} {defect}" if defect else ""

    @property
    def _remedy(self) -> str:
        return f"check who created it: ls -ld {self.folder}"

    @contextmanager
    def _lock(self) -> Iterator[None]:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(self.folder / "lock", flags, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _ownership_defect(facts: os.stat_result) -> str:
    if facts.st_uid != os.geteuid():
        return "belongs to another user"
    if stat.S_IMODE(facts.st_mode) & OPEN_TO_OTHERS:
        return "can be written by other users"
    return ""


# ------------------------------------------------------------------ the form


def _parse_record(raw: bytes) -> TrustRecord:
    """Strict: any difference from the form that we write is damage."""
    document = json.loads(raw)
    if len(raw) > BYTES_MAX or not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError("not a file of ours")
    places = {
        place: {part: _require_texts(texts) for part, texts in _require_table(parts).items()}
        for place, parts in _require_table(document["places"]).items()
    }
    below = tuple(document["below"])
    if not all(isinstance(folder, str) and folder.startswith("/") for folder in below):
        raise ValueError("below")
    return TrustRecord(places, _require_texts(document["stores"]), below)


def _require_table(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("not a table")
    return value


def _require_texts(value: Any) -> dict[str, str]:
    if not all(isinstance(text, str) for text in _require_table(value).values()):
        raise TypeError("not texts")
    return dict(value)


def _encode_record(record: TrustRecord) -> bytes:
    """Bounded: drops the oldest plans and places, which then have to be trusted again."""
    places = {place: _keep_newest(parts) for place, parts in record.places.items()}
    while True:
        document = {
            "schema": SCHEMA,
            "below": list(record.below),
            "places": places,
            "stores": dict(record.stores),
        }
        data = json.dumps(document, indent=1).encode()
        if len(data) <= BYTES_MAX or not places:
            return data
        places.pop(next(iter(places)))


def _keep_newest(parts: TrustedTexts) -> dict[str, Mapping[str, str]]:
    plans = [(name, texts) for name, texts in parts.items() if name != SETTINGS]
    settings = [(SETTINGS, parts[SETTINGS])] if SETTINGS in parts else []
    return dict([*settings, *plans[-PLANS_MAX:]])
