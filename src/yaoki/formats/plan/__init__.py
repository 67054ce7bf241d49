"""The native plan format, and the plan that every format becomes.

`formats.plan_file` reads plan files of any format.  The models are imported only when they are
needed, so that other commands start fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yaoki.core.text import format_count
from yaoki.errors import SettingsInvalid
from yaoki.formats.plan.plan import Plan, PlanEnvironment, PromptRequirements

if TYPE_CHECKING:
    from yaoki.core.settings.settings import Settings

__all__ = [
    "Plan",
    "PlanEnvironment",
    "PromptRequirements",
    "check_settings",
    "plan_schema",
    "read_document",
]


def read_document(text: str, name: str) -> tuple[Any, list[str]]:
    """The plain data of YAML or JSON, and the problems found while reading it."""
    from yaoki.formats.plan.source import read_plan_data

    data, defects = read_plan_data(text, name)
    return data, list(defects.lines())


def check_settings(settings: Settings) -> None:
    """Refuse agents and checks of the settings that no plan could use."""
    from yaoki.formats.plan.defects import Defects
    from yaoki.formats.plan.draft import make_draft
    from yaoki.formats.plan.rules import judge_plan

    draft = make_draft({}, settings, Defects(""))
    judge_plan(draft)
    if number := len(draft.settings_defects.entries):
        raise SettingsInvalid(
            f"{settings.source}: {format_count(number, 'problem')} found, nothing was started",
            hint=f"fix {settings.source}",
            defects=draft.settings_defects.lines(),
        )


def plan_schema() -> dict[str, Any]:
    """The JSON Schema of a plan, within draft 7."""
    from yaoki.formats.plan.schema import build_schema

    return build_schema()
