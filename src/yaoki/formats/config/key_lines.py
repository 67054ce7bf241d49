"""The lines of the keys in a TOML file: the reader of the standard library does not keep them.

Used only to point at a defect in a file that was read, so a key that is written in an unusual
way may get the line of the table around it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from yaoki.core.lazy_pattern import lazy_compile

_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_KEY = rf"{_PART}(?:\s*\.\s*{_PART})*"
_PARTS = lazy_compile(_PART)
_TABLE = lazy_compile(rf"\s*\[\[?\s*({_KEY})\s*\]\]?\s*(?:#.*)?")
_VALUE = lazy_compile(rf"\s*({_KEY})\s*=")
_STRING_OR_COMMENT = lazy_compile(r""""(?:[^"\\]|\\.)*"|'[^']*'|#.*""")
_LONG_QUOTES = ('"""', "'''")


def read_key_lines(text: str) -> dict[str, int]:
    """The first line of each dotted key and table."""
    lines: dict[str, int] = {}
    for key, number in _list_keys(text):
        lines.setdefault(key, number)
    return lines


def find_key_line(lines: Mapping[str, int], key: str) -> int:
    """The line of a dotted key, else of the nearest table around it; 0 when there is none."""
    while key and key not in lines:
        key = key.rpartition(".")[0]
    return lines.get(key, 0)


def find_settings_line(text: str, source: str, key: str) -> int:
    """The line of a key of the settings in their file, which may be `pyproject.toml`."""
    prefix = "tool.yaoki." if source.endswith("pyproject.toml") else ""
    return find_key_line(read_key_lines(text), f"{prefix}{key}")


def find_quarantine_line(text: str, test: str) -> int:
    """The line that names the test in an entry of the quarantine; 0 when there is none."""
    lines = text.split("\n")
    for key, number in _list_keys(text):
        if key.endswith("quarantine.test") and _has_value(lines[number - 1], test):
            return number
    return 0


def _has_value(line: str, value: str) -> bool:
    import tomllib

    try:
        return value in tomllib.loads(line).values()
    except tomllib.TOMLDecodeError:  # a text of several lines, in a file that was read
        return False


def find_commented_table(text: str, name: str) -> int:
    """The line in which the table is commented out; 0 when there is none."""
    for number, line in enumerate(text.split("\n"), 1):
        comment = line.strip()
        header = _TABLE.fullmatch(comment.lstrip("# ")) if comment.startswith("#") else None
        if header is not None and _join(header[1]) == name:
            return number
    return 0


def _list_keys(text: str) -> Iterator[tuple[str, int]]:
    table, depth, open_quotes = "", 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        if open_quotes:
            open_quotes = "" if line.count(open_quotes) % 2 else open_quotes
            continue
        if depth == 0 and (header := _TABLE.fullmatch(line)):
            table = _join(header[1])
            yield table, number
            continue
        if depth == 0 and (value := _VALUE.match(line)):
            yield f"{table}.{_join(value[1])}".lstrip("."), number
        open_quotes = next((one for one in _LONG_QUOTES if line.count(one) % 2), "")
        # A value that is a list may have lines that look like the head of a table.
        rest = _STRING_OR_COMMENT.sub("", line)
        depth = max(0, depth + rest.count("[") - rest.count("]"))


def _join(key: str) -> str:
    return ".".join(part.strip("\"'") for part in _PARTS.findall(key))
