"""Code left out of the coverage that a check asks for: by comments, and by new settings.

Lines that no test can run (types, `__main__`, abstract methods, platforms) and the tests themselves
are left out by everybody.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import CheckSpec
from yaoki.core.model.change import Change
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.settings import read_ini_sections

LEAVES_OUT = "leaves code out of the coverage that a check asks for; test it"
_ASKS = lazy_compile(
    r"--cov\b|--cov-|--coverage\b|\bcoverage\s+(?:run|report)|\b(?:nyc|c8)\b|--experimental-test-coverage"
    r"|\bcoverageThreshold\b|\bfail_under\b|-coverprofile|\btarpaulin\b|\bllvm-cov\b"
)
_SETTINGS = (
    *("pytest.ini", ".pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", "noxfile.py"),
    *("package.json", "Makefile", "justfile", "jest.config.js", "vitest.config.ts", ".coveragerc"),
)
_INI = lazy_compile(r"(?:^|/)(?:\.coveragerc|setup\.cfg|tox\.ini)$")
_NODE = lazy_compile(r"(?:^|/)\.(?:nycrc|c8rc)(?:\.json)?$")
_KEYS = frozenset({"omit", "exclude_lines", "exclude_also", "exclude", "partial_branches"})
_UNTESTED = lazy_compile(
    r"pragma|TYPE_CHECKING|__main__|NotImplemented|abstract|__repr__|__str__|overload|Protocol|^\W*\.\.\.\W*$"
    r"|assert_never|assert_unreachable|AssertionError|ImportError|ModuleNotFoundError"
    r"|if (?:0|False):|sys\.(?:platform|version)|os\.name|KeyboardInterrupt|unreachable"
    r"|^\s*(?:\^?\\s[*+])?pass\b"
)
_OTHER_FILES = lazy_compile(
    r"tests?\b|test_|\bspecs?\b|__tests__|conftest|setup\.py|migrations|venv|site-packages|_version"
    r"|/usr|\bdist\b|\bbuild\b|node_modules|\bdocs?\b|\bexamples?\b|\.tox|\.nox|\.config\.|coverage"
    r"|\.d\.ts|__main__|\btmp\b"
)
_DEFINES = lazy_compile(
    r"\bdef\s+(?!__(?:repr|str)__)|\bclass\s+(?!.*Protocol)|\breturn\b|^\.\*$|\|"
)


def asks_for_coverage(checks: Iterable[CheckSpec], base: FileIndex) -> bool:
    words = (" ".join((*check.argv, check.shell)) for check in checks)
    return any(map(_ASKS.search, words)) or any(
        _ASKS.search(base.text(path)) for path in _SETTINGS if path in base.paths
    )


def is_left_out_by_everybody(code: str) -> bool:
    """Is it a line that no test can run?"""
    return _UNTESTED.search(code) is not None


def find_exclusions(change: Change) -> bool:
    """Do the settings leave out more than before, of what tests can run?"""
    old, new = _excluded(change.path, change.before), _excluded(change.path, change.after)
    return any(not _is_usual(key, one) for key, one in new - old)


def _is_usual(key: str, value: str) -> bool:
    if key in ("omit", "exclude"):
        return _OTHER_FILES.search(value) is not None
    return _UNTESTED.search(value) is not None and not _DEFINES.search(value)


def _excluded(path: str, text: str | None) -> set[tuple[str, str]]:
    """The keys that leave something out, with each of their values."""
    found = (one for section in _sections(path, text or "") for one in section.items())
    return {(key, value) for key, held in found if key in _KEYS for value in _values(held) if value}


def _values(held: Any) -> Iterator[str]:
    lines: Sequence[Any] = re.split(r"\n|,\s", held) if isinstance(held, str) else held
    yield from (str(one).strip() for one in (lines if isinstance(lines, list) else ()))


def _sections(path: str, text: str) -> Iterator[Mapping[str, Any]]:
    name = path.rsplit("/", 1)[-1]
    try:
        if _INI.search(path):
            yield from _of_ini(text, needs_prefix=name != ".coveragerc")
        elif name == "pyproject.toml":
            tool = tomllib.loads(text).get("tool", {}).get("coverage", {})
            yield from (one for one in tool.values() if isinstance(one, dict))
        elif name == "package.json":
            values = json.loads(text) if text else {}
            yield from (values[one] for one in ("nyc", "c8") if isinstance(values.get(one), dict))
        elif _NODE.search(path):
            values = json.loads(text) if text else {}
            yield from [values] if isinstance(values, dict) else []
    except (ValueError, AttributeError, RecursionError):
        return


def _of_ini(text: str, *, needs_prefix: bool) -> Iterator[Mapping[str, Any]]:
    for section, values in read_ini_sections(text):
        if not needs_prefix or section.startswith("coverage:"):
            yield values
