"""Steps registries (`steps_registry.json`): steps become tasks, validators their checks."""

from __future__ import annotations

from typing import Any

from yaoki.core.settings.settings import Settings
from yaoki.formats.plan.defects import Defects
from yaoki.formats.plan.draft import JudgedDraft
from yaoki.formats.plan.model import PlanModel
from yaoki.formats.plan.plan import PlanEnvironment
from yaoki.formats.plan.rules import judge_parts
from yaoki.formats.plan.shape import build_model
from yaoki.formats.registry.model import RegistryModel
from yaoki.formats.registry.rules import judge_registry
from yaoki.formats.registry.translate import translate_registry

__all__ = ["is_registry", "read_registry"]


def is_registry(raw: Any) -> bool:
    """Does it have more keys of a registry than of a plan?"""
    if not isinstance(raw, dict):
        return False
    own = [key for key in RegistryModel.model_fields if key in raw]
    return len(own) > sum(key in raw for key in PlanModel.model_fields)


def read_registry(
    raw: Any, settings: Settings, defects: Defects, environment: PlanEnvironment
) -> JudgedDraft:
    """The draft of a registry; each defect has its position in the registry."""
    registry = build_model(RegistryModel, raw, defects)
    invalid = judge_registry(registry, defects, environment)
    draft = translate_registry(registry, settings, defects, invalid)
    judge_parts(draft.draft)
    return draft
