"""The tools: each a thin call of what the command line calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from yaoki.core.redact import mask_values
from yaoki.errors import PlanInvalid
from yaoki.faces.cli.commands.plans import read_plan
from yaoki.faces.cli.commands.why import TRIES_SHOWN, explained
from yaoki.faces.cli.context import look
from yaoki.faces.cli.text.render import foremost
from yaoki.faces.mcp import arguments as of
from yaoki.faces.mcp.call_context import Desk, as_file, tasks_in
from yaoki.faces.mcp.results import Said, defect, tell
from yaoki.faces.mcp.secrets import confided, plan_safely, told_safely
from yaoki.views import SCHEMA, explanation_document, status_document

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import Run
    from yaoki.engine.commands.extend import Made

Document = dict[str, Any]
APPROVAL = "approval: an agent submitted this plan; it waits for your yes"


def result(desk: Desk, given: of.OfResult) -> Document:
    """Say how your attempt ended. `done` proves nothing: the checks decide. `failed` is tried
    again with your summary; `conflict` (the task and its checks contradict each other) and
    `question` go to a person. The last one counts."""
    said = given.model_fields_set
    return _noted(
        desk,
        Said(
            given.status,
            given.summary,
            given.question,
            given.retry_safe if "retry_safe" in said else None,
            given.partial_changes,
            given.retry_after_s if "retry_after_s" in said else None,
        ),
    )


def ask(desk: Desk, given: of.OfAsk) -> Document:
    """Hand one question to a person. Your attempt ends; the answer comes with the next one."""
    return _noted(desk, Said("question", question=given.question))


def _noted(desk: Desk, said: Said) -> Document:
    if wrong := defect(said):
        raise PlanInvalid(f"result: {wrong}", hint="nothing was noted; call again")
    caller = tell(desk, said)
    told = {"task": caller.task_id, "attempt": caller.attempt, "epoch": caller.epoch}
    return {"schema": SCHEMA, **told, "status": said.status, "noted": True}


def status(desk: Desk, given: of.OfStatus) -> Document:
    """How the run stands: its status, and each task with its state, attempt and question."""
    with desk.opened("status") as app:
        view = look(app, desk.run(app, given.run))
    document = status_document(view)
    shown = {task.row.id for task in foremost(view)}
    tasks = [task for task in document["tasks"] if task["id"] in shown]
    return {**document, "tasks": tasks, "tasks_left_out": len(document["tasks"]) - len(tasks)}


def why(desk: Desk, given: of.OfWhy) -> Document:
    """Why a task stands where it stands: the newest decisions with their rule, and each attempt."""
    with desk.opened("why") as app:
        task_id = app.naming.task(given.task, desk.run(app, given.run).id)
        document = explanation_document(explained(app, task_id))
    newest = {"decisions": document["decisions"][:TRIES_SHOWN]}
    return {**document, **newest, "attempts": document["attempts"][-TRIES_SHOWN:]}


def submit(desk: Desk, given: of.OfSubmit) -> Document:
    """Fill a deferred phase of the run with tasks (phase and tasks), or submit a whole new plan
    (plan), which waits for a person's yes before anything of it runs."""
    if (given.plan is None) == (not given.phase) or bool(given.tasks) != bool(given.phase):
        raise PlanInvalid("submit: give either plan, or phase with tasks", hint="one of the two")
    if given.plan is not None:
        return _submitted(desk, given.plan)
    with desk.opened("submit") as app:
        run = desk.run(app, given.run)
        answer = told_safely(tasks_in(app, run, given.tasks), confided(app, desk.environ))
        return _grown(app, run, app.growth.fill(run, given.phase, answer.specs))


def _submitted(desk: Desk, plan: Mapping[str, Any]) -> Document:
    with desk.opened("submit", create=True) as app:
        safe = plan_safely(plan, confided(app, desk.environ))
        with as_file(safe, "plan.json") as file:
            run = app.submit(read_plan(app, file), approved=False)
        # Its commands are an agent's: a person reads them before any of them runs.
        app.store.pause(run.id, APPROVAL)
    return {
        "schema": SCHEMA,
        "run": run.id,
        "paused": APPROVAL,
        "next": f"yaoki answer {run.id} go",
    }


def extend(desk: Desk, given: of.OfExtend) -> Document:
    """Add tasks to the run; one with `replaces` takes the place of a failed one. All or nothing."""
    with desk.opened("extend") as app:
        run = desk.run(app, given.run)
        answer = told_safely(tasks_in(app, run, given.tasks), confided(app, desk.environ))
        by_agent = desk.caller is not None
        return _grown(
            app, run, app.growth.extend(run, answer.specs, answer.replaces, by_agent=by_agent)
        )


def add_retry_task(desk: Desk, given: of.OfAddRetryTask) -> Document:
    """Put another task in the place of a failed one; whoever waited for it is revived."""
    with desk.opened("add_retry_task") as app:
        run = desk.run(app, given.run)
        task = app.store.task(app.naming.task(given.task, run.id))
        desk.run(app, task.run_id)
        goal = mask_values(given.goal, confided(app, desk.environ))
        made = app.growth.add_retry(task, goal, by_agent=desk.caller is not None)
        return _grown(app, app.store.run(task.run_id), made)


def complete(desk: Desk, given: of.OfComplete) -> Document:
    """Say that the run is complete. Refused with the list while anything required is open; the
    status is derived, never given."""
    with desk.opened("complete") as app:
        run = desk.run(app, given.run)
        app.growth.complete(run)
        app.closing.rests(run.id)
        view = look(app, app.store.run(run.id))
    return {"schema": SCHEMA, "run": run.id, "status": view.status.value, "next": view.next}


def _grown(app: App, run: Run, made: Made) -> Document:
    view = look(app, app.store.run(run.id))
    told = {"run": run.id, "revision": made.revision, "tasks": list(made.tasks)}
    return {"schema": SCHEMA, **told, "next": view.next}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool's arguments and the function behind it, whose docstring the agent reads."""

    shape: type[of.Arguments]
    function: Callable[[Desk, Any], Document]
    reads: bool = False

    def call(self, desk: Desk, given: Mapping[str, Any]) -> Document:
        return self.function(desk, of.read(self.shape, given, self.function.__name__))

    def document(self) -> Document:
        function = self.function
        return {
            "name": function.__name__,
            "description": " ".join((function.__doc__ or "").split()),
            "inputSchema": of.schema(self.shape),
            "annotations": {"readOnlyHint": self.reads, "openWorldHint": False},
        }


TOOLS: Mapping[str, Tool] = {
    tool.function.__name__: tool
    for tool in (
        Tool(of.OfResult, result),
        Tool(of.OfAsk, ask),
        Tool(of.OfStatus, status, reads=True),
        Tool(of.OfWhy, why, reads=True),
        Tool(of.OfSubmit, submit),
        Tool(of.OfExtend, extend),
        Tool(of.OfAddRetryTask, add_retry_task),
        Tool(of.OfComplete, complete),
    )
}
