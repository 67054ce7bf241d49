"""Where an agent stands: in a worktree, which has neither store nor settings of its own.

What its worker told it holds only there.  In any other repository, such as one that a test of the
agent makes for itself, `yaoki` acts where it stands.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from yaoki.errors import RepositoryUnusable

# What agents may ask for; the rest is people's, and they name their repository themselves.
AGENT_COMMANDS = frozenset(
    ("status", "why", "plan", "validate", "trace", "logs", "diff", "report", "result", "mcp")
)


def calling_repository(command: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The repository of the calling attempt; None when none calls from its own worktree."""
    told, worktree = environ.get("YAOKI_REPO", ""), environ.get("YAOKI_WORKTREE", "")
    if not (told and worktree) or command not in AGENT_COMMANDS:
        return None
    return told if is_in_own_worktree(Path.cwd(), environ) else None


def refuse_deleted_folder() -> None:
    """A worktree goes when its task has landed, and a shell may still stand in it."""
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise RepositoryUnusable(
            "the folder this was started in is gone", hint="cd to your repository"
        ) from error


def is_in_own_worktree(where: Path, environ: Mapping[str, str] = os.environ) -> bool:
    """Its settings may name the store of all runs, and are no leave to act as a person there."""
    worktree = environ.get("YAOKI_WORKTREE", "")
    return bool(worktree) and _top(where) == Path(worktree).resolve()


def store_from_worker(where: Path, environ: Mapping[str, str] = os.environ) -> str:
    """The store that the worker of this repository was given, if it told one."""
    return environ.get("YAOKI_REPO_STORE", "") if environ.get("YAOKI_REPO") == str(where) else ""


def _top(here: Path) -> Path | None:
    """The checkout around us, without asking git: every command goes through here."""
    here = here.resolve()
    return next((top for top in (here, *here.parents) if (top / ".git").exists()), None)
