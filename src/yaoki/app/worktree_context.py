"""Calls from an agent's worktree, which has neither store nor settings of its own.

The variables of its worker count only there.  In any other repository, such as one that a test of
the agent creates, `yaoki` works on that repository.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from yaoki.errors import RepositoryUnusable

# Commands that agents may call; for the others a person names the repository.
AGENT_COMMANDS = frozenset(
    ("status", "why", "plan", "validate", "trace", "logs", "diff", "report", "result", "mcp")
)


def calling_repository(command: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The repository of the calling attempt; None for calls from elsewhere."""
    repository, worktree = environ.get("YAOKI_REPO", ""), environ.get("YAOKI_WORKTREE", "")
    if not (repository and worktree) or command not in AGENT_COMMANDS:
        return None
    return repository if is_in_own_worktree(Path.cwd(), environ) else None


def refuse_deleted_folder() -> None:
    """A worktree is removed when its task has landed, while a shell may still be in it."""
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise RepositoryUnusable(
            "the current folder does not exist any more", hint="cd to your repository"
        ) from error


def is_in_own_worktree(where: Path, environ: Mapping[str, str] = os.environ) -> bool:
    """Settings in a worktree may name the store of all runs; they give no right to act there."""
    worktree = environ.get("YAOKI_WORKTREE", "")
    return bool(worktree) and find_checkout(where) == Path(worktree).resolve()


def store_from_worker(where: Path, environ: Mapping[str, str] = os.environ) -> str:
    """The store that the worker of this repository passed on, if any."""
    return environ.get("YAOKI_REPO_STORE", "") if environ.get("YAOKI_REPO") == str(where) else ""


def find_checkout(here: Path) -> Path | None:
    """The checkout around a path, without starting git: every command needs it."""
    here = here.resolve()
    return next((top for top in (here, *here.parents) if (top / ".git").exists()), None)
