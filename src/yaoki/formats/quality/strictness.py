"""Compares one setting before and after: does it check less, or allow more?"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from yaoki.core.lazy_pattern import lazy_compile

FEWER = "it makes the checks examine less"

# In a new file, or a new part of an old one, only narrowing counts.
_NARROWS = lazy_compile(
    r"--ignore\b|--ignore-glob|--deselect|--co(?:llect-only)?\b|--setup-(?:plan|only)|--fixtures|--markers|--help"
    r"|--exit-zero|passWithNoTests|--allow-no-tests"
    r"|(?:^|[\s\"'=\[,])-[km][\s\"',=]|norecursedirs|\bpython_(?:files|functions|classes)\b"
    r"|testPathIgnorePatterns|\bcollect_ignore|\bignore_errors\b|\btestNamePattern\b"
    r"|\bextend[-_]exclude\b|follow_imports[\"']?\s?[=:]\s?[\"']?skip|[\"']ALL[\"']"
    r"|(?:^|[\s\"'=\[,])-p[\s\"',=]{0,5}(?!no:)[A-Za-z_]|--(?:lf|last-failed|sw|stepwise|ff)\b"
    r"|--(?:rootdir|confcutdir|noconftest|override-ini|continue-on-collection-errors|reruns)\b"
    r"|(?:^|[\s\"'=\[,])-[oc][\s\"',=]|^\s*plugins\s?[=:]|\bxfail_strict\s?=\s?[\"']?[Ff]alse",
    re.MULTILINE,
)
# Options of pytest that only show more, and those that make a mistake in the settings an error.
_SHOWING = lazy_compile(
    r"--durations(?:-min)?=[\d.]+|-r[a-zA-Z]+|-v{1,3}|--verbose|-l|--showlocals|--color=\w+|--tb=\w+"
    r"|--no-header"
)
_STRICT = frozenset({"--strict", "--strict-markers", "--strict-config"})
# Settings that affect neither which tests count nor how they end.
_NEUTRAL = frozenset(
    {"markers", "minversion", "console_output_style", "description", "passenv", "deps", "extras"}
    | {"junit_family", "junit_suite_name", "cache_dir", "basepython", "show_missing", "precision"}
    | {
        "title",
        "directory",
        "envlist",
        "env_list",
        "requires",
        "dependency_groups",
        "verbosity_assertions",
    }
)
_NEUTRAL_START = ("log_", "faulthandler_", "tmp_path_", "junit_")
# Lists that check more when they grow, and switches that check more when they are on.
_MORE = frozenset(
    {"select", "extend-select", "extend_select", "enable", "testpaths", "files", "packages"}
)
_STRICTER = lazy_compile(
    r"^(?:strict\w*|warn_\w+|disallow_\w+|check_untyped_defs|no_implicit_\w+|fail_under)$"
)
# New keys of a known section that are judged by what they narrow, like a new section.
_OPEN = frozenset(
    {
        "addopts",
        "pythonpath",
        "testpaths",
        "asyncio_mode",
        "filterwarnings",
        "required_plugins",
        "timeout",
    }
    | {
        "asyncio_default_fixture_loop_scope",
        "django_settings_module",
        "env",
        "line-length",
        "target-version",
    }
)


def find_narrowing(text: str) -> str:
    return FEWER if _NARROWS.search(text) else ""


def is_weaker(old: Any, new: Any, key: str) -> bool:
    """May this setting now allow something that it did not?"""
    if old == new or key in _NEUTRAL or key.startswith(_NEUTRAL_START):
        return False
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return any(is_weaker(old.get(one), new.get(one), one) for one in {**old, **new})
    if old is None and key in _OPEN:
        return bool(find_narrowing(f"{key} = {flatten_section(new)}"))
    if key == "addopts" and isinstance(old, str) and isinstance(new, str):
        return _has_other_options(old.split(), new.split())
    if key in _MORE and new is not None:
        return not _listing(old) <= _listing(new)
    return not (_STRICTER.match(key) and _strength(new) > _strength(old))


def _has_other_options(old: list[str], new: list[str]) -> bool:
    """Apart from options that show more or are strict?"""
    added = _STRICT - set(old)
    before, after = (
        [one for one in options if one not in added and not _SHOWING.fullmatch(one)]
        for options in (old, new)
    )
    return before != after


def _listing(value: Any) -> frozenset[str]:
    values = re.split(r"[\s,]+", value) if isinstance(value, str) else value
    return frozenset(map(str, values)) - {""} if isinstance(values, list | tuple) else frozenset()


def _strength(value: Any) -> float:
    """True, on and larger numbers are stricter; an unset value is not strict."""
    words = {"true": 1.0, "yes": 1.0, "on": 1.0, "false": 0.0, "no": 0.0, "off": 0.0, "none": 0.0}
    text = str(value).strip().lower()
    try:
        return words[text] if text in words else float(text)
    except ValueError:
        return -1.0


def flatten_section(values: Any) -> str:
    """Every key and value of a section on its own line."""
    if isinstance(values, Mapping):
        return "\n".join(f"{key} = {flatten_section(value)}" for key, value in values.items())
    return json.dumps(values, default=str)
