"""The numbers of a report: counts, time, retries by cause, what was flaky or red, kept work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from yaoki.core.model import Run, State
from yaoki.core.run_status import Status
from yaoki.ports import SavedWork
from yaoki.report.attempts import PERSON, RETRY, TURN
from yaoki.report.fold import Fold
from yaoki.views.tasks import RunView, is_proof

NAMES_MAX = 20
KEPT_MAX = 1000
Data = dict[str, Any]
Clean = Callable[[str], str]


def numbers(view: RunView, fold: Fold, landed: frozenset[str]) -> Data:
    """Of the tasks of the plan; the proof of the whole run and what was replaced are apart."""
    tasks = view.planned
    states = Counter(t.row.state for t in tasks)
    blocked = sum(t.blocked for t in tasks)
    proofs = [t.row.id in landed for t in view.tasks if is_proof(t)]
    return {
        "tasks": len(tasks),
        "done": sum(t.row.id in landed for t in tasks),
        "asking": len(view.asking),
        "blocked": blocked,
        "cancelled": states[State.CANCELLED],
        "dropped": _dropped(view),
        "open": states[State.WAITING] + states[State.ACTIVE] - blocked,
        "replaced": sum(t.row.state is State.REPLACED for t in view.tasks),
        # Of a run that was cut short, or had work taken back since, the last proof says nothing.
        "whole_proven": view.status is Status.DONE and bool(proofs) and proofs[-1],
        "attempts": sum(len(t.tries) + t.tries_left_out for t in fold.tasks.values()),
        "retries": sum(sum(t.retries.values()) for t in fold.tasks.values()),
        "workers_lost": fold.counted["LEASE_EXPIRED"],
        "results_refused": fold.counted["RESULT_REFUSED"],
        "verified_again": fold.counted["LAND_REFUSED"],
        "taken_back": fold.counted["TASK_UNLANDED"] + fold.counted["TASK_UNDONE"],
        **_spent(fold),
    }


def _dropped(view: RunView) -> int:
    """Parts that failed, and without which their group landed."""
    groups = {t.row.id for t in view.tasks if t.row.kind == "group" and t.row.landed}
    parts = (t.row for t in view.planned if t.row.parent in groups)
    return sum(row.state is State.CANCELLED for row in parts)


def _spent(fold: Fold) -> Data:
    """Null when no agent told any; above zero `…_untold` says that it is a lower bound."""
    runs = fold.agent_runs
    return {
        "agent_runs": runs,
        "cost": round(fold.cost, 6) if fold.cost_untold < runs else None,
        "cost_untold": fold.cost_untold,
        "tokens": fold.tokens if fold.tokens_untold < runs else None,
        "tokens_untold": fold.tokens_untold,
    }


def times(run: Run, fold: Fold, now: datetime) -> Data:
    """Wall time is of the run; the others are added up over tasks that ran side by side."""
    end = run.summed_at or max(now, fold.last_at or now)
    waited: Counter[str] = Counter()
    for told in fold.tasks.values():
        told.turn_to(told.waits, end)
        waited.update(told.waited)
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


def retries(fold: Fold) -> list[Data]:
    """By cause, the most frequent first."""
    return _by_cause(told.retries for told in fold.tasks.values())


def not_retried(fold: Fold) -> list[Data]:
    """Failures that waited for a re-run, for their group or for a person instead, by cause."""
    return _by_cause(told.not_retried for told in fold.tasks.values())


def _by_cause(counted: Iterable[Counter[tuple[str, str]]]) -> list[Data]:
    found: Counter[tuple[str, str]] = Counter()
    for one in counted:
        found.update(one)
    ordered = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    return [{"kind": k, "pattern": pattern or None, "count": n} for (k, pattern), n in ordered]


def flaky(view: RunView, fold: Fold, clean: Clean) -> list[Data]:
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


def red_before(view: RunView, fold: Fold, clean: Clean) -> list[Data]:
    """What failed before anybody worked on it, and so was not blamed on a task."""
    found: dict[tuple[str, str], list[str]] = {}
    for task in view.tasks:
        told = fold.tasks.get(task.row.id)
        for check, words in told.red_before.items() if told else ():
            found.setdefault((check, words), []).append(clean(task.row.name))
    return [
        {"check": clean(check), "failures": clean(words), **_named(names)}
        for (check, words), names in found.items()
    ]


def kept_work(
    view: RunView, kept: Sequence[SavedWork], inside: frozenset[str], clean: Clean
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
