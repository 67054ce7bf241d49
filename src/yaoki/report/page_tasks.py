"""The tables of the page: tasks, saved work, conversations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from yaoki.core.decide.rules import PERSON_AGENT
from yaoki.report import plain_words
from yaoki.report.markup import Html, join_html, tag
from yaoki.report.page_parts import SMALL_MAX, html_table, left_out_note, task_title, task_titles
from yaoki.report.wording import agent_conversations as all_conversations
from yaoki.report.wording import format_cost, format_duration, format_tokens, one_line_text
from yaoki.views.tasks import OFF_BRANCH, UNCHANGED

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
ORDER = ("ESCALATED", "ACTIVE", "WAITING", "CANCELLED", "REPLACED", "DONE")


def tasks_section(report: Data) -> Html:
    every = report["tasks"]
    places = {state: place for place, state in enumerate(ORDER)}
    ranked = sorted(every, key=lambda task: places.get(task["state"], 0))[:TASKS_MAX]
    known = task_titles(report)
    heads = [("task", ""), ("state", ""), ("attempts", "n"), ("agent time", "n")]
    # A column without a known value is left out.
    priced = report["numbers"]["cost"] is not None
    heads += [("cost", "n")] if priced else []
    heads += [("commit", ""), ("what happened", "")]
    asks = any(task["state"] == "ESCALATED" for task in every)
    return tag(
        "section",
        tag("h2", "Tasks", tag("small", "those that need you first") if asks else None),
        html_table(heads, [_row(task, _story(task, known), priced=priced) for task in ranked]),
        left_out_note(len(every), TASKS_MAX, "tasks, all listed in: yaoki report --format json"),
    )


def _row(task: Data, story: object, *, priced: bool) -> Html:
    word, tone = STATES[task["state"]]
    if task["state"] == "DONE" and not task["landed"]:
        word, tone = "… in its group", "wait"
    if task["on_branch"] is False:
        word, tone = "✕ not on the branch", "bad"
    tries = task["attempts"]
    spent = [one["agent_s"] for one in tries if one["agent_s"] is not None]
    costs = [one["cost"] for one in tries if one["cost"] is not None]
    ran = sum(one["agent_started"] for one in tries)
    cost = format_cost(sum(costs) if costs else None, ran - len(costs)) if ran else "–"
    proof = task["proof"]
    return tag(
        "tr",
        tag("th", task_title(task), scope="row"),
        tag("td", tag("span", word, class_=f"state {tone}")),
        tag("td", task["attempt"] or "–", class_="n", data_name="attempts"),
        tag(
            "td", format_duration(sum(spent)) if spent else "–", class_="n", data_name="agent time"
        ),
        tag("td", cost, class_="n", data_name="cost") if priced else None,
        tag("td", tag("code", proof["commit"][:10]) if proof else "–", data_name="commit"),
        tag("td", story, class_="why"),
    )


def _story(task: Data, known: Mapping[str, str]) -> object:
    """Why a task does not run; for a landed one, its earlier failures and a person's part in it."""
    if task["cause"]:
        needed = known.get(task["cause"], task["cause"])
        return f"{plain_words.describe_reason(task['reason'])}: needs {needed}"
    if task["state"] == "ESCALATED":
        return plain_words.describe_reason(task["reason"])
    if task["on_branch"] is False:
        return OFF_BRANCH
    tries = task["attempts"]
    fell = [_earlier_failures(one) for one in tries if one["ended"] and not one["landed"]]
    lines = [
        *fell[-3:],
        *(words for one in tries if one["landed"] for words in _attempt_trouble(one)),
    ]
    lines += _waived_checks(task["proof"])
    lines += _end(task, smoothly=not lines)
    return join_html(tag("div", one_line_text(line, 200)) for line in lines)


def _end(task: Data, *, smoothly: bool) -> Iterable[str]:
    """How the task landed, where that is notable."""
    if task["proof"] and task["proof"]["how"] == "UNCHANGED":
        yield UNCHANGED if task["kind"] == "change" else "checked"
    elif task["landed"]:
        by = {one["agent"] for one in task["attempts"] if one["landed"]}
        if by == {PERSON_AGENT}:
            yield "finished by a person"
        elif smoothly:
            yield "at the first attempt"


def _attempt_trouble(one: Data) -> Iterable[str]:
    """What went wrong in the attempt that landed."""
    said = f"attempt {one['attempt']}: "
    if one["agent_end"]:
        yield (
            f"{said}{plain_words.describe_agent_end(one['agent_end'])}; what it had done "
            f"was checked"
        )
    for asked in one["asked"]:
        then = plain_words.describe_choice(asked["choice"] or "")
        yield f"{said}{one_line_text(plain_words.describe_ending(asked['why']), 120)}; {then}"


def _waived_checks(proof: Data | None) -> Iterable[str]:
    checks = proof["checks"] if proof else ()
    waived = [check["check"] for check in checks if check["outcome"] == "WAIVED"]
    if waived:
        yield f"landed because a person waived {', '.join(waived[:5])}"


def _earlier_failures(one: Data) -> str:
    return f"attempt {one['attempt']}: {plain_words.describe_ending(one['ended'])}"


def saved_work_section(report: Data) -> Html | None:
    known = task_titles(report)
    places = {task: place for place, task in enumerate(known)}
    work = sorted(
        report["kept"]["work"], key=lambda one: (places.get(one["task"], 0), one["attempt"])
    )
    if not work:
        return None
    heads = [("task", ""), ("attempt", "n"), ("commit", ""), ("kept at", ""), ("bring it back", "")]
    rows = [
        tag(
            "tr",
            tag("th", known.get(one["task"], one_line_text(one["name"], 80)), scope="row"),
            tag("td", one["attempt"], class_="n", data_name="attempt"),
            tag("td", tag("code", one["commit"][:10]), data_name="commit"),
            tag(
                "td",
                tag("code", one_line_text(one["ref"], 120)),
                class_="long",
                data_name="kept at",
            ),
            tag("td", tag("code", one_line_text(one["command"], 200)), class_="long"),
        )
        for one in work[:SMALL_MAX]
    ]
    heading = tag("h2", "Kept work", tag("small", "of tasks that did not land; nothing is lost"))
    more = left_out_note(
        len(work) + report["kept"]["left_out"], SMALL_MAX, "of them: yaoki recover"
    )
    return tag("section", heading, html_table(heads, rows), more)


def conversations_section(report: Data) -> Html | None:
    """What agents reported about their sessions; empty where none reported anything."""
    told = all_conversations(report)
    if not told:
        return None
    heads = [
        ("task", ""),
        ("attempt", "n"),
        ("agent", ""),
        ("session", ""),
        ("cost", "n"),
        ("tokens", "n"),
    ]
    rows = [
        tag(
            "tr",
            tag("th", task_title(task), scope="row"),
            tag("td", one["attempt"], class_="n", data_name="attempt"),
            tag("td", one_line_text(one["agent"] or "–", 40), data_name="agent"),
            tag("td", _session(one), class_="long", data_name="session"),
            tag("td", format_cost(one["cost"]), class_="n", data_name="cost"),
            tag("td", format_tokens(one["tokens"]), class_="n", data_name="tokens"),
        )
        for task, one in told[:TASKS_MAX]
    ]
    heading = tag("h2", "Conversations", tag("small", "what each agent reported"))
    more = left_out_note(len(told), TASKS_MAX, "attempts: yaoki report --format json")
    return tag("section", heading, html_table(heads, rows), more)


def _session(one: Data) -> object:
    return tag("code", one_line_text(one["session"], 120)) if one["session"] else "unknown"
