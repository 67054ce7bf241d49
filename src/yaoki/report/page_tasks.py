"""The tables of the page: tasks with what happened to them, and saved work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from yaoki.core.model import PERSON_AGENT, TaskKind
from yaoki.core.text import format_duration
from yaoki.report.wording import format_cost, one_line_text, stop_reasons
from yaoki.views import plain_words
from yaoki.views.outcomes import quarantine_words
from yaoki.views.tasks import OFF_BRANCH, describe_unchanged

TASKS_MAX = 400
Data = Mapping[str, Any]
# The word for each state, and its tone; the word suffices without the tone.
STATES: Mapping[str, tuple[str, str]] = {
    "DONE": ("✓ done", "good"),
    "ESCALATED": ("? needs you", "bad"),
    "ACTIVE": ("▸ running", "wait"),
    "WAITING": ("… waiting", "wait"),
    "CANCELLED": ("✕ cancelled", "calm"),
    "REPLACED": ("↪ replaced", "calm"),
}
# Rounds of a race that the row of a task shows.
RACES_SHOWN = 3
ORDER = ("ESCALATED", "ACTIVE", "WAITING", "CANCELLED", "REPLACED", "DONE")


def table_values(report: Data, titles: Mapping[str, str]) -> Data:
    """The values of the tables for the template."""
    # A candidate is shown with the race of its task.
    every = [task for task in report["tasks"] if not task["race"]]
    reasons = stop_reasons(every)
    places = {state: place for place, state in enumerate(ORDER)}
    ranked = sorted(every, key=lambda task: places.get(task["state"], 0))[:TASKS_MAX]
    # A column without a known value is left out.
    is_priced = report["numbers"]["cost"] is not None
    heads = [("task", ""), ("state", ""), ("attempts", "n"), ("agent time", "n")]
    heads += [("cost", "n")] if is_priced else []
    order = {task: place for place, task in enumerate(titles)}
    return {
        "TASKS_MAX": TASKS_MAX,
        "is_priced": is_priced,
        "needs_answers": any(task["state"] == "ESCALATED" for task in every),
        "task_heads": [*heads, ("commit", ""), ("what happened", "")],
        "task_rows": [_row(task, reasons[task["id"]]) for task in ranked],
        "saved_work": sorted(
            report["kept"]["work"], key=lambda one: (order.get(one["task"], 0), one["attempt"])
        ),
    }


def _row(task: Data, reason: str) -> Data:
    word, tone = STATES[task["state"]]
    if task["state"] == "DONE" and not task["landed"]:
        word, tone = "… in its group", "wait"
    if task["on_branch"] is False:
        word, tone = "✕ not on the branch", "bad"
    tries = task["attempts"]
    spent = [one["agent_s"] for one in tries if one["agent_s"] is not None]
    costs = [one["cost"] for one in tries if one["cost"] is not None]
    ran = sum(one["agent_started"] for one in tries)
    why = OFF_BRANCH if task["on_branch"] is False else reason
    return {
        "task": task,
        "word": word,
        "tone": tone,
        "agent_time": format_duration(sum(spent)) if spent else "–",
        "cost": format_cost(sum(costs) if costs else None, ran - len(costs)) if ran else "–",
        "why": why,
        # A task that waits has a story as well.
        "story": [] if why and not task["waits_for"] else _story(task),
    }


def _story(task: Data) -> list[str]:
    """The last failures of a task, and a person's part in its landing."""
    tries = task["attempts"]
    failures = [_earlier_failures(one) for one in tries if one["ended"] and not one["landed"]]
    lines = [
        *failures[-3:],
        *(words for one in tries if one["landed"] for words in _attempt_trouble(one)),
    ]
    lines += _waived_checks(task["proof"])
    lines += _quarantined_tests(task["proof"])
    lines += (words for race in task["races"][-RACES_SHOWN:] for words in _race_words(race))
    return [*lines, *_end(task, smoothly=not lines)]


def _race_words(race: Data) -> Iterable[str]:
    yield f"race of attempt {race['attempt']}: {race['words']}"
    if race["judge"]:
        yield race["judge"]
    yield from (one["words"] for one in race["candidates"])


def _end(task: Data, *, smoothly: bool) -> Iterable[str]:
    """The landing of the task in words, where it is notable."""
    if task["proof"] and task["proof"]["how"] == "UNCHANGED":
        outcomes = {check["check"]: check["outcome"] for check in task["proof"]["checks"]}
        is_change = TaskKind(task["kind"]).is_change
        yield describe_unchanged(outcomes) if is_change else "checked"
    elif task["landed"]:
        by = {one["agent"] for one in task["attempts"] if one["landed"]}
        if by == {PERSON_AGENT}:
            yield "finished by a person"
        elif smoothly:
            yield "at the first attempt"


def _attempt_trouble(one: Data) -> Iterable[str]:
    """The troubles of the attempt that landed."""
    prefix = f"attempt {one['attempt']}: "
    if one["agent_end"]:
        how = plain_words.describe_agent_end(one["agent_end"])
        yield f"{prefix}its agent {how}; the work that it had done was verified"
    for wait in one["asked"]:
        then = plain_words.describe_choice(wait["choice"] or "")
        yield f"{prefix}{one_line_text(plain_words.describe_failure(wait['failure']), 120)}; {then}"


def _waived_checks(proof: Data | None) -> Iterable[str]:
    checks = proof["checks"] if proof else ()
    waived = [check["check"] for check in checks if check["outcome"] == "WAIVED"]
    if waived:
        yield f"landed because a person waived {', '.join(waived[:5])}"


def _quarantined_tests(proof: Data | None) -> Iterable[str]:
    for check in proof["checks"] if proof else ():
        if words := quarantine_words(check["quarantined"]):
            yield f"{check['check']}: a flaky test failed{words}"


def _earlier_failures(one: Data) -> str:
    return f"attempt {one['attempt']}: {plain_words.describe_end(one)}"
