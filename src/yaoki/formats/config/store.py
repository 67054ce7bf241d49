"""The store section: which addresses of a store there are, and what of one may be shown."""

from __future__ import annotations

import re

from yaoki.core.redact import MARK
from yaoki.core.settings.settings import StoreSettings
from yaoki.errors import SettingsInvalid
from yaoki.formats.config.defects import SettingsDefects

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SERVER = re.compile(r"postgres(?:ql)?://[^\s/?#]*(?:/[^\s/?#]*)?(?:\?[^\s#]*)?")
# Where a password stands: before the last @ of the authority, or as a parameter.
_PASSWORD = re.compile(r"(://[^/?#:@]*:)[^/?#]*(?=@)|([?&](?:ssl)?password=)[^&#]*")


def check_store(store: StoreSettings, notes: SettingsDefects) -> None:
    """The address is not repeated, for it may hold a password."""
    found = _SCHEME.match(store.url)
    if found is None or store.url.startswith("sqlite://"):
        if store.url.removeprefix("sqlite://") == "" and store.url:
            notes.add("store.url", "sqlite:// is followed by the path of a file")
    elif found[1] not in {"postgresql", "postgres"}:
        notes.add("store.url", f"{found[1]}:// is no store; a path, sqlite:// or postgresql:// is")
    elif not _SERVER.fullmatch(store.url):
        notes.add("store.url", "must be postgresql://user@host:5432/database, without blanks")


def refuse_bad_store_url(url: str) -> None:
    """An address from the command line is refused as one in the settings is."""
    notes = SettingsDefects("--store")
    check_store(StoreSettings(url=url), notes)
    if notes.lines:
        raise SettingsInvalid(notes.lines[0], hint="a path, or postgresql://user@host/database")


def mask_url(url: str) -> str:
    """With a mark in the place of a password."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}{MARK}", url)
