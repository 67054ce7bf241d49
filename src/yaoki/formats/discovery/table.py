"""The tools that are known, as data: `languages/*.toml`, read strictly, loaded when asked for."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import field, fields
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from yaoki.core.lazy_dataclass import dataclass

LANGUAGES = files("yaoki.formats.discovery") / "languages"
# The kinds of checks, and the pattern that a failure of each is told as.
KINDS: Mapping[str, str] = {
    "tests": "test-failed",
    "lint": "lint-error",
    "types": "type-error",
    "format": "format-error",
    "build": "",
}
EntryType = TypeVar("EntryType")


@dataclass(frozen=True, slots=True)
class PackageManager:
    """Who starts the tools of a project; the first whose conditions hold, the last one has none.

    `run`, `exec` and `script` are words that stand before a tool's own.  `setup` is what a fresh
    worktree needs first, where one of `setup_any` holds (none named: always).  `add` installs a
    package into the project, `install` the manager itself.
    """

    name: str
    any: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    exec: tuple[str, ...] = ()
    script: tuple[str, ...] = ()
    add: str = ""
    setup: tuple[str, ...] = ()
    setup_any: tuple[str, ...] = ()
    install: str = ""


@dataclass(frozen=True, slots=True)
class KnownTool:
    """One command that may prove something.

    It is there when one of `any`, all of `also` and none of `unless` hold: see conditions.py.
    `env` is set where one of `env_any` holds.  `program` is what must be installed, unless the
    first word of `run` says it.
    """

    name: str
    check: str
    kind: str
    any: tuple[str, ...]
    also: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    shell: str = ""
    program: str = ""
    package: str = ""
    install: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    env_any: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Language:
    """Its projects are where one of `marks` is; one with `./` counts at the top only.

    Below a folder where one of `covers` holds there is nothing more to find: its commands reach
    everything beneath it.  `last`: looked at after all others.
    """

    name: str
    title: str
    marks: tuple[str, ...]
    manager: tuple[PackageManager, ...]
    tool: tuple[KnownTool, ...]
    covers: tuple[str, ...] = ()
    last: bool = False


@cache
def load_languages() -> tuple[Language, ...]:
    """All of them, in the order they are looked at."""
    held = sorted(file.name for file in LANGUAGES.iterdir() if file.name.endswith(".toml"))
    # People name Python and Node first, so do we.
    first = {"python.toml": 0, "node.toml": 1}
    made = [_language(name) for name in sorted(held, key=lambda name: first.get(name, 2))]
    return tuple(sorted(made, key=lambda language: language.last))


def _language(file: str) -> Language:
    table = tomllib.loads((LANGUAGES / file).read_text(encoding="utf-8"))
    made = {
        **table,
        "manager": [_entry(PackageManager, one, file) for one in table["manager"]],
        "tool": [_entry(KnownTool, one, file) for one in table["tool"]],
    }
    found = _entry(Language, {"name": file.removesuffix(".toml"), **made}, file)
    # Our own files: a defect is ours, and is found by the tests before anybody meets it.
    assert not found.manager[-1].any, f"{file}: the last manager must always hold"
    for tool in found.tool:
        assert tool.kind in KINDS, f"{file}: {tool.name}: {tool.kind}"
        assert bool(tool.run) is not bool(tool.shell), f"{file}: {tool.name}: run or shell"
        assert tool.run or tool.program, f"{file}: {tool.name}: program"
    return found


def _entry(kind: type[EntryType], table: Mapping[str, Any], file: str) -> EntryType:
    known = {held.name for held in fields(kind)}  # type: ignore[arg-type]  # all are dataclasses
    strange = sorted(set(table) - known)
    if strange:
        raise ValueError(f"{file}: unknown keys {strange}")
    return kind(**{key: tuple(v) if isinstance(v, list) else v for key, v in table.items()})
