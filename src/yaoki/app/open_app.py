"""Open a repository for one command or call."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from yaoki.app.build import App
from yaoki.app.worktree_context import is_in_own_worktree, store_from_worker
from yaoki.errors import NotNow, Unknown


@contextmanager
def open_app(
    where: Path,
    *,
    create: bool = False,
    store: str = "",
    wait_for_store: bool = False,
    read_only: bool = False,
    named: str = "",
) -> Iterator[App]:
    """The repository with its store; without `create` a missing store is an error.

    `named` is the run or task of the command: that error says which other checkout has it.

    `read_only` is for commands that start and change nothing: a typo in the settings that cannot
    concern the store is a warning for them.
    """
    if create and is_in_own_worktree(where):
        words = "an agent may not start runs or workers in its own worktree"
        raise NotNow(words, hint="add tasks to its run instead: yaoki plan extend FILE")
    if is_in_own_worktree(where):
        raise Unknown("there is no run here yet", hint="this is for people: yaoki --repo DIR …")
    if os.environ.get("YAOKI_SANDBOX") and os.environ.get("YAOKI_REPO") == str(where.absolute()):
        hint = "yaoki result works here: it reports how your attempt ended"
        raise NotNow("an agent in the sandbox cannot reach the store", hint=hint)
    if store:
        from yaoki.formats.config import refuse_bad_store_url

        refuse_bad_store_url(store)
    top = where.absolute()
    app = App(
        top,
        create=create,
        store=store or store_from_worker(top),
        wait_for_store=wait_for_store,
        read_only=read_only,
    )
    try:
        if not create and not app.has_store:
            from yaoki.app.orphans import make_no_run_error  # only for this error

            raise make_no_run_error(app, named)
        yield app
    finally:
        app.close()
