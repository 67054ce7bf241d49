"""Reports: what a stage saw.  What follows from it is `rules.decide`'s business."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from yaoki.core.model import AgentExit, Source, Spec, TaskId, Verdict


@dataclass(frozen=True, slots=True)
class Prepared:
    """A worktree stands ready at `base`."""

    base: str
    worktree: str
    host: str
    fresh: bool
    tree: str = ""
    snapshot: str = ""
    warning: str = ""
    guards: Mapping[str, str] = field(default_factory=dict)
    head: str = ""


@dataclass(frozen=True, slots=True)
class Worked:
    """The agent ended and everything it left is committed as `head`.

    `diff` stands for what the attempt changed.  `tampered` is git's own configuration;
    `disturbed` what changed meanwhile in the user's checkout, by whomever.  `left_out` are new
    files outside the scope, `excess` sentences about what is larger than the bounds on a change.
    """

    exit: AgentExit
    head: str
    tree: str
    changed: tuple[str, ...] = ()
    tampered: tuple[str, ...] = ()
    disturbed: tuple[str, ...] = ()
    diff: str = ""
    left_out: tuple[str, ...] = ()
    excess: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verified:
    """Every check that had to run ran on `commit`, which has `onto` as its ancestor.

    `already`: the run branch holds all that the task changed.  `elsewhere`: where else the agent
    worked, when it changed nothing that could land.
    """

    verdict: Verdict
    commit: str
    onto: str
    changed: tuple[str, ...] = ()
    already: bool = False
    blame: Blame | None = None
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Blame:
    """Whose landing turned a line red that was green before: found by bisection.

    `partners` are the earlier landings without which it would not be red.  `looked` counts the
    commits that were checked.
    """

    culprit: TaskId
    partners: tuple[TaskId, ...]
    commit: str
    looked: int


@dataclass(frozen=True, slots=True)
class PlanMade:
    """A planner's answer was accepted: these tasks, some in the place of failed ones."""

    specs: tuple[Spec, ...]
    replaces: Mapping[str, str]
    commit: str
    pause: str = ""


@dataclass(frozen=True, slots=True)
class Conflicted:
    """The task's work and the run branch do not merge."""

    paths: tuple[str, ...]
    onto: str
    tree: str


@dataclass(frozen=True, slots=True)
class LandedOn:
    """The run branch holds `commit`; `already` when it did before this try."""

    commit: str
    already: bool = False


@dataclass(frozen=True, slots=True)
class Moved:
    """The run branch moved to `head` meanwhile, or is about to; nothing was landed."""

    head: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Faulted:
    """Our own infrastructure failed; the agent is not to blame."""

    message: str
    transient: bool
    code: str = ""
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """The agent was cut off in the middle; nobody knows what it would have done.

    `charged`: no crash explains it, so it counts as a failure of the agent's own.
    """

    why: str
    charged: bool = False


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The tree was ended because a person cancelled; its work is kept at `ref`."""

    why: str
    ref: str = ""


@dataclass(frozen=True, slots=True)
class Declined:
    """Something the stage needs is not free now: nobody's failure, so the task waits for it."""

    why: str
    wait: timedelta


Report = (
    Prepared
    | Worked
    | Verified
    | Conflicted
    | LandedOn
    | PlanMade
    | Moved
    | Faulted
    | Lost
    | Interrupted
    | Declined
)
