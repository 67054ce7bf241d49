"""Plans in our own words, from plain data to a judged outline."""

from __future__ import annotations

from typing import Any

from yaoki.core.settings.settings import Settings
from yaoki.formats.plan.defects import Defects
from yaoki.formats.plan.draft import JudgedDraft, make_draft
from yaoki.formats.plan.plan import PlanEnvironment, PromptRequirements
from yaoki.formats.plan.rules import judge_plan


def read_native(raw: Any, settings: Settings, defects: Defects, _: PlanEnvironment) -> JudgedDraft:
    made = make_draft(raw, settings, defects)
    judge_plan(made)
    patterns = (*settings.patterns, *(check.pattern for check in made.checks.values()))
    return JudgedDraft(made, PromptRequirements(params=dict.fromkeys(filter(None, patterns))))
