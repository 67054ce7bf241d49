"""The text of a first `yaoki.toml`: short, commented, the same for the same findings."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from yaoki.core.text import one_line, strip_terminal_codes
from yaoki.formats.discovery.detection import FoundCheck

WORDS_CHARS_MAX = 160

HEAD = """\
# What every run in this repository obeys.  All keys and their defaults: yaoki config show
# A plan names checks and agents by their names here, or brings its own.
# Made by yaoki init.  It is yours: only `yaoki init --again` adds to it, checks that can run now.
"""
LIMITS = """
[limits]
parallel = 2            # tasks at the same time
# hang_s = 600          # no CPU, no output, no changed file for this long: hung
# deadline_s = 3600     # longest time of one agent run
"""
NO_AGENT = """
# No agent that yaoki knows answered here: yaoki agents list.  Any command will do:
# agent = "mine"        # above the first [table]
# [agents.mine]
# command = ["my-agent", "--model", "large"]
# prompt = "argument"   # argument, stdin or file
"""
NO_CHECK = """
# No check was found.  Without one that is required nothing is ever proven, so plans are refused.
# [checks.tests]
# run = ["./run-tests"]
# pattern = "test-failed"
"""


class TrialState(StrEnum):
    """How a check did on the base."""

    GREEN = "green"
    RED = "red"
    MISSING = "missing"
    BROKEN = "broken"
    EMPTY = "empty"
    CUT_OFF = "cut-off"
    UNCOMMITTED = "uncommitted"
    NOT_RUN = "not-run"

    @property
    def is_usable(self) -> bool:
        """Is it a check of this machine?

        One that cannot run here would fail everything, and one that runs no test proves nothing.
        """
        return self not in {TrialState.MISSING, TrialState.BROKEN, TrialState.EMPTY}


@dataclass(frozen=True, slots=True)
class TrialResult:
    """A check and how it did.  `failures` counts those with a name; `next` is what helps.

    `known`: its suite ran as a whole, so that these failures can be told from new ones.
    """

    check: FoundCheck
    state: TrialState
    words: str = ""
    failures: int = 0
    next_command: str = ""
    has_comparable_failures: bool = False


@dataclass(frozen=True, slots=True)
class FoundAgent:
    """A known agent whose program is on the PATH, and what it answered."""

    name: str
    title: str
    answers: bool
    words: str
    install: str = ""


def settings_text(agents: Sequence[FoundAgent], tried: Sequence[TrialResult]) -> str:
    """Checks that cannot run stand in comments, with the reason."""
    return "".join((*_agents(agents), *_checks(tried)))


def _agents(agents: Sequence[FoundAgent]) -> Iterator[str]:
    yield HEAD
    answering = [one for one in agents if one.answers]
    if answering:
        yield f"\n{default_agent_text(answering)}"
    yield LIMITS
    if not answering:
        yield NO_AGENT
    for one in answering:
        yield f"\n{agent_text(one)}"


def default_agent_text(answering: Sequence[FoundAgent]) -> str:
    """The first that answers; it stands above every table."""
    rest = ", ".join(one.name for one in answering[1:])
    aside = f"; here are also: {rest}" if rest else ""
    name = _text(answering[0].name)
    return f"agent = {name}   # who works, unless a plan says else{aside}\n"


def agent_text(one: FoundAgent) -> str:
    return f"[agents.{one.name}]\npreset = {_text(one.name)}   # {_words(one.words)}\n"


def _checks(tried: Sequence[TrialResult]) -> Iterator[str]:
    if not tried:
        yield NO_CHECK
        return
    yield "".join(f"\n{line}" for line in _setup(tried)) or ""
    for one in tried:
        yield f"\n{check_text(one)}"


def check_text(one: TrialResult) -> str:
    """A check as it stands in the file; one that cannot run here, in comments."""
    return _table(one) if one.state.is_usable else _commented(_table(one))


def _setup(tried: Sequence[TrialResult]) -> list[str]:
    """Worktrees are fresh: what they need first is the plan's to say."""
    lines = dict.fromkeys(json.dumps(words) for one in tried if (words := setup_command(one.check)))
    if not lines:
        return []
    told = (
        "# A worktree is a fresh checkout.  Put this into your plans, so that the tools are there:"
    )
    return [told, f"# setup: [{', '.join(lines)}]", ""]


def setup_command(found: FoundCheck) -> tuple[str, ...]:
    """A command of a plan's `setup`, which starts at the top of the worktree."""
    if not found.setup or found.setup_cwd == ".":
        return found.setup
    return ("sh", "-c", f"cd {shlex.quote(found.setup_cwd)} && exec {shlex.join(found.setup)}")


def _table(one: TrialResult) -> str:
    found = one.check
    lines = [*_story(one), f"[checks.{_key(found.name)}]"]
    if found.shell:
        lines.append(f"shell = {_text(found.shell)}")
    else:
        lines.append(f"run = [{', '.join(_text(word) for word in found.run)}]")
    if found.pattern:
        lines.append(f"pattern = {_text(found.pattern)}")
    if found.folder != ".":
        lines.append(f"cwd = {_text(found.folder)}")
    if found.env:
        pairs = ", ".join(f"{name} = {_text(value)}" for name, value in found.env.items())
        lines.append(f"env = {{ {pairs} }}")
    if one.state is TrialState.RED and one.has_comparable_failures:
        lines.append(
            'baseline = "known"   # failures that the base has do not count against a task'
        )
    return "\n".join(lines) + "\n"


def _story(one: TrialResult) -> Iterator[str]:
    """Why it is here and how it did, in a comment."""
    found = one.check
    yield f"# {found.tool}, shown by {_words(found.reason)}"
    match one.state:
        case TrialState.GREEN:
            yield "# green at the base"
        case TrialState.NOT_RUN:
            yield "# not tried yet"
        case TrialState.MISSING | TrialState.BROKEN | TrialState.EMPTY:
            head = "set aside" if one.state is TrialState.EMPTY else "cannot run here"
            yield f"# {head}: {_words(one.words)}"
            if one.next_command:
                yield f"# what helps: {_words(one.next_command)}"
        case TrialState.RED:
            yield f"# red at the base: {_words(one.words)}"
        case _:
            yield f"# {_words(one.words)}"


def _commented(text: str) -> str:
    return textwrap.indent(text, "# ", lambda line: not line.startswith("#"))


def _key(name: str) -> str:
    return _text(name) if "." in name else name


def _text(value: str) -> str:
    """A TOML string; JSON's escapes are TOML's as well, but for the one of DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _words(text: str) -> str:
    return one_line(strip_terminal_codes(text), WORDS_CHARS_MAX)
