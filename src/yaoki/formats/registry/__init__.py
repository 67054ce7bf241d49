"""Steps registries (`steps_registry.json`): steps become tasks, validators their checks."""

from __future__ import annotations

from typing import Any

from yaoki.core.settings.settings import Settings
from yaoki.formats.plan.defects import Defects
from yaoki.formats.plan.draft import Outline
from yaoki.formats.plan.model import PlanModel
from yaoki.formats.plan.rules import judge_parts
from yaoki.formats.plan.shape import shaped
from yaoki.formats.plan.value import Known
from yaoki.formats.registry.model import RegistryModel
from yaoki.formats.registry.rules import judge
from yaoki.formats.registry.translate import translated

__all__ = ["read_registry", "recognised"]


def recognised(raw: Any) -> bool:
    """Does it have more keys of a registry than of a plan?"""
    if not isinstance(raw, dict):
        return False
    own = [key for key in RegistryModel.model_fields if key in raw]
    return len(own) > sum(key in raw for key in PlanModel.model_fields)


def read_registry(raw: Any, settings: Settings, defects: Defects, known: Known) -> Outline:
    """The plan a registry stands for; each defect is told where it stands in the registry."""
    registry = shaped(RegistryModel, raw, defects)
    unsound = judge(registry, defects, known)
    outline = translated(registry, settings, defects, unsound)
    judge_parts(outline.draft)
    return outline
