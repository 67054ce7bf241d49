"""Questions to a person, each answer as a command to copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yaoki.report.markup import Html, tag
from yaoki.report.page_parts import left_out_note, task_titles
from yaoki.report.plain_words import describe_reason
from yaoki.report.wording import one_line_text

ASKING_MAX = 50
Data = Mapping[str, Any]


def questions_section(report: Data) -> Html | None:
    waiting, run = report["asking"], report["run"]
    if not waiting and not run["paused"]:
        return None
    known = task_titles(report)
    number = len(waiting) + report["asking_left_out"]
    return tag(
        "section",
        tag("h2", "Needs you"),
        _pause(run) if run["paused"] else None,
        [_question(one, known) for one in waiting[:ASKING_MAX]],
        left_out_note(number, ASKING_MAX, f"questions: yaoki status {run['run']}"),
    )


def _question(one: Data, known: Mapping[str, str]) -> Html:
    name = known.get(one["task"], one_line_text(one["name"], 80))
    return tag(
        "article",
        tag("h3", name, " ", tag("span", describe_reason(one["reason"]), class_="state bad")),
        tag("q", [(one_line_text(each, 2000), tag("br")) for each in one["question"].split("\n")]),
        _answers([(a["command"], a["what"]) for a in one["answers"]]),
        class_="ask",
    )


def _pause(run: Data) -> Html:
    base = f"yaoki answer {run['run']}"
    ways = [(f"{base} go", "the run continues; a used-up budget is granted once more")]
    ways.append((f"{base} abort", "the run is cancelled; its work is saved"))
    words = tag("q", one_line_text(run["paused"], 600))
    return tag("article", tag("h3", "The run is paused"), words, _answers(ways), class_="ask")


def _answers(ways: Sequence[tuple[str, str]]) -> Html:
    return tag(
        "dl",
        [
            (tag("dt", tag("code", one_line_text(c, 600))), tag("dd", one_line_text(what, 600)))
            for c, what in ways
        ],
    )
