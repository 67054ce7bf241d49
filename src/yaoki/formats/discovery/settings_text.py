"""Writes the first `yaoki.toml`: short, commented, the same for the same findings."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from enum import StrEnum

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.text import one_line, strip_terminal_codes
from yaoki.formats.discovery.detection import FoundCheck

COMMENT_CHARS_MAX = 160
# A commented-out check has one of these in its comment; `yaoki init --again` finds it by them, so
# files of earlier versions must still match.
CANNOT_RUN, SET_ASIDE = ASIDE_MARKERS = ("cannot run here", "set aside")

HEAD = """\
# Settings for every run in this repository.  All keys and their defaults: yaoki config show
# Plans use the checks and agents by their names here, or define their own.
# Written by yaoki init.  Edit it freely: only `yaoki init --again` adds checks that can run now.
"""
LIMITS = """
[limits]
parallel = 2            # tasks at the same time
# hang_s = 600          # no CPU, no output, no changed file for this long: hung
# deadline_s = 3600     # longest time of one agent run
"""
# `yaoki init --again` replaces this paragraph when an agent answers.  It is found by its text, so
# changing it would leave files of earlier versions as they are.
NO_AGENT = """
# No agent that yaoki knows answered here: yaoki agents list.  Any command will do:
# agent = "mine"        # above the first [table]
# [agents.mine]
# command = ["my-agent", "--model", "large"]
# prompt = "argument"   # argument, stdin or file
"""
SETUP_HINT = """\
# A worktree is a fresh checkout: these commands install what the checks need.  They run in plans
# that have no `setup` of their own.
"""
SETUP_LATER = "# Commented out, because the checks that need it cannot run here; see below.\n"
# The remedy of a check with more failures at the base than a finding lists.
NARROW_REMEDY = (
    "narrow its command to files that pass, one folder or file is enough; "
    "then remove the # from its lines"
)
# The same where the failures have one cause.  A check gets no variable of the shell.
ALIKE_REMEDY = (
    "probably the environment, not the code: fix it, then yaoki init --again; "
    "or put a missing variable into env of the check and remove the # from its lines"
)
# Earlier versions wrote the commands into a comment of two lines that begins like this.
OLD_SETUP_HINT = "# A worktree is a fresh checkout.  Add this to your plans to install the tools:\n"
OWN_CHECK = "[checks.tests]"
# `yaoki init --again` removes this paragraph when it adds a check; it is found by its text.
NO_CHECK = f"""
# No check was found.  Plans need at least one required check, which proves the work.
# {OWN_CHECK}
# run = ["./run-tests"]
# pattern = "test-failed"
"""


class TrialState(StrEnum):
    """The result of a check on the base."""

    GREEN = "green"
    RED = "red"
    TOO_RED = "too-red"
    MISSING = "missing"
    BROKEN = "broken"
    EMPTY = "empty"
    CUT_OFF = "cut-off"
    SETUP_CUT_OFF = "setup-cut-off"
    UNCOMMITTED = "uncommitted"
    NOT_RUN = "not-run"

    @property
    def is_usable(self) -> bool:
        """Can the check be used here?

        A check that cannot run would fail every task.  So would one with too many failures on the
        base, because new failures could not be distinguished from old ones.  A check without a test
        proves nothing.
        """
        return self not in {
            TrialState.TOO_RED,
            TrialState.MISSING,
            TrialState.BROKEN,
            TrialState.EMPTY,
            TrialState.SETUP_CUT_OFF,
        }


@dataclass(frozen=True, slots=True)
class TrialResult:
    """A check and its result.  `failures` counts named failures; `next_command` is the remedy.

    `has_comparable_failures`: the whole suite ran, so new failures can be distinguished from these.
    `fails_alike`: nearly all failures have the same message.
    `passed_tests` and `skipped_tests` are 0 where the check counts none.
    """

    check: FoundCheck
    state: TrialState
    words: str = ""
    failures: int = 0
    next_command: str = ""
    has_comparable_failures: bool = False
    fails_alike: bool = False
    passed_tests: int = 0
    skipped_tests: int = 0

    @property
    def skips_many(self) -> bool:
        """Are more than a tenth of its tests skipped?  Failures are few or named elsewhere."""
        counted = self.passed_tests + self.failures + self.skipped_tests
        return self.skipped_tests * 10 > counted


@dataclass(frozen=True, slots=True)
class FoundAgent:
    """A known agent whose program is on the PATH, and what it answered."""

    name: str
    title: str
    answers: bool
    words: str
    install: str = ""


def settings_text(agents: Sequence[FoundAgent], tried: Sequence[TrialResult]) -> str:
    """The file; checks that cannot run are commented out, with the reason."""
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
    """The first agent that answers; the key must be above every table."""
    rest = ", ".join(one.name for one in answering[1:])
    others = f"; also available: {rest}" if rest else ""
    name = _text(answering[0].name)
    return f"agent = {name}   # the default agent; a plan may name another{others}\n"


def agent_text(one: FoundAgent) -> str:
    return f"[agents.{one.name}]\npreset = {_text(one.name)}   # {_words(one.words)}\n"


def _checks(tried: Sequence[TrialResult]) -> Iterator[str]:
    if not tried:
        yield NO_CHECK
        return
    if commands := setup_commands(tried):
        yield f"\n{setup_text(commands)}"
    elif later := setup_commands(tried, usable=False):
        # `yaoki init --again` replaces this paragraph as it does the comments of the checks.
        yield f"\n{SETUP_HINT}{SETUP_LATER}{_commented(_setup_table(later))}"
    for one in tried:
        yield f"\n{check_text(one)}"


def check_text(one: TrialResult) -> str:
    """A check as written in the file; commented out if it cannot run here."""
    return _table(one) if one.state.is_usable else _commented(_table(one))


def setup_commands(tried: Sequence[TrialResult], *, usable: bool = True) -> list[tuple[str, ...]]:
    """What a fresh worktree needs before the usable checks can run, each command once."""
    checks = (one.check for one in tried if one.state.is_usable is usable)
    return list(dict.fromkeys(words for one in checks if (words := setup_command(one))))


def setup_text(commands: Sequence[Sequence[str]]) -> str:
    return f"{SETUP_HINT}{_setup_table(commands)}"


def _setup_table(commands: Sequence[Sequence[str]]) -> str:
    listed = ", ".join(f"[{', '.join(_text(word) for word in words)}]" for words in commands)
    return f"[setup]\ncommands = [{listed}]\n"


def setup_command(check: FoundCheck) -> tuple[str, ...]:
    """The set-up command, which runs at the top of the worktree."""
    if not check.setup or check.setup_cwd == ".":
        return check.setup
    return ("sh", "-c", f"cd {shlex.quote(check.setup_cwd)} && exec {shlex.join(check.setup)}")


def check_header(check: FoundCheck) -> str:
    return f"[checks.{_key(check.name)}]"


def command_line(check: FoundCheck) -> str:
    """The line with its command."""
    if check.shell:
        return f"shell = {_text(check.shell)}"
    return f"run = [{', '.join(_text(word) for word in check.run)}]"


def env_line(check: FoundCheck) -> str:
    """The line with its environment."""
    pairs = ", ".join(f"{name} = {_text(value)}" for name, value in check.env.items())
    return f"env = {{ {pairs} }}"


def story_text(trial: TrialResult) -> str:
    """The comments above a check."""
    return "".join(f"{line}\n" for line in _story(trial))


def _table(trial: TrialResult) -> str:
    check = trial.check
    lines = [*_story(trial), check_header(check), command_line(check)]
    if check.pattern:
        lines.append(f"pattern = {_text(check.pattern)}")
    if check.folder != ".":
        lines.append(f"cwd = {_text(check.folder)}")
    if check.env:
        lines.append(env_line(check))
    if trial.state is TrialState.RED and trial.has_comparable_failures:
        lines.append('baseline = "known"   # failures that already exist on the base do not count')
    return "\n".join(lines) + "\n"


def _story(trial: TrialResult) -> Iterator[str]:
    """Comments: the reason for the check, and its result."""
    check = trial.check
    yield f"# {check.tool}, shown by {_words(check.reason)}"
    match trial.state:
        case TrialState.GREEN:
            yield "# green at the base"
        case TrialState.NOT_RUN:
            yield "# not tried yet"
        case state if not state.is_usable:
            runs = trial.state in {TrialState.EMPTY, TrialState.TOO_RED}
            yield f"# {SET_ASIDE if runs else CANNOT_RUN}: {_words(trial.words)}"
            if remedy := _remedy(trial):
                yield f"# remedy: {_words(remedy)}"
        case TrialState.RED:
            yield f"# red at the base: {_words(trial.words)}"
        case _:
            yield f"# {_words(trial.words)}"


def _remedy(trial: TrialResult) -> str:
    if trial.next_command or trial.state is not TrialState.TOO_RED:
        return trial.next_command
    return ALIKE_REMEDY if trial.fails_alike else NARROW_REMEDY


def _commented(text: str) -> str:
    return textwrap.indent(text, "# ", lambda line: not line.startswith("#"))


def _key(name: str) -> str:
    return _text(name) if "." in name else name


def _text(value: str) -> str:
    """A TOML string; JSON's escapes are valid in TOML, except for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _words(text: str) -> str:
    return one_line(strip_terminal_codes(text), COMMENT_CHARS_MAX)
