"""The numbers of a report: counts, time, retries by cause, what was flaky or red, kept work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from yaoki.core.model import Run, State
from yaoki.core.run_status import RunStatus
from yaoki.ports import SavedWork
from yaoki.report.attempts import PERSON, RETRY, TURN
from yaoki.report.journal_summary import JournalSummary
from yaoki.views.tasks import RunView, is_proof

NAMES_MAX = 20
KEPT_MAX = 1000
Data = dict[str, Any]
CleanText = Callable[[str], str]


def count_tasks(view: RunView, fold: JournalSummary, landed: frozenset[str]) -> Data:
    """Of the tasks of the plan; the proof of the whole run and what was replaced are apart."""
    tasks = view.counted_tasks
    states = Counter(t.row.state for t in tasks)
    blocked = sum(t.blocked for t in tasks)
    proofs = [t.row.id in landed for t in view.tasks if is_proof(t)]
    return {
        "tasks": len(tasks),
        "done": sum(t.row.id in landed for t in tasks),
        "asking": len(view.tasks_asking),
        "blocked": blocked,
        "cancelled": states[State.CANCELLED],
        "dropped": _dropped(view),
        "open": states[State.WAITING] + states[State.ACTIVE] - blocked,
        "replaced": sum(t.row.state is State.REPLACED for t in view.tasks),
        # Of a run that was cut short, or had work taken back since, the last proof says nothing.
        "whole_proven": view.status is RunStatus.DONE and bool(proofs) and proofs[-1],
        "attempts": sum(len(t.attempts) + t.attempts_left_out for t in fold.tasks.values()),
        "retries": sum(sum(t.retries.values()) for t in fold.tasks.values()),
        "workers_lost": fold.event_counts["LEASE_EXPIRED"],
        "results_refused": fold.event_counts["RESULT_REFUSED"],
        "verified_again": fold.event_counts["LAND_REFUSED"],
        "taken_back": fold.event_counts["TASK_UNLANDED"] + fold.event_counts["TASK_UNDONE"],
        **_spent(fold),
    }


def _dropped(view: RunView) -> int:
    """Parts that failed, and without which their group landed."""
    groups = {t.row.id for t in view.tasks if t.row.kind == "group" and t.row.landed_commit}
    parts = (t.row for t in view.counted_tasks if t.row.parent in groups)
    return sum(row.state is State.CANCELLED for row in parts)


def _spent(fold: JournalSummary) -> Data:
    """Null when no agent told any; above zero `…_untold` says that it is a lower bound."""
    runs = fold.agent_runs
    return {
        "agent_runs": runs,
        "cost": round(fold.cost, 6) if fold.cost_unknown_runs < runs else None,
        "cost_untold": fold.cost_unknown_runs,
        "tokens": fold.tokens if fold.tokens_unknown_runs < runs else None,
        "tokens_untold": fold.tokens_unknown_runs,
    }


def measure_times(run: Run, fold: JournalSummary, now: datetime) -> Data:
    """Wall time is of the run; the others are added up over tasks that ran side by side."""
    end = run.finished_at or max(now, fold.last_at or now)
    waited: Counter[str] = Counter()
    for told in fold.tasks.values():
        told.switch_wait(told.waiting_for, end)
        waited.update(told.waited_s)
    return {
        "wall_s": round(max(0.0, (end - run.created_at).total_seconds()), 3),
        "agent_s": round(fold.agent_s, 3),
        "checks_s": round(sum(t.checks_s for t in fold.tasks.values()), 3),
        "waiting": {
            "turn_s": round(waited[TURN], 3),
            "retry_s": round(waited[RETRY], 3),
            "person_s": round(waited[PERSON], 3),
        },
    }


def count_retries(fold: JournalSummary) -> list[Data]:
    """By cause, the most frequent first."""
    return _by_cause(told.retries for told in fold.tasks.values())


def count_not_retried(fold: JournalSummary) -> list[Data]:
    """Failures that waited for a re-run, for their group or for a person instead, by cause."""
    return _by_cause(told.not_retried for told in fold.tasks.values())


def _by_cause(counted: Iterable[Counter[tuple[str, str]]]) -> list[Data]:
    found: Counter[tuple[str, str]] = Counter()
    for one in counted:
        found.update(one)
    ordered = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    return [{"kind": k, "pattern": pattern or None, "count": n} for (k, pattern), n in ordered]


def list_flaky_checks(view: RunView, fold: JournalSummary, clean: CleanText) -> list[Data]:
    """Checks that failed and passed on the same commit."""
    times_: Counter[str] = Counter()
    names: dict[str, list[str]] = {}
    for task in view.tasks:
        for check, n in fold.tasks[task.row.id].flaky.items() if task.row.id in fold.tasks else ():
            times_[check] += n
            names.setdefault(check, []).append(clean(task.row.name))
    return [
        {"check": clean(check), "times": n, **_named(names[check])}
        for check, n in sorted(times_.items(), key=lambda pair: (-pair[1], pair[0]))
    ]


def _named(names: Sequence[str]) -> Data:
    return {"tasks": list(names[:NAMES_MAX]), "tasks_left_out": max(0, len(names) - NAMES_MAX)}


def list_failing_before(view: RunView, fold: JournalSummary, clean: CleanText) -> list[Data]:
    """What failed before anybody worked on it, and so was not blamed on a task."""
    found: dict[tuple[str, str], list[str]] = {}
    for task in view.tasks:
        told = fold.tasks.get(task.row.id)
        for check, words in told.failing_before.items() if told else ():
            found.setdefault((check, words), []).append(clean(task.row.name))
    return [
        {"check": clean(check), "failures": clean(words), **_named(names)}
        for (check, words), names in found.items()
    ]


def list_saved_work(
    view: RunView, kept: Sequence[SavedWork], inside: frozenset[str], clean: CleanText
) -> Data:
    """What attempts left that is not on the run branch, and the command that brings it back."""
    open_ = {t.row.id: t.row.name for t in view.tasks if t.row.state is not State.DONE}
    mine = [work for work in kept if work.task_id in open_ and work.commit not in inside]
    listed = [
        {
            "task": work.task_id,
            "name": clean(open_[work.task_id]),  # type: ignore[index]
            "attempt": work.attempt,
            "ref": work.ref,
            "commit": work.commit,
            "command": f"yaoki recover {work.task_id} --attempt {work.attempt} --branch NAME",
        }
        for work in mine[-KEPT_MAX:]
    ]
    return {"work": listed, "left_out": len(mine) - len(listed)}
