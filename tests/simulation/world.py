"""The simulated world that survives a killed worker: commits, processes and a clock.

Every access is announced before and after: two instants at which a worker can die.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta

Tree = Mapping[str, str]
EMPTY: Tree = {}
# What an agent does whose name the story does not know.
ANYBODY = "*"
# What an agent says whose service refused: the limit follows, and the hours of a wait.
CODE = "CODE"
REFUSED = "refused:"


class Killed(BaseException):
    """kill -9: nothing may catch it."""


@dataclass
class Accesses:
    """Counts the touches of one life and ends it, or interferes, at the chosen ones."""

    die_at: int = -1
    count: int = 0
    names: list[str] = field(default_factory=list)
    between: Callable[[int], None] = lambda _: None

    def __call__(self, name: str) -> None:
        self.count += 1
        self.names.append(name)
        self.between(self.count)
        if self.count == self.die_at:
            raise Killed(name)


@dataclass
class HandClock:
    """Advances on `sleep`; `skew` is the error of this machine's clock."""

    world: World
    skew: timedelta = timedelta(0)

    def now(self) -> datetime:
        return self.world.time + self.skew

    def sleep(self, duration: timedelta) -> None:
        self.world.time += duration

    def chance(self) -> float:
        return self.world.dice.random()


@dataclass
class Process:
    """A running agent: after `looks` inspections it has done its act."""

    task: str
    attempt: int
    worktree: str
    looks: int
    ended: str = ""
    done: bool = False
    gone: bool = False
    # The code that the answer of a judge must have.
    code: str = ""

    @property
    def running(self) -> bool:
        return not (self.done or self.ended or self.gone)


@dataclass(frozen=True)
class Commit:
    """`task` landed here; with `undo` this takes those landings back."""

    tree: Tree
    parents: tuple[str, ...]
    task: str = ""
    undo: tuple[str, ...] = ()


@dataclass
class World:
    """Everything outside the store."""

    dice: random.Random
    acts: Mapping[str, list[str]]
    fails: int = 0
    listens: bool = False
    time: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    commits: dict[str, Commit] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    bases: dict[str, str] = field(default_factory=dict)
    worktrees: dict[str, dict[str, str]] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)
    rooms: dict[str, str] = field(default_factory=dict)
    rooms_held: set[int] = field(default_factory=set)
    candidates: dict[str, str] = field(default_factory=dict)
    trains: dict[str, str] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)
    starts: dict[tuple[str, int], int] = field(default_factory=dict)
    landings: list[str] = field(default_factory=list)
    proven: set[str] = field(default_factory=set)
    kept: dict[str, str] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    tries: dict[int, int] = field(default_factory=dict)
    heard: list[int] = field(default_factory=list)
    branch: str = "yaoki/simulate"
    base: str = ""

    def __post_init__(self) -> None:
        self.base = self.base or self.commit({"README": "hello"}, ())

    def commit(
        self,
        tree: Tree,
        parents: tuple[str, ...],
        *,
        task: str = "",
        undo: tuple[str, ...] = (),
    ) -> str:
        name = f"c{len(self.commits)}"
        self.commits[name] = Commit(dict(tree), parents, task, undo)
        return name

    def tree(self, commit: str) -> Tree:
        return self.commits[commit].tree if commit else EMPTY

    def ancestors(self, commit: str) -> set[str]:
        seen: set[str] = set()
        waiting = [commit]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting.extend(self.commits[name].parents)
        return seen

    def common(self, one: str, other: str) -> str:
        """The newest commit that both have."""
        shared = self.ancestors(one) & self.ancestors(other)
        return max(shared, key=lambda name: int(name[1:]))

    def mark(self) -> str:
        """The same as long as nothing happens here; the dice do not count."""
        return repr([getattr(self, one.name) for one in fields(self) if one.name != "dice"])

    def busy(self) -> bool:
        return any(process.running for process in self.processes.values())

    def act(self, process: Process) -> str:
        """Perform the act of an agent that ends, and return its message; the last act repeats.

        `good`, `lie`, `loud` go into the task's own file, `as:x` makes x good, `count` adds to
        a common file, `tidy` does so after `noise`, a JSON object is said, with the code of the
        prompt in place of `CODE`.
        """
        acts = self.acts.get(process.task) or self.acts[ANYBODY]
        ended = self.ended.get(process.task, 0)
        act = acts[min(ended, len(acts) - 1)]
        self.ended[process.task] = ended + 1
        process.done = True
        if act.startswith(("{", REFUSED)):
            return act.replace(CODE, process.code)
        self._write(self.worktrees[process.worktree], process, act)
        return ""

    def _write(self, place: dict[str, str], process: Process, act: str) -> None:
        match act.partition(":"):
            case ("good" | "loud", _, _):
                place[process.task] = act
            case ("lie", _, _):
                place[process.task] = f"bad {process.attempt}"
            case ("as", _, name):
                place[name] = "good"
            case ("count", _, _):
                place["count"] = place.get("count", "") + "x"
            case ("noise", _, _):
                place["noise"] = "loud"
            case ("tidy", _, _):
                place.pop("noise", None)
                place["count"] = place.get("count", "") + "x"
            case ("clash", _, _):
                # Another task lands the same file while this agent works.
                head = self.refs[self.branch]
                tree = {**self.tree(head), "shared": "other"}
                self.refs[self.branch] = self.commit(tree, (head,))
                place.update({process.task: "good", "shared": process.task})
            case ("resolve", _, _):
                place.update({process.task: "good", "shared": "both"})
            case _:
                assert act == "nothing", f"no such act: {act}"


def merged(base: Tree, ours: Tree, theirs: Tree) -> tuple[dict[str, str], tuple[str, ...]]:
    """A merge of whole files."""
    tree: dict[str, str] = {}
    clashes: list[str] = []
    for path in sorted({*base, *ours, *theirs}):
        b, o, t = base.get(path), ours.get(path), theirs.get(path)
        held = t if o == b else o
        if o not in (b, t) and t != b:
            clashes.append(path)
        if held is not None:
            tree[path] = held
    return tree, tuple(clashes)
