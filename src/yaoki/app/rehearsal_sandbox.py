"""The sandbox in which a rehearsal starts an agent: the one that a run would use."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from yaoki.adapters.processes.sandbox import Sandbox
from yaoki.app.repository import RepositoryContext
from yaoki.app.sandbox_choice import SandboxChoice
from yaoki.core.lazy_dataclass import replace
from yaoki.core.settings.settings import SandboxSettings
from yaoki.errors import RepositoryUnusable, Unknown


def choose_rehearsal_sandbox(preset: str, where: Path, place: Path) -> Sandbox | None:
    """The sandbox in which a run of the repository at `where` starts this agent; None: outside.

    `place` is a folder of the rehearsal.  Outside of a repository the default settings decide.
    """
    try:
        choice = RepositoryContext(where).sandbox_choice
    except RepositoryUnusable:
        choice = _default_choice(place)
    if choice.sandbox is None or not choice.applies_to_agent(preset):
        return None
    return replace(choice.sandbox, worktrees=place)


def _default_choice(place: Path) -> SandboxChoice:
    def find_none(name: str) -> NoReturn:
        raise Unknown(f"no {name!r}: nothing runs here", hint="yaoki run")

    return SandboxChoice(SandboxSettings(), Sandbox(place), place, find_none, find_none)
