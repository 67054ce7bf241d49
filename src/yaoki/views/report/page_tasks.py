"""The tables of the page: tasks, kept work, conversations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaoki.core.model import DONE_WHEN
from yaoki.core.rules import PERSON
from yaoki.views.report import plainly
from yaoki.views.report.markup import Html, joined, tag
from yaoki.views.report.page_parts import SMALL_MAX, left, table
from yaoki.views.report.words import amount, duration, money, text
from yaoki.views.report.words import conversations as all_conversations
from yaoki.views.tasks import OFF_BRANCH

TASKS_MAX = 400
Data = Mapping[str, Any]
# The word for each state, and its tone; the word alone says it, the tone only helps.
STATES: Mapping[str, tuple[str, str]] = {
    "DONE": ("✓ done", "good"),
    "ESCALATED": ("? needs you", "bad"),
    "ACTIVE": ("▸ at work", "wait"),
    "WAITING": ("… waiting", "wait"),
    "CANCELLED": ("✕ cancelled", "calm"),
    "REPLACED": ("↪ replaced", "calm"),
}
ORDER = ("ESCALATED", "ACTIVE", "WAITING", "CANCELLED", "REPLACED", "DONE")


def tasks(report: Data) -> Html:
    every = report["tasks"]
    places = {state: place for place, state in enumerate(ORDER)}
    ranked = sorted(every, key=lambda task: places.get(task["state"], 0))[:TASKS_MAX]
    names = {task["id"]: task["name"] for task in every}
    heads = [("task", ""), ("state", ""), ("attempts", "n"), ("agent time", "n")]
    # A column of which nothing is known says nothing.
    priced = report["numbers"]["cost"] is not None
    heads += [("cost", "n")] if priced else []
    heads += [("commit", ""), ("what happened", "")]
    return tag(
        "section",
        tag("h2", "Tasks", tag("small", "those that need you first")),
        table(heads, [_row(task, _story(task, names), priced=priced) for task in ranked]),
        left(len(every), TASKS_MAX, "tasks, all of which stand in: yaoki report --format json"),
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
    untold = len(spent) - len(costs)
    cost = money(sum(costs) if costs else None, untold) if spent else "–"
    proof = task["proof"]
    return tag(
        "tr",
        tag("th", _called(task), scope="row"),
        tag("td", tag("span", word, class_=f"state {tone}")),
        tag("td", task["attempt"] or "–", class_="n", data_name="attempts"),
        tag("td", duration(sum(spent)) if spent else "–", class_="n", data_name="agent time"),
        tag("td", cost, class_="n", data_name="cost") if priced else None,
        tag("td", tag("code", proof["commit"][:10]) if proof else "–", data_name="commit"),
        tag("td", story, class_="why"),
    )


def _called(task: Data) -> str:
    """The proof of the whole run is no task of anybody's plan."""
    whole = task["kind"] == "check" and task["name"].startswith(DONE_WHEN)
    return "the whole, proven once more" if whole else text(task["name"], 80)


def _story(task: Data, names: Mapping[str, str]) -> object:
    """Why it rests; of what landed, the falls before it."""
    if task["cause"]:
        needed = text(names.get(task["cause"], task["cause"]), 80)
        return f"{plainly.reason(task['reason'])}: needs {needed}"
    if task["state"] == "ESCALATED":
        return plainly.reason(task["reason"])
    if task["on_branch"] is False:
        return OFF_BRANCH
    fell = [one for one in task["attempts"] if one["ended"] and not one["landed"]]
    if task["proof"] and task["proof"]["how"] == "UNCHANGED":
        return "nothing to change: its checks pass" if task["kind"] == "change" else "checked"
    if not fell and task["landed"]:
        by = {one["agent"] for one in task["attempts"] if one["landed"]}
        return "finished by a person" if by == {PERSON} else "at the first attempt"
    return joined(tag("div", text(_fell(one), 200)) for one in fell[-3:])


def _fell(one: Data) -> str:
    return f"attempt {one['attempt']}: {plainly.ending(one['ended'])}"


def kept(report: Data) -> Html | None:
    work = report["kept"]["work"]
    if not work:
        return None
    heads = [("task", ""), ("attempt", "n"), ("commit", ""), ("kept at", ""), ("bring it back", "")]
    rows = [
        tag(
            "tr",
            tag("th", text(one["name"], 80), scope="row"),
            tag("td", one["attempt"], class_="n", data_name="attempt"),
            tag("td", tag("code", one["commit"][:10]), data_name="commit"),
            tag("td", tag("code", text(one["ref"], 120)), class_="long", data_name="kept at"),
            tag("td", tag("code", text(one["command"], 200)), class_="long"),
        )
        for one in work[:SMALL_MAX]
    ]
    heading = tag("h2", "Kept work", tag("small", "of tasks that did not land; nothing is lost"))
    more = left(len(work) + report["kept"]["left_out"], SMALL_MAX, "of them: yaoki recover")
    return tag("section", heading, table(heads, rows), more)


def conversations(report: Data) -> Html | None:
    """What agents told of themselves; silent where none told anything."""
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
            tag("th", text(task["name"], 80), scope="row"),
            tag("td", one["attempt"], class_="n", data_name="attempt"),
            tag("td", text(one["agent"] or "–", 40), data_name="agent"),
            tag("td", _session(one), class_="long", data_name="session"),
            tag("td", money(one["cost"]), class_="n", data_name="cost"),
            tag("td", amount(one["tokens"]), class_="n", data_name="tokens"),
        )
        for task, one in told[:TASKS_MAX]
    ]
    heading = tag("h2", "Conversations", tag("small", "what each agent told of itself"))
    more = left(len(told), TASKS_MAX, "attempts: yaoki report --format json")
    return tag("section", heading, table(heads, rows), more)


def _session(one: Data) -> object:
    return tag("code", text(one["session"], 120)) if one["session"] else "unknown"
