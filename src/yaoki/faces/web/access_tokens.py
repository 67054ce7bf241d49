"""Access tokens: their holder may read, or act.  Signed, so they survive a server restart.

A link contains a token for a while; a browser that opens it gets its own token as a cookie.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from datetime import UTC, datetime, timedelta
from enum import StrEnum, unique
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.core.lazy_dataclass import dataclass
from yaoki.errors import Fault

if TYPE_CHECKING:
    from yaoki.app.build import App


@unique
class Permission(StrEnum):
    """What the holder of a token may do: everything, or only read."""

    ACT = "act"
    LOOK = "look"


@unique
class TokenUse(StrEnum):
    """Where a token is used; it is part of the signature, so no other use accepts it."""

    LINK = "link"
    COOKIE = "cookie"
    SCRAPE = "scrape"


ACT, LOOK = Permission.ACT, Permission.LOOK
LINK, COOKIE, SCRAPE = TokenUse.LINK, TokenUse.COOKIE, TokenUse.SCRAPE
# Lifetimes: a link that may act, a link that may only read, a scraper's token.
VALID_FOR = {
    (LINK, ACT): timedelta(days=1),
    (LINK, LOOK): timedelta(days=7),
    (SCRAPE, LOOK): timedelta(days=366),
}
COOKIE_VALID_FOR = timedelta(days=7)
# A waiver lets unproven work land, so it needs a token from a fresh link.
FRESH = timedelta(minutes=15)
KEY_BYTES = 32
TOKEN_CHARS_MAX = 200
# The length of the token's name, which is derived from a hash of its random part.
NAME_CHARS = 8


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A valid token: its permission, when its link was made, and a name for the journal."""

    permission: Permission
    made_at: datetime
    name: str


class AccessTokens:
    """Makes and verifies tokens with the key of one repository and store on this machine."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def make(
        self, use: TokenUse, permission: Permission, now: datetime, made_at: datetime | None = None
    ) -> str:
        """`made_at`: when the link was made that this token comes from."""
        until = now + VALID_FOR.get((use, permission), COOKIE_VALID_FOR)
        times = f"{int(until.timestamp())}.{int((made_at or now).timestamp())}"
        payload = f"{permission}.{times}.{secrets.token_urlsafe(16)}"
        return f"{payload}.{self._sign(use, payload)}"

    def link(self, address: str, permission: Permission, now: datetime) -> str:
        """The address with a token, for a person to open."""
        return f"{address}/enter?token={self.make(LINK, permission, now)}"

    def permission_of(self, use: TokenUse, text: str, now: datetime) -> Permission | None:
        """The permission of the token; None when it is invalid or expired."""
        known = self.verify(use, text, now)
        return known.permission if known else None

    def verify(self, use: TokenUse, text: str, now: datetime) -> AccessToken | None:
        """The token's content; None when it is invalid or expired."""
        if len(text) > TOKEN_CHARS_MAX or not text.isascii():
            return None
        payload, _, signed = text.rpartition(".")
        if not hmac.compare_digest(signed, self._sign(use, payload)):
            return None
        # A token of an older version has no creation time; it counts as the oldest possible.
        may, until, *made, name = payload.split(".")
        if now.timestamp() >= int(until):
            return None
        at = datetime.fromtimestamp(int(made[0]) if made else 0, UTC)
        return AccessToken(
            Permission(may), at, hashlib.sha256(name.encode()).hexdigest()[:NAME_CHARS]
        )

    def _sign(self, use: TokenUse, payload: str) -> str:
        signature = hmac.new(self._key, f"{use}:{payload}".encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(signature).decode().rstrip("=")


def access_tokens_of(app: App) -> AccessTokens:
    """The tokens of a repository and store; the key is in the background worker's folder."""
    return open_access_tokens(signing_key_file(app))


def signing_key_file(app: App) -> Path:
    return app.services.daemon.folder / "page.key"


def open_access_tokens(file: Path) -> AccessTokens:
    """Read the key in `file`, or create it, readable only by its owner."""
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
    """Create the key atomically; of two concurrent writers the first one wins."""
    fresh = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(secrets.token_bytes(KEY_BYTES))
        file.hardlink_to(fresh)
    except FileExistsError:
        pass  # another process was first
    finally:
        fresh.unlink(missing_ok=True)
