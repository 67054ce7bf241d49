"""The store section: the valid addresses of a store, and how to show one without its password."""

from __future__ import annotations

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.redact import MARK
from yaoki.core.settings.settings import StoreSettings
from yaoki.errors import SettingsInvalid
from yaoki.formats.config.defects import SettingsDefects

_SCHEME = lazy_compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SERVER = lazy_compile(r"postgres(?:ql)?://[^\s/?#]*(?:/[^\s/?#]*)?(?:\?[^\s#]*)?")
# The places of a password: before the last @ of the authority, or as a parameter.
_PASSWORD = lazy_compile(r"(://[^/?#:@]*:)[^/?#]*(?=@)|([?&](?:ssl)?password=)[^&#]*")


def check_store(store: StoreSettings, notes: SettingsDefects) -> None:
    """The address is not repeated, because it may contain a password."""
    scheme = _SCHEME.match(store.url)
    if scheme is None or store.url.startswith("sqlite://"):
        if store.url.removeprefix("sqlite://") == "" and store.url:
            notes.add("store.url", "sqlite:// must be followed by the path of a file")
    elif scheme[1] not in {"postgresql", "postgres"}:
        notes.add(
            "store.url", f"{scheme[1]}:// is not supported; use a path, sqlite:// or postgresql://"
        )
    elif not _SERVER.fullmatch(store.url):
        notes.add("store.url", "must be postgresql://user@host:5432/database, without spaces")


def refuse_bad_store_url(url: str) -> None:
    """Check an address from the command line like one from the settings."""
    notes = SettingsDefects("--store")
    check_store(StoreSettings(url=url), notes)
    if notes.lines:
        raise SettingsInvalid(notes.lines[0], hint="a path, or postgresql://user@host/database")


def mask_url(url: str) -> str:
    """The address with its password masked."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}{MARK}", url)
