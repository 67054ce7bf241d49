"""A world in which runs take place: the reality that forecasts are compared with.

It shares no code with the forecast.  A world has its own hidden numbers (how fast its agents are,
how often they fail, how much runs differ), which nobody but the journal of its runs shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from yaoki.ports import JournalEntry

START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class WorldTask:
    name: str
    agent: str
    checks: tuple[str, ...]
    needs: tuple[str, ...] = ()


@dataclass
class Reality:
    """What really happened in one run."""

    seconds: float
    agent_runs: int
    money: float
    entries: list[JournalEntry]


@dataclass
class World:
    """`run_spread` is the logarithmic spread between runs."""

    random: Random
    slots: int = 3
    retries: int = 3
    run_spread: float = 0.25
    agents: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)
    checks: dict[str, float] = field(default_factory=dict)
    runs_so_far: int = 0
    seq: int = 0

    @classmethod
    def draw(cls, seed: int) -> World:
        random = Random(seed)
        world = cls(random, random.choice((1, 2, 4)), 3, random.choice((0.0, 0.2, 0.4)))
        for name in ("small", "large"):
            failing = random.uniform(0.05, 0.4)
            again = min(0.6, failing * random.uniform(1.0, 1.8))
            usual = random.uniform(120, 900)
            world.agents[name] = (usual, random.uniform(0.3, 0.7), failing, again)
        world.checks = {"tests": random.uniform(10, 120), "types": random.uniform(2, 20)}
        return world

    def make_plan(self) -> list[WorldTask]:
        size = self.random.randint(4, 14)
        tasks: list[WorldTask] = []
        for n in range(size):
            before = [task.name for task in tasks]
            count = self.random.choice((0, 0, 1, 1, 2)) if before else 0
            needs = tuple(self.random.sample(before, min(count, len(before))))
            checks = self.random.choice((("tests",), ("tests", "types")))
            agent = self.random.choice(("small", "small", "large"))
            tasks.append(WorldTask(f"t{n}", agent, checks, needs))
        return tasks

    def play(self, plan: Sequence[WorldTask]) -> Reality:
        self.runs_so_far += 1
        return _Playing(self, f"run{self.runs_so_far:05}", plan).until_the_end()


class _Playing:
    """Goes from one end of an attempt to the next; at most one attempt of a task is open."""

    def __init__(self, world: World, run: str, plan: Sequence[WorldTask]) -> None:
        self.world, self.run, self.plan = world, run, plan
        self.pace = world.random.lognormvariate(0, world.run_spread)
        self.start = START + timedelta(days=world.runs_so_far)
        self.landed: set[str] = set()
        self.over: set[str] = set()
        self.failures = dict.fromkeys((task.name for task in plan), 0)
        self.open: list[tuple[float, WorldTask, bool]] = []
        self.due = dict.fromkeys((task.name for task in plan), 0.0)
        self.events: list[tuple[float, str, str, dict[str, Any]]] = []
        self.money, self.runs = 0.0, 0

    def until_the_end(self) -> Reality:
        now = last = 0.0
        while True:
            self._begin_what_can_begin(now)
            moments = [end for end, _, _ in self.open]
            moments += [at for name, at in self.due.items() if at > now and name not in self.over]
            if not moments:
                break
            now = min(moments)
            for one in [one for one in self.open if one[0] <= now]:
                self.open.remove(one)
                self._finish(one[1], now, passed=one[2])
                last = now
        return Reality(last, self.runs, self.money, self._entries())

    def _begin_what_can_begin(self, now: float) -> None:
        busy = {task.name for _, task, _ in self.open}
        for task in self.plan:
            if len(self.open) >= self.world.slots:
                return
            idle = task.name not in busy | self.landed | self.over
            if idle and self.due[task.name] <= now and set(task.needs) <= self.landed:
                self._begin(task, now)

    def _begin(self, task: WorldTask, now: float) -> None:
        random = self.world.random
        usual, spread, failing, again = self.world.agents[task.agent]
        work = usual * self.pace * random.lognormvariate(0, spread)
        proof = sum(self.world.checks[name] * random.uniform(0.8, 1.4) for name in task.checks)
        passed = random.random() >= (again if self.failures[task.name] else failing)
        cost = work * 0.002 * random.uniform(0.5, 1.5)
        self.money += cost
        self.runs += 1
        self.open.append((now + work + proof, task, passed))
        self._note(now, task, "TASK_CLAIMED", {"epoch": 1})
        self._note(now, task, "ATTEMPT_STARTED", {"attempt": 1, "agent": task.agent})
        exit_ = {"exit": {"code": 0, "seconds": work, "cost": cost}}
        self._note(now + work, task, "AGENT_FINISHED", exit_)
        checks = dict.fromkeys(task.checks, "PASSED" if passed else "FAILED")
        judged = {"passed": passed, "checks": checks}
        self._note(now + work + proof, task, "QUALITY_JUDGMENT", judged)

    def _finish(self, task: WorldTask, now: float, *, passed: bool) -> None:
        if passed:
            self.landed.add(task.name)
            self._note(now, task, "TASK_LANDED", {"commit": "c"})
            return
        self.failures[task.name] += 1
        failure = {"failure": {"kind": "QUALITY_FAILURE", "message": "m"}, "delay_ms": 2000}
        if self.failures[task.name] <= self.world.retries:
            self.due[task.name] = now + 2
            self._note(now, task, "RETRY_DECISION", failure)
        else:
            self.over.add(task.name)
            self._note(now, task, "ESCALATE_DECISION", failure)

    def _note(self, at: float, task: WorldTask, event: str, data: dict[str, Any]) -> None:
        self.events.append((at, f"{self.run}-{task.name}", event, data))

    def _entries(self) -> list[JournalEntry]:
        entries = []
        for at, task, event, data in sorted(self.events, key=lambda one: one[0]):
            self.world.seq += 1
            moment = self.start + timedelta(seconds=at)
            entries.append(JournalEntry(self.world.seq, moment, self.run, task, 1, event, data))
        return entries
