"""Failures and retries, warnings, and what people decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaoki.core.text import format_count
from yaoki.report.charts import bar_chart
from yaoki.report.markup import Html, join_html, tag
from yaoki.report.page_parts import SMALL_MAX, bullet_list, left_out_note, task_titles
from yaoki.report.plain_words import describe_cause
from yaoki.report.wording import format_instant, list_some, one_line_text

Data = Mapping[str, Any]


def failures_section(report: Data) -> Html | None:
    n = report["numbers"]
    causes = [
        (describe_cause(one["kind"], one["pattern"]), one["count"])
        for one in report["retries"][:SMALL_MAX]
    ]
    told = [
        (n["workers_lost"], "claim", "of lost workers taken over; nothing was lost"),
        (n["verified_again"], "time", "verified again because other work had landed first"),
        (n["results_refused"], "late result", "refused"),
        (n["taken_back"], "landing", "taken back"),
    ]
    lines = [
        f"{format_count(one['count'], 'attempt')} not tried again: "
        f"{describe_cause(one['kind'], one['pattern'])}"
        for one in report["not_retried"]
    ]
    lines += [f"{format_count(number, what)} {words}" for number, what, words in told if number]
    lines += [
        f"flaky: {one_line_text(one['check'], 60)} failed and then passed on the same commit,"
        f" {format_count(one['times'], 'time')}, in "
        f"{list_some(one['tasks'], one['tasks_left_out'])}"
        for one in report["flaky"]
    ]
    lines += [
        f"already failing on the base:  {one_line_text(one['check'], 60)}: "
        f"{one_line_text(one['failures'], 200)}"
        for one in report["red_before"]
    ]
    if not causes and not lines:
        return None
    heading = tag("h2", "Falls", tag("small", "why work was sent back, and what else was met"))
    more = left_out_note(len(lines), SMALL_MAX, "of them: yaoki report --format json")
    return tag("section", heading, bar_chart(causes), bullet_list(lines[:SMALL_MAX]), more)


def warnings_section(report: Data) -> Html | None:
    listed_ = report["noticed"]["listed"]
    if not listed_:
        return None
    lines = [
        join_html(
            (
                f"{format_instant(one['at'])}, ",
                tag("b", one_line_text(one["name"], 60), ": ") if one["name"] else "",
                one_line_text(one["words"], 600),
                f" ({format_count(one['times'], 'time')})" if one["times"] > 1 else "",
            )
        )
        for one in listed_[:SMALL_MAX]
    ]
    number = len(listed_) + report["noticed"]["left_out"]
    more = left_out_note(number, SMALL_MAX, "warnings: yaoki report --format json")
    heading = tag("h2", "Noticed", tag("small", "nobody asks about it, and you should know"))
    return tag("section", heading, bullet_list(lines), more)


def answers_section(report: Data) -> Html | None:
    answers, known = report["decided"]["answers"], task_titles(report)
    if not answers:
        return None
    lines = [
        join_html(
            (
                f"{format_instant(one['at'])}, "
                f"{known.get(one['task'], one_line_text(one['name'], 60))}: ",
                tag("b", one["choice"]),
                f" {one_line_text(one['check'], 60)}" if one["check"] else "",
                f" ({one_line_text(one['how'], 60)})" if one.get("how") else "",
                f": {one_line_text(one['words'], 300)}" if one["words"] else "",
            )
        )
        for one in answers[:SMALL_MAX]
    ]
    more = left_out_note(
        len(answers) + report["decided"]["left_out"], SMALL_MAX, "answers: yaoki trace"
    )
    return tag("section", tag("h2", "What people decided"), bullet_list(lines), more)
