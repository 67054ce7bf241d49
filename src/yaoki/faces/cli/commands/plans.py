"""`yaoki plan` and `yaoki schema`: plans before they run."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from yaoki.core.decide.baseline import has_all_names
from yaoki.core.model import BaselineMode, CriterionLevel, Finding, Outcome, TaskKind
from yaoki.core.text import first_line, format_count, list_some, nearest
from yaoki.faces.cli.agent_rights import describe_rights, print_rights
from yaoki.faces.cli.commands import extend, flaky, imports
from yaoki.faces.cli.context import FILE, agent_option, json_option, repo_option
from yaoki.faces.cli.plan_arguments import open_plan, print_missing, require_plan_trust
from yaoki.faces.cli.trust_question import trust_option
from yaoki.faces.text.progress import report_progress
from yaoki.faces.text.render import (
    align_columns,
    clean_line,
    local_day_time,
    print_document,
    print_next_command,
    print_wrapped,
)
from yaoki.views import PlanView, TaskBound, build_plan_view, plan_document, status_schema
from yaoki.views.costs import cost_lines
from yaoki.views.forecasts import end_words, forecast_lines, forecast_notes

if TYPE_CHECKING:
    from datetime import datetime

    from yaoki.app.build import App
    from yaoki.app.missing_programs import MissingProgram
    from yaoki.formats.plan import Plan

WIDTH = 74
GOAL_CHARS = 160
GREEN_TASKS_SHOWN = 5


def plan_for_goal(app: App, goal: str) -> Plan:
    """A goal as a plan with one task: to write the plan."""
    from yaoki.app.goal_plan import make_goal_plan

    return make_goal_plan(goal, app.settings, app.preflight.known_names)


def view_plan(app: App, plan: Plan, parallel: int = 0) -> PlanView:
    """`parallel` is how many tasks run at a time, if not as the settings say."""
    from yaoki.app.costs import load_known_costs
    from yaoki.app.forecast import forecast_plan

    forecast = forecast_plan(app, plan, parallel)
    costs = load_known_costs(app)
    budget = {**app.settings.budget.run, **plan.budget}
    return build_plan_view(plan.goal, plan.specs, plan.done_when, costs, forecast, budget)


class PlanGroup(click.Group):
    """`yaoki plan PLAN` shows a plan; the planner's commands are subcommands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return "show", self.commands["show"], args

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Options before PLAN belong to `show`; only help is the group's own.
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            self._refuse_mistyped(ctx, args[0])
            args = ["show", *args]
        return super().parse_args(ctx, args)

    def _refuse_mistyped(self, ctx: click.Context, word: str) -> None:
        """A word that is no file and looks like a subcommand is not the name of a plan."""
        # Most plan files have an extension, and `-` is standard input.
        if not word.isascii() or not word.replace("-", "").isalpha() or Path(word).exists():
            return
        if near := nearest(word, self.commands):
            words = f"there is no command 'plan {word}' and no file {word!r}"
            raise click.UsageError(f"{words}; did you mean 'yaoki plan {near}'?", ctx)


@click.group(cls=PlanGroup, subcommand_metavar="PLAN | COMMAND")
def plan() -> None:
    """Show a plan, import one, or change the plan of a run."""


@plan.command("show")
@click.argument("plan", metavar="PLAN", type=FILE)
@agent_option
@click.option(
    "--baseline", is_flag=True, help="Run the checks on the base and show which fail there."
)
@trust_option
@json_option
@repo_option
def show_plan(
    plan: Path, agents: tuple[str, ...], baseline: bool, trust: bool, as_json: bool, repo: Path
) -> int:
    """Show a plan, its limits and its cost.

    PLAN is a file, or - for standard input.  The limit is the maximum number of agent runs.
    """
    app, parsed = open_plan(plan, repo, agents)
    try:
        view = view_plan(app, parsed)
        if baseline:
            require_plan_trust(app, str(plan), parsed, trust=trust)
        findings = app.preflight.run_base_checks(parsed, report_progress) if baseline else None
        rights = [] if as_json else describe_rights(app, parsed.catalogue)
        missing = find_missing(app, parsed)
    finally:
        app.close()
    if as_json:
        base = {"baseline": _base_document(view, findings)}
        print_document({**plan_document(view), **missing_document(missing), **base})
    else:
        print_plan(view)
        print_rights(rights)
        _print_base(view, findings)
        print_run_command(str(plan), missing)
    return 0


