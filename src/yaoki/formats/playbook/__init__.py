"""Playbooks (`playbook-*.md`): each checkbox becomes a task, the sentences below it its checks."""

from __future__ import annotations

from typing import Any

from yaoki.core.settings.settings import Settings
from yaoki.formats.plan.defects import Defects
from yaoki.formats.plan.draft import JudgedDraft
from yaoki.formats.plan.plan import PlanEnvironment
from yaoki.formats.plan.rules import judge_parts
from yaoki.formats.plan.shape import build_model
from yaoki.formats.playbook.model import PlaybookModel
from yaoki.formats.playbook.rules import judge_playbook
from yaoki.formats.playbook.source import read_markdown
from yaoki.formats.playbook.translate import translate_playbook

__all__ = ["read_markdown", "read_playbook"]


def read_playbook(
    raw: Any, settings: Settings, defects: Defects, _: PlanEnvironment
) -> JudgedDraft:
    """The draft of a playbook; each defect has its position in the playbook."""
    playbook = build_model(PlaybookModel, raw, defects)
    judge_playbook(playbook, settings, defects)
    draft = translate_playbook(playbook, settings, defects)
    judge_parts(draft.draft)
    return draft
