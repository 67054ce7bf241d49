"""The virtual environment that a check names and that this checkout does not have.

git ignores environments, so that a linked worktree begins without the one of the main checkout.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.adapters.checks.environment import (
    describe_missing_environment,
    environment_command,
    find_missing_environment,
)
from yaoki.core.environment import VIRTUAL_ENV
from yaoki.core.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from yaoki.app.repository import RepositoryContext


@dataclass(frozen=True, slots=True)
class MissingEnvironment:
    """A sentence that names the folder, and the command that creates it.

    `setting`: the line that uses the environment of another checkout; empty if none has one.
    """

    sentence: str
    command: str
    setting: str = ""


def look_for_environment(
    env: Mapping[str, str], context: RepositoryContext
) -> MissingEnvironment | None:
    """None for a check whose environment exists, and for one that names none."""
    checkout = context.repository.top
    folder = find_missing_environment(env, checkout)
    if not folder:
        return None
    sentence = describe_missing_environment(env, checkout)
    return MissingEnvironment(sentence, environment_command(folder), _find_setting(env, context))


def _find_setting(env: Mapping[str, str], context: RepositoryContext) -> str:
    """The main checkout comes first, and the worktrees of tasks do not count."""
    named = env[VIRTUAL_ENV]
    checkouts = () if Path(named).is_absolute() else context.list_other_checkouts()
    places = (folder / named for folder in checkouts)
    found = next((place for place in places if (place / "bin").is_dir()), None)
    return f'{VIRTUAL_ENV} = "{found}"' if found else ""
