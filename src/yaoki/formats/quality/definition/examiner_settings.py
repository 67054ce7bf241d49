"""New settings of linters and type checkers: may the tool examine less than by its defaults?

Settings that the base has are compared with it.  Here are those that the base lacks: a new file, or
the first section of a tool in a file of many tools.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.reached_files import FileRole, ReachedFiles
from yaoki.formats.quality.model import Change
from yaoki.formats.quality.strictness import is_weaker

# Programs that may start any of the tools.
_STARTERS = frozenset(
    {"tox", "nox", "pre-commit", "prek", "hatch", "poe", "invoke", "inv", "task", "doit"}
    | {"pdm", "rake", "trunk", "mise", "docker", "docker-compose", "bazel", "gradle", "mvn"}
)
_PROGRAMS = frozenset({FileRole.SCRIPT, FileRole.PROGRAM})
_CODE = (".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl")
_FILES = {
    "ruff": r"\.?ruff\.toml",
    "mypy": r"\.?mypy\.ini",
    "flake8": r"\.flake8",
    "pylint": r"\.?pylintrc(?:\.toml)?",
    "pyright": r"pyrightconfig\.json",
    "basedpyright": r"pyrightconfig\.json",
    "ty": r"ty\.toml",
    "pyrefly": r"pyrefly\.toml",
    "isort": r"\.isort\.cfg",
    "bandit": r"\.bandit|bandit\.ya?ml",
    "pydocstyle": r"\.pydocstyle[\w.]*",
    "codespell": r"\.codespellrc",
    "typos": r"[._]?typos\.toml",
    "yamllint": r"\.yamllint[\w.]*",
    "markdownlint": r"\.markdownlint[\w.-]*",
    "markdownlint-cli2": r"\.markdownlint[\w.-]*",
    "shellcheck": r"\.?shellcheckrc",
    "hadolint": r"\.hadolint\.ya?ml",
    "sqlfluff": r"\.sqlfluff",
    "rubocop": r"\.rubocop\.yml",
    "golangci-lint": r"\.golangci\.\w+",
    "cargo": r"\.?clippy\.toml|\.?rustfmt\.toml",
    "biome": r"biome\.jsonc?",
    "oxlint": r"\.oxlintrc\.json",
    "prettier": r"\.prettierrc[\w.]*|prettier\.config\.\w+",
    "phpstan": r"phpstan\.neon(?:\.dist)?",
}
_SHARED = frozenset({"pyproject.toml", "setup.cfg", "tox.ini"})
_IN_SHARED = frozenset(
    {"ruff", "mypy", "flake8", "pylint", "pyright", "basedpyright", "ty", "pyrefly", "isort"}
    | {"bandit", "pydocstyle", "pycodestyle", "codespell", "typos", "black", "vulture", "sqlfluff"}
)
# Keys with which the tool examines as much as before, or more.
_HARMLESS: Mapping[str, re.Pattern[str]] = {
    "ruff": lazy_compile(
        r"(?:indent-width|target-version|required-version|preview|src|cache-dir|output-format"
        r"|show-fixes|(?:lint\.)?extend-select|lint\.preview|(?:lint\.)?isort\..+"
        r"|format\.(?!exclude).+)"
    ),
    "mypy": lazy_compile(
        r"(?:python_version|show_\w+|pretty|color_output|error_summary|enable_error_code|cache_dir"
        r"|namespace_packages|explicit_package_bases|incremental)"
    ),
}
# Formatters: what their files look like is no matter of more or less.
_STYLE = frozenset({"prettier", "black", "isort"})
_LEAVES_OUT = lazy_compile(
    r"exclude|include|skip(?!-string|-magic)|ignore|filter|pragma|overrides|plugins|only_", re.I
)
_RUFF_DEFAULTS = ("E4", "E7", "E9", "F")
_LINE_CHARS_MAX = 120


def may_run_any_tool(reached: ReachedFiles) -> bool:
    """Do the checks run a program that may start others?  Shell scripts and recipes are read."""
    started = (path for path, role in reached.roles.items() if role in _PROGRAMS)
    return bool(_STARTERS & reached.tools) or any(path.endswith(_CODE) for path in started)


def may_examine_less(change: Change, reached: ReachedFiles) -> bool:
    """`reached` is what the checks of the base run."""
    name, after = change.path.rsplit("/", 1)[-1], change.after or ""
    if change.after is None:
        return False
    any_tool = may_run_any_tool(reached)
    for tool in sorted({*_FILES, *_IN_SHARED}):
        if tool not in reached.tools and not any_tool:
            continue
        if re.fullmatch(_FILES.get(tool, ""), name) and change.before is None:
            values = _values(name, after)
        elif name in _SHARED and tool in _IN_SHARED and not _section(name, change.before, tool):
            values = _section(name, after, tool)
        else:
            continue
        if values is None or any(not _is_harmless(tool, *one) for one in _flatten(values)):
            return True
    return False


def _is_harmless(tool: str, key: str, value: Any) -> bool:
    if tool in _STYLE:
        return _LEAVES_OUT.search(key) is None
    if tool == "ruff" and key in ("select", "lint.select"):
        codes = tuple(map(str, value)) if isinstance(value, list) else ()
        return all(any(rule.startswith(code) for code in codes) for rule in _RUFF_DEFAULTS)
    if tool == "ruff" and key == "line-length":
        return isinstance(value, int) and value <= _LINE_CHARS_MAX
    harmless = tool in _HARMLESS and _HARMLESS[tool].fullmatch(key) is not None
    return harmless or (tool == "mypy" and not key.count(".") and not is_weaker(None, value, key))


def _values(name: str, text: str) -> Mapping[str, Any] | None:
    """None if the form of the file is not read here."""
    if name.endswith(".toml"):
        return _parsed(tomllib.loads, text)
    if name.endswith((".json", "rc")) and text.lstrip().startswith("{"):
        return _parsed(json.loads, text)
    if name in ("mypy.ini", ".mypy.ini", ".isort.cfg"):
        sections = _ini(text)
        main = sections.pop("mypy", sections.pop("settings", {}))
        return {**main, **sections}
    return None


def _section(name: str, text: str | None, tool: str) -> Mapping[str, Any]:
    """The settings of the tool in a file of many tools; empty if it has none."""
    if name == "pyproject.toml":
        tools = (_parsed(tomllib.loads, text or "") or {}).get("tool")
        found = tools.get(tool) if isinstance(tools, dict) else None
        return found if isinstance(found, dict) else {}
    sections = _ini(text or "")
    own = sections.pop(tool, {})
    return {**own, **{n: v for n, v in sections.items() if re.match(rf"{tool}\b", n)}}


def _flatten(values: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{start}{key}.")
        else:
            yield f"{start}{key}", value


def _parsed(parse: Callable[[str], Any], text: str) -> Mapping[str, Any] | None:
    try:
        found = parse(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _ini(text: str) -> dict[str, Mapping[str, str]]:
    import configparser  # few changes have such a file

    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    return {name: dict(parser.items(name)) for name in parser.sections()}
