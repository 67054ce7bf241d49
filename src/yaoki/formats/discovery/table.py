"""The known tools as data: `languages/*.toml`, read strictly, loaded on first use."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import field, fields
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from yaoki.core.lazy_dataclass import dataclass

LANGUAGES = files("yaoki.formats.discovery") / "languages"
# The kinds of checks, and the failure pattern of each.
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
    """Starts the tools of a project.  The first one is used for which one of `any` and all of
    `also` hold; the last one has no conditions.

    `run`, `exec` and `script` are put before a tool's own words.  `setup` prepares a fresh
    worktree if one of `setup_any` holds (always, if there is none).  `add` installs a package
    into the project, `install` the manager itself.  `env` is set for every check, `test_env` for
    tests; `{venv}` in them and in `add` is the virtual environment of the repository.  `pass_on`
    is put before words for the program in a script.
    """

    name: str
    any: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    exec: tuple[str, ...] = ()
    script: tuple[str, ...] = ()
    add: str = ""
    setup: tuple[str, ...] = ()
    setup_any: tuple[str, ...] = ()
    install: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    test_env: Mapping[str, str] = field(default_factory=dict)
    pass_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownTool:
    """A command that may be a check.

    A project has it when one of `any`, all of `also` and none of `unless` hold: see
    conditions.py.  `env` is set if one of `env_any` holds.  `program` must be installed; by
    default it is the first word of `run`.  `look` are the words that keep it from changing files;
    they are added if one of `look_any` holds, or when it changed files on the base.  Where a
    `replaceable` tool is not installed, the next tool of its kind is used.
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
    look: tuple[str, ...] = ()
    look_any: tuple[str, ...] = ()
    replaceable: bool = False


@dataclass(frozen=True, slots=True)
class Language:
    """A folder with one of `marks` is a project; a mark with `./` counts at the top only.

    Folders below one where `covers` holds are skipped: its commands include them.  `last`:
    examined after all other languages.
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
    """All languages, in the order of examination."""
    names = sorted(file.name for file in LANGUAGES.iterdir() if file.name.endswith(".toml"))
    # The most common languages first.
    first = {"python.toml": 0, "node.toml": 1}
    languages = [_language(name) for name in sorted(names, key=lambda name: first.get(name, 2))]
    return tuple(sorted(languages, key=lambda language: language.last))


def _language(file: str) -> Language:
    table = tomllib.loads((LANGUAGES / file).read_text(encoding="utf-8"))
    values = {
        **table,
        "manager": [_entry(PackageManager, one, file) for one in table["manager"]],
        "tool": [_entry(KnownTool, one, file) for one in table["tool"]],
    }
    language = _entry(Language, {"name": file.removesuffix(".toml"), **values}, file)
    # These files are our own, so a defect is a bug, and the tests find it.
    assert not language.manager[-1].any, f"{file}: the last manager must always hold"
    for tool in language.tool:
        assert tool.kind in KINDS, f"{file}: {tool.name}: {tool.kind}"
        assert bool(tool.run) is not bool(tool.shell), f"{file}: {tool.name}: run or shell"
        assert tool.run or tool.program, f"{file}: {tool.name}: program"
    return language


def _entry(kind: type[EntryType], table: Mapping[str, Any], file: str) -> EntryType:
    known = {field_.name for field_ in fields(kind)}  # type: ignore[arg-type]  # all are dataclasses
    strange = sorted(set(table) - known)
    if strange:
        raise ValueError(f"{file}: unknown keys {strange}")
    return kind(**{key: tuple(v) if isinstance(v, list) else v for key, v in table.items()})
