"""Settings: `yaoki.toml`, or `[tool.yaoki]` in `pyproject.toml`, at the top of the repository.

Read without a model library, so that the quick commands start fast.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.settings.settings import Settings
from yaoki.core.text import format_count
from yaoki.errors import SettingsInvalid
from yaoki.formats.config.defects import SettingsDefects
from yaoki.formats.config.store import refuse_bad_store_url

__all__ = ["LoadedSettings", "load_settings", "refuse_bad_store_url"]

BYTES_MAX = 1 << 20
CONFIG_VARIABLE = "YAOKI_CONFIG"


@dataclass(frozen=True)
class LoadedSettings:
    """The settings, and the keys that the file sets.

    With a `refusal` they can only be used for reading, and lack the values that were refused.
    """

    settings: Settings
    given_keys: frozenset[str] = frozenset()
    file: Path | None = None
    refusal: SettingsInvalid | None = None

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """Every value by its dotted key."""
        from yaoki.formats.config.flat_settings import flatten_settings

        return flatten_settings(self.settings)

    @cached_property
    def origin(self) -> Mapping[str, str]:
        """The file's name, `default`, or `derived`: the value follows from others in the file."""
        from yaoki.formats.config.flat_settings import flatten_settings

        usual, source = flatten_settings(Settings()), self.settings.source
        return {
            key: source
            if key in self.given_keys
            else "default"
            if value == usual[key]
            else "derived"
            for key, value in self.values.items()
        }


def load_settings(
    top: Path,
    environ: Mapping[str, str] | None = None,
    *,
    read_only: bool = False,
    now: datetime | None = None,
) -> LoadedSettings:
    """The settings of a repository; `SettingsInvalid` lists every problem.

    `read_only`: the caller starts and changes nothing, so problems that cannot concern the
    location of the store are returned instead.  `now`: a quarantine that expires too far ahead of
    it is a problem.
    """
    file = _find(top, os.environ if environ is None else environ)
    if file is None:
        return LoadedSettings(Settings())
    from yaoki.formats.config.reader import read_settings  # many repositories have no settings

    name = file.name if file.parent == top else str(file)
    text = _text(file, name)
    notes = SettingsDefects(name, text, "tool.yaoki." if file.name == "pyproject.toml" else "")
    settings = read_settings(_table(file, name, text), notes, now)
    refusal = _refusal(name, *notes.lines) if notes.lines else None
    if refusal is not None and (notes.concerns_store or not read_only):
        raise refusal
    given_keys = frozenset(notes.given_keys)
    placed = replace(settings, source=name, source_text=text)
    return LoadedSettings(placed, given_keys, file, refusal)


def _refusal(name: str, *lines: str) -> SettingsInvalid:
    return SettingsInvalid(
        f"{name}: {format_count(len(lines), 'problem')} found, nothing was started",
        hint=f"fix {name}; then `yaoki config show --origin` lists every key",
        defects=lines,
    )


def _find(top: Path, environ: Mapping[str, str]) -> Path | None:
    if named := environ.get(CONFIG_VARIABLE):
        return Path(named)
    # For its own repository, an agent gets the settings file from its worker.
    if environ.get("YAOKI_REPO") == str(top) and (file := environ.get("YAOKI_REPO_CONFIG")):
        return Path(file)
    own, shared = top / "yaoki.toml", top / "pyproject.toml"
    if own.is_fifo() or own.is_socket():
        raise _refusal("yaoki.toml", "yaoki.toml: is not a regular file")
    if not own.exists():
        return shared if _mentions(shared) else None
    if _mentions(shared):
        line = "yaoki.toml: pyproject.toml has [tool.yaoki] as well; keep one of them"
        raise _refusal("yaoki.toml", line)
    return own


def _mentions(shared: Path) -> bool:
    """Does the file contain settings of yaoki?  A file without the word is not parsed."""
    if not shared.is_file() or b"yaoki" not in _bytes(shared, shared.name):
        return False
    return bool(_table(shared, shared.name, _text(shared, shared.name)))


def _bytes(file: Path, name: str) -> bytes:
    try:
        with file.open("rb") as opened:
            raw = opened.read(BYTES_MAX + 1)
    except OSError as fault:
        reason = (fault.strerror or str(fault)).lower()
        raise _refusal(name, f"{name}: cannot be read: {reason}") from fault
    if len(raw) > BYTES_MAX:
        raise _refusal(name, f"{name}: more than the limit of {BYTES_MAX} bytes")
    return raw


def _text(file: Path, name: str) -> str:
    try:
        return _bytes(file, name).decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise _refusal(name, f"{name}: byte {fault.start} is not UTF-8") from fault


def _table(file: Path, name: str, text: str) -> dict[str, Any]:
    import tomllib

    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as fault:  # a number of 5000 digits is no TOML error
        raise _refusal(name, _syntax(name, str(fault))) from fault
    if file.name != "pyproject.toml":
        return table
    for key in ("tool", "yaoki"):
        table = table.get(key, {})
        if not isinstance(table, dict):
            raise _refusal(name, f"{name}: {key} must be a table")
    return table


def _syntax(name: str, message: str) -> str:
    """tomllib puts the position at the end of its message; editors want it first."""
    match = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.S)
    return f"{name}:{match[2]}:{match[3]}: {match[1]}" if match else f"{name}: {message}"
