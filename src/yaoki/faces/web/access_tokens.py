"""Passes: who holds one may look or act.  Signed, so that they survive a restart of the server.

A link holds a pass for a while; a browser that shows it gets one of its own as a cookie.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import dataclass
from yaoki.errors import Fault

if TYPE_CHECKING:
    from yaoki.app.build import App

ACT, LOOK = "act", "look"
LINK, COOKIE, SCRAPE = "link", "cookie", "scrape"
# How long: of a link that may act, of one that may look, of what a scraper keeps in its settings.
VALID_FOR = {
    (LINK, ACT): timedelta(days=1),
    (LINK, LOOK): timedelta(days=7),
    (SCRAPE, LOOK): timedelta(days=366),
}
COOKIE_VALID_FOR = timedelta(days=7)
# What lets unproven work land asks for a pass that a person has just been given.
FRESH = timedelta(minutes=15)
KEY_BYTES = 32
TOKEN_CHARS_MAX = 200
# Of the hash of its dice: the same for whoever reads it, and fit for any page.
NAME_CHARS = 8


@dataclass(frozen=True, slots=True)
class AccessToken:
    """What its holder may do, when the link it comes from was made, and a name for the journal."""

    permission: str
    made_at: datetime
    name: str


class AccessTokens:
    """Made and read with the key of one repository and store on this machine."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def make(
        self, use: str, permission: str, now: datetime, made_at: datetime | None = None
    ) -> str:
        """`made`: when the link was made that this pass comes from."""
        until = now + VALID_FOR.get((use, permission), COOKIE_VALID_FOR)
        times = f"{int(until.timestamp())}.{int((made_at or now).timestamp())}"
        told = f"{permission}.{times}.{secrets.token_urlsafe(16)}"
        return f"{told}.{self._sign(use, told)}"

    def link(self, address: str, permission: str, now: datetime) -> str:
        """What a person opens; it holds a pass."""
        return f"{address}/enter?token={self.make(LINK, permission, now)}"

    def permission_of(self, use: str, text: str, now: datetime) -> str:
        """What its holder may do; empty when it is not one of ours, or too old."""
        known = self.verify(use, text, now)
        return known.permission if known else ""

    def verify(self, use: str, text: str, now: datetime) -> AccessToken | None:
        """The pass; None when it is not one of ours, or too old."""
        if len(text) > TOKEN_CHARS_MAX or not text.isascii():
            return None
        told, _, signed = text.rpartition(".")
        if not hmac.compare_digest(signed, self._sign(use, told)):
            return None
        # One of an older yaoki does not say when it was made: it is as old as can be.
        may, until, *made, name = told.split(".")
        if now.timestamp() >= int(until):
            return None
        at = datetime.fromtimestamp(int(made[0]) if made else 0, UTC)
        return AccessToken(may, at, hashlib.sha256(name.encode()).hexdigest()[:NAME_CHARS])

    def _sign(self, use: str, told: str) -> str:
        made = hmac.new(self._key, f"{use}:{told}".encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(made).decode().rstrip("=")


def access_tokens_of(app: App) -> AccessTokens:
    """Those of a repository and store, kept where its background worker keeps its own."""
    return open_access_tokens(signing_key_file(app))


def signing_key_file(app: App) -> Path:
    return app.services.daemon.folder / "page.key"


def open_access_tokens(file: Path) -> AccessTokens:
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
    return AccessTokens(key)


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
