"""Lives of a worker in the simulated world: run to the end, die at a touch, be interfered with."""

from __future__ import annotations

import copy
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.simulation.fake_adapters import (
    Ear,
    NoCriteria,
    NumberedProcesses,
    PlainAgent,
    PlainTelling,
    TreeChecker,
)
from tests.simulation.fake_proof_rooms import DictRooms
from tests.simulation.fake_workspace import DictWorkspace
from tests.simulation.world import HandClock, Killed, Touches, World
from yaoki.adapters.store import SqlStore, open_store
from yaoki.adapters.store.tables.outbox import NoticeSelection
from yaoki.app.planner_answer import PlanAnswerReader
from yaoki.core.model import Catalogue, Run, RunId, Task, TaskSpec
from yaoki.engine.branch_guard import BranchGuard
from yaoki.engine.claim_context import StopReason
from yaoki.engine.commands.control import Control
from yaoki.engine.commands.extend import ExtendCommand
from yaoki.engine.commands.submit import Submission
from yaoki.engine.completion.completion import RunCompletion
from yaoki.engine.loop.leftover_worktrees import LeftoverWorktrees
from yaoki.engine.loop.notifier import Notifier
from yaoki.engine.loop.worker import Worker
from yaoki.engine.stage_settings import FreeCapacity, StageSettings
from yaoki.engine.stages.stages import AgentPorts, CheckPorts, Stages
from yaoki.ports import Claimant

LEASE = timedelta(seconds=60)
RUN = RunId("simulate")
STEPS_MAX = 600
LIVES_MAX = 60


@cache
def _template() -> TemporaryDirectory[str]:
    """An empty, migrated store; copied for every story, which is quicker than migrating."""
    made = TemporaryDirectory(prefix="yaoki-simulation-")
    clock = HandClock(World(random.Random(0), {}))
    open_store(Path(made.name) / "state.db", clock, durable=False).close()
    return made


class TouchedStore:
    """The real store; every writing call is a touch before and after its commit."""

    WRITES = frozenset(
        {
            *(
                "submit",
                "add_tasks",
                "extend",
                "amend",
                "amend_all",
                "record",
                "note",
                "update_run",
            ),
            *(
                "claim",
                "claim_to_cancel",
                "expire_claims",
                "heartbeat",
                "cancel_run",
                "cancel_task",
            ),
            *(
                "pause",
                "unpause",
                "end_iterations",
                "take_notices",
                "mark_notice_sent",
                "mark_notice_failed",
            ),
        }
    )

    def __init__(self, store: SqlStore, touch: Touches) -> None:
        unknown = {name for name in self.WRITES if not hasattr(store, name)}
        assert not unknown, f"no kill point any more: {unknown}"
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


@dataclass(frozen=True)
class Story:
    """A plan in the simulated world, what its agents do, and what a person does when it rests.

    `person` says whether it did something; `asked` are fields of the submission.
    """

    seed: int
    tasks: tuple[TaskSpec, ...]
    acts: Mapping[str, list[str]]
    catalogue: Catalogue
    asked: Mapping[str, Any] = field(default_factory=dict)
    person: Callable[[Life], bool] = lambda _: False
    listens: bool = False
    fails: int = 0

    @contextmanager
    def begin(self) -> Iterator[Scene]:
        """A new world with an empty store, gone afterwards."""
        with TemporaryDirectory(prefix="yaoki-story-") as name:
            home = Path(name) / "home"
            shutil.copytree(_template().name, home)
            world = World(random.Random(self.seed), self.acts, self.fails, self.listens)
            yield Scene(world, home)

    def submission(self, world: World) -> Submission:
        plain: dict[str, Any] = {"done_when": (), "source": "", "parallel": 1, "chain": ("agent",)}
        place = {"repo": "/r", "base_branch": "main", "base": world.base}
        return Submission(
            goal="goal",
            specs=self.tasks,
            catalogue=self.catalogue,
            **{**plain, **place, **self.asked},
        )


@dataclass(frozen=True)
class Scene:
    """A world and the folder of its store, as a kill leaves them."""

    world: World
    home: Path

    @contextmanager
    def copied(self) -> Iterator[Scene]:
        """What is there at this very instant; the store's files as they lie on the disk."""
        with TemporaryDirectory(prefix="yaoki-scene-") as name:
            home = Path(name) / "home"
            shutil.copytree(self.home, home, ignore=shutil.ignore_patterns("*-shm"))
            yield Scene(copy.deepcopy(self.world), home)


