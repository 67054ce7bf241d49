"""Where trust is kept: one file of the user's, which no repository and no other user can write.

A file that is damaged, a link, or somebody else's trusts nothing, and is said so.
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
    """`trust/trusted.json` in the user's state."""

    def __init__(self, home: Path | None = None) -> None:
        self.folder = (home or state_home()) / "trust"
        self.path = self.folder / "trusted.json"

    def read(self) -> tuple[TrustRecord, str]:
        """What is trusted, and what is wrong with the file; then nothing is."""
        try:
            if why := self._unfit_folder():
                return TrustRecord(), why
            if not self.path.is_symlink() and not self.path.exists():
                return TrustRecord(), ""
            with open_plain_file(self.path) as stream:
                if stream is None:
                    return TrustRecord(), f"{self.path} is a link, or no file that can be read"
                if why := _unfit(os.fstat(stream.fileno())):
                    return TrustRecord(), f"{self.path} {why}"
                raw = stream.read(BYTES_MAX + 1)
            return _record(raw), ""
        except OSError as error:
            return TrustRecord(), f"{self.path} cannot be read: {error.strerror}"
        except (ValueError, TypeError, AttributeError, RecursionError):
            return TrustRecord(), f"{self.path} is damaged"

    def update(self, made: Callable[[TrustRecord], TrustRecord]) -> None:
        """What `made` makes of it, in our turn; one that cannot be read begins anew."""
        try:
            if self.folder.is_symlink():
                self.folder.unlink()
            make_private_folder(self.folder)
            if why := self._unfit_folder():
                raise Fault(f"nothing can be trusted: {why}", transient=False, hint=self._remedy)
            with self._turn():
                record = made(self.read()[0])
                write_atomically(self.path, _bytes(record), mode=0o600)
        except OSError as error:
            raise make_file_fault(f"write {self.path}", error) from error

    def _unfit_folder(self) -> str:
        try:
            facts = self.folder.lstat()
        except FileNotFoundError:
            return ""
        if not stat.S_ISDIR(facts.st_mode):
            return f"{self.folder} is no folder of ours"
        why = _unfit(facts)
        return f"{self.folder} {why}" if why else ""

    @property
    def _remedy(self) -> str:
        return f"look who made it: ls -ld {self.folder}"

    @contextmanager
    def _turn(self) -> Iterator[None]:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(self.folder / "lock", flags, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _unfit(facts: os.stat_result) -> str:
    if facts.st_uid != os.geteuid():
        return "belongs to another user"
    if stat.S_IMODE(facts.st_mode) & OPEN_TO_OTHERS:
        return "can be written by other users"
    return ""


# ------------------------------------------------------------------ the form


def _record(raw: bytes) -> TrustRecord:
    """Strict: what does not look exactly as we wrote it is damage."""
    held = json.loads(raw)
    if len(raw) > BYTES_MAX or not isinstance(held, dict) or held.get("schema") != SCHEMA:
        raise ValueError("not a file of ours")
    places = {
        place: {part: _texts(texts) for part, texts in _table(parts).items()}
        for place, parts in _table(held["places"]).items()
    }
    below = tuple(held["below"])
    if not all(isinstance(folder, str) and folder.startswith("/") for folder in below):
        raise ValueError("below")
    return TrustRecord(places, _texts(held["stores"]), below)


def _table(held: Any) -> Mapping[str, Any]:
    if not isinstance(held, dict):
        raise TypeError("not a table")
    return held


def _texts(held: Any) -> dict[str, str]:
    if not all(isinstance(value, str) for value in _table(held).values()):
        raise TypeError("not texts")
    return dict(held)


def _bytes(record: TrustRecord) -> bytes:
    """Within its bound: of plans the newest are kept, and so are places; the rest asks again."""
    places = {place: _newest(parts) for place, parts in record.places.items()}
    while True:
        held = {
            "schema": SCHEMA,
            "below": list(record.below),
            "places": places,
            "stores": dict(record.stores),
        }
        data = json.dumps(held, indent=1).encode()
        if len(data) <= BYTES_MAX or not places:
            return data
        places.pop(next(iter(places)))


def _newest(parts: TrustedTexts) -> dict[str, Mapping[str, str]]:
    plans = [(name, texts) for name, texts in parts.items() if name != SETTINGS]
    settings = [(SETTINGS, parts[SETTINGS])] if SETTINGS in parts else []
    return dict([*settings, *plans[-PLANS_MAX:]])
