"""The door to a repository: which one, opened for how long, and what is read from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from yaoki.errors import NotNow, Unknown

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run
    from yaoki.views import RunView

CommandFunction = TypeVar("CommandFunction", bound=Callable[..., Any])


def repo_option(function: CommandFunction) -> CommandFunction:
    """`--repo DIR`, here or before the command."""
    return click.option(
        "--repo",
        metavar="DIR",
        callback=lambda ctx, _, given: Path(given or ctx.obj or "."),
        help="The repository; where you stand unless named.",
    )(function)


def json_option(function: CommandFunction) -> CommandFunction:
    return click.option(
        "--json", "as_json", is_flag=True, help="One JSON document on standard output."
    )(function)


def run_option(function: CommandFunction) -> CommandFunction:
    return click.option(
        "--run", "run_name", metavar="RUN", default="", help="The run; the newest unless named."
    )(function)


@contextmanager
def open_app(
    where: Path, *, create: bool = False, store: str = "", wait_for_store: bool = False
) -> Iterator[App]:
    """The repository with its store; without `create` nothing is made where nothing was."""
    from yaoki.app.build import App
    from yaoki.faces.cli.worktree_context import is_in_own_worktree, store_from_worker

    if create and is_in_own_worktree(where):
        words = "an agent at work starts no runs and no workers in its own worktree"
        raise NotNow(words, hint="add tasks to its run instead: yaoki plan extend FILE")
    if is_in_own_worktree(where):
        raise Unknown("there is no run here yet", hint="this is for people: yaoki --repo DIR …")
    if os.environ.get("YAOKI_SANDBOX") and os.environ.get("YAOKI_REPO") == str(where.absolute()):
        hint = "yaoki result works here: it says how your attempt ended"
        raise NotNow("the store is out of an agent's reach in the sandbox", hint=hint)
    if store:
        from yaoki.formats.config import refuse_bad_store_url

        refuse_bad_store_url(store)
    top = where.absolute()
    app = App(
        top, create=create, store=store or store_from_worker(top), wait_for_store=wait_for_store
    )
    try:
        if not create and not app.has_store:
            from yaoki.app.orphans import make_no_run_error

            raise make_no_run_error(app)
        yield app
    finally:
        app.close()


def load_run_view(app: App, run: Run, *, check_branch: bool = False) -> RunView:
    """The run as it stands now; `branch` also looks whether its branch holds what landed."""
    from yaoki.app.run_view import view_run as looked

    return looked(app, run, check_branch=check_branch)
