"""The quarantine: flaky tests that a person excuses until a date (rule 18.8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from yaoki.core.model.flaky_test import QuarantineEntry

if TYPE_CHECKING:
    from yaoki.formats.config.defects import SettingsDefects

KEY = "quarantine"
TEXT_KEYS = ("test", "owner", "reason")
KEYS = (*TEXT_KEYS, "expires")
ENTRIES_MAX = 1_000
TEXT_CHARS_MAX = 1_000
FORM = "must be a list of tables: [[quarantine]] with test, owner, expires and reason"
DATE_FORM = "must be a date such as 2030-01-31, or a date with time and offset"


def read_quarantine(
    raw: Any, notes: SettingsDefects, now: datetime | None
) -> tuple[QuarantineEntry, ...]:
    """Read the entries; those that expire too long after `now` are refused, none without it."""
    if not isinstance(raw, list) or not all(isinstance(one, dict) for one in raw):
        notes.add(KEY, FORM)
        return ()
    if len(raw) > ENTRIES_MAX:
        notes.add(KEY, f"has {len(raw)} entries, more than {ENTRIES_MAX}")
        return ()
    notes.given_keys.add(KEY)
    entries: list[QuarantineEntry] = []
    for number, table in enumerate(raw, start=1):
        entry = _read_entry(table, number, notes, now)
        if entry is not None and any(entry.test == one.test for one in entries):
            notes.add(KEY, f"number {number} names {entry.test!r} again")
        elif entry is not None:
            entries.append(entry)
    return tuple(entries)


def _read_entry(
    table: Mapping[str, Any], number: int, notes: SettingsDefects, now: datetime | None
) -> QuarantineEntry | None:
    test = table.get("test")
    name = f"number {number} ({test})" if isinstance(test, str) and test else f"number {number}"
    defects = list(_defects(table))
    expires = _read_expiry(table.get("expires"))
    if "expires" in table and expires is None:
        defects.append(f"expires {DATE_FORM}, not {str(table['expires'])[:80]!r}")
    for key in table.keys() - set(KEYS):
        notes.add_unknown(f"{KEY}.{key}", KEYS, {})
    if defects or expires is None:
        for words in defects:
            notes.add(KEY, f"{name}: {words}")
        return None
    entry = QuarantineEntry(table["test"], table["owner"], expires, table["reason"])
    if now is not None and (words := entry.distant_expiry(now)):
        notes.add(KEY, f"{name}: {words}; choose an earlier date")
        return None
    return entry


def _defects(table: Mapping[str, Any]) -> Iterator[str]:
    for key in KEYS:
        if key not in table:
            yield f"{key} is missing"
    for key in TEXT_KEYS:
        value = table.get(key, "-")
        if not isinstance(value, str) or not value.strip():
            yield f"{key} must be a string that is not empty"
        elif len(value) > TEXT_CHARS_MAX or any(mark in value for mark in "\0\n"):
            yield f"{key} must be one line of at most {TEXT_CHARS_MAX} characters"


def _read_expiry(raw: Any) -> datetime | None:
    """A date lasts until its end in UTC; a time without an offset would mean two things."""
    if isinstance(raw, str):
        raw = _parse(raw)
    if isinstance(raw, datetime):
        return raw.astimezone(UTC) if raw.tzinfo is not None else None
    if isinstance(raw, date):
        return datetime.combine(raw, time(), UTC) + timedelta(days=1)
    return None


def _parse(text: str) -> date | datetime | None:
    for parse in (date.fromisoformat, datetime.fromisoformat):
        try:
            return parse(text)
        except ValueError:
            continue
    return None


def entry_as_data(entry: QuarantineEntry) -> dict[str, str]:
    """The entry as a table of the settings file."""
    expires = entry.expires.isoformat(timespec="seconds")
    return {
        "test": entry.test,
        "owner": entry.owner,
        "expires": expires,
        "reason": entry.reason,
    }
