"""Values in a plan as people write them: durations, commands, patterns, paths, presets.

Without a model library, so that a valid plan is read without one.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.settings.keys import SECONDS_MAX
from yaoki.core.text import did_you_mean

REGEX_MAX = 1_000
# `hidden: true`; no folder has this name.
HIDDEN_WITHOUT_FILES = "true"
# `command` is any command line; the others are described in `adapters/agents`.
PRESETS = (
    "command",
    "scripted",
    "acp",
    "aider",
    "claude",
    "claude-acp",
    "cline",
    "codex",
    "codex-acp",
    "continue",
    "copilot",
    "gemini",
    "gemini-acp",
    "gptme",
    "mini-swe-agent",
    "opencode",
    "opencode-acp",
    "openhands",
    "pi",
    "qwen",
    "qwen-acp",
    "vibe",
    "vibe-acp",
)
# Those that can be limited to edits; the description of each says how.
PRESETS_WITH_EDITS = (
    "acp",
    "aider",
    "claude",
    "claude-acp",
    "codex",
    "codex-acp",
    "gemini",
    "gemini-acp",
    "opencode",
    "opencode-acp",
    "qwen",
    "qwen-acp",
    "vibe",
    "vibe-acp",
)
_SHELL_SIGN = lazy_compile(r"^[();<>|&]+$|\$[\w({]|`")
_ASSIGNMENT = lazy_compile(r"\w+=")
_DURATION = lazy_compile(
    r"(?=\d)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?"
)
_ENV_NAME = lazy_compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ACCOUNT_NAME = lazy_compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class FieldRefused(ValueError):
    """The reason why a value is not valid, in words."""


def field_error(reason: str) -> FieldRefused:
    return FieldRefused(reason)


def permissions_defect(preset: str, permissions: str) -> str:
    """The reason why an agent cannot have these permissions; empty if it can.

    A preset of another package must refuse by itself what it cannot keep.
    """
    unlimited = preset in PRESETS and preset not in PRESETS_WITH_EDITS
    if permissions != "edits" or not unlimited:
        return ""
    names = ", ".join(PRESETS_WITH_EDITS)
    return f"preset {preset} has no way to allow only edits; leave permissions out, or use {names}"


def parse_duration(value: Any) -> timedelta:
    """`1h30m`, `90s`, `1.5s`, or a number of seconds."""
    seconds = _seconds(value)
    if seconds is None:
        raise field_error("is not a duration; write 90s, 20m, 1h30m, or a number of seconds")
    if not 0 < seconds <= SECONDS_MAX:
        raise field_error(f"must be more than zero and at most {SECONDS_MAX // 86_400} days")
    return timedelta(seconds=seconds)


def _seconds(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) < 1e12 else 1e12
    match = _DURATION.fullmatch(value) if isinstance(value, str) and len(value) < 40 else None
    if match is None:
        return None
    days, hours, minutes, seconds, milliseconds = (float(part or 0) for part in match.groups())
    return days * 86_400 + hours * 3_600 + minutes * 60 + seconds + milliseconds / 1_000


def as_criterion_level(value: object) -> object:
    """True is `required`; false is `off`, which YAML reads the word `off` as."""
    return ("required" if value else "off") if isinstance(value, bool) else value


def as_mutant_rules(value: object) -> object:
    """A word as its table: no mutants is the same as at most none."""
    word = as_criterion_level(value)
    tables: dict[object, object] = {
        "off": {"max": 0},
        "told": {},
        "required": {"required": True},
    }
    if isinstance(word, str) and word not in tables:
        raise field_error("must be off, told, required, or a table with max, survive, required")
    return tables[word] if isinstance(word, str) else word


def as_race_rules(value: object) -> object:
    """Read `off` as a race of one try; YAML reads this word as false."""
    if value is False or value == "off":
        return {"tries": 1}
    if not isinstance(value, dict):
        raise field_error("must be off, or a table with tries, agents, start, until, judge")
    return value


def as_race_start(value: object) -> object:
    """A word as its table."""
    tables: dict[object, object] = {"at-once": {}, "after-failure": {"failure": True}}
    if isinstance(value, str) and value in tables:
        return tables[value]
    if not isinstance(value, dict) or set(value) != {"after"}:
        raise field_error("must be at-once, after-failure, or {after: 10m}")
    return value


def as_hidden_folder(value: object) -> object:
    """True hides a check that needs no files; false is the default."""
    return (HIDDEN_WITHOUT_FILES if value else "") if isinstance(value, bool) else value


def as_list(value: Any) -> Any:
    if not isinstance(value, str | list):
        raise field_error("must be a name or a list of names")
    return [value] if isinstance(value, str) else value


def split_command(value: Any) -> Any:
    """A command as one string is split like a shell does, but no shell runs it."""
    if isinstance(value, list):
        return value
    if not isinstance(value, str):
        raise field_error("must be a list of words, or one line that is split into words")
    import shlex

    try:
        return shlex.split(value)
    except ValueError as fault:
        raise field_error(f"cannot be split into words: {fault}") from None


def split_check_command(value: Any) -> Any:
    """The same for a check.  Signs that only a shell understands would become plain words."""
    words = split_command(value)
    if isinstance(value, str) and (sign := _find_shell_sign(value)):
        raise field_error(
            f"no shell runs this line, so {sign!r} would be a plain word; to use a shell, write "
            "shell: instead of run:; otherwise write a list of words"
        )
    return words


def _find_shell_sign(line: str) -> str:
    """The first operator, variable or assignment in the line; empty when there is none."""
    import shlex

    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words = list(lexer)
    if words and _ASSIGNMENT.match(line.lstrip()):
        return line.split()[0]
    return next((word for word in words if _SHELL_SIGN.search(word)), "")


def check_regex(value: str) -> str:
    """A pattern that compiles without warnings, so that it cannot fail during a run."""
    if len(value) > REGEX_MAX:
        raise field_error(f"a pattern of {len(value)} characters is over the limit of {REGEX_MAX}")
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(value)
    except (re.error, OverflowError, RecursionError, Warning) as fault:
        raise field_error(f"the pattern {value!r} does not compile: {fault}") from None
    return value


def check_success(value: str) -> str:
    form, _, rest = value.partition(":")
    match form:
        case "empty" if value == "empty":
            return value
        case "exitCode" if re.fullmatch(r"[0-9]{1,3}", rest) and int(rest) <= 255:
            return value
        case "contains" if rest:
            return value
        case "matches" if rest:
            check_regex(rest)
            return value
        case _:
            raise field_error("must be exitCode:N, empty, contains:TEXT or matches:REGEX")


def check_inside(value: str) -> str:
    """A path or glob inside the worktree."""
    if not value or value.startswith(("/", "~", "\\")) or re.match(r"[A-Za-z]:[/\\]", value):
        raise field_error("must be a path relative to the repository")
    if ".." in re.split(r"[/\\]", value):
        raise field_error("must not lead out of the repository with '..'")
    return value


def check_env_names(value: Any) -> Any:
    for name in value:
        if not _ENV_NAME.fullmatch(name):
            raise field_error(f"{name!r} is not the name of an environment variable")
    return value


def check_env_sources(value: Any) -> Any:
    """Names of variables, each with the name of another one."""
    check_env_names(value)
    check_env_names(value.values())
    return value


def check_account_names(value: Any) -> Any:
    for name in value:
        if not _ACCOUNT_NAME.fullmatch(name):
            raise field_error(f"{name!r} is not a name of letters, digits, - and _")
    return value


def check_env_globs(value: Any) -> Any:
    """Names of variables; `*` matches any part of a name."""
    check_env_names([name.replace("*", "X") for name in value])
    return value


def check_branch_name(value: str) -> str:
    """A name that git accepts for a branch, approximately; never an option of git."""
    odd = re.search(r"[\s~^:?*\[\\\x7f]|\.\.|@\{|//|\.lock$|^[-/.]|[/.]$|^@$", value)
    if odd or not value:
        raise field_error(f"{value!r} is not the name of a branch")
    return value


def check_preset(value: Any) -> Any:
    """A built-in preset, or one from an installed package."""
    if not isinstance(value, str) or value in PRESETS:
        return value
    from importlib.metadata import entry_points  # slow to import, and known names do not need it

    installed = {entry.name for entry in entry_points(group="yaoki.agents")}
    if value in installed:
        return value
    names = (*PRESETS, *sorted(installed))
    raise field_error(
        f"unknown preset {value!r}{did_you_mean(value, names)}; there are {', '.join(names)}"
    )
