"""Reads the native plan format: from plain data to a judged draft."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yaoki.formats.plan.draft import JudgedDraft, make_draft
from yaoki.formats.plan.plan import PlanEnvironment, PromptRequirements
from yaoki.formats.plan.rules import judge_plan

if TYPE_CHECKING:
    from yaoki.core.settings.settings import Settings
    from yaoki.formats.plan.defects import Defects


def read_native(raw: Any, settings: Settings, defects: Defects, _: PlanEnvironment) -> JudgedDraft:
    draft = make_draft(raw, settings, defects)
    judge_plan(draft)
    patterns = (*settings.patterns, *(check.pattern for check in draft.checks.values()))
    return JudgedDraft(draft, PromptRequirements(params=dict.fromkeys(filter(None, patterns))))