def find_missing(app: App, plan: Plan) -> list[MissingProgram]:
    return [*app.preflight.missing_agents(plan), *app.preflight.missing_programs(plan)]


def missing_document(missing: Sequence[MissingProgram]) -> dict[str, list[str]]:
    return {
        "missing_agents": [one.sentence for one in missing if one.is_agent],
        "missing_programs": [one.sentence for one in missing if not one.is_agent],
    }


def print_run_command(plan: str, missing: Sequence[MissingProgram]) -> None:
    """The command that runs the plan, or what must be installed before."""
    print_missing(missing)
    run = f"yaoki run {shlex.quote(plan)}"
    obstacle = next((one for one in missing if not one.replaced_by), None)
    print_next_command(clean_line(obstacle.remedy if obstacle else run))


for command in (
    extend.submit,
    extend.extend,
    extend.recheck,
    extend.add_retry_task,
    extend.complete,
):
    plan.add_command(command)
plan.add_command(imports.import_list)
plan.add_command(flaky.flaky_plan)


def _tasks_of_check(view: PlanView, check: str) -> list[str]:
    return [t.spec.name for t in view.tasks if any(c.name == check for c in t.spec.checks)]


def _print_base(view: PlanView, findings: Mapping[str, Finding] | None) -> None:
    if findings is None:
        print_wrapped("the base was not checked; add --baseline to run the checks on it")
        return
    known = _known_failures(view, findings)
    red = [
        finding
        for name, finding in findings.items()
        if finding.outcome is not Outcome.PASSED and name not in known
    ]
    looked = format_count(len(findings), "check passes", "checks pass")
    print_wrapped(f"at the base, {len(findings) - len(red) - len(known)} of {looked}")
    for name in known:
        words = clean_line(findings[name].message, 160)
        print_wrapped(f"  {clean_line(name, 40)} fails, which is known and does not count: {words}")
    for finding in red:
        tasks = ", ".join(_tasks_of_check(view, finding.check)) or "no task"
        head = f"{finding.outcome.value} {clean_line(finding.check, 40)}"
        print_wrapped(
            f"  {head}: {clean_line(finding.message, 160)}; affects {clean_line(tasks, 120)}"
        )
    if unproven := _tasks_green_at_base(view, findings):
        names = clean_line(list_some(unproven, GREEN_TASKS_SHOWN), 160)
        print_wrapped(
            f"  all checks of {names} pass without the work, so they do not show that it is done; "
            "add a check that runs the tests that the task will add, or, only for a fix of "
            "existing code, kind: fix"
        )


def _tasks_green_at_base(view: PlanView, findings: Mapping[str, Finding]) -> list[str]:
    """The tasks that no required check tells from the base, as far as the base was looked at."""
    passed = {name for name, finding in findings.items() if finding.outcome is Outcome.PASSED}
    changes = (
        task.spec
        for task in view.tasks
        if task.spec.kind.is_change and task.spec.red is not CriterionLevel.REQUIRED
    )
    required = ((spec.name, {c.name for c in spec.checks if c.required}) for spec in changes)
    return [name for name, checks in required if checks and checks <= passed]


def _known_failures(view: PlanView, findings: Mapping[str, Finding]) -> list[str]:
    """The checks that may fail as on the base in every task that has them.

    Without the names of what fails, new failures cannot be told from old ones.
    """
    modes: dict[str, set[BaselineMode]] = {}
    for task in view.tasks:
        for check in task.spec.checks:
            modes.setdefault(check.name, set()).add(check.baseline)
    return [
        name
        for name, finding in findings.items()
        if has_all_names(finding) and modes.get(name) == {BaselineMode.KNOWN}
    ]


def _base_document(view: PlanView, findings: Mapping[str, Finding] | None) -> Any:
    if findings is None:
        return None
    return [
        {
            "check": finding.check,
            "outcome": finding.outcome.value,
            "message": finding.message,
            "tasks": _tasks_of_check(view, finding.check),
        }
        for finding in findings.values()
    ]


