"""Plans in our own words, from plain data to a judged outline."""

from __future__ import annotations

from typing import Any

from yaoki.core.settings.settings import Settings
from yaoki.formats.plan.defects import Defects
from yaoki.formats.plan.draft import Outline, draft
from yaoki.formats.plan.rules import judge
from yaoki.formats.plan.value import Asked, Known


def read_native(raw: Any, settings: Settings, defects: Defects, _: Known) -> Outline:
    made = draft(raw, settings, defects)
    judge(made)
    patterns = (*settings.patterns, *(check.pattern for check in made.checks.values()))
    return Outline(made, Asked(params=dict.fromkeys(filter(None, patterns))))
