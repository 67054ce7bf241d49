"""Updates a settings file (`yaoki init --again`) with the checks that can run now.

Only what `init` itself wrote is replaced: paragraphs that it commented out, its comments above a
check, and the environment of a check whose command is still its own.  New checks are added at the
end.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.discovery.detection import FoundCheck
from yaoki.formats.discovery.settings_text import (
    ALIKE_REMEDY,
    ASIDE_MARKERS,
    NARROW_REMEDY,
    NO_AGENT,
    NO_CHECK,
    OLD_SETUP_HINT,
    SETUP_HINT,
    FoundAgent,
    TrialResult,
    TrialState,
    agent_text,
    check_header,
    check_text,
    default_agent_text,
    env_line,
    setup_commands,
    setup_text,
    story_text,
)
from yaoki.formats.discovery.table import KINDS

# The comments of `init` above a check: what shows it, its result on the base, and the remedy.
_STORY = lazy_compile(
    r"# [^\n]+, shown by [^\n]+\n"
    r"# (?:green at the base$|not tried|red at the base: |did not end within |"
    rf"(?:{'|'.join(ASIDE_MARKERS)}): )[^\n]*\n"
    r"(?:# remedy: [^\n]*\n)?(?=\[checks\.)",
    re.MULTILINE,
)
# The lines that `init` writes above the environment of a check.
_SPEC_LINE = lazy_compile(r"(?:run|shell|pattern|cwd) = ")
_COMMENTED_CHECK = lazy_compile(r"^# \[checks\.(\"?)([^\]\"\n]+)\1\]$", re.MULTILINE)
_ASIDE = lazy_compile(rf"^# (?:{'|'.join(ASIDE_MARKERS)}): ([^\n]*)$", re.MULTILINE)
_TESTS = f'\n# pattern = "{KINDS["tests"]}"'
_REMEDY = lazy_compile(r"^# remedy: ([^\n]*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CommentedCheck:
    """A check that `init` commented out: the line of its name in the file, and its comments."""

    name: str
    line: int
    reason: str
    remedy: str
    runs_tests: bool = False

    @property
    def needs_edit(self) -> bool:
        """Must a person edit the file, because no command helps?"""
        return self.remedy in {"", NARROW_REMEDY, ALIKE_REMEDY}

    @property
    def words(self) -> str:
        more = f"; {self.remedy}" if self.remedy else ""
        return f"{self.name} is commented out in line {self.line}: {self.reason}{more}"


def commented_out_checks(text: str) -> list[CommentedCheck]:
    """The checks that `init` commented out."""
    found, start = [], 0
    for part in text.split("\n\n"):
        reason, remedy = _ASIDE.search(part), _REMEDY.search(part)
        for match in _COMMENTED_CHECK.finditer(part) if _is_commented_by_init(part) else ():
            line = text.count("\n", 0, start + match.start()) + 1
            words = (reason[1] if reason else "", remedy[1] if remedy else "")
            found.append(CommentedCheck(match[2], line, *words, _TESTS in part))
        start += len(part) + 2
    return found


def _is_commented_by_init(part: str) -> bool:
    """Has the paragraph a marker of `init`?  What somebody else commented out stays."""
    marked = any(f"\n# {marker}: " in part for marker in ASIDE_MARKERS)
    return marked and all(line.startswith("#") for line in part.strip().splitlines())


def add_usable_checks(
    text: str, tried: Sequence[TrialResult], known: Collection[str]
) -> tuple[str, list[str]]:
    """The text with the checks that can run now, and their names; `known` are in it already."""
    names = []
    for one in tried:
        if one.check.name in known or not one.state.is_usable:
            continue
        names.append(one.check.name)
        text = _with(text, one)
    return text, names


def update_environments(
    text: str, tried: Sequence[TrialResult], known: Mapping[str, Mapping[str, Any]]
) -> tuple[str, list[str], list[str]]:
    """The text in which checks have the environment that they were tried in.

    Also the names of the updated checks, and of those that were not tried as they are: their
    command or environment is not that of `init`.  `known` are the checks in the text.
    """
    parts, updated, others = text.split("\n\n"), [], []
    for one in tried:
        check = one.check
        own = known.get(check.name)
        if own is None or one.state is TrialState.NOT_RUN or _is_as_tried(own, check):
            continue
        at = next((n for n, part in enumerate(parts) if _has_story_of(part, check)), None)
        part = "" if at is None else _with_environment(parts[at], check)
        if at is None or not part or not (one.state.is_usable and _lacks_only(own, check)):
            others.append(check.name)
            continue
        parts[at] = part
        updated.append(check.name)
    return "\n\n".join(parts), updated, others


def _is_as_tried(own: Mapping[str, Any], check: FoundCheck) -> bool:
    return _has_its_command(own, check) and dict(own.get("env", {})) == dict(check.env)


def _has_its_command(own: Mapping[str, Any], check: FoundCheck) -> bool:
    command = (tuple(own.get("run", ())), own.get("shell", ""), own.get("cwd", "."))
    return command == (check.run, check.shell, check.folder)


def _lacks_only(own: Mapping[str, Any], check: FoundCheck) -> bool:
    """A variable that `init` does not write is somebody's own, and so is another value."""
    return _has_its_command(own, check) and own.get("env", {}).items() <= check.env.items()


