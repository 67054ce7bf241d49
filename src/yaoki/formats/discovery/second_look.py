"""A settings file looked at again: what cannot run any more than before stays as it is.

Only paragraphs that `init` wrote in comments are touched, and only for checks that can run now;
what is new is added at the end.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from yaoki.formats.discovery.settings_text import (
    NO_AGENT,
    FoundAgent,
    TrialResult,
    agent_text,
    check_text,
    default_agent_text,
)

_ASIDE = re.compile(r"^# \[checks\.(\"?)([^\]\"\n]+)\1\]$", re.MULTILINE)


def commented_out_checks(text: str) -> list[str]:
    """The names of checks that stand in comments."""
    parts = (part for part in text.split("\n\n") if _only_comments(part))
    return [found[2] for part in parts for found in _ASIDE.finditer(part)]


def _only_comments(part: str) -> bool:
    """As `init` writes what it sets aside; what somebody else commented out is theirs."""
    said = "\n# cannot run here: " in part or "\n# set aside: " in part
    return said and all(line.startswith("#") for line in part.strip().splitlines())


def add_usable_checks(
    text: str, tried: Sequence[TrialResult], known: Collection[str]
) -> tuple[str, list[str]]:
    """The text with what can run now, and the names of those; `known` stand in it already."""
    names = []
    for one in tried:
        if one.check.name in known or not one.state.is_usable:
            continue
        names.append(one.check.name)
        text = _with(text, one)
    return text, names


def add_agents(text: str, agents: Sequence[FoundAgent]) -> tuple[str, list[str]]:
    """Those that answer now, in a file that was made when none did and has none yet."""
    answering = [one for one in agents if one.answers]
    if not answering or NO_AGENT not in text:
        return text, []
    head, first, rest = text.partition("\n[")
    made = "".join(f"\n{agent_text(one)}" for one in answering)
    text = f"{head}\n{default_agent_text(answering)}{first}{rest}".replace(NO_AGENT, made)
    return text, [f"agent {one.name}" for one in answering]


def _with(text: str, one: TrialResult) -> str:
    parts = text.split("\n\n")
    for at, part in enumerate(parts):
        held = {found[2] for found in _ASIDE.finditer(part)}
        if one.check.name in held and _only_comments(part):
            parts[at] = check_text(one).rstrip("\n")
            made = "\n\n".join(parts)
            return made if made.endswith("\n") else f"{made}\n"
    return text.rstrip("\n") + "\n\n" + check_text(one)
