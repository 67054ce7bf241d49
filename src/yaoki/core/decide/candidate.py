"""The candidates of a race: their specifications, and the events of one of them (rule 18.4).

A candidate is a task that lands nothing and asks nobody.
"""

from __future__ import annotations

from collections.abc import Iterator

from yaoki.core.decide.failure_response import ClockAndChance
from yaoki.core.decide.mutants import MUTANTS
from yaoki.core.decide.rules import decide
from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.events import AwaitingRerun, EscalationDecided, Event, Judged
from yaoki.core.machine.journal_notes import JournalNote
from yaoki.core.machine.race_events import CandidateFailed, CandidateProven, CandidateRetired
from yaoki.core.machine.request_events import Cancelled, CancelRequested
from yaoki.core.model import (
    MUTANTS_CHECK,
    AgentSpec,
    CandidateScore,
    Outcome,
    RaceRules,
    Task,
    TaskSpec,
)
from yaoki.core.model.stage_report import CandidateVerified, StageReport

# Parts of a task's budget that its candidates share.
SHARED_MEASURES = ("money", "tokens", "seconds")
RACE_IS_OVER = "its race is over"
# Entries about a question, which a candidate never asks.
QUESTION_NOTES = frozenset({"ESCALATE_EXECUTED", "DEAD_LETTERED"})

# ------------------------------------------------------------------ the start of a round


def candidate_specs(task: Task) -> tuple[TaskSpec, ...]:
    """The specifications of the candidates of a racing task's current attempt, which its counts do
    not include yet.
    """
    rules = task.spec.race
    assert rules is not None, f"{task.id} has no race"
    return tuple(_candidate_spec(task, rules, number) for number in range(1, rules.tries + 1))


def _candidate_spec(task: Task, rules: RaceRules, number: int) -> TaskSpec:
    return replace(
        task.spec,
        name=f"{task.spec.name}~{task.attempt}.{number}",
        needs=(),
        agents=_chain(task, number - 1 if rules.agents_take_turns else 0),
        required=False,
        policy=task.spec.policy.for_candidate(),
        budget=_budget_share(task, rules.tries + bool(rules.judge)),
        race=None,
        group="",
        phase="",
    )


def _chain(task: Task, turns: int) -> tuple[AgentSpec, ...]:
    """The agents that may work, from the task's present one on, after so many turns.

    The accounts of one agent are one turn.
    """
    order = [task.spec.agents[index] for index in (task.agent_index, *task.other_agent_indices)]
    names = list(dict.fromkeys(agent.name for agent in order))
    chosen = names[turns % len(names)]
    first = next(place for place, agent in enumerate(order) if agent.name == chosen)
    return (*order[first:], *order[:first])


def _budget_share(task: Task, count: int) -> dict[str, float]:
    """A share for each candidate, and one for the judge.

    `attempts` counts rounds: each candidate may start its agent as often as rounds are left, this
    one included.
    """
    shares = {name: left / count for name, left in budget_left(task).items()}
    rounds = task.spec.budget.get("attempts")
    if rounds is not None:
        shares["attempts"] = max(1.0, rounds - task.budgeted_attempts)
    return shares


def budget_left(task: Task) -> dict[str, float]:
    """The rest of the budget that the candidates of a race share."""
    used = task.spend.minus(task.forgiven_spend)
    return {
        name: max(0.0, limit - getattr(used, name))
        for name, limit in task.spec.budget.items()
        if name in SHARED_MEASURES
    }


# ------------------------------------------------------------------ one candidate


def decide_candidate(task: Task, report: StageReport, moment: ClockAndChance) -> tuple[Event, ...]:
    """The events that follow from a stage report of a candidate: it lands nothing, asks nobody."""
    score = _score(task, report)
    return tuple(
        changed for event in decide(task, report, moment) for changed in _as_candidate(event, score)
    )


def _as_candidate(event: Event, score: CandidateScore) -> Iterator[Event]:
    match event:
        case Judged(passed=True):
            yield event
            yield CandidateProven(score)
        case EscalationDecided(failure=failure) | AwaitingRerun(failure=failure):
            yield CandidateFailed(failure, score)
        case Cancelled(saved_ref=ref):
            yield CandidateRetired(RACE_IS_OVER, saved_ref=ref)
        case JournalNote(name=name) if name in QUESTION_NOTES:
            return
        case _:
            yield event


def _score(task: Task, report: StageReport) -> CandidateScore:
    cost = task.work.exit.cost if task.work.exit else None
    if not isinstance(report, CandidateVerified):
        return CandidateScore(cost=cost)
    findings = {finding.check: finding for finding in report.verdict.findings}
    hidden = [check.name for check in task.spec.checks if check.hidden is not None]
    bad = {Outcome.FAILED, Outcome.BROKEN}
    missed = sum(name not in findings or findings[name].outcome in bad for name in hidden)
    mutants = findings.get(MUTANTS_CHECK)
    counts = mutants.params.get(MUTANTS, {}) if mutants else {}
    failed = sum(not finding.is_acceptable for finding in report.verdict.findings)
    return CandidateScore(
        failed_checks=failed,
        hidden_failures=missed if hidden else None,
        surviving_mutants=counts.get("survived"),
        changed_lines=report.changed_lines,
        cost=cost,
    )


def is_settled(candidate: Task) -> bool:
    return candidate.state.is_final or is_proven(candidate)


def is_proven(candidate: Task) -> bool:
    return candidate.awaiting_race and candidate.score is not None


def is_unreleased(candidate: Task) -> bool:
    return candidate.awaiting_race and candidate.score is None


def end_candidate(candidate: Task, why: str, *, won: bool = False) -> tuple[Event, ...]:
    """Retire a candidate that no worker has; one that a worker may have is asked to stop."""
    if candidate.state.is_final or candidate.cancel_requested:
        return ()
    if is_proven(candidate) or not candidate.epoch:
        return (CandidateRetired(why, won=won, saved_ref=candidate.work.head),)
    return (CancelRequested(why),)
