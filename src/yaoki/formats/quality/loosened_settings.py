"""Settings of tests, linters and type checkers: does a change make them check less?"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.languages import GRAMMARS
from yaoki.formats.quality.lexer import scan_source, strip_comments
from yaoki.formats.quality.model import Change
from yaoki.formats.quality.strictness import FEWER, find_narrowing, flatten_section, is_weaker

LOOSENED_MESSAGE = "it changes how the checks are run"

# Files with no other purpose; any change to an existing one counts.
_CONFIG = lazy_compile(
    r"(?:^|/)(?:pytest\.ini|\.pytest\.ini|\.?pytest\.toml|tox\.ini|noxfile\.py|\.coveragerc"
    r"|jest\.config\.\w+|vitest\.config\.\w+"
    r"|\.mocharc(?:\.\w+)?|karma\.conf\.js|mypy\.ini|\.mypy\.ini|pyrightconfig\.json|ruff\.toml"
    r"|\.ruff\.toml|\.flake8|\.eslintrc(?:\.\w+)?|eslint\.config\.\w+|\.golangci\.\w+|clippy\.toml"
    r"|\.rspec|phpunit\.xml(?:\.dist)?|playwright\.config\.\w+|cypress\.config\.\w+)$"
)
_TOOLS = (
    *("pytest", "mypy", "ruff", "coverage", "tox", "pyright", "basedpyright", "flake8"),
    *("pylint", "poe", "nox", "bandit", "black", "isort", "ty", "yaoki"),
)
_NODE_TOOLS = ("jest", "mocha", "vitest", "ava", "nyc", "c8", "eslintConfig", "tap", "xo", "wireit")
_SCRIPT = lazy_compile(r"test|lint|type|check|spec|verify|valid|\bci\b|e2e", re.IGNORECASE)
_STRICTNESS = lazy_compile(r"strict|^no[A-Z]|skipLibCheck|checkJs|allowUnreachable|allowUnused")
# Folders of build output, which is never checked.
_BUILT = lazy_compile(
    r"(?:\*\*/|\./)?(?:out|dist|build|lib|coverage|node_modules|tmp|temp|target|public|storybook-static"
    r"|\.[\w-]{1,40})(?:/\*{1,2}|/)?"
)
_MAKES = lazy_compile(
    r"pytest|unittest|jest|vitest|mocha|rspec|mypy|ruff|flake8|eslint|tsc\b|clippy"
    r"|\bgo (?:test|vet)|cargo test|npm (?:run )?test|fail_under",
    re.IGNORECASE,
)
_MAKE_TURNS = lazy_compile(
    r"^\s{0,4}(?:test|check|lint)[\w-]{0,20}\s{0,4}::?(?!=)|ADDOPTS|\.IGNORE\b|\bMAKEFLAGS\b"
    r"|\bSHELL\s{0,4}[:?+]{0,3}=|\.SHELLFLAGS"
)
_NPM_RUNS = lazy_compile(r"script-shell|node-options|shell-emulator|if-present")
_CARGO = lazy_compile(r"autotests|^\s*(?:test|doctest|harness)\s*=\s*false|\[(?:workspace\.)?lints")


def find_loosening(change: Change) -> str:
    """The reason why a change of settings weakens the checks; empty when it does not."""
    existed = change.before is not None
    if _CONFIG.search(change.path):
        if (
            existed
            and change.after is not None
            and re.search(r"\.ini$|\.coveragerc$|\.flake8$", change.path)
        ):
            return _sections(change, _parse_ini)
        if existed and change.after is not None and change.path.endswith(".toml"):
            return _sections(change, _parse_toml)
        return LOOSENED_MESSAGE if existed else find_narrowing(change.after or "")
    judge = _SHARED.get(change.path.rsplit("/", 1)[-1]) or _family_judge(change.path)
    return judge(change) if judge is not None else ""


def find_loosening_beside(change: Change, sections: frozenset[str]) -> str:
    """The same for all parts of a file but these, which are compared elsewhere."""
    name = change.path.rsplit("/", 1)[-1]
    parse = _PARTS.get(name, _parse_toml if name.endswith(".toml") else _parse_ini)
    return _sections(change, parse, sections)


def knows_settings(path: str) -> bool:
    """Are these settings whose meaning is known here?"""
    known = path.rsplit("/", 1)[-1] in _SHARED or _family_judge(path) is not None
    return known or _CONFIG.search(path) is not None


def _family_judge(path: str) -> Callable[[Change], str] | None:
    return _tsconfig if re.search(r"(?:^|/)[tj]sconfig[^/]*\.json$", path) else None


def _sections(
    change: Change,
    parse: Callable[[str], Mapping[str, Any]],
    skipped: frozenset[str] = frozenset(),
) -> str:
    """Parts of a settings file, by name: an existing one may not change, a new one not narrow."""
    old, new = parse(change.before or ""), parse(change.after or "")
    for name in ({**old, **new}).keys() - skipped:
        if name in old and is_weaker(old[name], new.get(name), name):
            return LOOSENED_MESSAGE
        if name not in old and (words := find_narrowing(f"{name} = {flatten_section(new[name])}")):
            return words
    return ""


def _pyproject(change: Change) -> str:
    return _sections(change, _tools_of)


def _tools_of(text: str) -> Mapping[str, Any]:
    try:
        values = tomllib.loads(text).get("tool", {})
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return {}
    return {name: values[name] for name in _TOOLS if isinstance(values, dict) and name in values}


def _parse_toml(text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return {"": text}


def _setup_cfg(change: Change) -> str:
    return _sections(change, _ini_of)


def _ini_of(text: str) -> Mapping[str, Any]:
    return {
        n: values for n, values in _parse_ini(text).items() if any(tool in n for tool in _TOOLS)
    }


def _parse_ini(text: str) -> Mapping[str, Any]:
    import configparser  # few changes have such a file

    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return {"": text}
    return {name: dict(parser.items(name)) for name in parser.sections()}


def _package_json(change: Change) -> str:
    old, new = _json_of(change.before), _json_of(change.after)
    if change.before and not old:
        return (
            LOOSENED_MESSAGE
            if any(re.search(r'"test\w{0,10}"\s?:', t) for t in _changed_lines(change))
            else ""
        )
    return _sections(change, _node_of) if old or new else ""


def _node_of(text: str) -> Mapping[str, Any]:
    values = _json_of(text)
    scripts = values.get("scripts")
    named = scripts if isinstance(scripts, dict) else {}
    check_scripts = {
        f"script {name}": value for name, value in named.items() if _SCRIPT.search(name)
    }
    return {**{name: values[name] for name in _NODE_TOOLS if name in values}, **check_scripts}


def _tsconfig(change: Change) -> str:
    """Strictness that changes, and sources that are no longer checked."""
    if change.before is None:
        return ""
    old, new = _json_of(change.before), _json_of(change.after)
    if not old or not new:
        return ""
    if _strict(old) != _strict(new):
        return LOOSENED_MESSAGE
    gained = _list_at(new, "exclude") - _list_at(old, "exclude")
    if any(not _BUILT.fullmatch(path) for path in gained):
        return FEWER
    shrunk = "include" in old and "include" in new and _list_at(old, "include")
    return FEWER if shrunk and _list_at(old, "include") - _list_at(new, "include") else ""


def _strict(values: Mapping[str, Any]) -> Mapping[str, Any]:
    options = values.get("compilerOptions")
    named = options if isinstance(options, dict) else {}
    return {key: value for key, value in named.items() if _STRICTNESS.search(key)}


def _list_at(values: Mapping[str, Any], key: str) -> frozenset[str]:
    value = values.get(key)
    return frozenset(map(str, value)) if isinstance(value, list) else frozenset()


def _json_of(text: str | None) -> Mapping[str, Any]:
    """Comments and trailing commas are allowed; anything but an object is ignored."""
    try:
        values = json.loads(strip_comments(scan_source(text or "", GRAMMARS["json"])))
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _makefile(change: Change) -> str:
    """A line that checked and is gone, or one that redirects the check."""
    if change.before is None:
        return ""
    old, new = change.before.splitlines(), (change.after or "").splitlines()
    removed, added = frozenset(old) - frozenset(new), frozenset(new) - frozenset(old)
    known_targets = {line.split(":")[0].strip() for line in old if _MAKE_TURNS.search(line)}
    turned = (
        t for t in added if (hit := _MAKE_TURNS.search(t)) and _redirects(t, hit[0], known_targets)
    )
    return LOOSENED_MESSAGE if any(_MAKES.search(t) for t in removed) or any(turned) else ""


def _redirects(line: str, hit: str, known: set[str]) -> bool:
    """A new rule is harmless; a second one of the same name replaces the first."""
    return not hit.rstrip().endswith(":") or line.split(":")[0].strip() in known


def _npmrc(change: Change) -> str:
    """The shell that runs scripts (`true` would run none), and what Node loads before them."""
    lines = list(_changed_lines(change))
    return LOOSENED_MESSAGE if any(_NPM_RUNS.search(line) for line in lines) else ""


def _cargo(change: Change) -> str:
    about = (
        any(_CARGO.search(line) for line in _changed_lines(change)) and change.before is not None
    )
    return LOOSENED_MESSAGE if about else ""


def _changed_lines(change: Change) -> Iterator[str]:
    """Lines that were added or removed."""
    before = frozenset((change.before or "").splitlines())
    after = frozenset((change.after or "").splitlines())
    yield from before ^ after


_SHARED: Mapping[str, Callable[[Change], str]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "package.json": _package_json,
    "Makefile": _makefile,
    "GNUmakefile": _makefile,
    "makefile": _makefile,
    "Cargo.toml": _cargo,
    ".npmrc": _npmrc,
}
_PARTS: Mapping[str, Callable[[str], Mapping[str, Any]]] = {
    "pyproject.toml": _tools_of,
    "setup.cfg": _ini_of,
}
