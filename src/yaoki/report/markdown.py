"""The report as Markdown, for a pull request or a mail, and as the same text for people to read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import State, TaskKind
from yaoki.core.text import format_count
from yaoki.report.template_engine import Filters, mark_safe, render
from yaoki.report.wording import (
    agent_conversations,
    count_causes,
    describe_reruns,
    format_cost,
    format_tokens,
    list_some,
    one_line_text,
    stop_reasons,
)
from yaoki.views.outcomes import mutant_numbers, outcome_numbers, quarantine_words
from yaoki.views.plain_words import REFUSALS
from yaoki.views.tasks import OFF_BRANCH

LIMITS = {"LANDED_MAX": 100, "SMALL_MAX": 30, "CHECKS_MAX": 8, "FAILURES_MAX": 60}
# A value in a line; what may be longer is cut by the template.
TEXT_MAX = 2_000
Data = Mapping[str, Any]

# Characters that could begin a link, an emphasis, a cell, a tag or an entity inside a line.
_SPECIAL = lazy_compile(
    r"[\\`*~\[\]<>|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|&(?=#?[A-Za-z0-9]{1,32};)"
)
# Words at the start of a line that could begin a heading, a list, a rule or an underline.
_BLOCK = lazy_compile(r"(?:#{1,6}|[-+])(?=\s|$)|-(?=[-\s]*$)|=(?==*$)|(?<=\d)[.)](?=\s|$)")
_SPACES = lazy_compile(r" {2,}")
_NUMBER = lazy_compile(r"\d{1,9}(?=[.)](?:\s|$))")


def escape_markdown(value: object) -> str:
    """Text from elsewhere inside a line, shown literally."""
    text = one_line_text(value, TEXT_MAX)
    number = _NUMBER.match(text)
    at = number.end() if number else 0
    mark = "\\" if _BLOCK.match(text, at) else ""
    shown = _SPECIAL.sub(lambda hit: f"\\{hit[0]}", text)
    return _SPACES.sub(_keep_spaces, f"{shown[:at]}{mark}{shown[at:]}")


def _keep_spaces(run: re.Match[str]) -> str:
    """The same number of spaces, which Markdown would show as one."""
    return f" {'&nbsp;' * (len(run[0]) - 1)}"


def code_span(value: object, limit: int = 300) -> str:
    """Text in a code span; a backtick inside would end it."""
    shown = one_line_text(value, limit).replace("`", "'")
    return mark_safe(f"`{shown or ' '}`")


def code_cell(value: object, limit: int = 300) -> str:
    """A code span inside a table, where a bar would end the cell even in code."""
    return mark_safe(code_span(value, limit).replace("|", "\\|"))


def quote_plainly(value: object, limit: int = 300) -> str:
    """A command or a commit in plain text."""
    return f"`{one_line_text(value, limit)}`"


def render_markdown(report: Data) -> str:
    """Text from agents and plans is escaped: it adds no heading, link or row."""
    return _render(report, escape_markdown, {"code": code_span, "code_cell": code_cell}, "  ")


def render_text(report: Data) -> str:
    """The same lines for a terminal, with text as it was written."""
    filters: Filters = {"code": quote_plainly, "code_cell": quote_plainly}
    return _render(report, lambda text: one_line_text(text, TEXT_MAX), filters, "")


def _render(report: Data, escape: Callable[[str], str], filters: Filters, hard_break: str) -> str:
    run, tasks = report["run"], report["tasks"]
    values = {
        **report,
        **LIMITS,
        "HARD_BREAK": mark_safe(hard_break),
        "OFF_BRANCH": OFF_BRANCH,
        "known_numbers": list(_known_numbers(report["numbers"])),
        "landed": [task for task in tasks if task["landed"]],
        "not_landed": [task for task in tasks if not (task["landed"] or _is_no_work(task))],
        "racing": [task for task in tasks if task["races"]],
        "names": {task["id"]: task["name"] for task in tasks},
        "stop_reasons": stop_reasons(tasks),
        "failures": list(_failures(report)),
        "conversations": agent_conversations(report),
        "receipt": report.get("receipt"),
        "takes_part": run["status"] == "CANCELLED" and " merge " in report["next"],
    }
    return render("report.md", values, escape, {**FILTERS, **filters})


def _is_no_work(task: Data) -> bool:
    """A candidate is shown with the race of its task; a newer final check takes the place of an
    older one.
    """
    old_check = task["kind"] == TaskKind.CHECK and task["state"] == State.REPLACED
    return bool(task["race"]) or old_check


def _known_numbers(numbers: Data) -> Iterator[tuple[str, str]]:
    """No row for an unknown value; a sentence below the table says so."""
    for what, words in (("cost", format_cost), ("tokens", format_tokens)):
        if numbers[what] is not None:
            unreported = numbers[f"{what}_untold"]
            note = f" ({format_count(unreported, 'agent run')} reported none)" if unreported else ""
            yield what, f"{words(numbers[what], unreported)}{note}"


def _passed_oddly(check: Data) -> bool:
    return check["outcome"] == "PASSED" and check["exit_code"] not in {None, 0}


def _failures(report: Data) -> Iterator[str]:
    small, numbers = LIMITS["SMALL_MAX"], report["numbers"]
    for cause, n in count_causes(report["retries"])[:small]:
        yield f"{format_count(n, 'retry', 'retries')}: {cause}"
    for cause, n in count_causes(report["not_retried"])[:small]:
        yield f"{format_count(n, 'attempt')} not tried again: {cause}"
    if n := numbers["workers_lost"]:
        yield f"{format_count(n, 'claim')} of lost workers taken over; nothing was lost"
    for cause, n in numbers["verified_again_causes"].items():
        yield f"{format_count(n, 'verification')} repeated: {REFUSALS[cause]}"
    if n := numbers["results_refused"]:
        yield f"{format_count(n, 'late result')} refused"
    if n := numbers["taken_back"]:
        yield f"{format_count(n, 'landing')} reverted"
    for one in report["flaky"]:
        where = one_line_text(list_some(one["tasks"], one["tasks_left_out"]), 240)
        times = format_count(one["times"], "time")
        yield f"flaky: {one_line_text(one['check'], 60)}, {times}, in {where}"
    yield from describe_reruns(report["reruns"])
    for one in report["red_before"]:
        words = one_line_text(one["failures"], 200)
        yield f"already failing on the base: {one_line_text(one['check'], 60)}: {words}"


FILTERS: Filters = {
    "name_in": lambda task_id, names: names.get(task_id, task_id),
    "outcome": lambda check: (
        check["outcome"]
        + outcome_numbers(check["tests"], check["known_failures"])
        + mutant_numbers(check["mutants"])
        + quarantine_words(check["quarantined"])
    ),
    "passed_oddly": _passed_oddly,
    # Inside a fence: no line of a proposal can end it.
    "verbatim": mark_safe,
    "versions": lambda check: "".join(
        f", {name} {told}" for name, told in check["versions"].items()
    ),
}
