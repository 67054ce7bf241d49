"""`yaoki validate`, `yaoki plan` and `yaoki schema`: plans before they run."""

from __future__ import annotations

import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from yaoki.core.counting import format_count
from yaoki.core.model import Finding, Outcome
from yaoki.core.nearest import did_you_mean
from yaoki.errors import PlanInvalid
from yaoki.faces.cli.commands import extend, imports
from yaoki.faces.cli.context import CommandFunction, json_option, repo_option
from yaoki.faces.cli.text.render import (
    align_columns,
    clean_line,
    print_document,
    print_next_command,
    print_wrapped,
)
from yaoki.faces.cli.trust_question import require_trust, trust_option
from yaoki.views import SCHEMA, PlanView, TaskBound, build_plan_view, plan_document, status_schema
from yaoki.views.costs import cost_lines

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.settings.settings import Settings
    from yaoki.formats.plan import Plan

STDIN = "-"
FILE = click.Path(path_type=Path)
WIDTH = 74
# What settings would bring, and a plan without any lacks.
MISSING_PART = re.compile(r"no agent: |no required check: ")


def agent_option(function: CommandFunction) -> CommandFunction:
    return click.option(
        "--agent",
        "agents",
        metavar="NAME",
        multiple=True,
        help="Instead of the settings' agent; once more for each next one of a chain.",
    )(function)


def read_plan(app: App, file: Path, agents: Sequence[str] = ()) -> Plan:
    """The plan, or every defect at once; nothing is made or written."""
    try:
        return _loaded(app, file, agents)
    except PlanInvalid as refused:
        if str(file) == STDIN:
            refused.hint = "mend what comes through standard input, then once more"
        if any(MISSING_PART.search(words) for words in refused.defects):
            held = app.loaded_settings.file
            found = f"yaoki init --dry-run shows what {held} could hold"
            refused.hint = found if held else "yaoki init"
        raise


def _loaded(app: App, file: Path, agents: Sequence[str]) -> Plan:
    if not agents:
        return _parsed(app, file, app.settings)
    for name in agents:
        if name not in app.settings.agents:
            near = did_you_mean(name, app.settings.agents)
            raise click.UsageError(f"--agent: the settings have no agent {name!r}{near}")
    plan = _parsed(app, file, replace(app.settings, agent=tuple(agents)))
    if not any(agent.name in agents for spec in plan.specs for agent in spec.agents):
        raise click.UsageError(f"--agent: {file} names its agents itself; nothing would use it")
    return plan


def _parsed(app: App, file: Path, settings: Settings) -> Plan:
    from yaoki.formats.plan_file import parse_plan

    text, name = read_plan_text(file)
    return parse_plan(text, name, settings, app.known_names)


def read_plan_text(file: Path) -> tuple[str, str]:
    """The text and its name for people; `-` is standard input, as it is everywhere."""
    from yaoki.formats.plan_file import read_plan_file, read_plan_stream

    if str(file) != STDIN:
        return read_plan_file(file), str(file)
    name = "standard input"
    return read_plan_stream(sys.stdin.buffer, name), name


def plan_for_goal(app: App, goal: str) -> Plan:
    """A sentence as a plan with one task: to make the plan."""
    from yaoki.app.goal_plan import make_goal_plan

    return make_goal_plan(goal, app.settings, app.known_names)


def require_plan_trust(app: App, name: str, plan: Plan, *, trust: bool = False) -> None:
    """A plan that somebody committed is not the caller's own words, whoever names it."""
    from yaoki.app.trust import list_plan_contents

    brought = list_plan_contents(Path(name), plan) if name != STDIN else ()
    hint = f"yaoki trust --plan {shlex.quote(name)}" if brought else ""
    require_trust(app, *brought, trust=trust, hint=hint)


def view_plan(app: App, plan: Plan) -> PlanView:
    from yaoki.app.costs import load_known_costs

    return build_plan_view(plan.goal, plan.specs, plan.done_when, load_known_costs(app))


def _open(file: Path, repo: Path, agents: Sequence[str]) -> tuple[App, Plan]:
    from yaoki.app import App

    app = App(repo.absolute())
    held = read_plan(app, file, agents)
    app.check_references(held)
    return app, held


@click.command()
@click.argument("plan", metavar="PLAN", type=FILE)
@agent_option
@json_option
@repo_option
def validate(plan: Path, agents: tuple[str, ...], as_json: bool, repo: Path) -> int:
    """Say everything that is wrong with PLAN, a file or - for standard input; exit code 2 if
    anything is.
    """
    try:
        tasks = len(_open(plan, repo, agents)[1].specs)
    except PlanInvalid as refused:
        if refused.hint == f"yaoki validate {plan}":
            refused.hint = f"fix them in {plan} and run this again"
        raise
    if as_json:
        print_document({"schema": SCHEMA, "plan": str(plan), "valid": True, "tasks": tasks})
    else:
        print_wrapped(f"{clean_line(str(plan))}: {format_count(tasks, 'task')}, no problems found")
        print_next_command(f"yaoki run {clean_line(str(plan))}")
    return 0


