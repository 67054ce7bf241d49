"""The rights of agents, in the words that `init`, `plan` and `run` print once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from yaoki.faces.text.render import clean_line, print_wrapped

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import AgentSpec


def print_rights(lines: Iterable[str]) -> None:
    for words in lines:
        print_wrapped(clean_line(words))


def describe_rights(app: App, agents: Iterable[AgentSpec]) -> list[str]:
    """Which agents run outside the sandbox, and which are limited to edits."""
    from yaoki.core.model import Permissions

    specs = list(agents)
    limited = [spec.name for spec in specs if spec.permissions is Permissions.EDITS]
    outside = app.context.sandbox_choice.explain_unsandboxed(spec.preset for spec in specs)
    edits = f"limited to edits, by their own programs: {', '.join(limited)}" if limited else ""
    return [words for words in (outside, edits) if words]
