"""Reads `git status --porcelain`: changed, staged and untracked files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from yaoki.adapters.checks.readers.command_output import OutputLines, shorten_output
from yaoki.adapters.checks.readers.entries import (
    GIT_DIRTY,
    OutputEntry,
    ParsedOutput,
    collect_entries,
)
from yaoki.core.lazy_pattern import lazy_compile

FIELDS_MAX = 20_000

_V1 = lazy_compile(r"([ MTADRCU?]{2}) (.{1,4096})$")
_V2 = lazy_compile(r"(?:1 (..) (?:\S+ ){6}|2 (..) (?:\S+ ){7}|u (..) (?:\S+ ){8})(.{1,4096})$")
_ESCAPE = lazy_compile(r"\\([0-7]{3}|.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def git_status(output: OutputLines) -> ParsedOutput | None:
    """Versions 1 and 2, with lines or null characters as separators."""
    raw = shorten_output(output.source.stdout)
    end = "\0" if "\0" in raw else "\n"
    fields = raw.split(end, FIELDS_MAX)
    return collect_entries(GIT_DIRTY, _parse_fields(fields, nulls=end == "\0"))


def _parse_fields(fields: Sequence[str], *, nulls: bool) -> Iterator[OutputEntry]:
    skip = False
    for field in fields:
        entry = None if skip else _parse_field(field)
        # With null characters, the old name of a renamed file is a separate field.
        skip = not skip and nulls and entry is not None and "R" in entry.code
        if entry is not None:
            yield entry


def _parse_field(field: str) -> OutputEntry | None:
    field = field[:5000]
    if field.startswith("? "):
        return OutputEntry("", "is not known to git", _unquote(field[2:]), code="??")
    if hit := _V2.match(field):
        code, path = hit[1] or hit[2] or hit[3], hit[4].partition("\t")[0]
    elif (hit := _V1.match(field)) and hit[1] != "  ":
        code, path = hit[1], hit[2].rpartition(" -> ")[2] if "R" in hit[1] else hit[2]
    else:
        return None
    message = "is not known to git" if code == "??" else "is not committed"
    # A dot for "unchanged", as in version 2: leading blanks get lost.
    return OutputEntry("", message, _unquote(path), code=code.replace(" ", "."))


def _unquote(quoted: str) -> str:
    """git quotes paths that are not ASCII, byte by byte."""
    if len(quoted) < 2 or not quoted.startswith('"') or not quoted.endswith('"'):
        return quoted

    def decode_byte(hit: re.Match[str]) -> str:
        octal = hit[1].isdecimal() and len(hit[1]) == 3
        return chr(int(hit[1], 8) & 255) if octal else _ESCAPES.get(hit[1], hit[1])

    raw = _ESCAPE.sub(decode_byte, quoted[1:-1]).encode("latin-1", errors="replace")
    return raw.decode("utf-8", errors="replace")
