"""The defects of a settings file, and the simple values read from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from yaoki.core.lazy_dataclass import MISSING, Field, dataclass, field, fields
from yaoki.core.text import did_you_mean, nearest

SectionType = TypeVar("SectionType")

# The sections that commands need which only read, and names of a store that may be misspelled.
NEEDED_TO_READ = ("store", "workspace")
STORE_WORDS = ("store", "url")
_TYPES: Mapping[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    tuple: "a list of strings",
}
# The types that tomllib returns where the settings store another type.
_READ_AS: Mapping[type, tuple[type, ...]] = {float: (int, float), tuple: (list,)}


@dataclass(slots=True)
class SettingsDefects:
    """The defects, one line each, and the dotted keys that were given.

    `text` is the file, in which the keys are below the table `prefix`; empty if there is none.
    """

    name: str
    text: str = ""
    prefix: str = ""
    key_lines: Mapping[str, int] | None = None
    # A defect may concern the location of the store: then not even reading may go on without it.
    concerns_store: bool = False
    lines: list[str] = field(default_factory=list)
    given_keys: set[str] = field(default_factory=set)

    def add(self, key: str, reason: str) -> None:
        from yaoki.formats.config.key_lines import find_key_line, read_key_lines

        self.concerns_store |= key.partition(".")[0] in NEEDED_TO_READ
        if self.key_lines is None:
            self.key_lines = read_key_lines(self.text)  # only for a defect
        line = find_key_line(self.key_lines, f"{self.prefix}{key}")
        place = f"{self.name}:{line}" if line else self.name
        self.lines.append(f"{place}: {key}: {reason}")

    def add_unknown(self, key: str, known: Iterable[str], renamed: Mapping[str, str]) -> None:
        """Refuse a key; for a renamed key, name the new one."""
        last = key.rpartition(".")[2]
        self.concerns_store |= bool(nearest(last, STORE_WORDS))
        if last in renamed:
            self.add(key, f"renamed; it is now {renamed[last]}")
        else:
            self.add(key, f"unknown key{did_you_mean(last, known)}")

    def read_table(self, raw: Any, key: str) -> dict[str, Any]:
        if isinstance(raw, dict):
            return raw
        self.add(key, f"must be a table, not {raw!r}")
        return {}

    def read_texts(self, raw: Any, key: str) -> tuple[str, ...]:
        """A string or a list of strings."""
        listed = [raw] if isinstance(raw, str) else raw
        if isinstance(listed, list) and listed and all(isinstance(w, str) and w for w in listed):
            self.given_keys.add(key)
            return tuple(listed)
        self.add(key, "must be a string or a list of strings, and not empty")
        return ()

    def read_section(
        self,
        cls: type[SectionType],
        raw: Any,
        key: str,
        *,
        also: Iterable[str] = (),
        renamed: Mapping[str, str] | None = None,
    ) -> SectionType:
        """A section whose keys are the documented fields of `cls`; `also` are read elsewhere."""
        known = documented_fields(cls)
        values: dict[str, Any] = {}
        for name, value in self.read_table(raw, key).items():
            dotted = f"{key}.{name}"
            if name in known:
                values.update(self.read_scalar(known[name], value, dotted))
            elif name not in also:
                self.add_unknown(dotted, (*known, *also), renamed or {})
        return cls(**values)

    def read_scalar(self, about: Field[Any], value: Any, key: str) -> dict[str, Any]:
        """The value by the name of its field; nothing when it is refused."""
        reason = scalar_defect(about, value)
        if reason:
            self.add(key, reason)
            return {}
        self.given_keys.add(key)
        return {about.name: _convert(about, value)}


def documented_fields(cls: Any) -> dict[str, Field[Any]]:
    """The documented fields of a section."""
    return {f.name: f for f in fields(cls) if "doc" in f.metadata and f.default is not MISSING}


def scalar_defect(about: Field[Any], value: Any) -> str:
    """The reason why a key cannot have this value; empty when it can.  The default
    gives the type.
    """
    type_, bounds = _written_type(about.default), about.metadata
    if type(value) not in _READ_AS.get(type_, (type_,)):
        return f"must be {_TYPES[type_]}" + ("" if bounds["secret"] else f", not {value!r}")
    if type_ is str:
        return _text_defect(value, bounds["words"])
    if type_ is tuple:
        return _list_defect(value, bounds)
    if type_ is not bool and not bounds["low"] <= value <= bounds["high"]:
        return f"must be from {bounds['low']:g} to {bounds['high']:g}, not {value!r}"
    return ""


def _written_type(default: Any) -> type:
    """The type of the value in the file: a word of a closed set is a text there."""
    return str if isinstance(default, str) else type(default)


def _text_defect(value: str, words: tuple[str, ...]) -> str:
    if words and value not in words:
        return f"must be {' or '.join(words)}, not {value!r}{did_you_mean(value, words)}"
    return "contains a NUL character" if "\0" in value else ""


def _list_defect(value: list[Any], bounds: Mapping[str, Any]) -> str:
    if not all(isinstance(word, str) and word for word in value):
        return "must be a list of strings, none of them empty"
    if not bounds["low"] <= len(value) <= bounds["high"]:
        return f"must have from {bounds['low']:g} to {bounds['high']:g} strings, not {len(value)}"
    return next(filter(None, (_text_defect(word, bounds["words"]) for word in value)), "")


def _convert(about: Field[Any], value: Any) -> Any:
    match about.default:
        case float():
            return float(value)
        case StrEnum() as default:
            return type(default)(value)
        case (StrEnum() as first, *_):
            return tuple(type(first)(word) for word in value)
        case tuple():
            return tuple(value)
        case _:
            return value
