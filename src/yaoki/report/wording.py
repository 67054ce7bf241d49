"""The words of a report: the verdict, numbers for people, and text from elsewhere in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from yaoki.core.model import Outcome, State
from yaoki.core.text import format_count, format_duration, one_line, strip_terminal_codes
from yaoki.views.outcomes import run_times
from yaoki.views.plain_words import (
    describe_absence,
    describe_cause,
    describe_reason,
    describe_removal,
)

Data = Mapping[str, Any]
UNKNOWN = "unknown"
# For a run that has not ended.
SO_FAR = "so far"
# Between the name of an agent and its account; no name contains it.
ACCOUNT_MARK = "/"
FOLLOWERS_SHOWN = 10


def one_line_text(value: object, limit: int = 300) -> str:
    """Text from elsewhere in one line, without terminal codes."""
    return one_line(strip_terminal_codes(str(value)), limit)


def format_cost(cost: float | None, unreported: int = 0) -> str:
    """A cost that no agent reported is unknown; one that some reported is a lower bound."""
    if cost is None:
        return UNKNOWN
    shown = f"${cost:,.2f}" if cost >= 0.1 or not cost else f"${cost:.4f}"
    return f"at least {shown}" if unreported else shown


def format_tokens(tokens: int | None, unreported: int = 0) -> str:
    if tokens is None:
        return UNKNOWN
    return f"at least {tokens:,}" if unreported else f"{tokens:,}"


def format_instant(instant: str | None) -> str:
    """To the minute, in UTC: a report is read in other time zones."""
    if not instant:
        return "not yet"
    return datetime.fromisoformat(instant).strftime("%Y-%m-%d %H:%M UTC")


def count_causes(listed: Sequence[Data]) -> list[tuple[str, int]]:
    """Causes of failures in words, the most frequent first.

    Some kinds have the same words with a pattern and without.
    """
    counts: Counter[str] = Counter()
    for one in listed:
        counts[one_line_text(describe_cause(one["kind"], one["pattern"]), 200)] += one["count"]
    return counts.most_common()


def agent_conversations(report: Data) -> list[tuple[Data, Data]]:
    """Every attempt with its task; empty where no agent reported anything about itself and none
    has several accounts.
    """
    runs = [
        (task, one) for task in report["tasks"] for one in task["attempts"] if one["agent_started"]
    ]
    reported = ("session", "cost", "tokens")
    told = any(one[name] is not None for _, one in runs for name in reported)
    with_accounts = any(ACCOUNT_MARK in (one["agent"] or "") for _, one in runs)
    return runs if told or with_accounts else []


def list_some(names: Sequence[str], left_out: int, limit: int = 200) -> str:
    """A list of names, and how many more there are."""
    shown = one_line_text(", ".join(names), limit)
    return f"{shown} and {left_out:,} more" if left_out else shown


def answer_notes(answer: Data) -> str:
    """How a person answered, and the other tasks to which it happened as well."""
    followers = answer.get("followers", ())
    shown = list_some(followers[:FOLLOWERS_SHOWN], max(0, len(followers) - FOLLOWERS_SHOWN))
    how = one_line_text(answer.get("how") or "", 60)
    return "; ".join(filter(None, (how, f"also of {shown}" if followers else "")))


def describe_reruns(reruns: Sequence[Data]) -> Iterator[str]:
    """Checks that were run again after a failure; each check of a task once, with its outcome."""
    groups: dict[tuple[str, str, str], list[Data]] = {}
    for one in reruns:
        groups.setdefault((one["name"], one["check"], one["outcome"]), []).append(one)
    for (name, check, outcome), runs in groups.items():
        subject = one_line_text(f"check {check} of {name}", 160)
        if outcome == Outcome.FAILED:
            seconds = sum(second for one in runs for second in one["seconds"])
            failed = f"failed in {format_count(len(runs), 'attempt')}" if runs[1:] else "failed"
            passes = sum(one.get("passes", 0) for one in runs)
            again = "also when it was run again"
            if passes:
                again = f"but passed in {format_count(passes, 're-run')} on the same commit"
            yield f"{subject} {failed}, {again} ({format_duration(seconds)})"
        else:
            first, *again = runs[-1]["seconds"]
            how = "was flaky: failed" if outcome == Outcome.FLAKY else outcome.lower()
            yield f"{subject} {how}{run_times(outcome, first, again)}"


def stop_reasons(tasks: Sequence[Data]) -> dict[str, str]:
    """By task: why it does not continue, or what it waits for; empty for one that continues."""
    names = {task["id"]: task["name"] for task in tasks}
    asking = {task["id"] for task in tasks if task["state"] == State.ESCALATED}
    missing = {task["id"]: describe_absence(task["state"], task["reason"]) for task in tasks}
    return {task["id"]: _stop_reason(task, names, asking, missing) for task in tasks}


def _stop_reason(
    task: Data, names: Mapping[str, str], asking: Container[str], missing: Mapping[str, str]
) -> str:
    cause = task["cause"]
    if not cause:
        return (
            task["replaced"]
            or task["cancelled"]
            or task["waits_for"]
            or describe_removal(task["state"], task["reason"])
            or (describe_reason(task["reason"]) if task["reason"] else "")
        )
    needed = one_line_text(names.get(cause, cause), 60)
    if cause in asking:
        return f"waits for your answer to {needed}"
    return f"needs {needed}, which {missing.get(cause, 'did not land')}"


def verdict_sentence(status: str, numbers: Data, paused: str) -> str:
    """One sentence that a manager can act on; no task is called done unless it is proven."""
    done, tasks, lost = numbers["done"], numbers["tasks"], numbers["lost"]
    so_far = f"{_share(done, tasks)} {_how_far(numbers)}"
    if status == "DONE" and lost:
        missing = f"the landed work of {format_count(lost, 'task')} is no longer on its branch"
        return f"The run had ended, but {missing}: {so_far}."
    if status == "DONE":
        without = _left_out_words(numbers["dropped"])
        enough = "" if without else ", including all required ones"
        whole = _all(done) if done == tasks else f"{_share(done, tasks)} done{enough}"
        return f"The run is done: {whole}, {_how(numbers)}{without}.{_proven(numbers)}"
    if status == "PAUSED":
        return f"The run is paused ({one_line_text(paused, 160)}): {so_far}{_rest(numbers)}."
    if status == "CANCELLED":
        without = _left_out_words(numbers["dropped"])
        return f"The run ended without being done: {so_far}{_rest(numbers)}{without}."
    if status == "ACTIVE":
        return f"The run is not finished: {so_far} so far{_rest(numbers)}."
    return f"The run needs you: {so_far}{_rest(numbers)}."


def _left_out_words(dropped: int) -> str:
    """The subtasks that failed and were left out of their group."""
    parts = format_count(
        dropped, "part of a group failed and was", "parts of groups failed and were"
    )
    return f"; {parts} left out" if dropped else ""


def _how(numbers: Data) -> str:
    waived = numbers["waived"]
    if waived and waived >= numbers["done"]:
        return "with checks that a person waived"
    but = f", except {waived:,} with checks that a person waived" if waived else ""
    each = "" if numbers["done"] == 1 else "each "
    return f"{each}proven by its checks{but}"


def _how_far(numbers: Data) -> str:
    waived = numbers["waived"]
    return f"done ({waived:,} with checks that a person waived)" if waived else "done and proven"


def _all(done: int) -> str:
    few = {1: "its one task is done", 2: "both tasks are done"}
    return few.get(done, f"all {done:,} tasks are done")


def _share(done: int, tasks: int) -> str:
    return f"{done:,} of {format_count(tasks, 'task')} {'is' if 1 in {done, tasks} else 'are'}"


def _proven(numbers: Data) -> str:
    return " The whole run was then verified again." if numbers["whole_proven"] else ""


def _rest(numbers: Data) -> str:
    parts = []
    if n := numbers["asking"]:
        parts.append(f"{n:,} {'waits' if n == 1 else 'wait'} for your answer")
    if n := numbers["blocked"]:
        parts.append(
            f"{n:,} cannot start before you answer" if numbers["asking"] else f"{n:,} blocked"
        )
    if n := numbers["cancelled"]:
        parts.append(f"{n:,} {'was' if n == 1 else 'were'} cancelled")
    if n := numbers["open"]:
        parts.append(f"{n:,} {'is' if n == 1 else 'are'} still open")
    return "".join(f", {part}" for part in parts[:-1]) + (f" and {parts[-1]}" if parts else "")