def _with_environment(part: str, check: FoundCheck) -> str:
    """Empty if a person wrote the environment in another form, which stays as it is."""
    lines = [line for line in part.splitlines() if not line.startswith("env = ")]
    places = [n for n, line in enumerate(lines) if _SPEC_LINE.match(line)]
    end = places[-1] + 1 if places else len(lines)
    updated = "\n".join((*lines[:end], env_line(check), *lines[end:]))
    try:
        tomllib.loads(updated)
    except tomllib.TOMLDecodeError:
        return ""
    return updated


def refresh_comments(
    text: str, tried: Sequence[TrialResult], known: Collection[str], others: Collection[str] = ()
) -> str:
    """The text with today's results in the comments of `init`; `known` are the checks in it, and
    `others` those of them that were not tried as they are.
    """
    parts = text.split("\n\n")
    if known:
        parts = [part for part in parts if part.strip() != NO_CHECK.strip()]
    for one in tried:
        if one.state is TrialState.NOT_RUN:
            continue
        name = one.check.name
        is_known, is_same = name in known, name not in others
        parts = [_refresh(part, one, is_known=is_known, is_same=is_same) for part in parts]
    return "\n\n".join(parts).rstrip("\n") + "\n"


def _refresh(part: str, one: TrialResult, *, is_known: bool, is_same: bool) -> str:
    if not is_known:
        return check_text(one).rstrip("\n") if _is_comment_of(part, one) else part
    story = _STORY.match(part)
    if story is None or not _has_story_of(part, one.check):
        return part
    # The comments of a check that a person changed are about another one.
    return f"{story_text(one) if is_same else ''}{part[story.end() :]}"


def _has_story_of(part: str, check: FoundCheck) -> bool:
    story = _STORY.match(part)
    return story is not None and part.startswith(f"{check_header(check)}\n", story.end())


def _is_comment_of(part: str, one: TrialResult) -> bool:
    """Is it the paragraph in which `init` commented this check out?"""
    names = {match[2] for match in _COMMENTED_CHECK.finditer(part)}
    return one.check.name in names and _is_commented_by_init(part)


def add_setup(
    text: str, tried: Sequence[TrialResult], known: Collection[tuple[str, ...]]
) -> tuple[str, list[str]]:
    """The text with the set-up that its checks need, and the commands that are new.

    `known` are the commands in it.  A paragraph that a person wrote or changed stays as it is.
    """
    missing = [words for words in setup_commands(tried) if words not in known]
    if not missing:
        return text, []
    parts = text.split("\n\n")
    own = _find_paragraph(parts, SETUP_HINT)
    if known and (own is None or not _has_only_commands(parts[own])):
        return text, []
    added = [" ".join(words) for words in missing]
    paragraph = setup_text([*known, *missing]).rstrip("\n")
    own = _find_paragraph(parts, OLD_SETUP_HINT) if own is None else own
    if own is None:
        return f"{text.rstrip()}\n\n{paragraph}\n", added
    parts[own] = paragraph
    return "\n\n".join(parts).rstrip("\n") + "\n", added


def _find_paragraph(parts: Sequence[str], beginning: str) -> int | None:
    return next((at for at, part in enumerate(parts) if part.startswith(beginning)), None)


def _has_only_commands(paragraph: str) -> bool:
    """Is it still the paragraph that `init` wrote?"""
    try:
        table = tomllib.loads(paragraph)
    except tomllib.TOMLDecodeError:
        return False
    return table.keys() == {"setup"} and table["setup"].keys() == {"commands"}


def add_agents(text: str, agents: Sequence[FoundAgent]) -> tuple[str, list[str]]:
    """Add the agents that answer now, if `init` found none when it wrote the file."""
    answering = [one for one in agents if one.answers]
    if not answering or NO_AGENT not in text:
        return text, []
    head, first, rest = text.partition("\n[")
    updated = "".join(f"\n{agent_text(one)}" for one in answering)
    text = f"{head}\n{default_agent_text(answering)}{first}{rest}".replace(NO_AGENT, updated)
    return text, [f"agent {one.name}" for one in answering]


def _with(text: str, one: TrialResult) -> str:
    parts = text.split("\n\n")
    for at, part in enumerate(parts):
        if _is_comment_of(part, one):
            parts[at] = check_text(one).rstrip("\n")
            updated = "\n\n".join(parts)
            return updated if updated.endswith("\n") else f"{updated}\n"
    return text.rstrip("\n") + "\n\n" + check_text(one)
