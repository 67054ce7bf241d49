"""The report as one HTML file: no script, no network, a policy that allows neither."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from yaoki.core.text import format_count
from yaoki.report.charts import timeline_chart
from yaoki.report.markup import Html, tag
from yaoki.report.page_failures import answers_section, failures_section, warnings_section
from yaoki.report.page_parts import SMALL_MAX
from yaoki.report.page_proof import proofs_section
from yaoki.report.page_questions import questions_section
from yaoki.report.page_tasks import conversations_section, saved_work_section, tasks_section
from yaoki.report.wording import (
    SO_FAR,
    format_cost,
    format_duration,
    format_instant,
    format_tokens,
    one_line_text,
)

Data = Mapping[str, Any]
# An abbreviated commit id is enough for git and for people.
HEX = re.compile(r"\b([0-9a-f]{10})[0-9a-f]{30}\b")
TONES = {"DONE": "good", "ESCALATED": "bad", "CANCELLED": "bad"}


def render_page(report: Data) -> str:
    run = report["run"]
    body = tag(
        "main",
        _top(report),
        _numbers(report),
        [tag("p", "Warning: ", words, class_="note") for words in report["warnings"][:SMALL_MAX]],
        questions_section(report),
        warnings_section(report),
        timeline_chart(report),
        tasks_section(report),
        failures_section(report),
        answers_section(report),
        saved_work_section(report),
        conversations_section(report),
        proofs_section(report),
        _foot(report),
    )
    title = f"{run['status'].lower()}: {one_line_text(run['goal'], 80)} · run {run['run']}"
    html = tag("html", _head(title), tag("body", body), lang="en")
    return f"<!DOCTYPE html>\n{html}\n"


@cache
def _style() -> tuple[Html, str]:
    """The style sheet, and its hash for the content security policy."""
    sheet = resources.files("yaoki.report").joinpath("page.css").read_text("utf-8")
    seal = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode("ascii")
    return Html(f"<style>{sheet}</style>"), f"sha256-{seal}"


def _head(title: str) -> Html:
    style, seal = _style()
    rest = "img-src data:; base-uri 'none'; form-action 'none'"
    policy = f"default-src 'none'; style-src '{seal}'; {rest}"
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        style,
    )


def _top(report: Data) -> Html:
    run = report["run"]
    end = (
        format_instant(run["finished_at"])
        if run["finished_at"]
        else f"{format_instant(report['as_of'])} (so far)"
    )
    tone = TONES.get(run["status"], "wait")
    return tag(
        "header",
        tag("p", tag("b", "yaoki"), " report of run ", tag("code", run["run"]), class_="over"),
        tag("h1", one_line_text(run["goal"], 300)),
        tag("p", report["verdict"], class_=f"verdict {tone}"),
        tag(
            "p",
            _fact("from", format_instant(run["created_at"])),
            _fact("to", end),
            _fact("branch", run["run_branch"]),
            _fact("started from", f"{run['base_branch']} at {run['base'][:10]}"),
            _fact("merged into", _merged(run)) if run["merged"] else None,
            class_="facts",
        ),
    )


def _merged(run: Data) -> str:
    return f"{run['merged_into']} at {run['merged'][:10]}"


def _fact(name: str, value: str) -> Html:
    return tag("span", f"{name} ", tag("b", one_line_text(value, 120)))


def _numbers(report: Data) -> Html:
    n, time = report["numbers"], report["time"]
    waiting = time["waiting"]
    for_retry, for_turn = format_duration(waiting["retry_s"]), format_duration(waiting["turn_s"])
    return tag(
        "dl",
        _number(
            "tasks done" if n["waived"] else "tasks done and proven",
            f"{n['done']:,} of {n['tasks']:,}",
            _others(n),
        ),
        _number("sent back and tried again", f"{n['retries']:,}", _attempt_note(n)),
        _number(
            "from start to end" if report["run"]["finished_at"] else SO_FAR,
            format_duration(time["wall_s"]),
        ),
        _number("agents at work", format_duration(time["agent_s"]), _unknown_note(n)),
        _number("checks", format_duration(time["checks_s"]), "added up over all tasks"),
        _number(
            "waiting for a person",
            format_duration(waiting["person_s"]),
            f"before a retry {for_retry}, for other tasks or a free worker {for_turn}",
        ),
        _known_number("cost", n, format_cost),
        _known_number("tokens", n, format_tokens),
        class_="numbers",
    )


def _number(name: str, value: str, more: str = "") -> Html:
    return tag("div", tag("dt", name), tag("dd", value), tag("dd", more) if more else None)


def _others(n: Data) -> str:
    needs = "needs you" if n["asking"] == 1 else "need you"
    parts = ((n["asking"], needs), (n["blocked"], "blocked"), (n["open"], "open"))
    more = (*parts, (n["cancelled"], "cancelled"), (n["waived"], "with checks waived by a person"))
    return ", ".join(f"{number:,} {words}" for number, words in more if number) or "none left"


def _known_number(what: str, n: Data, words: Callable[[Any, int], str]) -> Html | None:
    """No number where no agent reported one; a sentence says so instead."""
    if n[what] is None:
        return None
    untold, runs = n[f"{what}_untold"], format_count(n["agent_runs"], "agent run")
    more = f"{untold:,} of {runs} reported none" if untold else "reported by every agent"
    return _number(what, words(n[what], untold), more)


def _unknown_note(n: Data) -> str:
    added = "added up over all tasks"
    if not n["agent_runs"]:
        return "no agent ran"
    return f"{added}; none reported its cost" if n["cost"] is None else added


def _attempt_note(n: Data) -> str:
    lost = n["workers_lost"]
    told = f"; work of lost workers taken up {format_count(lost, 'time')}" if lost else ""
    return f"{format_count(n['attempts'], 'attempt')} in all{told}"


def _foot(report: Data) -> Html:
    tools = ", ".join(f"{name} {version}" for name, version in report["made_with"].items())
    made = (
        f"Made {format_instant(report['made_at'])} with "
        f"{one_line_text(tools or report['made_by'], 200)}. Next: "
    )
    return tag("footer", made, tag("code", one_line_text(HEX.sub(r"\1", report["next"]), 200)))
