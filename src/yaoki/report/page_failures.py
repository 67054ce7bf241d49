"""What fell and rose again, and what people decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaoki.report.charts import bars
from yaoki.report.markup import Html, joined, tag
from yaoki.report.page_parts import SMALL_MAX, left, listed, names
from yaoki.report.plain_words import cause
from yaoki.report.words import count, moment, some, text

Data = Mapping[str, Any]


def falls(report: Data) -> Html | None:
    n = report["numbers"]
    causes = [
        (cause(one["kind"], one["pattern"]), one["count"]) for one in report["retries"][:SMALL_MAX]
    ]
    told = [
        (n["workers_lost"], "claim", "of workers that were gone taken over; nothing was lost"),
        (n["verified_again"], "time", "checked once more, because other work had landed first"),
        (n["results_refused"], "late result", "refused"),
        (n["taken_back"], "landing", "taken back"),
    ]
    lines = [
        f"{count(one['count'], 'attempt')} not tried again: {cause(one['kind'], one['pattern'])}"
        for one in report["not_retried"]
    ]
    lines += [f"{count(number, what)} {words}" for number, what, words in told if number]
    lines += [
        f"flaky: {text(one['check'], 60)} failed and then passed on the same commit,"
        f" {count(one['times'], 'time')}, in {some(one['tasks'], one['tasks_left_out'])}"
        for one in report["flaky"]
    ]
    lines += [
        f"red before anybody worked on it: {text(one['check'], 60)}: {text(one['failures'], 200)}"
        for one in report["red_before"]
    ]
    if not causes and not lines:
        return None
    heading = tag("h2", "Falls", tag("small", "why work was sent back, and what else was met"))
    more = left(len(lines), SMALL_MAX, "of them: yaoki report --format json")
    return tag("section", heading, bars(causes), listed(lines[:SMALL_MAX]), more)


def noticed(report: Data) -> Html | None:
    listed_ = report["noticed"]["listed"]
    if not listed_:
        return None
    lines = [
        joined(
            (
                f"{moment(one['at'])}, ",
                tag("b", text(one["name"], 60), ": ") if one["name"] else "",
                text(one["words"], 600),
                f" ({count(one['times'], 'time')})" if one["times"] > 1 else "",
            )
        )
        for one in listed_[:SMALL_MAX]
    ]
    number = len(listed_) + report["noticed"]["left_out"]
    more = left(number, SMALL_MAX, "warnings: yaoki report --format json")
    heading = tag("h2", "Noticed", tag("small", "nobody asks about it, and you should know"))
    return tag("section", heading, listed(lines), more)


def decided(report: Data) -> Html | None:
    answers, known = report["decided"]["answers"], names(report)
    if not answers:
        return None
    lines = [
        joined(
            (
                f"{moment(one['at'])}, {known.get(one['task'], text(one['name'], 60))}: ",
                tag("b", one["choice"]),
                f" {text(one['check'], 60)}" if one["check"] else "",
                f" ({text(one['how'], 60)})" if one.get("how") else "",
                f": {text(one['words'], 300)}" if one["words"] else "",
            )
        )
        for one in answers[:SMALL_MAX]
    ]
    more = left(len(answers) + report["decided"]["left_out"], SMALL_MAX, "answers: yaoki trace")
    return tag("section", tag("h2", "What people decided"), listed(lines), more)
