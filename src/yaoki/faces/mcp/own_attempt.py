"""Finds the attempt of an MCP server that got no variables from its client, by its worktree.

Some agents pass only a short list of variables to the MCP servers of a person.  On Linux the agent,
an ancestor process of the server, still has them; on other systems the store knows the worktree.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

from yaoki.adapters.processes.callers import iter_caller_environments
from yaoki.app.worktree_context import find_checkout, is_in_own_worktree
from yaoki.core.model import Stage, State
from yaoki.errors import YaokiError
from yaoki.faces.mcp.caller import TASK_ID

PREFIX = "YAOKI_"


def adopt_own_attempt(where: Path, environ: MutableMapping[str, str] = os.environ) -> None:
    """Sets the variables of the attempt whose worktree is around `where`, unless they are set."""
    if not environ.get("YAOKI_TASK"):
        environ.update(_find_in_callers(where) or _find_in_store(where))


def _find_in_callers(where: Path) -> dict[str, str]:
    for above in iter_caller_environments():
        if above.get("YAOKI_TASK") and is_in_own_worktree(where, above):
            return {name: value for name, value in above.items() if name.startswith(PREFIX)}
    return {}


def _find_in_store(where: Path) -> dict[str, str]:
    """A worktree has the name of its task; unless the task is active, the caller is a person.

    The agent's own git settings are not used: only the two files that link it to its repository.
    """
    top = find_checkout(where)
    repository = _main_checkout(top) if top and TASK_ID.fullmatch(top.name) else None
    if top is None or repository is None:
        return {}
    from yaoki.app.open_app import open_app

    try:
        with open_app(repository) as app:
            task = app.reads.task(top.name)
    except YaokiError:  # no store there, or another one: the call itself says what is missing
        return {}
    is_working = task.stage is Stage.WORK and task.state in {State.ACTIVE, State.WAITING}
    if not is_working or Path(task.work.worktree).resolve() != top:
        return {}
    return {
        "YAOKI_TASK": task.id,
        "YAOKI_ATTEMPT": str(task.attempt),
        "YAOKI_EPOCH": str(task.epoch),
        "YAOKI_RUN": task.run_id,
        "YAOKI_REPO": str(repository),
        "YAOKI_WORKTREE": str(top),
    }


def _main_checkout(worktree: Path) -> Path | None:
    """The checkout that a linked worktree belongs to; None if there is none."""
    try:
        link = (worktree / ".git").read_text(encoding="utf-8")
        git_folder = Path(link.removeprefix("gitdir:").strip())
        common = (git_folder / "commondir").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    folder = (git_folder / common).resolve()
    return folder.parent if folder.name == ".git" else None
