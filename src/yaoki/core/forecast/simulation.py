"""One simulated run: tasks start when their needs have landed and a slot is free.

An attempt is drawn from the measured ones: its work from those of the same agent, its proof from
those with the same checks.  What its result leads to follows the retry rules, in short: a retry, a
repetition after a wait, another agent, the one re-run at the end, or a question to a person.

A try of a racing task is a round of candidates.  They are added behind the tasks and share the
slots and the accounts with them; the racing task itself needs a slot only to land the winner.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count

from yaoki.core.decide.thompson import sample_beta_with
from yaoki.core.forecast.planned_task import (
    CandidatePhase,
    ForecastCandidate,
    ForecastTask,
    RunConditions,
)
from yaoki.core.forecast.samples import AttemptResult, AttemptSample, Chance, WorkPools
from yaoki.core.forecast.simulated_race import RoundResult, SimulatedRace
from yaoki.core.lazy_dataclass import dataclass

AGEING_S = 600.0
# How often an attempt is drawn that must take longer than it has taken so far.
DRAWS_MAX = 10


@dataclass(frozen=True, slots=True)
class SimulatedEnd:
    """The end of one simulated run.  `money` leaves out agent runs without a known cost."""

    seconds: float
    agent_runs: int
    money: float
    asks: bool
    over_budget: bool


# Time, position of the task, is it an end, the attempt that ends; None if the task becomes ready.
SimulatedEvent = tuple[float, int, bool, AttemptSample | None]


@dataclass(frozen=True, slots=True)
class RunningWork:
    """An agent at work: when it began, how long it will take, and what that will cost."""

    began_s: float
    seconds: float
    cost: float

    def share_left(self, now: float) -> float:
        return max(0.0, min(1.0, (self.began_s + self.seconds - now) / (self.seconds or 1.0)))


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
        self._tasks, self._dependents, self._pools = list(tasks), dependents, pools
        self._conditions, self._slowness, self._chance = conditions, slowness, chance
        self._open_needs = [len(task.needs) for task in tasks]
        self._retries = [task.retries for task in tasks]
        self._repeats = [task.repeats for task in tasks]
        self._reruns = [task.reruns for task in tasks]
        self._is_retry = [task.is_retry for task in tasks]
        self._agent = [0] * len(tasks)
        self._closed = dict(conditions.closed)
        self._free = conditions.slots
        self._events: list[SimulatedEvent] = []
        self._ready: list[tuple[float, int]] = []
        self._held: list[int] = []
        self._last_s = self._money = self._agent_seconds = 0.0
        self._runs = 0
        self._asks = self._over_budget = False
        # Races, by the position of the racing task, and the racing task of each open candidate.
        self._races: dict[int, SimulatedRace] = {}
        self._race_of: dict[int, int] = {}
        # Candidates that are to start at a time, and those whose agents or checks run.
        self._due: dict[int, float] = {}
        self._work: dict[int, RunningWork] = {}
        # Candidates that wait for a slot.
        self._queued: set[int] = set()
        self._planned = len(tasks)
        self._has_winner = {n for n, task in enumerate(tasks) if task.has_winner}
        self._landed_s = 0.0
        # Tasks that wait to be verified: their agent has ended.
        self._to_prove = {n for n, task in enumerate(tasks) if task.waits_for_proof}

    def play(self) -> SimulatedEnd:
        for index, task in enumerate(self._tasks[: self._planned]):
            if task.candidates:
                self._resume_race(index, task.candidates)
            elif task.is_active:
                self._continue(index, task)
            elif not task.needs:
                heappush(self._events, (task.due_s, index, False, None))
        while self._events or self._grant_reruns():
            now, index, _, attempt = heappop(self._events)
            if attempt is not None:
                self._end(index, attempt, now)
            elif self._is_due(index, now):
                heappush(self._ready, (now - self._tasks[index].priority * AGEING_S, index))
            if self._events and self._events[0][0] <= now:
                continue  # all that is ready at the same time competes for the slots
            while self._free > 0 and self._ready:
                self._start(heappop(self._ready)[1], now)
        return SimulatedEnd(self._last_s, self._runs, self._money, self._asks, self._over_budget)

    # -------------------------------------------------------------- starts

    def _start(self, index: int, now: float) -> None:
        """Start an attempt or a race, or let the task wait for what is missing."""
        task = self._tasks[index]
        if index in self._has_winner:
            self._run(index, now + self._second_proof_s(index), CHECKS_PASSED)
            return
        if task.race is not None:
            self._start_race(index, now)
            return
        self._queued.discard(index)
        if self._is_retired(index):
            return
        agent = task.agents[self._agent[index]] if task.agents else None
        if agent is not None and index not in self._to_prove:
            opens = max(self._closed.get(agent.account, 0.0), self._end_of_quiet(now))
            if opens > now:
                self._wait(index, opens)
                return
            if self._is_used_up(now):
                self._over_budget = self._asks = True
                return
        work = self._draw_work(index)
        starts_agent = work is not None and index not in self._to_prove
        self._to_prove.discard(index)
        work_s = work.work_s * self._slowness if work and starts_agent else 0.0
        cost = self._draw_cost(index, work) if work and starts_agent else 0.0
        if starts_agent:
            self._runs += 1
            self._agent_seconds += work_s
            self._money += cost
        self._note_work(index, RunningWork(now, work_s, cost))
        self._run(index, now + work_s + self._draw_proof_s(task), work)
        if index in self._race_of and self._races[self._race_of[index]].follows_starts:
            self._follow_race(self._race_of[index], now)

    def _continue(self, index: int, task: ForecastTask) -> None:
        """An active task: an attempt that takes longer than it has taken so far."""
        work = self._draw_work(index)
        left = work_s = 0.0
        for _ in range(DRAWS_MAX):
            duration = self._draw_proof_s(task)
            if work is not None and not task.is_proving:
                work = self._draw_work(index)
                work_s = work.work_s * self._slowness if work else 0.0
                duration += work_s
            left = duration - task.elapsed_s
            if left > 0:
                break
            left = duration
        cost = 0.0
        if not task.is_proving and work is not None:
            # The run itself was counted when it began, its cost is not known yet.
            cost = self._draw_cost(index, work)
            self._money += cost
        self._note_work(index, RunningWork(-task.elapsed_s, work_s, cost))
        self._run(index, left, CHECKS_PASSED if task.has_winner else work)

    def _run(self, index: int, end: float, work: AttemptSample | None) -> None:
        self._free -= 1
        heappush(self._events, (end, index, True, work or CHECKS_PASSED))

    def _wait(self, index: int, until: float) -> None:
        if index in self._race_of:
            self._due[index] = until
        heappush(self._events, (until, index, False, None))

    def _is_due(self, index: int, now: float) -> bool:
        """A candidate may have been let start earlier, or its race may be over."""
        if index < self._planned:
            return True
        if self._due.get(index) != now:
            return False
        del self._due[index]
        self._queued.add(index)
        return True

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

    def _draw_cost(self, index: int, work: AttemptSample) -> float:
        """The cost of the attempt, or of another one of the same agent."""
        name = self._tasks[index].agents[self._agent[index]].name
        if work.agent == name and work.cost is not None:
            return work.cost * self._slowness
        known = self._pools.costs.get(name)
        return known[int(self._chance() * len(known))] * self._slowness if known else 0.0

    # -------------------------------------------------------------- ends

    def _end(self, index: int, attempt: AttemptSample, now: float) -> None:
        if self._is_retired(index):
            return
        self._free += 1
        self._last_s = max(self._last_s, now)
        if index in self._race_of:
            self._end_candidate(index, attempt, now)
            return
        match attempt.result:
            case AttemptResult.PASSED:
                self._land(index, now)
            case AttemptResult.REPEATED if self._repeat(index, attempt, now):
                pass
            case AttemptResult.FAILED:
                self._fail(index, now + attempt.delay_s)
            case _:
                self._asks = True

    def _land(self, index: int, now: float) -> None:
        self._landed_s = now
        for dependent in self._dependents[index]:
            self._open_needs[dependent] -= 1
            if not self._open_needs[dependent]:
                heappush(self._events, (now, dependent, False, None))

    def _fail(self, index: int, due: float) -> None:
        self._is_retry[index] = True
        if self._retries[index] > 0:
            self._retries[index] -= 1
            if self._tasks[index].learns:
                self._choose_agent(index, due)
            heappush(self._events, (due, index, False, None))
        elif self._reruns[index] > 0:
            self._reruns[index] -= 1
            self._held.append(index)
        else:
            self._asks = True

    def _choose_agent(self, index: int, due: float) -> None:
        """Draw the agent of a retry as `learn: choose` does: by what its retries led to so far.

        Failures of all patterns count alike.
        """
        agents, present = self._tasks[index].agents, self._agent[index]
        order = (present, *(n for n in range(len(agents)) if n != present))
        first = {agents[n].name: n for n in reversed(order)}
        usable = [
            n
            for n in first.values()
            if n == present or self._closed.get(agents[n].account, 0.0) <= due
        ]
        if len(usable) > 1:
            self._agent[index] = max(usable, key=lambda n: self._draw_success(agents[n].name))

    def _draw_success(self, agent: str) -> float:
        passed, failed = self._pools.retries[agent]
        numbers = (1 - self._chance() for _ in count())
        return sample_beta_with(1 + passed, 1 + failed, numbers)

    def _repeat(self, index: int, attempt: AttemptSample, now: float) -> bool:
        """False if the task may not be repeated again."""
        task, opens = self._tasks[index], now + attempt.delay_s
        if self._repeats[index] <= 0:
            return False
        self._repeats[index] -= 1
        due = opens
        if attempt.closes_account:
            account = task.agents[self._agent[index]].account
            self._closed[account] = max(opens, self._closed.get(account, 0.0))
            if attempt.delay_s > task.fail_over_after_s and self._fail_over(index, now):
                due = now
        self._wait(index, due)
        return True

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
            heappush(self._events, (self._last_s, index, False, None))
        granted, self._held = bool(self._held), []
        return granted

    # -------------------------------------------------------------- races

    def _start_race(self, index: int, now: float) -> None:
        tasks = self._tasks[index].list_candidates(is_retry=self._is_retry[index])
        self._add_race(index, [ForecastCandidate(CandidatePhase.UNRELEASED, one) for one in tasks])
        self._follow_race(index, now)

    def _resume_race(self, index: int, candidates: Sequence[ForecastCandidate]) -> None:
        """The round that goes on when the forecast is made."""
        race = self._add_race(index, candidates)
        for position, phase in race.phases.items():
            if phase is CandidatePhase.STARTED:
                self._continue(position, self._tasks[position])
            elif phase is CandidatePhase.RELEASED:
                self._wait(position, self._tasks[position].due_s)
        self._follow_race(index, 0.0)

    def _add_race(self, index: int, candidates: Sequence[ForecastCandidate]) -> SimulatedRace:
        rules, first = self._tasks[index].race, len(self._tasks)
        assert rules is not None, "the task has no race"
        phases = {first + n: one.phase for n, one in enumerate(candidates)}
        for one in candidates:
            self._tasks.append(one.task)
            self._repeats.append(one.task.repeats)
            self._is_retry.append(one.task.is_retry)
            self._agent.append(0)
        waiting = (n for n, one in enumerate(candidates, first) if one.task.waits_for_proof)
        self._to_prove.update(waiting)
        self._race_of.update(dict.fromkeys(phases, index))
        self._races[index] = race = SimulatedRace(rules, phases)
        return race

    def _is_retired(self, index: int) -> bool:
        """A candidate whose race is over."""
        return index >= self._planned and index not in self._race_of

    def _note_work(self, index: int, work: RunningWork) -> None:
        if index in self._race_of:
            self._work[index] = work
            self._races[self._race_of[index]].phases[index] = CandidatePhase.STARTED

    def _end_candidate(self, index: int, attempt: AttemptSample, now: float) -> None:
        racing, work = self._race_of[index], self._work.pop(index)
        race = self._races[racing]
        if attempt.result is AttemptResult.REPEATED and self._repeat(index, attempt, now):
            return
        passed = attempt.result is AttemptResult.PASSED
        race.phases[index] = CandidatePhase.PROVEN if passed else CandidatePhase.FAILED
        if passed and race.proof_began_s is None:
            race.proof_began_s = work.began_s + work.seconds
        if attempt.result is AttemptResult.FAILED:
            race.retry_delay_s = attempt.delay_s
        self._follow_race(racing, now)

    def _follow_race(self, index: int, now: float) -> None:
        """The steps of the race after one of a candidate, as the referee decides them."""
        race = self._races[index]
        match race.result:
            case RoundResult.OPEN:
                for position, delay_s in race.release():
                    if position not in self._queued:
                        self._wait(position, now + delay_s)
            case RoundResult.WON:
                self._retire(race, now)
                self._has_winner.add(index)
                heappush(self._events, (now, index, False, None))
            case RoundResult.LOST:
                self._retire(race, now)
                if race.retry_delay_s is None:
                    self._asks = True
                else:
                    self._fail(index, now + race.retry_delay_s)

    def _retire(self, race: SimulatedRace, now: float) -> None:
        """The other candidates stop, and have used only a part of what they would have."""
        for position in race.phases:
            del self._race_of[position]
            if work := self._work.pop(position, None):
                self._free += 1
                share = work.share_left(now)
                self._money -= share * work.cost
                self._agent_seconds -= share * work.seconds

    def _second_proof_s(self, index: int) -> float:
        """The winner is verified again if the branch has moved; otherwise its verdicts are reused.

        For a race that was decided before the forecast this is unknown.
        """
        race = self._races.get(index)
        is_current = race is not None and (race.proof_began_s or 0.0) >= self._landed_s
        return 0.0 if is_current else self._draw_proof_s(self._tasks[index])


# The end of a task that only runs checks.
CHECKS_PASSED = AttemptSample("", "", False, (), 0.0, 0.0, AttemptResult.PASSED)
