"""The world that survives a killed worker: a git of dictionaries, processes of numbers.

Every method of it is a touch: the place before its effect and the place after it are two
instants at which a worker can die.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from yaoki.core.change import Change, Claims
from yaoki.core.model import (
    AgentExit,
    AgentSpec,
    CheckSpec,
    Failure,
    Finding,
    Kind,
    Outcome,
    Run,
    Task,
)
from yaoki.ports import Candidate, Kept, Launch, Look, Merged, Order, Place

Tree = Mapping[str, str]
EMPTY: Tree = {}


class Killed(BaseException):
    """kill -9: nothing may catch it."""


@dataclass
class Touches:
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
    """Moves when somebody sleeps; `skew` is how wrong this machine's clock is."""

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
    """An agent at work: after `looks` glances it has done what its attempt was meant to do."""

    task: str
    attempt: int
    looks: int
    ended: str = ""
    done: bool = False
    gone: bool = False


@dataclass
class World:
    """Everything outside the store."""

    dice: random.Random
    acts: Mapping[str, list[str]]
    time: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    commits: dict[str, tuple[Tree, tuple[str, ...]]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    worktrees: dict[str, dict[str, str]] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)
    starts: dict[tuple[str, int], int] = field(default_factory=dict)
    landings: list[str] = field(default_factory=list)
    proven: set[str] = field(default_factory=set)
    kept: dict[str, str] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    branch: str = "yaoki/simulate"
    base: str = ""

    def __post_init__(self) -> None:
        self.base = self.commit({"README": "hello"}, ())

    def commit(self, tree: Tree, parents: tuple[str, ...]) -> str:
        name = f"c{len(self.commits)}"
        self.commits[name] = (dict(tree), parents)
        return name

    def tree(self, commit: str) -> Tree:
        return self.commits[commit][0] if commit else EMPTY

    def ancestors(self, commit: str) -> set[str]:
        seen: set[str] = set()
        waiting = [commit]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting.extend(self.commits[name][1])
        return seen

    def act(self, process: Process) -> None:
        """What an agent does to its worktree when it comes to an end; the last act repeats."""
        acts, ended = self.acts[process.task], self.ended.get(process.task, 0)
        act = acts[min(ended, len(acts) - 1)]
        self.ended[process.task] = ended + 1
        place = self.worktrees[process.task]
        if act == "good":
            place[process.task] = "good"
        elif act == "lie":
            place[process.task] = f"bad {process.attempt}"
        elif act == "clash":
            # Somebody else lands the same file while this agent works.
            head = self.refs[self.branch]
            tree = {**self.tree(head), "shared": "other"}
            self.refs[self.branch] = self.commit(tree, (head,))
            place["shared"] = process.task
            place[process.task] = "good"
        elif act == "resolve":
            place.update({process.task: "good", "shared": "both"})
        process.done = True


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


class DictWorkspace:
    """git, as far as the engine can tell."""

    def __init__(self, world: World, touch: Touches) -> None:
        self.world, self.touch = world, touch

    def open_run(self, run: Run) -> None:
        self.touch("open_run")
        self.world.refs.setdefault(run.branch, run.base)
        self.touch("run opened")

    def head(self, run: Run) -> str:
        return self.world.refs[run.branch]

    def prepare(self, run: Run, task: Task, attempt: int) -> Place:
        self.touch("prepare")
        world, name, head = self.world, task.spec.name, self.head(run)
        fresh = task.attempt == 0 or task.fresh_next or name not in world.worktrees
        if fresh:
            world.worktrees[name] = dict(world.tree(head))
            world.heads[name] = head
        elif task.feedback and task.feedback.kind is Kind.CONFLICT:
            world.worktrees[name] = {**world.tree(head), name: "good", "shared": "<<<<<<<"}
            world.heads[name] = world.commit(world.worktrees[name], (world.heads[name], head))
        self.touch("prepared")
        return Place(Path("/w") / name, world.heads[name] if fresh else task.work.base, "", fresh)

    def snapshot(self, task: Task, attempt: int) -> str:
        self.touch("snapshot")
        return f"{task.id}-{attempt}"

    def keep(self, run: Run, task: Task) -> Kept:
        self.touch("keep")
        world, name = self.world, task.spec.name
        there, before = world.worktrees[name], world.heads[name]
        if dict(there) != dict(world.tree(before)):
            world.heads[name] = world.commit(there, (before,))
        world.kept[f"{task.id}/{task.attempt}"] = world.heads[name]
        self.touch("kept")
        head = world.heads[name]
        tree = repr(sorted(world.tree(head).items()))
        return Kept(head, tree, (name,) if head != task.work.base else (), 0, 1)

    def candidate(self, run: Run, task: Task) -> Candidate:
        self.touch("candidate")
        world, onto = self.world, self.head(run)
        if task.spec.kind == "check":
            return Candidate(onto, onto, "")
        head = task.work.head
        common = max(world.ancestors(head) & world.ancestors(onto), key=lambda name: int(name[1:]))
        tree, clashes = merged(world.tree(common), world.tree(head), world.tree(onto))
        if clashes:
            return Candidate("", onto, "", conflicts=clashes)
        if tree == world.tree(onto):
            return Candidate(onto, onto, "")
        commit = world.commit(tree, (onto, head))
        world.worktrees[task.spec.name] = dict(tree)
        world.heads[task.spec.name] = commit
        self.touch("candidate made")
        return Candidate(commit, onto, "", changed=(task.spec.name,), tracked=9)

    def visit(self, task: Task, commit: str) -> None:
        raise AssertionError("no check here is a guard")

    def changes(self, old: str, new: str) -> tuple[Change, ...]:
        return ()

    def pushed(self, commit: str) -> bool:
        return False

    def settle(self, task: Task, commit: str) -> tuple[str, ...]:
        return ()

    def rebuild(self, task: Task) -> bool:
        """Worktrees may go missing between two lives."""
        world, name = self.world, task.spec.name
        if name in world.worktrees or task.spec.kind == "check":
            return False
        world.heads[name] = task.work.head
        world.worktrees[name] = dict(world.tree(task.work.head))
        return True

    def diff(self, old: str, new: str) -> str:
        raise AssertionError("nobody judges here")

    def lacks(self, run: Run, commits: Sequence[str]) -> tuple[str, ...]:
        return ()

    def intact(self, run: Run) -> str:
        return ""

    def land(self, run: Run, commit: str, onto: str) -> str:
        self.touch("land")
        if self.world.refs[run.branch] == onto:
            self.world.refs[run.branch] = commit
            if commit != onto:
                self.world.landings.append(commit)
        self.touch("landed")
        return self.head(run)

    def holds(self, run: Run, commit: str) -> bool:
        return commit in self.world.ancestors(self.head(run))

    def release(self, task: Task) -> None:
        self.touch("release")
        self.world.worktrees.pop(task.spec.name, None)
        self.touch("released")

    def guards(self) -> Mapping[str, str]:
        return {}

    def worktrees(self) -> frozenset[str]:
        return frozenset()

    def undo(self, run: Run, landed: str, task_id: str) -> str:
        raise AssertionError("nobody undoes here")

    def merge(self, run: Run, *, into: str = "", force_ref: bool = False) -> Merged:
        raise AssertionError("nobody merges here")


