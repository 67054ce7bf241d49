"""The report as one HTML file: no script, no network, a policy that allows neither."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from typing import Any

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.text import format_count, format_duration, strip_terminal_codes
from yaoki.report import page_tasks
from yaoki.report.charts import bar_lengths, task_title, timeline_chart
from yaoki.report.template_engine import Filters, mark_safe, render, template_text
from yaoki.report.wording import (
    SO_FAR,
    agent_conversations,
    count_causes,
    describe_reruns,
    format_cost,
    format_tokens,
    list_some,
    one_line_text,
)
from yaoki.views.outcomes import mutant_numbers, outcome_numbers, quarantine_words
from yaoki.views.plain_words import REFUSALS

Data = Mapping[str, Any]
SMALL_MAX, PROOFS_MAX, CHECKS_MAX = 50, 200, 30
# An abbreviated commit id is enough for git and for people.
HEX = lazy_compile(r"\b([0-9a-f]{10})[0-9a-f]{30}\b")
TONES = {"DONE": "good", "ESCALATED": "bad", "CANCELLED": "bad"}
OUTCOME_TONES = {"PASSED": "good", "FLAKY": "wait", "WAIVED": "wait", "SKIPPED": "calm"}


def render_page(report: Data) -> str:
    run, receipt = report["run"], report.get("receipt")
    titles = {task["id"]: task_title(task) for task in report["tasks"]}
    style, policy = _style()
    tools = ", ".join(f"{name} {version}" for name, version in report["made_with"].items())
    answer = f"yaoki answer {run['run']}"
    values = {
        **report,
        "SMALL_MAX": SMALL_MAX,
        "PROOFS_MAX": PROOFS_MAX,
        "CHECKS_MAX": CHECKS_MAX,
        **page_tasks.table_values(report, titles),
        "style": mark_safe(style),
        "policy": policy,
        "tone": TONES.get(run["status"], "wait"),
        "titles": titles,
        "page_numbers": list(_numbers(report)),
        "pause_answers": [
            {
                "command": f"{answer} go",
                "what": "the run continues; a used-up budget is granted once more",
            },
            {"command": f"{answer} abort", "what": "the run is cancelled; its work is saved"},
        ],
        "chart": timeline_chart(report),
        "causes": bar_lengths(count_causes(report["retries"])[:SMALL_MAX]),
        "failures": list(_failures(report)),
        "conversations": agent_conversations(report),
        "proven": [task for task in report["tasks"] if task["proof"]],
        "receipt": receipt,
        "run_facts": [
            ("base", run["base"]),
            ("head", run["head"]),
            ("plan", f"sha256 {report['plan']['sha256']}"),
            ("receipt", f"sha256 {receipt['digest']}" if receipt else ""),
        ],
        "tools": tools or report["made_by"],
        "next_command": HEX.sub(r"\1", report["next"]),
    }
    return f"<!DOCTYPE html>\n{render('page.html', values, _escaped, FILTERS)}\n"


@cache
def _style() -> tuple[str, str]:
    """The style sheet, and the content security policy that allows it by its hash."""
    sheet = template_text("page.css")
    seal = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode("ascii")
    rest = "img-src data:; base-uri 'none'; form-action 'none'"
    return sheet, f"default-src 'none'; style-src 'sha256-{seal}'; {rest}"


def _escaped(text: str) -> str:
    return escape(strip_terminal_codes(text), quote=True)


# ------------------------------------------------------------------ numbers


def _numbers(report: Data) -> Iterator[tuple[str, str, str]]:
    """Name, value and a note; without a value nothing is shown."""
    n, time = report["numbers"], report["time"]
    waiting = time["waiting"]
    before, turn = format_duration(waiting["retry_s"]), format_duration(waiting["turn_s"])
    proven = "tasks done" if n["waived"] else "tasks done and proven"
    yield proven, f"{n['done']:,} of {n['tasks']:,}", _others(n)
    yield "sent back and tried again", f"{n['retries']:,}", _attempt_note(n)
    whole = "from start to end" if report["run"]["finished_at"] else SO_FAR
    yield whole, format_duration(time["wall_s"]), ""
    lost = time["agent_s_untold"]
    without = f"without {format_count(lost, 'lost run')}" if lost else ""
    notes = "; ".join(filter(None, (without, _unknown_note(n))))
    yield "agents at work", format_duration(time["agent_s"]), notes
    yield "checks", format_duration(time["checks_s"]), report["check_runs"]["words"]
    rerun = f"before a re-run {format_duration(waiting['rerun_s'])}, " if waiting["rerun_s"] else ""
    note = f"before a retry {before}, {rerun}for other tasks or a free worker {turn}"
    yield "waiting for a person", format_duration(waiting["person_s"]), note
    yield _known_number("cost", n, format_cost)
    yield _known_number("tokens", n, format_tokens)


def _others(n: Data) -> str:
    needs = "needs you" if n["asking"] == 1 else "need you"
    parts = ((n["asking"], needs), (n["blocked"], "blocked"), (n["open"], "open"))
    more = (*parts, (n["cancelled"], "cancelled"), (n["waived"], "with checks waived by a person"))
    return ", ".join(f"{number:,} {words}" for number, words in more if number) or "none left"


def _known_number(what: str, n: Data, words: Callable[[Any, int], str]) -> tuple[str, str, str]:
    """No number where no agent reported one; a sentence says so instead."""
    if n[what] is None:
        return what, "", ""
    unreported, runs = n[f"{what}_untold"], format_count(n["agent_runs"], "agent run")
    more = f"{unreported:,} of {runs} reported none" if unreported else "reported by every agent"
    return what, words(n[what], unreported), more


def _unknown_note(n: Data) -> str:
    added = "added up over all tasks"
    if not n["agent_runs"]:
        return "no agent ran"
    return f"{added}; none reported its cost" if n["cost"] is None else added


def _attempt_note(n: Data) -> str:
    lost = n["workers_lost"]
    resumed = f"; work of lost workers continued {format_count(lost, 'time')}" if lost else ""
    return f"{format_count(n['attempts'], 'attempt')} in all{resumed}"


# ------------------------------------------------------------------ failures and proofs


def _failures(report: Data) -> Iterator[str]:
    n = report["numbers"]
    for cause, number in count_causes(report["not_retried"]):
        yield f"{format_count(number, 'attempt')} not tried again: {cause}"
    counts = (
        (n["workers_lost"], "claim", "of lost workers taken over; nothing was lost"),
        *(
            (number, "verification", f"repeated: {REFUSALS[cause]}")
            for cause, number in n["verified_again_causes"].items()
        ),
        (n["results_refused"], "late result", "rejected"),
        (n["taken_back"], "landing", "reverted"),
    )
    yield from (f"{format_count(number, what)} {words}" for number, what, words in counts if number)
    for one in report["flaky"]:
        times, where = format_count(one["times"], "time"), one["tasks_left_out"]
        yield (
            f"flaky: {one_line_text(one['check'], 60)} failed and then passed on the same commit,"
            f" {times}, in {list_some(one['tasks'], where)}"
        )
    yield from describe_reruns(report["reruns"])
    for one in report["red_before"]:
        yield (
            f"already failing on the base:  {one_line_text(one['check'], 60)}: "
            f"{one_line_text(one['failures'], 200)}"
        )


def _passed_words(checks: Sequence[Data]) -> str:
    outcomes = [check["outcome"] for check in checks]
    waived, flaky = outcomes.count("WAIVED"), outcomes.count("FLAKY")
    words = f"{outcomes.count('PASSED') + flaky} of {format_count(len(checks), 'check')} passed"
    words += f", {flaky} only the second time" if flaky else ""
    return words + (f", {waived} waived by a person" if waived else "")


def _check_facts(check: Data) -> list[tuple[str, str]]:
    code, seconds = check["exit_code"], check["seconds"]
    return [
        ("command", one_line_text(check["command"], 300) if check["command"] else ""),
        ("exit code", "" if code is None else str(code)),
        ("took", format_duration(seconds) if seconds else ""),
        ("versions", ", ".join(f"{name} {version}" for name, version in check["versions"].items())),
        ("message", one_line_text(check["message"], 300) if check["message"] else ""),
        ("survived", one_line_text("; ".join(check["survivors"]), 600)),
        ("identity", check["identity"]),
        *(
            (
                f"{one['file'].rpartition('/')[2]}, {format_count(one['bytes'], 'byte')}",
                one["sha256"],
            )
            for one in check["outputs"]
        ),
    ]


FILTERS: Filters = {
    "check_facts": _check_facts,
    "outcome": lambda check: (
        check["outcome"]
        + outcome_numbers(check["tests"], check["known_failures"])
        + mutant_numbers(check["mutants"])
        + quarantine_words(check["quarantined"])
    ),
    "outcome_tone": lambda check: OUTCOME_TONES.get(check["outcome"], "bad"),
    "passed_words": _passed_words,
    "title": task_title,
    "title_in": lambda one, titles, limit=80: titles.get(
        one["task"], one_line_text(one["name"], limit)
    ),
}
