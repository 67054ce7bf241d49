"""Passes: who holds one may look or act.  Signed, so that they survive a restart of the server.

A link holds a pass for a while; a browser that shows it gets one of its own as a cookie.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.errors import Fault

if TYPE_CHECKING:
    from yaoki.app import App

ACT, LOOK = "act", "look"
LINK, COOKIE, SCRAPE = "link", "cookie", "scrape"
# How long: of a link that may act, of one that may look, of what a scraper keeps in its settings.
HOLDS = {
    (LINK, ACT): timedelta(days=1),
    (LINK, LOOK): timedelta(days=7),
    (SCRAPE, LOOK): timedelta(days=366),
}
COOKIE_HOLDS = timedelta(days=7)
KEY_BYTES = 32
PASS_CHARS_MAX = 200


class Passes:
    """Made and read with the key of one repository and store on this machine."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def make(self, use: str, may: str, now: datetime) -> str:
        until = now + HOLDS.get((use, may), COOKIE_HOLDS)
        told = f"{may}.{int(until.timestamp())}.{secrets.token_urlsafe(16)}"
        return f"{told}.{self._sign(use, told)}"

    def link(self, address: str, may: str, now: datetime) -> str:
        """What a person opens; it holds a pass."""
        return f"{address}/enter?token={self.make(LINK, may, now)}"

    def read(self, use: str, text: str, now: datetime) -> str:
        """What its holder may do; empty when it is not one of ours, or too old."""
        if len(text) > PASS_CHARS_MAX or not text.isascii():
            return ""
        told, _, signed = text.rpartition(".")
        if not hmac.compare_digest(signed, self._sign(use, told)):
            return ""
        may, until, _ = told.split(".")
        return may if now.timestamp() < int(until) else ""

    def _sign(self, use: str, told: str) -> str:
        made = hmac.new(self._key, f"{use}:{told}".encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(made).decode().rstrip("=")


def passes_of(app: App) -> Passes:
    """Those of a repository and store, kept where its background worker keeps its own."""
    return open_passes(key_file(app))


def key_file(app: App) -> Path:
    return app.daemon.folder / "page.key"


def open_passes(file: Path) -> Passes:
    """With the key in `file`, which is made the first time; nobody else may read it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not file.exists():
            _make(file)
        key = file.read_bytes()
    except OSError as error:
        raise Fault(f"the key {file} cannot be used: {error.strerror}", transient=False) from error
    if len(key) != KEY_BYTES:
        raise Fault(f"the key {file} is damaged", transient=False, hint=f"rm {file}")
    return Passes(key)


def _make(file: Path) -> None:
    """Whole or not at all; of two that make it at once the first one's stays."""
    made = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(secrets.token_bytes(KEY_BYTES))
        file.hardlink_to(made)
    except FileExistsError:
        pass  # somebody was first
    finally:
        made.unlink(missing_ok=True)
