"""The rights of agents, in the words that `init`, `plan` and `run` print once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from yaoki.faces.text.render import clean_line, print_wrapped

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Catalogue

HIDDEN_CHECKS_OPEN = (
    "an agent outside a sandbox can find the files of hidden checks and their output"
)


def print_rights(lines: Iterable[str]) -> None:
    for words in lines:
        print_wrapped(clean_line(words))


def describe_rights(app: App, catalogue: Catalogue) -> list[str]:
    """Lines that say which agents run outside the sandbox, what that means for hidden checks, and
    which agents are limited to edits.
    """
    from yaoki.core.model import Permissions

    specs = list(catalogue.agents.values())
    limited = [spec.name for spec in specs if spec.permissions is Permissions.EDITS]
    outside = app.context.sandbox_choice.explain_unsandboxed(spec.preset for spec in specs)
    edits = f"limited to edits, by their own programs: {', '.join(limited)}" if limited else ""
    hidden = outside and any(check.hidden is not None for check in catalogue.checks.values())
    return [words for words in (outside, HIDDEN_CHECKS_OPEN if hidden else "", edits) if words]
