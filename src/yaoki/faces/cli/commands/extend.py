"""`yaoki plan submit | extend | recheck | add-retry-task | complete`: the plan of a run changes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.app.plan_input import STDIN
from yaoki.core.model import Choice, State
from yaoki.core.redact import mask_values
from yaoki.core.text import format_count, list_some
from yaoki.errors import PlanInvalid
from yaoki.faces.cli.context import (
    CommandFunction,
    json_option,
    load_run_view,
    open_app,
    repo_option,
)
from yaoki.faces.cli.person_only import answer_channel, find_calling_task, refuse_agents
from yaoki.faces.cli.trust_question import trust_option
from yaoki.faces.text.render import (
    clean_line,
    print_document,
    print_next_command,
    print_wrapped,
)
from yaoki.views import SCHEMA
from yaoki.views.forecasts import forecast_document, forecast_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from yaoki.app.build import App
    from yaoki.core.model import Run, Task
    from yaoki.engine.commands.extend import PlanExtension
    from yaoki.engine.commands.recheck import Recheck
    from yaoki.ports import PlannerAnswer

NAMES_SHOWN = 5
FILE = click.Path(path_type=Path)


def planned_run_option(function: CommandFunction) -> CommandFunction:
    return click.option(
        "--run",
        "run_name",
        metavar="RUN",
        default="",
        envvar="YAOKI_RUN",
        help="The run; by default the newest.",
    )(function)


@click.command()
@click.argument("file", metavar="FILE", type=FILE)
@click.option("--phase", metavar="PHASE", default="", help="The deferred phase that FILE fills.")
@planned_run_option
@json_option
@repo_option
def submit(file: Path, phase: str, run_name: str, as_json: bool, repo: Path) -> int:
    """Submit a plan as a new run.

    A worker runs it.  With --phase, FILE fills a deferred phase of an existing run instead.
    """
    if not phase:
        return _submit_run(file, repo, as_json=as_json)
    with open_app(repo) as app:
        run = app.lookup.find_run(run_name)
        app.services.completion.expire(run.id)
        answer = _read_answer(app, run, file)
        extension = app.services.extend_command.fill_phase(run, phase, answer.specs)
        return _print_result(
            app, run, extension, f"phase {clean_line(phase)} is filled", as_json=as_json
        )


def _submit_run(file: Path, repo: Path, *, as_json: bool) -> int:
    from yaoki.app.forecast import forecast_plan
    from yaoki.app.submit import submit_plan
    from yaoki.faces.cli.plan_arguments import read_plan, require_plan_trust

    with open_app(repo, create=True) as app:
        plan = read_plan(app, file)
        require_plan_trust(app, str(file), plan)
        forecast = forecast_plan(app, plan)
        run = submit_plan(app, plan, file=str(file), forecast=forecast)
        if as_json:
            told = {"forecast": forecast_document(forecast)}
            print_document(
                {"schema": SCHEMA, "run": run.id, **told, "next": f"yaoki resume {run.id}"}
            )
            return 0
        print_wrapped(f"run {run.id}: submitted, {clean_line(run.goal, 120)}")
        for words in forecast_lines(forecast):
            print_wrapped(clean_line(words))
        print_next_command(f"yaoki resume {run.id}")
    return 0


@click.command()
@click.argument("file", metavar="FILE", type=FILE)
@planned_run_option
@json_option
@repo_option
def extend(file: Path, run_name: str, as_json: bool, repo: Path) -> int:
    """Add the tasks of FILE to a run.

    Some of them may replace failed tasks.
    """
    with open_app(repo) as app:
        run = app.lookup.find_run(run_name)
        answer = _read_answer(app, run, file)
        extension = app.services.extend_command.extend(
            run, answer.specs, answer.replaces, by_agent=find_calling_task(app) is not None
        )
        words = f"revision {extension.revision}, {format_count(len(extension.tasks), 'task')} added"
        return _print_result(app, run, extension, words, as_json=as_json)


@click.command("add-retry-task")
@click.option("--retry-of", metavar="TASK", required=True, help="The failed task.")
@click.argument("goal", nargs=-1)
@planned_run_option
@json_option
@repo_option
def add_retry_task(
    retry_of: str, goal: tuple[str, ...], run_name: str, as_json: bool, repo: Path
) -> int:
    """Replace a failed task.

    Tasks that need it can then run again.
    GOAL is the goal of the new task; by default that of the failed one.
    """
    from yaoki.faces.mcp.secrets import caller_secrets

    with open_app(repo) as app:
        task = app.reads.task(app.lookup.find_task(retry_of, run_name))
        run = app.reads.run(task.run_id)
        goal_text = mask_values(" ".join(goal), caller_secrets(app, os.environ))
        extension = app.services.extend_command.add_retry(
            task, goal_text, by_agent=find_calling_task(app) is not None
        )
        words = f"{task.id} is replaced by {extension.tasks[0]}"
        return _print_result(app, run, extension, words, as_json=as_json)


@click.command()
@planned_run_option
@json_option
@repo_option
def complete(run_name: str, as_json: bool, repo: Path) -> int:
    """Check that a run is complete.

    While a required task is open, the command is refused and lists what is open.
    """
    with open_app(repo) as app:
        run = app.lookup.find_run(run_name)
        app.services.extend_command.complete(run)
        app.services.completion.complete(run.id)
        view = load_run_view(app, app.reads.run(run.id))
        if as_json:
            document = {"run": run.id, "status": view.status.value, "next": view.next_command}
            print_document({"schema": SCHEMA, **document})
            return 0
        print_wrapped(f"run {run.id}: {view.status.value}")
        print_next_command(view.next_command)
    return 0


@click.command()
@click.argument("run", default="")
@click.option(
    "--plan", "file", metavar="FILE", type=FILE, help="Read this plan instead of the run's own."
)
@trust_option
@json_option
@repo_option
def recheck(run: str, file: Path | None, trust: bool, as_json: bool, repo: Path) -> int:
    """Apply changed checks, set-up commands and rules to RUN.

    They are read again from the plan and from yaoki.toml, and become the next revision of the run.
    The rules are these keys of a task that has not landed: scope, red, mutants, fixes, quality,
    may_change_nothing, allow_weaker_tests, allow_mass_deletion.  All other keys, such as goals and
    agents, count only in a new run.  If the run has ended and is not merged, the next merge
    verifies it with the new checks.
    """
    from yaoki.app.recheck import list_fixed_changes, read_plan_again
    from yaoki.faces.cli.plan_arguments import require_plan_trust

    with open_app(repo) as app:
        refuse_agents(app)
        found = app.lookup.find_run(run)
        plan, source = read_plan_again(app, found, file)
        require_plan_trust(app, str(source or STDIN), plan, trust=trust)
        app.preflight.check_references(plan)
        app.preflight.check_programs(plan, with_agents=False)
        plan = app.context.hidden_checks.freeze(plan)
        done = app.services.recheck_command.recheck(
            found,
            plan.catalogue.checks,
            plan.specs,
            answer_channel(),
            list_fixed_changes(app, found, plan),
        )
        view = load_run_view(app, app.reads.run(found.id))
        if as_json:
            document = {"run": found.id, "revision": done.revision, "checks": list(done.checks)}
            tasks = {"tasks": list(done.tasks), "next": view.next_command}
            keys = {"rules": _as_lists(done.rules), "ignored": _as_lists(done.ignored)}
            print_document({"schema": SCHEMA, **document, **keys, **tasks})
            return 0
        what = _revised_words(done)
        # The final check is a task only once it has begun.
        final_only = not done.tasks and bool(set(found.done_when) & set(done.checks))
        whom = "done_when" if final_only else format_count(len(done.tasks), "task")
        if not final_only and not done.tasks and view.unmerged_reverts:
            whom = "the merge of the undone work"
        print_wrapped(
            f"run {found.id}: revision {done.revision}, {clean_line(what, 200)} for {whom}"
        )
        _print_keys(done)
        print_next_command(_print_waiting(app, done) or view.next_command)
    return 0


def _as_lists(keys: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    return {name: list(names) for name, names in keys.items()}


def _revised_words(done: Recheck) -> str:
    checks = f"checks {', '.join(done.checks)}" if done.checks else ""
    setup = "set-up" if done.setup and not checks else ""
    return " and ".join(filter(None, (checks, setup, "rules" if done.rules else ""))) or "set-up"


def _print_keys(done: Recheck) -> None:
    """The keys of tasks that the run took over, and those that it cannot take over."""
    for name, keys in done.rules.items():
        print_wrapped(f"{clean_line(name, 60)}: {', '.join(keys)} taken over")
    kept = [f"{clean_line(name, 60)} ({', '.join(keys)})" for name, keys in done.ignored.items()]
    if kept:
        some = list_some(kept, NAMES_SHOWN)
        print_wrapped(f"not taken over: {some}; only a new run applies this")


def _print_waiting(app: App, done: Recheck) -> str:
    """Print how the tasks that wait for a person can continue; returns the first command."""
    rows = [app.reads.task(task_id) for task_id in done.tasks]
    asking = [task for task in rows if task.state is State.ESCALATED]
    if not asking:
        return ""
    with_work = [task for task in asking if _can_be_taken_over(task)]
    only_checks = [task for task in asking if not _can_be_taken_over(task)]
    new = "checks" if done.checks or done.setup or not done.rules else "rules"
    if with_work:
        print_wrapped(
            f"{_names(with_work)}: answer done to verify the work as it is with the new {new}, "
            "without an agent; retry lets the agent work again"
        )
    if only_checks:
        print_wrapped(f"{_names(only_checks)}: answer retry to run the new checks")
    first, answer = asking[0], "done" if asking[0] in with_work else "retry"
    return f"yaoki answer {first.id} {answer}"


def _can_be_taken_over(task: Task) -> bool:
    return task.question is not None and Choice.DONE in task.question.choices


def _names(tasks: Sequence[Task]) -> str:
    return list_some([clean_line(task.spec.name, 60) for task in tasks], NAMES_SHOWN)


def _read_answer(app: App, run: Run, file: Path) -> PlannerAnswer:
    """Tasks of a file, checked against the run like a planner's answer."""
    from yaoki.app.plan_input import read_plan_text
    from yaoki.faces.mcp.secrets import caller_secrets, mask_answer

    text, name = read_plan_text(file)
    answer = app.services.plan_answers.read_text(run, text, name)
    if answer.defects:
        words = f"{name}: {format_count(len(answer.defects), 'problem')} found; nothing was stored"
        raise PlanInvalid(words, hint=_fix_hint(run), defects=answer.defects)
    return mask_answer(answer, caller_secrets(app, os.environ))


def _fix_hint(run: Run) -> str:
    return f"fix it and submit it again; the tasks of the run: yaoki status {run.id}"


def _print_result(
    app: App, run: Run, extension: PlanExtension, words: str, *, as_json: bool
) -> int:
    view = load_run_view(app, app.reads.run(run.id))
    if as_json:
        document = {"run": run.id, "revision": extension.revision, "tasks": list(extension.tasks)}
        print_document({"schema": SCHEMA, **document, "next": view.next_command})
        return 0
    print_wrapped(f"run {run.id}: {words}")
    print_next_command(view.next_command)
    return 0