def print_plan(view: PlanView) -> None:
    print_wrapped(clean_line(view.goal, 120))
    for text, task in zip(align_columns([_row(t) for t in view.tasks]), view.tasks, strict=True):
        print_wrapped(f"  {text}")
        for words in _task_words(task):
            print_wrapped(f"       {words}")
    if view.done_when:
        print_wrapped(f"done when on the run branch: {clean_line(', '.join(view.done_when))}")
    print_wrapped(bound_summary(view))
    for text in _parts(view):
        print_wrapped(f"  {text}")
    for words in (*cost_lines(view.costs), *forecast_lines(view.forecast)):
        print_wrapped(
            clean_line(words) if not words.startswith(" ") else f"  {clean_line(words.strip())}"
        )


def print_forecast(view: PlanView, now: datetime) -> None:
    """The forecast of a run that starts now."""
    if view.forecast is None:
        return
    print_wrapped(f"forecast: {end_words(view.forecast, now, lambda at: local_day_time(at, now))}")
    print_wrapped(f"  {clean_line('; '.join(forecast_notes(view.forecast)))}")


def bound_summary(view: PlanView, parallel: int = 0) -> str:
    """The bound of rule 0.4 in one line; `parallel` is how many tasks run at a time."""
    at_a_time = f", {parallel} at a time" if parallel else ""
    budget = ""
    if 0 < view.budget_runs < view.runs_max:
        budget = f"; the budget pauses the run after {format_count(view.budget_runs, 'agent run')}"
    return (
        f"{format_count(len(view.tasks), 'task')}{at_a_time}. At most "
        f"{format_count(view.runs_max, 'agent run')} (normally up to {view.content_runs_max}); "
        f"each answer you give resets that limit{budget}."
    )


def _row(task: TaskBound) -> tuple[str, ...]:
    spec = task.spec
    return (
        str(task.n),
        clean_line(spec.name, 40),
        spec.kind.value + ("" if spec.required else " (optional)"),
        f"at most {format_count(task.bound.total, 'run')}",
        clean_line(_agent_words(task), 60) or "no agent",
        f"checks {clean_line(', '.join(check.name for check in spec.checks), 80) or 'none'}",
        f"needs {clean_line(', '.join(spec.needs), 80)}" if spec.needs else "",
    )


def _agent_words(task: TaskBound) -> str:
    names, race = [agent.name for agent in task.spec.agents], task.spec.race
    if race is None:
        return " then ".join(names)
    who = ", ".join(names) if race.agents_take_turns else " then ".join(names)
    judge = f"; judge: {race.judge}" if race.judge else ""
    return f"race of {race.tries}: {who}{judge}"


def _task_words(task: TaskBound) -> Iterator[str]:
    """What the task is about, and where it may work: a person approves that, not a name."""
    yield clean_line(first_line(task.spec.goal), GOAL_CHARS)
    if task.spec.scope:
        yield f"scope {clean_line(', '.join(task.spec.scope), GOAL_CHARS)}"
    if task.spec.red is CriterionLevel.REQUIRED and task.spec.kind is TaskKind.CHANGE:
        yield "red: true is for a fix of existing code; it refuses tests of what the change adds"


def _parts(view: PlanView) -> Iterator[str]:
    """The parts of the bounds; tasks with the same parts are counted together."""
    alike = Counter((task.bound.total, task.bound_words) for task in view.tasks)
    for (total, made_of), n in alike.items():
        if not total:
            yield f"{format_count(n, 'task')}, {made_of}"
            continue
        each = " each" if n > 1 else ""
        yield f"{format_count(n, 'task')}, at most {format_count(total, 'agent run')}{each}:"
        yield from (f"  {text}" for text in wrap(made_of, WIDTH))


@click.command()
@click.argument("what", type=click.Choice(["plan", "status"]))
def schema(what: str) -> int:
    """Print the JSON Schema of a plan file, or of `yaoki status --json`."""
    if what == "plan":
        from yaoki.formats.plan import plan_schema

        print_document(plan_schema())
    else:
        print_document(status_schema())
    return 0
