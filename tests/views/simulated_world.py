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
class WorldRace:
    """`start`: at-once, after-failure or after (`delay` seconds); `until`: first or all."""

    agents: tuple[str, ...]
    start: str
    delay: float
    until: str


@dataclass(frozen=True)
class WorldTask:
    """`racer_of` is the task that a candidate tries to do."""

    name: str
    agent: str
    checks: tuple[str, ...]
    needs: tuple[str, ...] = ()
    race: WorldRace | None = None
    racer_of: str = ""


@dataclass
class Reality:
    """What really happened in one run."""

    seconds: float
    agent_runs: int
    money: float
    entries: list[JournalEntry]


@dataclass
class World:
    """`run_spread` is the logarithmic spread between runs, `races` the share of racing tasks."""

    random: Random
    slots: int = 3
    retries: int = 3
    run_spread: float = 0.25
    agents: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)
    checks: dict[str, float] = field(default_factory=dict)
    runs_so_far: int = 0
    seq: int = 0
    races: float = 0.0

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
        world.races = random.choice((0.0, 0.2, 0.5))
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
            race = self._make_race(agent) if self.random.random() < self.races else None
            tasks.append(WorldTask(f"t{n}", agent, checks, needs, race))
        return tasks

    def _make_race(self, agent: str) -> WorldRace:
        tries = self.random.choice((2, 3))
        other = "large" if agent == "small" else "small"
        agents = self.random.choice(((agent,) * tries, (agent, other, agent)[:tries]))
        start = self.random.choice(("at-once", "at-once", "after-failure", "after"))
        delay = self.random.uniform(60, 600) if start == "after" else 0.0
        return WorldRace(agents, start, delay, self.random.choice(("first", "first", "all")))

    def play(self, plan: Sequence[WorldTask]) -> Reality:
        self.runs_so_far += 1
        return _Playing(self, f"run{self.runs_so_far:05}", plan).until_the_end()


@dataclass
class _Attempt:
    """An attempt that is under way: its agent works until `worked`, its proof takes until `end`."""

    task: WorldTask
    began: float
    worked: float
    end: float
    passed: bool
    cost: float


@dataclass
class _Round:
    """The candidates of one try of a racing task, and what has become of them."""

    racers: list[WorldTask]
    not_before: dict[str, float]
    begun: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    # The instant at which the proof of each proven candidate began.
    proven: dict[str, float] = field(default_factory=dict)

    def unsettled(self) -> list[WorldTask]:
        return [one for one in self.racers if one.name not in self.failed | self.proven.keys()]