class NumberedProcesses:
    """Shims, as far as the engine can tell: they outlive the worker that started them."""

    def __init__(self, world: World, touch: Touches) -> None:
        self.world, self.touch = world, touch

    def start(self, folder: Path, launch: Launch) -> None:
        self.touch("start")
        task, attempt = launch.env["task"], int(launch.env["attempt"])
        if str(folder) not in self.world.processes:
            key = (task, attempt)
            self.world.starts[key] = self.world.starts.get(key, 0) + 1
            looks = self.world.dice.randint(1, 3)
            self.world.processes[str(folder)] = Process(task, attempt, looks)
        self.touch("started")

    def look(self, folder: Path) -> Look:
        process = self.world.processes.get(str(folder))
        if process is None:
            return Look("absent")
        if process.gone:
            return Look("gone")
        if not process.done and not process.ended:
            process.looks -= 1
            if process.looks > 0:
                return Look("running")
            self.world.act(process)
        return Look("exited", code=0, ended_by=process.ended, output_bytes=1)

    def renew(self, folder: Path) -> None:
        self.touch("renew")

    def end(self, folder: Path, why: str) -> Look:
        self.touch("end")
        process = self.world.processes[str(folder)]
        if not process.done and not process.gone:
            process.ended = why
        return self.look(folder)


class PlainAgent:
    """Adds nothing to what the process did."""

    def preflight(self, spec: AgentSpec) -> None:
        return

    def launch(self, order: Order) -> Launch:
        name = order.environment["YAOKI_TASK_NAME"]
        env = {"task": name, "attempt": str(order.attempt)}
        return Launch(("agent",), str(order.worktree), env)

    def read(self, folder: Path, look: Look) -> AgentExit:
        return AgentExit(code=look.code, ended_by=look.ended_by, output_bytes=look.output_bytes)

    def question(self, folder: Path) -> str:
        return ""

    def waits(self, folder: Path) -> timedelta:
        return timedelta(0)


@dataclass(frozen=True)
class Said:
    text: str = "mend it"
    path: str = ""
    steps: tuple[str, ...] = ()
    fault: str = ""


class PlainTelling:
    """One sentence for every failure."""

    def tell(self, failure: Failure, hints: Mapping[Kind, str]) -> Said:
        return Said()


class NoCriteria:
    """Trees of words have no syntax to break."""

    def judge(
        self, changes: Sequence[Change], claims: Claims, *, exists: Callable[[str], bool]
    ) -> tuple[Finding, ...]:
        return ()

    def weakened(self, changes: Sequence[Change], commands: Iterable[str]) -> Finding | None:
        return None


class TreeChecker:
    """Passes when the task's own file is good in the worktree at this instant."""

    def __init__(self, world: World, touch: Touches) -> None:
        self.world, self.touch = world, touch

    def check(
        self,
        spec: CheckSpec,
        worktree: Path,
        folder: Path,
        *,
        facts: Mapping[str, Any],
        stop: Callable[[], bool],
    ) -> Finding:
        self.touch("check")
        tree = self.world.tree(facts["commit"])
        wanted = tree.get(worktree.name, "missing")
        if wanted == "good":
            self.world.proven.add(facts["commit"])
            self.touch("checked")
            return Finding(spec.name, Outcome.PASSED)
        return Finding(spec.name, Outcome.FAILED, pattern="test-failed", message=f"it is {wanted}")
