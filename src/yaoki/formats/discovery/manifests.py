"""Reads manifests as facts: `needs:pytest`, `table:tool.ruff`, `script:test`, `target:lint`."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.scope import matches_name

TABLE_DEPTH_MAX = 4
_REQUIREMENT = lazy_compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SECTION = lazy_compile(r"^\[([^\]\n]{1,100})\]", re.MULTILINE)
_TARGET = lazy_compile(r"^([A-Za-z0-9][\w.-]*)\s*:(?!=)", re.MULTILINE)
_DEPENDENCIES = ("dependencies", "dependency-groups", "devDependencies", "require")
# The placeholder that npm writes; it tests nothing.
_NO_TESTS = "no test specified"
# One command that fixes what it finds; words can be added to its end.
_FIXES = lazy_compile(r"[^&|;\n]*\s--fix\b(?!-)[^&|;\n]*")

ManifestFacts = Iterator[str]


class UnreadableManifest(Exception):
    """A manifest that its own tool would refuse, too."""


def read_facts(name: str, text: str) -> set[str]:
    """The facts in one file; its name selects the reader."""
    base = name.rpartition("/")[2]
    for shape, read in MANIFESTS.items():
        if matches_name(base, shape) and ("/" not in name or shape in _DEEP):
            try:
                return set(read(text))
            except ValueError as fault:
                raise UnreadableManifest(str(fault)) from fault
            except RecursionError as fault:
                raise UnreadableManifest("nested too deep") from fault
    return set()


def _toml(text: str) -> ManifestFacts:
    table = tomllib.loads(text)
    yield from (f"table:{path}" for path in _paths(table, TABLE_DEPTH_MAX))
    yield from (f"needs:{name}" for name in _needs(table))


def _paths(table: Mapping[str, Any], depth: int, above: str = "") -> Iterator[str]:
    for key, value in table.items():
        yield f"{above}{key}"
        if isinstance(value, dict) and depth > 1:
            yield from _paths(value, depth - 1, f"{above}{key}.")


def _needs(value: Any, inside: bool = False) -> Iterator[str]:
    """The names of packages in all tables of dependencies."""
    match value:
        case dict():
            for key, data in value.items():
                named = any(str(key).lower().endswith(word) for word in _DEPENDENCIES)
                if inside and not isinstance(data, list):
                    yield _normalize(str(key))
                yield from _needs(data, inside or named)
        case list() if inside:
            yield from (_normalize(one) for one in value if isinstance(one, str))
        case _:
            return


def _normalize(requirement: str) -> str:
    match = _REQUIREMENT.match(requirement)
    return match[0].lower().replace("_", "-") if match else ""


def _requirements(text: str) -> ManifestFacts:
    lines = (line.strip() for line in text.splitlines())
    yield from (f"needs:{_normalize(line)}" for line in lines if _REQUIREMENT.match(line))


def _sections(text: str) -> ManifestFacts:
    yield from (f"section:{name.strip()}" for name in _SECTION.findall(text))


def _package(text: str) -> ManifestFacts:
    """package.json and composer.json."""
    data = json.loads(text)
    if not isinstance(data, dict):
        return
    yield from (f"key:{key}" for key in data)
    manager = data.get("packageManager")
    if isinstance(manager, str):
        yield f"manager:{manager.partition('@')[0]}"
    for name, words in _mapping(data, "scripts"):
        if _NO_TESTS not in str(words):
            yield f"script:{name}"
        if _FIXES.fullmatch(str(words)):
            yield f"fixes:{name}"
    groups = ("dependencies", "devDependencies", "optionalDependencies", "require", "require-dev")
    for group in groups:
        # `php` and `ext-json` are not packages.
        named = (n for n, _ in _mapping(data, group) if group[:7] != "require" or "/" in n)
        yield from (f"needs:{name}" for name in named)


def _deno(text: str) -> ManifestFacts:
    without = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
    try:
        data = json.loads(without)
    except ValueError:  # JSONC allows more comments and commas than JSON
        return
    if isinstance(data, dict):
        yield from (f"task:{name}" for name, _ in _mapping(data, "tasks"))


def _mapping(data: Mapping[str, Any], key: str) -> list[tuple[str, Any]]:
    table = data.get(key)
    return list(table.items()) if isinstance(table, dict) else []


def _targets(text: str) -> ManifestFacts:
    yield from (f"target:{name}" for name in _TARGET.findall(text))


MANIFESTS: Mapping[str, Callable[[str], ManifestFacts]] = {
    "pyproject.toml": _toml,
    "Cargo.toml": _toml,
    "Pipfile": _toml,
    "hatch.toml": _toml,
    "requirements*.txt": _requirements,
    "setup.cfg": _sections,
    "tox.ini": _sections,
    "package.json": _package,
    "composer.json": _package,
    "deno.json": _deno,
    "deno.jsonc": _deno,
    "Makefile": _targets,
    "makefile": _targets,
    "GNUmakefile": _targets,
}
# These also count for the folder above: `requirements/requirements-dev.txt`.
_DEEP = frozenset(("requirements*.txt",))
