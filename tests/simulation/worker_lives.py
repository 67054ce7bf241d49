"""Workers in the simulated world: they run to the end, die at an access, or meet another worker."""

from __future__ import annotations

import atexit
import copy
import random
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.simulation.fake_adapters import (
    FakeChannel,
    NoCriteria,
    NumberedProcesses,
    PlainAgent,
    PlainPromptText,
    TreeChecker,
)
from tests.simulation.fake_proof_rooms import DictRooms
from tests.simulation.fake_workspace import DictWorkspace
from tests.simulation.world import Accesses, HandClock, Killed, World
from yaoki.adapters.store import SqlStore, open_store
from yaoki.adapters.store.tables.outbox import NoticeSelection
from yaoki.app.planner_answer import PlanAnswerReader, read_agent_output
from yaoki.core.model import Catalogue, Run, RunId, Task, TaskSpec
from yaoki.engine.branch_guard import BranchGuard
from yaoki.engine.claim_context import StopReason
from yaoki.engine.commands.control import Control
from yaoki.engine.commands.extend import ExtendCommand
from yaoki.engine.commands.submit import Submission
from yaoki.engine.completion.completion import RunCompletion
from yaoki.engine.loop.leftover_worktrees import LeftoverWorktrees
from yaoki.engine.loop.notifier import Notifier
from yaoki.engine.loop.queue_view import ProofMemory
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
    # Without it the folder is removed as garbage, with a warning.
    atexit.register(made.cleanup)
    clock = HandClock(World(random.Random(0), {}))
    open_store(Path(made.name) / "state.db", clock, durable=False).close()
    return made


class RecordingStore:
    """The real store; every writing call is an access before and after its commit."""

    WRITES = frozenset(
        {
            *(
                "submit",
                "add_tasks",
                "extend",
                "amend",
                "amend_all",
                "record",
                "record_candidate",
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

    def __init__(self, store: SqlStore, touch: Accesses) -> None:
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
class Scenario:
    """A plan in the simulated world, the acts of its agents, and a person's actions.

    `person` returns whether it acted; `asked` are fields of the submission.
    """

    seed: int
    tasks: tuple[TaskSpec, ...]
    acts: Mapping[str, list[str]]
    catalogue: Catalogue
    asked: Mapping[str, Any] = field(default_factory=dict)
    person: Callable[[WorkerLife], bool] = lambda _: False
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
        """A copy of the current state, with the store's files."""
        with TemporaryDirectory(prefix="yaoki-scene-") as name:
            home = Path(name) / "home"
            shutil.copytree(self.home, home, ignore=shutil.ignore_patterns("*-shm"))
            yield Scene(copy.deepcopy(self.world), home)


class WorkerLife:
    """One process: from its start to its death or its end."""

    def __init__(
        self,
        scene: Scene,
        holder: str,
        touch: Accesses,
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
        self.store: Any = RecordingStore(self.real, touch)
        self.workspace = DictWorkspace(self.world, touch)
        stages = self._stages(scene.home / "runs", adopt=adopt)
        self.closing = RunCompletion(self.store, self.workspace, self.clock, stages.verify_commit)
        self.growth = ExtendCommand(self.store)
        self.sending = Notifier(self.store, {"ear": FakeChannel(self.world, touch)}, self.clock)
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
        self.memory = ProofMemory()
        self.worker = Worker(
            self.store,
            stages,
            BranchGuard(self.store, self.workspace),
            self.clock,
            Claimant(holder, LEASE, host="host", host_max=100),
            self.memory,
        )

    def _stages(self, home: Path, *, adopt: bool) -> Stages:
        return Stages(
            self.workspace,
            NumberedProcesses(self.world, self.touch, home),
            self.clock,
            StageSettings(home, "host", LEASE, adopt=adopt),
            AgentPorts(
                lambda _: PlainAgent(),
                lambda _: PlainPromptText(),
                PlanAnswerReader(self.real, 1 << 16),
                read_agent_output,
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

    def submit(self, story: Scenario) -> None:
        if not self.real.runs():
            self.control.submit(story.submission(self.world), {})

    def live(self, person: Callable[[WorkerLife], bool] = lambda _: False) -> None:
        """Work until the run is idle; raises Killed at the chosen access."""
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
        """Execute one claim; returns whether the run is idle and every notice was sent."""
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
        """A person cancels, and the worker finishes the run."""
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


Look = Callable[[WorkerLife], Any]
Between = Callable[[Scene, Accesses], None]


def run_to_end(
    story: Scenario,
    look: Look,
    deaths: Callable[[int], int] = lambda _: -1,
    *,
    scene: Scene | None = None,
    born: int = 0,
    shims_die: bool = False,
    adopt: bool = True,
    between: Between | None = None,
) -> Any:
    """Work, die where `deaths(life)` says, continue until the run is idle; returns what `look` saw.

    With `scene` it continues there, as process number `born`; `between` is called at every access
    of the first life.
    """
    if scene is None:
        with story.begin() as begun:
            more: dict[str, Any] = {"shims_die": shims_die, "adopt": adopt, "between": between}
            return run_to_end(story, look, deaths, scene=begun, **more)
    for n in range(LIVES_MAX):
        touch = Accesses(die_at=deaths(n))
        if between is not None and n == 0:
            touch.between = _telling(between, scene, touch)
        life = WorkerLife(scene, f"host:{born + n}", touch, adopt=adopt)
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


def _telling(between: Between, scene: Scene, touch: Accesses) -> Callable[[int], None]:
    return lambda _: between(scene, touch)


def changing_accesses(story: Scenario) -> list[int]:
    """The touches since whose last something happened; at the others a kill leaves the same."""
    found: dict[str, int] = {}
    run_to_end(
        story, lambda _: None, between=lambda s, t: _first(found, change_mark(s, t), t.count)
    )
    return list(found.values())


def _first(found: dict[str, int], mark: str, count: int) -> None:
    found.setdefault(mark, count)


def change_mark(scene: Scene, touch: Accesses) -> str:
    """The same until something happens in the store or in the world."""
    commits = sum(name.endswith("committed") for name in touch.names)
    return f"{commits} {scene.world.mark()}"


def kill_at_every_access(
    story: Scenario,
    then: Callable[[Scene], None],
    *,
    machine: bool = False,
    points: Iterable[int] | None = None,
) -> None:
    """Pass the state after a kill at each access (or these) of the undisturbed run to `then`.

    Without a change since the last access a kill leaves the same state; a machine that goes down
    without running agents leaves the same as a killed process.
    """
    chosen = set(changing_accesses(story) if points is None else points)

    def die(scene: Scene, touch: Accesses) -> None:
        if touch.count not in chosen or (machine and not scene.world.busy()):
            return
        with scene.copied() as left:
            if machine:
                end_shims(left.world)
            try:
                then(left)
            except AssertionError as error:
                place = f"killed at touch {touch.count}, {touch.names[-1]}"
                raise AssertionError(f"{place}: {error}") from error

    run_to_end(story, lambda _: None, between=die)
