"""One simulated run: tasks start when their needs have landed and a slot is free.

An attempt is drawn from the measured ones: its work from those of the same agent, its proof from
those with the same checks.  What its result leads to follows the retry rules, in short: a retry, a
repetition after a wait, another agent, the one re-run at the end, or a question to a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from yaoki.core.forecast.planned_task import ForecastTask, RunConditions
from yaoki.core.forecast.samples import AttemptResult, AttemptSample, Chance, WorkPools
from yaoki.core.lazy_dataclass import dataclass

AGEING_S = 600.0
# How often an attempt is drawn that must take longer than it has taken so far.
DRAWS_MAX = 10


@dataclass(frozen=True, slots=True)
class SimulatedEnd:
    """The end of one simulated run.  Of `money`, runs without a known cost are no part."""

    seconds: float
    agent_runs: int
    money: float
    asks: bool
    over_budget: bool


class SimulatedRun:
    """One round; `slowness` is the factor by which its agents are slower than usual."""

    def __init__(
        self,
        tasks: Sequence[ForecastTask],
        dependents: Sequence[Sequence[int]],
        pools: WorkPools,
        conditions: RunConditions,
        slowness: float,
        chance: Chance,
    ) -> None:
        self._tasks, self._dependents, self._pools = tasks, dependents, pools
        self._conditions, self._slowness, self._chance = conditions, slowness, chance
        self._open_needs = [len(task.needs) for task in tasks]
        self._retries = [task.retries for task in tasks]
        self._repeats = [task.repeats for task in tasks]
        self._reruns = [task.reruns for task in tasks]
        self._is_retry = [task.is_retry for task in tasks]
        self._agent = [0] * len(tasks)
        self._closed = dict(conditions.closed)
        self._free = conditions.slots
        # (time, position of the task, the attempt that ends; None if the task becomes ready)
        self._events: list[tuple[float, int, AttemptSample | None]] = []
        self._ready: list[tuple[float, int]] = []
        self._held: list[int] = []
        self._last_s = self._money = self._agent_seconds = 0.0
        self._runs = 0
        self._asks = self._over_budget = False

    def play(self) -> SimulatedEnd:
        for index, task in enumerate(self._tasks):
            if task.is_active:
                self._continue(index, task)
            elif not task.needs:
                heappush(self._events, (task.due_s, index, None))
        while self._events or self._grant_reruns():
            now, index, attempt = heappop(self._events)
            if attempt is None:
                heappush(self._ready, (now - self._tasks[index].priority * AGEING_S, index))
            else:
                self._end(index, attempt, now)
            if self._events and self._events[0][0] <= now:
                continue  # all that is ready at the same time competes for the slots
            while self._free > 0 and self._ready:
                self._start(heappop(self._ready)[1], now)
        return SimulatedEnd(self._last_s, self._runs, self._money, self._asks, self._over_budget)

    # -------------------------------------------------------------- starts

    def _start(self, index: int, now: float) -> None:
        """Start an attempt, or let the task wait for what is missing."""
        task = self._tasks[index]
        agent = task.agents[self._agent[index]] if task.agents else None
        if agent is not None:
            opens = max(self._closed.get(agent.account, 0.0), self._end_of_quiet(now))
            if opens > now:
                heappush(self._events, (opens, index, None))
                return
            if self._is_used_up(now):
                self._over_budget = self._asks = True
                return
        work = self._draw_work(index)
        self._count(index, work)
        duration = (work.work_s * self._slowness if work else 0.0) + self._draw_proof_s(task)
        self._run(index, now + duration, work)

    def _continue(self, index: int, task: ForecastTask) -> None:
        """An active task: an attempt that takes longer than it has taken so far."""
        work = self._draw_work(index)
        left = 0.0
        for _ in range(DRAWS_MAX):
            duration = self._draw_proof_s(task)
            if work is not None and not task.is_proving:
                work = self._draw_work(index)
                duration += work.work_s * self._slowness if work else 0.0
            left = duration - task.elapsed_s
            if left > 0:
                break
            left = duration
        if not task.is_proving and work is not None:
            # The run itself was counted when it began, its cost is not known yet.
            self._money += self._draw_cost(index, work)
        self._run(index, left, work)

    def _run(self, index: int, end: float, work: AttemptSample | None) -> None:
        self._free -= 1
        heappush(self._events, (end, index, work or CHECKS_PASSED))

    def _is_used_up(self, now: float) -> bool:
        limits = self._conditions
        return (
            (limits.runs_left is not None and self._runs >= limits.runs_left)
            or (limits.money_left is not None and self._money >= limits.money_left)
            or (limits.wall_s_left is not None and now >= limits.wall_s_left)
            or (
                limits.agent_seconds_left is not None
                and self._agent_seconds >= limits.agent_seconds_left
            )
        )

    def _end_of_quiet(self, now: float) -> float:
        return next((end for start, end in self._conditions.quiet if start <= now < end), 0.0)

    # -------------------------------------------------------------- draws

    def _draw_work(self, index: int) -> AttemptSample | None:
        """None for a task that only runs checks."""
        task = self._tasks[index]
        if not task.agents:
            return None
        name = task.agents[self._agent[index]].name
        pool = self._pools.by_agent[name, self._is_retry[index]]
        return pool[int(self._chance() * len(pool))]

    def _draw_proof_s(self, task: ForecastTask) -> float:
        pool = self._pools.by_checks[task.checks]
        return pool[int(self._chance() * len(pool))].proof_s

    def _count(self, index: int, work: AttemptSample | None) -> None:
        if work is not None:
            self._runs += 1
            self._agent_seconds += work.work_s * self._slowness
            self._money += self._draw_cost(index, work)

    def _draw_cost(self, index: int, work: AttemptSample) -> float:
        """That of the attempt, or of another one of the same agent."""
        name = self._tasks[index].agents[self._agent[index]].name
        if work.agent == name and work.cost is not None:
            return work.cost * self._slowness
        known = self._pools.costs.get(name)
        return known[int(self._chance() * len(known))] * self._slowness if known else 0.0

    # -------------------------------------------------------------- ends

    def _end(self, index: int, attempt: AttemptSample, now: float) -> None:
        self._free += 1
        self._last_s = max(self._last_s, now)
        match attempt.result:
            case AttemptResult.PASSED:
                for dependent in self._dependents[index]:
                    self._open_needs[dependent] -= 1
                    if not self._open_needs[dependent]:
                        heappush(self._events, (now, dependent, None))
            case AttemptResult.FAILED:
                self._fail(index, now + attempt.delay_s)
            case AttemptResult.REPEATED:
                self._repeat(index, attempt, now)
            case AttemptResult.ASKED:
                self._asks = True

    def _fail(self, index: int, due: float) -> None:
        self._is_retry[index] = True
        if self._retries[index] > 0:
            self._retries[index] -= 1
            heappush(self._events, (due, index, None))
        elif self._reruns[index] > 0:
            self._reruns[index] -= 1
            self._held.append(index)
        else:
            self._asks = True

    def _repeat(self, index: int, attempt: AttemptSample, now: float) -> None:
        task, opens = self._tasks[index], now + attempt.delay_s
        if self._repeats[index] <= 0:
            self._asks = True
            return
        self._repeats[index] -= 1
        due = opens
        if attempt.closes_account:
            account = task.agents[self._agent[index]].account
            self._closed[account] = max(opens, self._closed.get(account, 0.0))
            if attempt.delay_s > task.fail_over_after_s and self._fail_over(index, now):
                due = now
        heappush(self._events, (due, index, None))

    def _fail_over(self, index: int, now: float) -> bool:
        """The next agent of the chain whose account is open takes over."""
        agents = self._tasks[index].agents
        for step in range(1, len(agents)):
            following = (self._agent[index] + step) % len(agents)
            if self._closed.get(agents[following].account, 0.0) <= now:
                self._agent[index] = following
                return True
        return False

    def _grant_reruns(self) -> bool:
        """When nothing else can go on, tasks whose retries are used up start once more."""
        for index in self._held:
            heappush(self._events, (self._last_s, index, None))
        granted, self._held = bool(self._held), []
        return granted


# The end of a task that only runs checks.
CHECKS_PASSED = AttemptSample("", "", False, (), 0.0, 0.0, AttemptResult.PASSED)
