"""Options that most commands have, and the repository and run that they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from yaoki.app.open_app import open_app
from yaoki.faces.cli.quick_command import AGENT, JSON, REPO, RUN

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run
    from yaoki.views import RunView

__all__ = [
    "FILE",
    "CommandFunction",
    "agent_option",
    "json_option",
    "load_run_view",
    "open_app",
    "repo_option",
    "run_option",
]

# A path that click does not check.
FILE = click.Path(path_type=Path)
CommandFunction = TypeVar("CommandFunction", bound=Callable[..., Any])


def repo_option(function: CommandFunction) -> CommandFunction:
    """`--repo DIR`, here or before the command."""
    return click.option(
        REPO.name,
        metavar=REPO.metavar,
        callback=lambda ctx, _, given: Path(given or ctx.obj or "."),
        help=REPO.help,
    )(function)


def json_option(function: CommandFunction) -> CommandFunction:
    return click.option(JSON.name, JSON.target, is_flag=True, help=JSON.help)(function)


def run_option(function: CommandFunction) -> CommandFunction:
    return click.option(RUN.name, RUN.target, metavar=RUN.metavar, default="", help=RUN.help)(
        function
    )


def agent_option(function: CommandFunction) -> CommandFunction:
    return click.option(
        AGENT.name, AGENT.target, metavar=AGENT.metavar, multiple=True, help=AGENT.help
    )(function)


def load_run_view(app: App, run: Run, *, check_branch: bool = False) -> RunView:
    """The run now; `check_branch` also asks git whether the branch holds what landed."""
    from yaoki.app.run_view import view_run

    return view_run(app, run, check_branch=check_branch)
