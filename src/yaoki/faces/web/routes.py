"""The table of routes with their parameters and response schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Choice
from yaoki.faces.web import actions, graph, journal, overview, reports, runs, tasks
from yaoki.faces.web.graph import EncodedDocument
from yaoki.faces.web.parameters import PageRequest, Parameter
from yaoki.faces.web.reports import Download
from yaoki.faces.web.request_context import RequestContext

BASE = "/api/v1"
SEQ_MAX = 10**18
PIECE_MAX = 1 << 20


RouteFunction = Callable[
    [RequestContext, PageRequest], Mapping[str, Any] | Download | EncodedDocument
]


@dataclass(frozen=True, slots=True)
class Route:
    """One route; without `function` the application itself answers."""

    path: str
    summary: str
    response_schema: str
    function: RouteFunction | None
    query: tuple[Parameter, ...] = ()
    body: tuple[Parameter, ...] | None = None
    method: str = "GET"
    media_types: tuple[str, ...] = ("application/json",)

    @property
    def operation_id(self) -> str:
        """The OpenAPI operation id, such as `get_runs_run_tasks`."""
        words = self.path.replace("{", "").replace("}", "").replace(".", "_").replace("-", "_")
        return self.method.lower() + words.replace("/", "_")


def _limit(default: int, high: int) -> Parameter:
    return Parameter("limit", "The maximum number of entries.", "integer", default, 1, high)


CURSOR = Parameter("cursor", "The `next_cursor` of the page before.", maximum=200)
STATE = Parameter("state", "Only these states.", default=(), allowed=runs.STATES, is_list=True)
TEXT = Parameter("text", "Only entries that contain this text, ignoring case.", maximum=200)
STAT = Parameter("stat", "Only the files and the size of their changes.", "boolean", False)
WORDS = Parameter("words", "A message to the agent of the next attempt.")


def _bytes(default: int) -> Parameter:
    return Parameter("bytes", "The maximum number of bytes.", "integer", default, 1, PIECE_MAX)


LOG = (
    Parameter("file", "One of the attempt's logs.", default="out", maximum=300),
    Parameter("from", "The byte to begin at; by default the tail.", "integer", -1, 0, SEQ_MAX),
    _bytes(65_536),
)
JOURNAL = (
    Parameter("run", "Only entries of this run.", maximum=200),
    Parameter("task", "Only entries of this task.", maximum=200),
    Parameter("event", "Only these events.", default=(), is_list=True),
    TEXT,
    Parameter("after", "Oldest first, after this `seq`; by default newest first.", maximum=200),
    CURSOR,
    _limit(100, 1000),
)
EVENTS = (
    Parameter(
        "after",
        "Continue after this `seq`; by default only new entries.",
        "integer",
        -1,
        0,
        SEQ_MAX,
    ),
    Parameter("run", "Only entries of this run.", maximum=200),
)
ANSWER = (
    Parameter("choice", "Your answer.", default=None, allowed=tuple(c.value for c in Choice)),
    WORDS,
    Parameter("check", "The check to waive.", maximum=200),
)
IDS = Parameter("ids", "Only these tasks.", default=(), is_list=True)
POINTS = Parameter("points", "The maximum number of points.", "integer", 200, 2, 1000)
FORMAT = Parameter(
    "format", "The format of the file.", default="html", allowed=("html", "markdown", "json")
)
CASCADE = Parameter("cascade", "Also undo the tasks that depend on it.", "boolean", False)
REPORTS = ("text/html", "text/markdown", "application/json")

_RUN, _TASK, _TRY = "/runs/{run}", "/tasks/{task}", "/tasks/{task}/attempts/{attempt}"

ROUTES: tuple[Route, ...] = (
    Route(
        "/session",
        "The session: permission, version and repository.",
        "Session",
        overview.get_session,
    ),
    Route("/session", "Delete the session cookie.", "", None, method="DELETE", media_types=()),
    Route("/runs", "Runs, newest first.", "Runs", runs.get_runs, (CURSOR, _limit(50, 100))),
    Route(_RUN, "The state of a run.", "RunHead", runs.get_run),
    Route(
        f"{_RUN}/tasks",
        "Its tasks, in the order of the plan.",
        "Tasks",
        runs.get_tasks,
        (STATE, TEXT, IDS, CURSOR, _limit(100, 1000)),
    ),
    Route(f"{_RUN}/graph", "All tasks and their needs, compact.", "Graph", graph.get_graph),
    Route(
        f"{_RUN}/timeline",
        "Attempts, stages and waits with their causes.",
        "Timeline",
        runs.get_timeline,
        (STATE, TEXT, CURSOR, _limit(100, 500)),
    ),
    Route(
        f"{_RUN}/burndown",
        "Open work and cost over time.",
        "Burndown",
        runs.get_burndown,
        (POINTS,),
    ),
    Route(f"{_RUN}/report", "The report.", "", reports.get_report, (FORMAT,), media_types=REPORTS),
    Route(_TASK, "The state of a task, and why.", "TaskStory", tasks.get_task),
    Route(_TRY, "One attempt: prompt, agent run, findings, logs.", "Attempt", tasks.get_attempt),
    Route(f"{_TRY}/log", "A piece of one of its logs.", "Log", tasks.get_log, LOG),
    Route(
        f"{_TRY}/diff",
        "The attempt's changes against its base.",
        "Diff",
        tasks.get_attempt_diff,
        (STAT, _bytes(262_144)),
    ),
    Route(
        f"{_TASK}/diff",
        "The task's landed changes, or those of its last attempt.",
        "Diff",
        tasks.get_diff,
        (STAT, _bytes(262_144)),
    ),
    Route("/journal", "The journal, with filters.", "Journal", journal.get_journal, JOURNAL),
    Route("/journal/{seq}", "One complete entry.", "JournalEntry", journal.get_entry),
    Route("/needs-you", "Questions of all runs.", "NeedsYou", overview.get_needs_you),
    Route("/workers", "The workers of the store.", "Workers", overview.get_workers),
    Route(
        "/limits", "Limited accounts, budgets and free disk space.", "Limits", overview.get_limits
    ),
    Route(
        "/prompts", "How often each prompt fixed which failure.", "Prompts", overview.get_prompts
    ),
    Route("/reliability", "Faults that did no harm.", "Reliability", overview.get_reliability),
    Route("/config", "Every setting and its origin.", "Config", overview.get_config),
    Route("/events", "The journal, live.", "", None, EVENTS, media_types=("text/event-stream",)),
    Route("/openapi.json", "This document.", "OpenApi", None),
    Route(
        f"{_TASK}/answer",
        "Answer an escalated task.",
        "Answered",
        actions.post_answer,
        (),
        ANSWER,
        "POST",
    ),
    Route(f"{_TASK}/retry", "Retry a task.", "Answered", actions.post_retry, (), (WORDS,), "POST"),
    Route(
        f"{_TASK}/cancel", "Cancel a task.", "Cancelled", actions.post_cancel_task, (), (), "POST"
    ),
    Route(
        f"{_TASK}/undo", "Undo a landed task.", "Undone", actions.post_undo, (), (CASCADE,), "POST"
    ),
    Route(
        f"{_RUN}/cancel", "Cancel the run.", "Cancelled", actions.post_cancel_run, (), (), "POST"
    ),
    Route(
        f"{_RUN}/go", "Let a paused run continue.", "Went", actions.post_go, (), (WORDS,), "POST"
    ),
)
