"""Lives of a worker in the simulated world: run to the end, die at a touch, be interfered with."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from tests.simulation.world import (
    DictWorkspace,
    HandClock,
    Killed,
    NoCriteria,
    NumberedProcesses,
    PlainAgent,
    PlainTelling,
    Touches,
    TreeChecker,
    World,
)
from yaoki.core.model import (
    AgentSpec,
    Backoff,
    Catalogue,
    CheckSpec,
    Kind,
    Policy,
    RetryRule,
    Run,
    RunId,
    Spec,
    State,
    Task,
)
from yaoki.engine.closing import Closing
from yaoki.engine.hold import Hold
from yaoki.engine.stages import Room, Settings, Stages
from yaoki.engine.worker import Worker
from yaoki.store import SqlStore, open_store

LEASE = timedelta(seconds=60)
RUN = RunId("simulate")
CHECK = CheckSpec("tests", argv=("check",))
AGENT = AgentSpec("agent")
POLICY = Policy(
    rules={
        kind: RetryRule(n, Backoff())
        for kind, n in (
            (Kind.INCOMPLETE, 3),
            (Kind.QUALITY_FAILURE, 3),
            (Kind.TRANSIENT_ERROR, 3),
            (Kind.CONFLICT, 2),
            (Kind.LOST, 6),
        )
    }
)
STEPS_MAX = 400


@cache
def _template() -> Path:
    """An empty, migrated store; copied for every seed, which is quicker than migrating."""
    path = Path(mkdtemp()) / "state.db"
    open_store(path, HandClock(World(random.Random(0), {})), durable=False).close()
    return path


class TouchedStore:
    """The real store; every writing call is a touch before and after its commit."""

    WRITES = ("claim", "record", "expire", "add", "note", "update_run", "submit", "cancel_run")

    def __init__(self, store: SqlStore, touch: Touches) -> None:
        self._store, self._touch = store, touch

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name not in self.WRITES:
            return method

        def touched(*args: Any, **named: Any) -> Any:
            self._touch(f"{name} begins")
            result = method(*args, **named)
            self._touch(f"{name} committed")
            return result

        return touched


@dataclass
class Life:
    """One process: from its start to its death or its end."""

    world: World
    path: Path
    holder: str
    touch: Touches
    adopt: bool = True
    skew: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        self.clock = HandClock(self.world, self.skew)
        self.real = open_store(self.path, self.clock, durable=False)
        self.store: Any = TouchedStore(self.real, self.touch)
        stages = Stages(
            DictWorkspace(self.world, self.touch),
            NumberedProcesses(self.world, self.touch),
            TreeChecker(self.world, self.touch),
            lambda _: PlainAgent(),
            self.clock,
            lambda _: PlainTelling(),
            Settings(Path("/f"), "host", LEASE, adopt=self.adopt),
            self.real,
            NoCriteria(),
            lambda: Room(1 << 40, 1 << 40),
        )
        self.worker = Worker(
            self.store,
            stages,
            self.clock,
            holder=self.holder,
            host="host",
            lease=LEASE,
            parallel=100,
            alive=lambda _: False,
        )
        self.closing = Closing(self.store, self.clock, lambda run: self.world.refs[run.branch])

    def submit(self, specs: list[Spec], run: Run) -> None:
        if not self.real.runs():
            self.store.submit(run, specs, {})

    def live(self, dead: Callable[[str], bool]) -> None:
        """Carry everything until the run rests; raises Killed when its touch comes."""
        self.store.expire(dead, counted=False)
        for _ in range(STEPS_MAX):
            if self.step():
                return
        raise AssertionError("the run never rests")

    def cancel(self) -> None:
        """A person cancels, and whoever is there carries the rest to its end."""
        self.real.cancel_run(RUN, "a person")
        self.real.expire(self.another, counted=False)
        while tasks := self.real.claim_cancelled(self.holder, LEASE, [RUN]):
            for task in tasks:
                self.worker.carry(task, Hold(lambda: "cancel"))

    def another(self, holder: str) -> bool:
        return holder != self.holder

    def step(self) -> bool:
        """One claim carried to its rest; true when the run rests."""
        tasks: list[Task] = self.worker.claim(1, [RUN])
        for task in tasks:
            self.worker.carry(task, Hold(lambda: ""))
        if tasks:
            return False
        if self.closing.rests(RUN):
            return True
        due = self.real.next_due([RUN])
        wait = (due - self.clock.now()) if due else timedelta(0)
        self.world.time += max(wait, timedelta(seconds=1))
        return False


@dataclass
class Story:
    """A plan in the simulated world, and the store it is kept in."""

    seed: int
    acts: Mapping[str, list[str]]
    needs: Mapping[str, tuple[str, ...]]

    def begin(self) -> tuple[World, Path]:
        folder = Path(mkdtemp())
        path = folder / "state.db"
        shutil.copy(_template(), path)
        return World(random.Random(self.seed), self.acts), path

    def specs(self) -> list[Spec]:
        return [
            Spec(
                name,
                f"make {name} good",
                needs=self.needs.get(name, ()),
                checks=(CHECK,),
                agents=(AGENT,),
                policy=POLICY,
            )
            for name in self.acts
        ]

    def run(self, world: World) -> Run:
        catalogue = Catalogue({"tests": CHECK}, {"agent": AGENT}, {"default": POLICY})
        return Run(RUN, "goal", "/r", "main", world.base, world.time, catalogue)


@dataclass(frozen=True)
class Ending:
    """What can be compared between lives."""

    tree: Mapping[str, str]
    states: Mapping[str, State]
    touches: tuple[str, ...]
    world: World
    store: SqlStore


def to_the_end(
    story: Story,
    deaths: Callable[[int], int] = lambda _: -1,
    *,
    shims_die: bool = False,
    adopt: bool = True,
    between: Callable[[World, Path, int], None] | None = None,
) -> Ending:
    """Live, die where `deaths(life)` says, live again; until the run rests."""
    world, path = story.begin()
    touched: list[str] = []
    for n in range(60):
        touch = Touches(die_at=deaths(n))
        if between is not None and n == 0:
            touch.between = lambda count: between(world, path, count)
        life = Life(world, path, f"host:{n}", touch, adopt=adopt)
        try:
            life.submit(story.specs(), story.run(world))
            life.live(life.another)
        except Killed:
            touched.extend(touch.names)
            if shims_die:
                end_shims(world)
            life.real.close()
            continue
        touched.extend(touch.names)
        states = {row.name: row.state for row in life.real.rows(RUN)}
        head = world.refs.get(f"yaoki/{RUN}", world.base)
        return Ending(world.tree(head), states, tuple(touched), world, life.real)
    raise AssertionError("sixty lives were not enough")


def end_shims(world: World) -> None:
    """The whole machine went down: what ran is gone without a record."""
    for process in world.processes.values():
        if not process.done and not process.ended:
            process.gone = True
