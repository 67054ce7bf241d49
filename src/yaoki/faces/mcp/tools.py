"""The tools; each calls the same functions as the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from yaoki.adapters.agents.result_file import ResultStatus
from yaoki.app.plan_input import read_plan
from yaoki.app.run_view import ATTEMPTS_SHOWN, explain_task, view_run, with_landing_facts
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import Pause, PauseCause
from yaoki.core.redact import mask_values
from yaoki.errors import PlanInvalid
from yaoki.faces.mcp import arguments as of
from yaoki.faces.mcp.call_context import CallContext, read_tasks, write_temporary_file
from yaoki.faces.mcp.results import ResultClaim, claim_defect, submit_claim
from yaoki.faces.mcp.secrets import caller_secrets, mask_answer, refuse_secrets_in_plan
from yaoki.faces.text.render import most_important_tasks
from yaoki.views import SCHEMA, explanation_document, status_document
from yaoki.views.documents import Document

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run
    from yaoki.engine.commands.extend import PlanExtension

APPROVAL = Pause(PauseCause.APPROVAL, "an agent submitted this plan; it waits for your approval")


def result(context: CallContext, arguments: of.ResultArguments) -> Document:
    """Report how your attempt ended. `done` proves nothing: the checks decide. After `failed` the
    task is retried, and the next attempt gets your summary. `conflict` (the task and its checks
    contradict each other) and `question` go to a person. The last report counts."""
    given = arguments.model_fields_set
    return _record_result(
        context,
        ResultClaim(
            ResultStatus(arguments.status),
            arguments.summary,
            arguments.question,
            arguments.retry_safe if "retry_safe" in given else None,
            arguments.partial_changes,
            arguments.retry_after_s if "retry_after_s" in given else None,
        ),
    )


def ask(context: CallContext, arguments: of.AskArguments) -> Document:
    """Ask a person one question. Your attempt ends; the next attempt gets the answer."""
    return _record_result(context, ResultClaim(ResultStatus.QUESTION, question=arguments.question))


def _record_result(context: CallContext, claim: ResultClaim) -> Document:
    if wrong := claim_defect(claim):
        raise PlanInvalid(f"result: {wrong}", hint="nothing was recorded; call again")
    caller = submit_claim(context, claim)
    attempt = {"task": caller.task_id, "attempt": caller.attempt, "epoch": caller.epoch}
    return {"schema": SCHEMA, **attempt, "status": claim.status, "noted": True}


def status(context: CallContext, arguments: of.StatusArguments) -> Document:
    """The status of the run, and each task with its state, attempt and question."""
    with context.open_app("status") as app:
        view = with_landing_facts(app, view_run(app, context.find_run(app, arguments.run)))
    document = status_document(view)
    shown = {task.row.id for task in most_important_tasks(view)}
    tasks = [task for task in document["tasks"] if task["id"] in shown]
    return {**document, "tasks": tasks, "tasks_left_out": len(document["tasks"]) - len(tasks)}


def why(context: CallContext, arguments: of.WhyArguments) -> Document:
    """Explain the state of a task: the newest decisions with their rules, and each attempt."""
    with context.open_app("why") as app:
        task_id = app.lookup.find_task(arguments.task, context.find_run(app, arguments.run).id)
        document = explanation_document(explain_task(app, task_id))
    newest = {name: document[name][:ATTEMPTS_SHOWN] for name in ("decisions", "answers")}
    return {**document, **newest, "attempts": document["attempts"][-ATTEMPTS_SHOWN:]}


def submit(context: CallContext, arguments: of.SubmitArguments) -> Document:
    """Fill a deferred phase of the run with tasks (phase and tasks), or submit a whole new plan
    (plan), which runs only after a person has approved it."""
    if (arguments.plan is None) == (not arguments.phase) or bool(arguments.tasks) != bool(
        arguments.phase
    ):
        raise PlanInvalid("submit takes plan, or phase with tasks", hint="pass one of the two")
    if arguments.plan is not None:
        return _submitted(context, arguments.plan)
    with context.open_app("submit") as app:
        run = context.find_run(app, arguments.run)
        answer = mask_answer(
            read_tasks(app, run, arguments.tasks), caller_secrets(app, context.environ)
        )
        return _extension_document(
            app, run, app.services.extend_command.fill_phase(run, arguments.phase, answer.specs)
        )


def _submitted(context: CallContext, plan: Mapping[str, Any]) -> Document:
    from yaoki.app.submit import submit_plan

    with context.open_app("submit", create=True) as app:
        safe = refuse_secrets_in_plan(plan, caller_secrets(app, context.environ))
        with write_temporary_file(safe, "plan.json") as file:
            run = submit_plan(app, read_plan(app, file), approved=False)
        # An agent wrote its commands, so a person must approve them before any of them runs.
        app.store.pause(run.id, APPROVAL)
    return {
        "schema": SCHEMA,
        "run": run.id,
        "paused": str(APPROVAL),
        "next": f"yaoki answer {run.id} go",
    }


def extend(context: CallContext, arguments: of.ExtendArguments) -> Document:
    """Add tasks to the run; one with `replaces` replaces a failed one. All or nothing."""
    with context.open_app("extend") as app:
        run = context.find_run(app, arguments.run)
        answer = mask_answer(
            read_tasks(app, run, arguments.tasks), caller_secrets(app, context.environ)
        )
        by_agent = context.caller is not None
        return _extension_document(
            app,
            run,
            app.services.extend_command.extend(
                run, answer.specs, answer.replaces, by_agent=by_agent
            ),
        )


def add_retry_task(context: CallContext, arguments: of.AddRetryTaskArguments) -> Document:
    """Replace a failed task by a new one; tasks that need it can then run."""
    with context.open_app("add_retry_task") as app:
        run = context.find_run(app, arguments.run)
        task = app.reads.task(app.lookup.find_task(arguments.task, run.id))
        context.find_run(app, task.run_id)
        goal = mask_values(arguments.goal, caller_secrets(app, context.environ))
        extension = app.services.extend_command.add_retry(
            task, goal, by_agent=context.caller is not None
        )
        return _extension_document(app, app.reads.run(task.run_id), extension)


def complete(context: CallContext, arguments: of.CompleteArguments) -> Document:
    """Report that the run is complete. While a required task is open, this is refused, and the
    open tasks are listed. The status is derived, never set."""
    with context.open_app("complete") as app:
        run = context.find_run(app, arguments.run)
        app.services.extend_command.complete(run)
        app.services.completion.complete(run.id)
        view = view_run(app, app.reads.run(run.id))
    return {"schema": SCHEMA, "run": run.id, "status": view.status.value, "next": view.next_command}


def _extension_document(app: App, run: Run, extension: PlanExtension) -> Document:
    view = view_run(app, app.reads.run(run.id))
    document = {"run": run.id, "revision": extension.revision, "tasks": list(extension.tasks)}
    return {"schema": SCHEMA, **document, "next": view.next_command}


@dataclass(frozen=True, slots=True)
class McpTool:
    """A tool's arguments and the function behind it, whose docstring the agent reads."""

    arguments: type[of.ToolArguments]
    function: Callable[[CallContext, Any], Document]
    is_read_only: bool = False

    def call(self, context: CallContext, arguments: Mapping[str, Any]) -> Document:
        return self.function(
            context, of.read_arguments(self.arguments, arguments, self.function.__name__)
        )

    def document(self) -> Document:
        function = self.function
        return {
            "name": function.__name__,
            "description": " ".join((function.__doc__ or "").split()),
            "inputSchema": of.arguments_schema(self.arguments),
            "annotations": {"readOnlyHint": self.is_read_only, "openWorldHint": False},
        }


TOOLS: Mapping[str, McpTool] = {
    tool.function.__name__: tool
    for tool in (
        McpTool(of.ResultArguments, result),
        McpTool(of.AskArguments, ask),
        McpTool(of.StatusArguments, status, is_read_only=True),
        McpTool(of.WhyArguments, why, is_read_only=True),
        McpTool(of.SubmitArguments, submit),
        McpTool(of.ExtendArguments, extend),
        McpTool(of.AddRetryTaskArguments, add_retry_task),
        McpTool(of.CompleteArguments, complete),
    )
}
