"""Options that most commands have, and the repository and run that they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from yaoki.app.open_app import open_app

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run
    from yaoki.views import RunView

__all__ = [
    "CommandFunction",
    "json_option",
    "load_run_view",
    "open_app",
    "repo_option",
    "run_option",
]

CommandFunction = TypeVar("CommandFunction", bound=Callable[..., Any])


def repo_option(function: CommandFunction) -> CommandFunction:
    """`--repo DIR`, here or before the command."""
    return click.option(
        "--repo",
        metavar="DIR",
        callback=lambda ctx, _, given: Path(given or ctx.obj or "."),
        help="The repository; by default the current folder.",
    )(function)


def json_option(function: CommandFunction) -> CommandFunction:
    return click.option(
        "--json", "as_json", is_flag=True, help="One JSON document on standard output."
    )(function)


def run_option(function: CommandFunction) -> CommandFunction:
    return click.option(
        "--run", "run_name", metavar="RUN", default="", help="The run; by default the newest."
    )(function)


def load_run_view(app: App, run: Run, *, check_branch: bool = False) -> RunView:
    """The run now; `check_branch` also asks git whether the branch holds what landed."""
    from yaoki.app.run_view import view_run

    return view_run(app, run, check_branch=check_branch)
