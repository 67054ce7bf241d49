"""A case: a small repository, the acts of its agents, its checks, and its expected ending.

Agents are shell scripts, one for each attempt; the last one is used for all later attempts.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

GIT = "git -c user.name=a -c user.email=a@localhost"


# ------------------------------------------------------------------ how a case may end


@dataclass(frozen=True)
class Lands:
    """Exit code 0, every task DONE, confirmed by the oracle."""


@dataclass(frozen=True)
class Asks:
    """Exit code 4: a person is asked about the task, for one of these patterns if any are named."""

    patterns: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Refused:
    """Exit code 2, and nothing was stored."""


@dataclass(frozen=True)
class NotDone:
    """A retry, a question or a refusal; never DONE, neither the task nor the run."""


@dataclass(frozen=True)
class OnlyIfTrue:
    """The task may land or not; the oracle must confirm every DONE."""


Ending = Lands | Asks | Refused | NotDone | OnlyIfTrue
LANDS, REFUSED, NOT_DONE, ONLY_IF_TRUE = Lands(), Refused(), NotDone(), OnlyIfTrue()


def asks(*patterns: str) -> Asks:
    return Asks(frozenset(patterns))


# ------------------------------------------------------------------ what a case is made of


@dataclass(frozen=True)
class Task:
    """A task with its own agent; `keys` are those of the plan file."""

    name: str
    acts: str | tuple[str, ...] = ""
    keys: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """`acts`, `keys` are those of the one task `work`; with `tasks` there are others.

    `guilty` is the task that must not be DONE, the last one unless named; "" is the run alone.
    `alone` keeps it out of a batch: it is about the top folder, what all worktrees share, or a
    plan that is refused.
    """

    story: str
    files: Mapping[str, str]
    checks: Mapping[str, Any]
    acts: str | tuple[str, ...] = ""
    ends: Ending = NOT_DONE
    keys: Mapping[str, Any] = field(default_factory=dict)
    tasks: Sequence[Task] = ()
    plan: Mapping[str, Any] = field(default_factory=dict)
    guilty: str | None = None
    truth: Sequence[str] = ()
    prepare: Sequence[str] = ()
    settings: str = ""
    git: Mapping[str, str] = field(default_factory=dict)
    gitconfig: str = ""
    before: str = ""
    then: Sequence[Sequence[str]] = ()
    alone: bool = False

    def __str__(self) -> str:
        return self.story.replace(" ", "-")


def write(path: str, text: str) -> str:
    """Shell that writes a file."""
    folder = os.path.dirname(path)  # noqa: PTH120 - a path of the shell's, not of ours
    made = f'mkdir -p "{folder}"\n' if folder else ""
    end = "" if not text or text.endswith("\n") else "\n"
    return f"{made}cat > \"{path}\" <<'END_OF_FILE'\n{text}{end}END_OF_FILE\n"


def replace(path: str, old: str, new: str) -> str:
    """Shell that replaces a text in a file, and fails if it is not there."""
    code = (
        "import sys; path, old, new = sys.argv[1:]; text = open(path).read(); assert old in text; "
        "open(path, 'w').write(text.replace(old, new))"
    )
    return shlex.join(("python3", "-c", code, path, old, new)) + "\n"


def shell(line: str, **more: Any) -> dict[str, Any]:
    return {"proof": {"shell": line, **more}}