class _Playing:
    """Goes from one end of an attempt to the next; at most one attempt of a task is open."""

    def __init__(self, world: World, run: str, plan: Sequence[WorldTask]) -> None:
        self.world, self.run, self.plan = world, run, plan
        self.pace = world.random.lognormvariate(0, world.run_spread)
        self.start = START + timedelta(days=world.runs_so_far)
        self.landed: set[str] = set()
        self.over: set[str] = set()
        self.failures = dict.fromkeys((task.name for task in plan), 0)
        self.open: list[_Attempt] = []
        self.due = dict.fromkeys((task.name for task in plan), 0.0)
        self.rounds: dict[str, _Round] = {}
        self.winners: dict[str, float] = {}
        self.last_landing = 0.0
        self.events: list[tuple[float, str, str, dict[str, Any]]] = []
        self.money, self.runs = 0.0, 0

    def until_the_end(self) -> Reality:
        now = last = 0.0
        while True:
            self._begin_what_can_begin(now)
            moments = [one.end for one in self.open]
            moments += [at for name, at in self.due.items() if at > now and name not in self.over]
            for round_ in self.rounds.values():
                waiting = [one.name for one in round_.unsettled() if one.name not in round_.begun]
                moments += [
                    at for name in waiting if (at := round_.not_before.get(name, now)) > now
                ]
            if not moments:
                break
            now = min(moments)
            for one in [one for one in self.open if one.end <= now]:
                if one in self.open:  # the end of another one may have stopped it
                    self.open.remove(one)
                    self._finish(one, now)
                    last = now
        return Reality(last, self.runs, self.money, self._entries())

    def _begin_what_can_begin(self, now: float) -> None:
        for task in self.plan:
            if len(self.open) >= self.world.slots:
                return
            busy = {one.task.name for one in self.open} | set(self.rounds)
            idle = task.name not in busy | self.landed | self.over
            if idle and self.due[task.name] <= now and set(task.needs) <= self.landed:
                if task.name in self.winners:
                    self._prove_the_winner_again(task, now)
                elif task.race is not None:
                    self._open_a_round(task, task.race, now)
                else:
                    self._begin(task, now)
        for round_ in list(self.rounds.values()):
            self._begin_racers(round_, now)

    def _begin_racers(self, round_: _Round, now: float) -> None:
        for racer in round_.racers:
            if len(self.open) >= self.world.slots:
                return
            if racer.name in round_.begun or round_.not_before.get(racer.name, now + 1) > now:
                continue
            round_.begun.add(racer.name)
            self._begin(racer, now)
            self._call_the_next(round_, now)

    def _open_a_round(self, task: WorldTask, race: WorldRace, now: float) -> None:
        nth = self.failures[task.name] + 1
        racers = [
            WorldTask(f"{task.name}~{nth}.{n}", agent, task.checks, racer_of=task.name)
            for n, agent in enumerate(race.agents, start=1)
        ]
        round_ = self.rounds[task.name] = _Round(racers, {})
        names = [racer.name for racer in racers]
        self._note(now, task, "TASK_CLAIMED", {"epoch": 1})
        self._note(now, task, "ATTEMPT_STARTED", {"attempt": nth, "agent": ""})
        self._note(now, task, "RACE_STARTED", {"candidates": names})
        for racer in racers if race.start == "at-once" else racers[:1]:
            self._call(round_, racer, now, now)

    def _call(self, round_: _Round, racer: WorldTask, now: float, at: float) -> None:
        round_.not_before[racer.name] = at
        told = {"kind": "QUALITY_FAILURE"} if self.failures[racer.racer_of] else None
        self._note(now, racer, "CANDIDATE_RELEASED", {"feedback": told})

    def _call_the_next(self, round_: _Round, now: float) -> None:
        """After a delay behind the one that has just begun, or as soon as none is at work."""
        race = next(t.race for t in self.plan if t.name == round_.racers[0].racer_of)
        assert race is not None
        uncalled = [one for one in round_.racers if one.name not in round_.not_before]
        at_work = [one for one in round_.unsettled() if one.name in round_.begun]
        called = [one for one in round_.unsettled() if one.name in round_.not_before]
        idle = [one for one in called if one.name not in round_.begun]
        if at_work:
            if race.start == "after" and not idle and uncalled:
                self._call(round_, uncalled[0], now, now + race.delay)
        elif idle and not round_.proven:
            round_.not_before[idle[0].name] = min(now, round_.not_before[idle[0].name])
        elif uncalled and not idle:
            self._call(round_, uncalled[0], now, now)

    def _begin(self, task: WorldTask, now: float) -> None:
        random = self.world.random
        usual, spread, failing, again = self.world.agents[task.agent]
        work = usual * self.pace * random.lognormvariate(0, spread)
        proof = self._proof(task)
        is_retry = self.failures[task.racer_of or task.name]
        passed = random.random() >= (again if is_retry else failing)
        cost = work * 0.002 * random.uniform(0.5, 1.5)
        self.runs += 1
        self.open.append(_Attempt(task, now, now + work, now + work + proof, passed, cost))

    def _proof(self, task: WorldTask) -> float:
        uniform = self.world.random.uniform
        return sum(self.world.checks[name] * uniform(0.8, 1.4) for name in task.checks)

    def _prove_the_winner_again(self, task: WorldTask, now: float) -> None:
        """Unless nothing has landed since its proof began."""
        again = self.winners[task.name] < self.last_landing
        end = now + (self._proof(task) if again else 0.0)
        self.open.append(_Attempt(task, now, now, end, passed=True, cost=0.0))

    def _finish(self, one: _Attempt, now: float) -> None:
        task = one.task
        if task.name in self.winners:
            self._note(one.began, task, "TASK_CLAIMED", {"epoch": 2})
            self._land(task, now)
            return
        self._note_attempt(one)
        if task.racer_of:
            self._settle(one, now)
        elif one.passed:
            self._land(task, now)
        else:
            self._fail(task, now)

    def _note_attempt(self, one: _Attempt, until: float | None = None) -> None:
        """The journal of an attempt, as far as it came."""
        task, until = one.task, one.end if until is None else until
        worked, did_work = min(one.worked, until), until >= one.worked
        share = 1.0 if did_work else (until - one.began) / (one.worked - one.began)
        self.money += one.cost * share
        self._note(one.began, task, "TASK_CLAIMED", {"epoch": 1})
        self._note(one.began, task, "ATTEMPT_STARTED", {"attempt": 1, "agent": task.agent})
        cost = one.cost if did_work else None
        exit_ = {"exit": {"code": 0, "seconds": worked - one.began, "cost": cost}}
        self._note(worked, task, "AGENT_FINISHED", exit_)
        if until >= one.end:
            checks = dict.fromkeys(task.checks, "PASSED" if one.passed else "FAILED")
            judged = {"passed": one.passed, "checks": checks}
            self._note(until, task, "QUALITY_JUDGMENT", judged)

    def _land(self, task: WorldTask, now: float) -> None:
        self.landed.add(task.name)
        self.last_landing = now
        self._note(now, task, "TASK_LANDED", {"commit": "c"})

    def _fail(self, task: WorldTask, now: float) -> None:
        self.failures[task.name] += 1
        failure = {"failure": {"kind": "QUALITY_FAILURE", "message": "m"}, "delay_ms": 2000}
        if self.failures[task.name] <= self.world.retries:
            self.due[task.name] = now + 2
            self._note(now, task, "RETRY_DECISION", failure)
        else:
            self.over.add(task.name)
            self._note(now, task, "ESCALATE_DECISION", failure)

    def _settle(self, one: _Attempt, now: float) -> None:
        """Of a candidate: the race may be over with it."""
        racing = next(task for task in self.plan if task.name == one.task.racer_of)
        race, round_ = racing.race, self.rounds[racing.name]
        assert race is not None
        if one.passed:
            round_.proven[one.task.name] = one.worked
            self._note(now, one.task, "CANDIDATE_PROVEN", {"score": {}})
        else:
            round_.failed.add(one.task.name)
            failure = {"kind": "QUALITY_FAILURE", "message": "m"}
            self._note(now, one.task, "CANDIDATE_FAILED", {"failure": failure})
        rest = round_.unsettled()
        if race.start == "after-failure":
            rest = [racer for racer in rest if racer.name in round_.not_before]
        if round_.proven and (race.until == "first" or not rest):
            self._stop_racers(round_, now)
            del self.rounds[racing.name]
            self.winners[racing.name] = self.world.random.choice(list(round_.proven.values()))
            self._note(now, racing, "RACE_DECIDED", {"winner": one.task.name})
        elif not round_.unsettled():
            del self.rounds[racing.name]
            self._note(now, racing, "RACE_DECIDED", {"winner": ""})
            self._fail(racing, now)
        else:
            self._call_the_next(round_, now)

    def _stop_racers(self, round_: _Round, now: float) -> None:
        names = {racer.name for racer in round_.racers}
        for one in [one for one in self.open if one.task.name in names]:
            self.open.remove(one)
            self._note_attempt(one, now)
            self._note(now, one.task, "CANDIDATE_RETIRED", {"why": "its race is over"})

    def _note(self, at: float, task: WorldTask, event: str, data: dict[str, Any]) -> None:
        self.events.append((at, f"{self.run}-{task.name}", event, data))

    def _entries(self) -> list[JournalEntry]:
        entries = []
        for at, task, event, data in sorted(self.events, key=lambda one: one[0]):
            self.world.seq += 1
            moment = self.start + timedelta(seconds=at)
            entries.append(JournalEntry(self.world.seq, moment, self.run, task, 1, event, data))
        return entries