class Life:
    """One process: from its start to its death or its end."""

    def __init__(
        self,
        scene: Scene,
        holder: str,
        touch: Touches,
        *,
        adopt: bool = True,
        skew: timedelta = timedelta(0),
        store: SqlStore | None = None,
    ) -> None:
        self.world, self.holder, self.touch = scene.world, holder, touch
        self.clock = HandClock(self.world, skew)
        self.home = scene.home
        limits = {"notices": NoticeSelection(("ear",))} if self.world.listens else {}
        self.real = store or open_store(
            scene.home / "state.db", self.clock, durable=False, limits=limits
        )
        self.store: Any = TouchedStore(self.real, touch)
        self.workspace = DictWorkspace(self.world, touch)
        stages = self._stages(scene.home / "runs", adopt=adopt)
        self.closing = RunCompletion(self.store, self.workspace, self.clock, stages.verify_commit)
        self.growth = ExtendCommand(self.store)
        self.sending = Notifier(self.store, {"ear": Ear(self.world, touch)}, self.clock)
        self.control = Control(
            self.store,
            self.workspace,
            self.clock,
            is_dead=self.another,
            new_id=lambda: str(RUN),
            verify_commit=stages.verify_commit,
            complete=self.closing.complete,
            mask=lambda text: text,
            leftovers=LeftoverWorktrees(
                self.store,
                self.workspace,
                host="",
                end_processes=lambda _: None,
                on_release=lambda _: None,
                is_archived=lambda _: "",
            ),
        )
        self.worker = Worker(
            self.store,
            stages,
            BranchGuard(self.store, self.workspace),
            self.clock,
            Claimant(holder, LEASE, host="host", host_max=100),
        )

    def _stages(self, home: Path, *, adopt: bool) -> Stages:
        return Stages(
            self.workspace,
            NumberedProcesses(self.world, self.touch, home),
            self.clock,
            StageSettings(home, "host", LEASE, adopt=adopt),
            AgentPorts(
                lambda _: PlainAgent(),
                lambda _: PlainTelling(),
                PlanAnswerReader(self.real, 1 << 16),
            ),
            CheckPorts(
                TreeChecker(self.world, self.touch),
                DictRooms(self.world, self.touch),
                self.real,
                NoCriteria(),
            ),
            find_task=self.real.task,
            free_capacity=lambda: FreeCapacity(1 << 40, 1 << 40),
            resources=None,
        )

    def another(self, holder: str) -> bool:
        return holder != self.holder

    def run(self) -> Run:
        return self.real.run(RUN)

    def submit(self, story: Story) -> None:
        if not self.real.runs():
            self.control.submit(story.submission(self.world), {})

    def live(self, person: Callable[[Life], bool] = lambda _: False) -> None:
        """Carry everything until the run rests; raises Killed when its touch comes."""
        self.reconcile()
        for _ in range(STEPS_MAX):
            if self.step() and not person(self):
                return
        raise AssertionError("the run never rests")

    def reconcile(self) -> None:
        """What every start does before anything else."""
        self.control.resume(self.run())
        self.control.sweep(self.run())

    def step(self) -> bool:
        """One claim carried to its rest; true when the run rests and everybody was told."""
        tasks: list[Task] = self.worker.claim(1, [RUN])
        for task in tasks:
            self.worker.run_task(task, lambda: None, nullcontext)
        if self.real.count_waiting_notices():
            self.sending.deliver()
        if tasks:
            return False
        if self.closing.complete(RUN):
            if not self.real.count_waiting_notices():
                return True
            self.world.time += timedelta(seconds=20)
            return False
        due = self.real.next_due([RUN])
        wait = (due - self.clock.now()) if due else timedelta(0)
        self.world.time += max(wait, timedelta(seconds=1))
        return False

    def cancel(self) -> None:
        """A person cancels, and whoever is there carries the rest to its end."""
        self.real.cancel_run(RUN, "a person")
        self.real.expire_claims(self.another, counted=False)
        while tasks := self.real.claim_to_cancel(Claimant(self.holder, LEASE), [RUN]):
            for task in tasks:
                self.worker.run_task(task, lambda: StopReason.CANCEL, nullcontext)

    def close(self) -> None:
        self.real.close()


def end_shims(world: World) -> None:
    """The whole machine went down: what ran is gone without a record."""
    for process in world.processes.values():
        if process.running:
            process.gone = True


Look = Callable[[Life], Any]
Between = Callable[[Scene, Touches], None]


def to_the_end(
    story: Story,
    look: Look,
    deaths: Callable[[int], int] = lambda _: -1,
    *,
    scene: Scene | None = None,
    born: int = 0,
    shims_die: bool = False,
    adopt: bool = True,
    between: Between | None = None,
) -> Any:
    """Live, die where `deaths(life)` says, live again until the run rests; what `look` saw then.

    With `scene` it goes on from there, as process number `born`; `between` is told of every touch
    of the first life.
    """
    if scene is None:
        with story.begin() as begun:
            more: dict[str, Any] = {"shims_die": shims_die, "adopt": adopt, "between": between}
            return to_the_end(story, look, deaths, scene=begun, **more)
    for n in range(LIVES_MAX):
        touch = Touches(die_at=deaths(n))
        if between is not None and n == 0:
            touch.between = _telling(between, scene, touch)
        life = Life(scene, f"host:{born + n}", touch, adopt=adopt)
        try:
            life.submit(story)
            life.live(story.person)
            return look(life)
        except Killed:
            if shims_die:
                end_shims(scene.world)
        finally:
            life.close()
    raise AssertionError(f"{LIVES_MAX} lives were not enough")


def _telling(between: Between, scene: Scene, touch: Touches) -> Callable[[int], None]:
    return lambda _: between(scene, touch)


def changing(story: Story) -> list[int]:
    """The touches since whose last something happened; at the others a kill leaves the same."""
    found: dict[str, int] = {}
    to_the_end(story, lambda _: None, between=lambda s, t: _first(found, _mark(s, t), t.count))
    return list(found.values())


def _first(found: dict[str, int], mark: str, count: int) -> None:
    found.setdefault(mark, count)


def _mark(scene: Scene, touch: Touches) -> str:
    commits = sum(name.endswith("committed") for name in touch.names)
    return f"{commits} {scene.world.mark()}"


def at_every_touch(story: Story, then: Callable[[Scene], None], *, machine: bool = False) -> None:
    """What a kill at each touch of the unkilled run leaves is handed to `then`.

    Where nothing happened since the touch before, a kill leaves the same; a machine that goes down
    with nothing at work leaves what a process leaves.
    """
    points = set(changing(story))

    def die(scene: Scene, touch: Touches) -> None:
        if touch.count not in points or (machine and not scene.world.busy()):
            return
        with scene.copied() as left:
            if machine:
                end_shims(left.world)
            try:
                then(left)
            except AssertionError as error:
                place = f"killed at touch {touch.count}, {touch.names[-1]}"
                raise AssertionError(f"{place}: {error}") from error

    to_the_end(story, lambda _: None, between=die)
