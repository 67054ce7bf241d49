"""The table of routes: what is asked where, with which parameters, answered by which shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from yaoki.core.model import Choice
from yaoki.faces.web import actions, graph, journal, overview, reports, runs, tasks
from yaoki.faces.web.graph import Written
from yaoki.faces.web.parameters import Asked, Param
from yaoki.faces.web.reports import Download
from yaoki.faces.web.request_context import Desk

BASE = "/api/v1"
SEQ_MAX = 10**18
PIECE_MAX = 1 << 20


Call = Callable[[Desk, Asked], Mapping[str, Any] | Download | Written]


@dataclass(frozen=True, slots=True)
class Route:
    """`call` is empty for what the application itself answers; `media` is JSON unless it says."""

    path: str
    summary: str
    answer: str
    call: Call | None
    query: tuple[Param, ...] = ()
    body: tuple[Param, ...] | None = None
    method: str = "GET"
    media: tuple[str, ...] = ("application/json",)

    @property
    def name(self) -> str:
        """The operation's id: `get_runs_run_tasks`."""
        words = self.path.replace("{", "").replace("}", "").replace(".", "_").replace("-", "_")
        return self.method.lower() + words.replace("/", "_")


def _limit(default: int, high: int) -> Param:
    return Param("limit", "How many at most.", "integer", default, 1, high)


CURSOR = Param("cursor", "The `next_cursor` of the page before.", high=200)
STATE = Param("state", "Only these states.", default=(), words=runs.STATES, many=True)
TEXT = Param("text", "Only what has this text in it, in any case.", high=200)
STAT = Param("stat", "Only the files and how much of each.", "boolean", False)
WORDS = Param("words", "For the agent of the next attempt.")


def _bytes(default: int) -> Param:
    return Param("bytes", "How many bytes at most.", "integer", default, 1, PIECE_MAX)


LOG = (
    Param("file", "One of the attempt's logs.", default="out", high=300),
    Param("from", "The byte to begin at; the tail unless named.", "integer", -1, 0, SEQ_MAX),
    _bytes(65_536),
)
JOURNAL = (
    Param("run", "Only of this run.", high=200),
    Param("task", "Only of this task.", high=200),
    Param("event", "Only these events.", default=(), many=True),
    TEXT,
    Param("after", "Oldest first, after this `seq`; newest first unless named.", high=200),
    CURSOR,
    _limit(100, 1000),
)
EVENTS = (
    Param("after", "Go on after this `seq`; from now on unless named.", "integer", -1, 0, SEQ_MAX),
    Param("run", "Only of this run.", high=200),
)
ANSWER = (
    Param("choice", "What you decide.", default=None, words=tuple(c.value for c in Choice)),
    WORDS,
    Param("check", "The check to waive.", high=200),
)
IDS = Param("ids", "Only these tasks.", default=(), many=True)
POINTS = Param("points", "How many points at most.", "integer", 200, 2, 1000)
FORMAT = Param("format", "Which file.", default="html", words=("html", "markdown", "json"))
CASCADE = Param("cascade", "Take back what stands on it as well.", "boolean", False)
REPORTS = ("text/html", "text/markdown", "application/json")

_RUN, _TASK, _TRY = "/runs/{run}", "/tasks/{task}", "/tasks/{task}/attempts/{attempt}"

ROUTES: tuple[Route, ...] = (
    Route("/session", "Who asks, and what is served.", "Session", overview.session),
    Route("/session", "Forget the cookie.", "", None, method="DELETE", media=()),
    Route("/runs", "Runs, newest first.", "Runs", runs.listed, (CURSOR, _limit(50, 100))),
    Route(_RUN, "How a run stands.", "RunHead", runs.one),
    Route(
        f"{_RUN}/tasks",
        "Its tasks, in the order of the plan.",
        "Tasks",
        runs.tasks,
        (STATE, TEXT, IDS, CURSOR, _limit(100, 1000)),
    ),
    Route(f"{_RUN}/graph", "All tasks and their needs, compact.", "Graph", graph.graph),
    Route(
        f"{_RUN}/timeline",
        "Attempts, stages and waits with their causes.",
        "Timeline",
        runs.timeline,
        (STATE, TEXT, CURSOR, _limit(100, 500)),
    ),
    Route(
        f"{_RUN}/burndown", "Open work and cost over time.", "Burndown", runs.burndown, (POINTS,)
    ),
    Route(f"{_RUN}/report", "The report.", "", reports.report, (FORMAT,), media=REPORTS),
    Route(_TASK, "Where a task stands, and why.", "TaskStory", tasks.one),
    Route(_TRY, "What one attempt was told, did and left.", "Attempt", tasks.attempt),
    Route(f"{_TRY}/log", "A piece of one of its logs.", "Log", tasks.log, LOG),
    Route(
        f"{_TRY}/diff",
        "What it left, against its base.",
        "Diff",
        tasks.diff_of_attempt,
        (STAT, _bytes(262_144)),
    ),
    Route(
        f"{_TASK}/diff",
        "What the task landed, or left last.",
        "Diff",
        tasks.diff,
        (STAT, _bytes(262_144)),
    ),
    Route("/journal", "The journal, with filters.", "Journal", journal.listed, JOURNAL),
    Route("/journal/{seq}", "One entry, whole.", "JournalEntry", journal.one),
    Route("/needs-you", "Questions of all runs.", "NeedsYou", overview.needs_you),
    Route("/workers", "Who serves the store.", "Workers", overview.workers),
    Route("/limits", "Accounts that wait, budgets, room.", "Limits", overview.limits),
    Route("/prompts", "Which prompt cured which failure.", "Prompts", overview.prompts),
    Route("/reliability", "What was survived.", "Reliability", overview.reliability),
    Route("/config", "Every setting and its origin.", "Config", overview.config),
    Route("/events", "The journal, live.", "", None, EVENTS, media=("text/event-stream",)),
    Route("/openapi.json", "This document.", "OpenApi", None),
    Route(f"{_TASK}/answer", "Answer it.", "Answered", actions.answer, (), ANSWER, "POST"),
    Route(f"{_TASK}/retry", "Let it try again.", "Answered", actions.retry, (), (WORDS,), "POST"),
    Route(f"{_TASK}/cancel", "End it.", "Cancelled", actions.cancel_task, (), (), "POST"),
    Route(f"{_TASK}/undo", "Take it back.", "Undone", actions.undo, (), (CASCADE,), "POST"),
    Route(f"{_RUN}/cancel", "End the run.", "Cancelled", actions.cancel_run, (), (), "POST"),
    Route(f"{_RUN}/go", "Yes to a paused run.", "Went", actions.go, (), (WORDS,), "POST"),
)
