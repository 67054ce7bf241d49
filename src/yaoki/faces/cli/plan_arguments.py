"""The plan that the arguments PLAN and --agent name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.app import plan_input
from yaoki.core.lazy_dataclass import replace
from yaoki.core.text import did_you_mean

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.app.missing_programs import MissingProgram
    from yaoki.app.trust import TrustQuestion
    from yaoki.core.trust import FileCommands
    from yaoki.formats.plan import Plan


def read_plan(app: App, file: Path, agents: Sequence[str] = ()) -> Plan:
    """The plan, or every defect at once; nothing is created or written."""
    if not agents:
        return plan_input.read_plan(app, file)
    import click

    for name in agents:
        if name not in app.settings.agents:
            near = did_you_mean(name, app.settings.agents)
            raise click.UsageError(f"--agent: the settings have no agent {name!r}{near}")
    plan = plan_input.read_plan(app, file, replace(app.settings, agent=tuple(agents)))
    if not any(agent.name in agents for spec in plan.specs for agent in spec.agents):
        raise click.UsageError(
            f"--agent: {file} names its own agents, so the option would have no effect"
        )
    return plan


def open_plan(file: Path, repo: Path, agents: Sequence[str]) -> tuple[App, Plan]:
    """The repository and the plan; a plan that names a missing reader or prompt is refused."""
    from yaoki.app.build import App

    app = App(repo.absolute())
    plan = read_plan(app, file, agents)
    app.preflight.check_references(plan)
    return app, plan


def print_missing(missing: Iterable[MissingProgram]) -> None:
    """A note for each program that this machine lacks: a plan may be read where it cannot run."""
    from yaoki.faces.text.render import clean_line, print_wrapped

    for one in missing:
        words = clean_line(one.sentence)
        if one.replaced_by:
            print_wrapped(f"note: {words}; {clean_line(one.replaced_by)} takes its place")
        else:
            print_wrapped(f"note: {words}, so this plan cannot run on this machine")


def require_plan_trust(app: App, name: str, plan: Plan, *, trust: bool = False) -> None:
    """A committed plan may come from anybody, so its commands need trust."""
    from yaoki.faces.cli.trust_question import require_trust

    contents = _plan_contents(name, plan)
    hint = _trust_command(name) if contents else ""
    require_trust(app, *contents, trust=trust, hint=hint)


def find_plan_question(app: App, name: str, plan: Plan) -> tuple[TrustQuestion | None, str]:
    """The question that a run of the plan would ask first, and the command that answers it."""
    if app.trust.is_below_trusted_folder:
        return None, ""
    contents = _plan_contents(name, plan)
    question = app.trust.find_question(*contents)
    if question is None:
        return None, ""
    return question, _trust_command(name) if contents else question.command


def _plan_contents(name: str, plan: Plan) -> tuple[FileCommands, ...]:
    from yaoki.app.command_inventory import list_plan_contents

    return list_plan_contents(Path(name), plan) if name != plan_input.STDIN else ()


def _trust_command(name: str) -> str:
    import shlex

    return f"yaoki trust --plan {shlex.quote(name)}"