class PlanGroup(click.Group):
    """`yaoki plan PLAN` shows a plan; the planner's commands have names of their own."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return "show", self.commands["show"], args

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Options before PLAN belong to showing it; only help is the group's own.
        if args and args[0] not in {*self.commands, "-h", "--help"}:
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group(cls=PlanGroup, subcommand_metavar="PLAN | COMMAND")
def plan() -> None:
    """Show a plan, import one, or change a run's: submit, extend, add-retry-task, complete."""


@plan.command("show")
@click.argument("plan", metavar="PLAN", type=FILE)
@agent_option
@click.option("--baseline", is_flag=True, help="Run the checks on the base: what is red there?")
@trust_option
@json_option
@repo_option
def show_plan(
    plan: Path, agents: tuple[str, ...], baseline: bool, trust: bool, as_json: bool, repo: Path
) -> int:
    """Show the tasks of PLAN, how often agents can run at worst, and what it may cost.

    PLAN is a file, or - for standard input.
    """
    app, held = _open(plan, repo, agents)
    try:
        view = view_plan(app, held)
        if baseline:
            require_plan_trust(app, str(plan), held, trust=trust)
        findings = app.run_base_checks(held) if baseline else None
    finally:
        app.close()
    if as_json:
        print_document({**plan_document(view), "baseline": _base_document(view, findings)})
    else:
        print_plan(view)
        _show_base(view, findings)
        print_next_command(f"yaoki run {clean_line(str(plan))}")
    return 0


for command in (extend.submit, extend.extend, extend.add_retry_task, extend.complete):
    plan.add_command(command)
plan.add_command(imports.import_list)


def _touched(view: PlanView, check: str) -> list[str]:
    return [t.spec.name for t in view.tasks if any(c.name == check for c in t.spec.checks)]


def _show_base(view: PlanView, findings: Mapping[str, Finding] | None) -> None:
    if findings is None:
        print_wrapped("the base was not looked at; --baseline runs the checks on it once")
        return
    red = [finding for finding in findings.values() if finding.outcome is not Outcome.PASSED]
    looked = format_count(len(findings), "check passes", "checks pass")
    print_wrapped(f"at the base {len(findings) - len(red)} of {looked}")
    for finding in red:
        tasks = ", ".join(_touched(view, finding.check)) or "no task"
        head = f"{finding.outcome.value} {clean_line(finding.check, 40)}"
        print_wrapped(
            f"  {head}: {clean_line(finding.message, 160)}; touches {clean_line(tasks, 120)}"
        )


def _base_document(view: PlanView, findings: Mapping[str, Finding] | None) -> Any:
    if findings is None:
        return None
    return [
        {
            "check": finding.check,
            "outcome": finding.outcome.value,
            "message": finding.message,
            "tasks": _touched(view, finding.check),
        }
        for finding in findings.values()
    ]


def print_plan(view: PlanView) -> None:
    print_wrapped(clean_line(view.goal, 120))
    for text in align_columns([_row(task) for task in view.tasks]):
        print_wrapped(f"  {text}")
    if view.done_when:
        print_wrapped(f"done when on the run branch: {clean_line(', '.join(view.done_when))}")
    print_wrapped(bound_summary(view))
    for text in _parts(view):
        print_wrapped(f"  {text}")
    for words in cost_lines(view.costs):
        print_wrapped(
            clean_line(words) if not words.startswith(" ") else f"  {clean_line(words.strip())}"
        )


def bound_summary(view: PlanView) -> str:
    """The bound of rule 0.4 in one line."""
    return (
        f"{format_count(len(view.tasks), 'task')}; at worst "
        f"{format_count(view.runs_max, 'agent run')} "
        f"({view.content_runs_max} for the work itself), each answer of a person grants as "
        f"many again"
    )


def _row(task: TaskBound) -> tuple[str, ...]:
    spec = task.spec
    agents = " then ".join(agent.name for agent in spec.agents)
    return (
        str(task.n),
        clean_line(spec.name, 40),
        spec.kind.value + ("" if spec.required else " (optional)"),
        f"worst {task.bound.total}",
        clean_line(agents, 60) or "no agent",
        f"checks {clean_line(', '.join(check.name for check in spec.checks), 80) or 'none'}",
        f"needs {clean_line(', '.join(spec.needs), 80)}" if spec.needs else "",
    )


def _parts(view: PlanView) -> Iterator[str]:
    """What the bounds are made of, alike ones together."""
    alike = Counter((task.bound.total, task.bound_words) for task in view.tasks)
    for (total, made_of), n in alike.items():
        if not total:
            yield f"{format_count(n, 'task')}, {made_of}"
            continue
        each = " each" if n > 1 else ""
        yield f"{format_count(n, 'task')}, at worst {format_count(total, 'agent run')}{each}:"
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
