"""The numbers of a report: counts, times, retries by cause, flaky checks, saved work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from yaoki.core.model import CheckRunPurpose, Outcome, Run, State
from yaoki.core.run_status import RunStatus
from yaoki.ports import SavedWork
from yaoki.report.attempts import (
    WaitedFor,
    count_failures,
    failures_before,
    iter_checks,
    wait_times,
)
from yaoki.views.history import AgentUsage, RunHistory, TaskHistory
from yaoki.views.history.check_runs import CheckRuns, describe_check_runs, sum_check_runs
from yaoki.views.tasks import RunView, is_proof

NAMES_MAX = 20
SAVED_WORK_MAX = 1000
RERUNS_MAX = 200
Data = dict[str, Any]
CleanText = Callable[[str], str]


def count_tasks(view: RunView, history: RunHistory, landed: frozenset[str]) -> Data:
    """Counts the tasks of the plan; final checks and replaced tasks are counted apart."""
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
        # After a run was cut short or work was undone, the last final check proves nothing.
        "whole_proven": view.status is RunStatus.DONE and bool(proofs) and proofs[-1],
        "attempts": sum(len(task.numbered_attempts) for task in history.tasks.values()),
        "retries": sum(count["count"] for count in count_retries(history)),
        "workers_lost": history.event_counts["LEASE_EXPIRED"],
        "results_refused": history.event_counts["RESULT_REFUSED"],
        "verified_again": history.event_counts["LAND_REFUSED"],
        "verified_again_causes": dict(sorted(history.refusal_counts.items())),
        "taken_back": history.event_counts["TASK_UNLANDED"] + history.event_counts["TASK_UNDONE"],
        **_usage(history.usage),
    }


def _dropped(view: RunView) -> int:
    """Subtasks that failed, and whose group landed without them."""
    groups = {t.row.id for t in view.tasks if t.row.kind == "group" and t.row.landed_commit}
    parts = (t.row for t in view.counted_tasks if t.row.parent in groups)
    return sum(row.state is State.CANCELLED for row in parts)


def _usage(usage: AgentUsage) -> Data:
    """Null when no agent reported any; with `…_untold` above zero it is a lower bound."""
    return {
        "agent_runs": usage.runs,
        "cost": usage.known_cost,
        "cost_untold": usage.cost_unknown_runs,
        "tokens": usage.known_tokens,
        "tokens_untold": usage.tokens_unknown_runs,
    }


def measure_times(run: Run, history: RunHistory, now: datetime) -> Data:
    """Wall time of the run; the other times are summed over tasks that ran in parallel."""
    end = run.finished_at or max(now, history.last_at or now)
    waited: Counter[WaitedFor] = Counter()
    for task in history.tasks.values():
        waited.update(wait_times(task, end, history.pauses))
    return {
        "wall_s": round(max(0.0, (end - run.created_at).total_seconds()), 3),
        "agent_s": round(history.usage.seconds, 3),
        "agent_s_untold": history.usage.seconds_unknown_runs,
        "checks_s": round(sum_check_runs(history.check_runs)[1], 3),
        "waiting": {f"{cause}_s": round(waited[cause], 3) for cause in WaitedFor},
    }


def count_check_runs(history: RunHistory) -> Data:
    """Every execution of a check, by purpose; those that are void are counted apart."""
    runs = history.check_runs
    by_purpose = {
        purpose.value: [run for run in runs if run.purpose == purpose and not run.is_void]
        for purpose in CheckRunPurpose
    }
    groups = {**by_purpose, "void": [run for run in runs if run.is_void]}
    return {
        "count": sum_check_runs(runs)[0],
        "words": describe_check_runs(runs),
        **{name: _count_and_seconds(some) for name, some in groups.items()},
    }


def _count_and_seconds(runs: Sequence[CheckRuns]) -> Data:
    count, seconds = sum_check_runs(runs)
    return {"count": count, "seconds": round(seconds, 3)}


def count_retries(history: RunHistory) -> list[Data]:
    """By cause, the most frequent first."""
    return _by_cause(count_failures(task)[0] for task in history.tasks.values())


def count_not_retried(history: RunHistory) -> list[Data]:
    """Failures that waited for a re-run, for their group or for a person instead, or whose task was
    cancelled before its retry, by cause.
    """
    return _by_cause(count_failures(task)[1] for task in history.tasks.values())


def _by_cause(counted: Iterable[Counter[tuple[str, str]]]) -> list[Data]:
    total: Counter[tuple[str, str]] = Counter()
    for counts in counted:
        total.update(counts)
    ordered = sorted(total.items(), key=lambda pair: (-pair[1], pair[0]))
    return [{"kind": k, "pattern": pattern or None, "count": n} for (k, pattern), n in ordered]


def list_flaky_checks(view: RunView, history: RunHistory, clean: CleanText) -> list[Data]:
    """Checks that failed and passed on the same commit."""
    times: Counter[str] = Counter()
    names: dict[str, list[str]] = {}
    for task in view.tasks:
        checks = iter_checks(history.tasks.get(task.row.id, TaskHistory()))
        flaky = Counter(check.check for check in checks if check.outcome == Outcome.FLAKY)
        for check, n in flaky.items():
            times[check] += n
            names.setdefault(check, []).append(clean(task.row.name))
    return [
        {"check": clean(check), "times": n, **_named(names[check])}
        for check, n in sorted(times.items(), key=lambda pair: (-pair[1], pair[0]))
    ]


def list_unmatched_entries(history: RunHistory) -> list[str]:
    """The entries of the quarantine that matched no test of any check; none if a check did not
    name its tests.  A quarantine does not reach hidden tests.
    """
    unmatched = [
        check.quarantine_unmatched
        for task in history.tasks.values()
        for check in iter_checks(task)
        if check.tests is not None and not check.hidden
    ]
    common = set(unmatched[0]).intersection(*unmatched) if unmatched else ()
    return [test for test in unmatched[0] if test in common] if unmatched else []


def list_reruns(view: RunView, history: RunHistory, clean: CleanText) -> list[Data]:
    """Checks that were run again after a failure, with the time of each run."""
    return [
        {
            "task": task.row.id,
            "name": clean(task.row.name),
            "check": clean(check.check),
            "outcome": check.outcome,
            "seconds": [check.seconds, *check.rerun_seconds],
            "passes": check.rerun_passes,
        }
        for task in view.tasks
        for check in iter_checks(history.tasks.get(task.row.id, TaskHistory()))
        if check.rerun_seconds
    ][:RERUNS_MAX]


def _named(names: Sequence[str]) -> Data:
    return {"tasks": list(names[:NAMES_MAX]), "tasks_left_out": max(0, len(names) - NAMES_MAX)}


def list_failing_before(view: RunView, history: RunHistory, clean: CleanText) -> list[Data]:
    """Failures that the base has as well, so that no task is blamed for them."""
    failing: dict[tuple[str, str], list[str]] = {}
    for task in view.tasks:
        before = failures_before(history.tasks.get(task.row.id, TaskHistory()))
        for check, words in before.items():
            failing.setdefault((check, words), []).append(clean(task.row.name))
    return [
        {"check": clean(check), "failures": clean(words), **_named(names)}
        for (check, words), names in failing.items()
    ]


def _landed_for_a_race(view: RunView, history: RunHistory) -> frozenset[str]:
    """The proven commits of candidates that won: their work landed as a commit of their task."""
    landed = (history.tasks.get(t.row.id) for t in view.tasks if t.row.landed_commit)
    rounds = (task.races.rounds for task in landed if task is not None)
    winners = (history.tasks.get(races[-1].winner) for races in rounds if races)
    return frozenset(
        judgment.commit for winner in winners if winner for judgment in winner.judgments
    )


def list_saved_work(
    view: RunView,
    history: RunHistory,
    saved: Sequence[SavedWork],
    on_branch: frozenset[str],
    clean: CleanText,
) -> Data:
    """Saved work that is not on the run branch, and the command that restores exactly it."""
    open_ = {t.row.id: t.row.name for t in view.tasks if t.row.state is not State.DONE}
    there = on_branch | _landed_for_a_race(view, history)
    counts = Counter((work.task_id, work.attempt) for work in saved)
    unlanded = [work for work in saved if work.task_id in open_ and work.commit not in there]
    listed = [
        {
            "task": work.task_id,
            "name": clean(open_[work.task_id]),  # type: ignore[index]
            "attempt": work.attempt,
            "ref": work.ref,
            "commit": work.commit,
            "command": _recover_command(work, is_only=counts[work.task_id, work.attempt] == 1),
        }
        for work in unlanded[-SAVED_WORK_MAX:]
    ]
    return {"work": listed, "left_out": len(unlanded) - len(listed)}


def _recover_command(work: SavedWork, *, is_only: bool) -> str:
    """An attempt that was saved several times is not enough to name one of them."""
    what = f"{work.task_id} --attempt {work.attempt}" if is_only else work.ref
    return f"yaoki recover {what} --branch NAME"
