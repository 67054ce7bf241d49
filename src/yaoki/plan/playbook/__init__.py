"""Playbooks (`playbook-*.md`): boxes become tasks, the sentences below them checks."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from yaoki.core.settings import Settings
from yaoki.plan.defects import Defects
from yaoki.plan.draft import Outline
from yaoki.plan.playbook.model import PlaybookModel
from yaoki.plan.playbook.rules import judge
from yaoki.plan.playbook.source import read_markdown
from yaoki.plan.playbook.translate import translated
from yaoki.plan.rules import judge_parts
from yaoki.plan.shape import shaped
from yaoki.plan.value import Known

__all__ = ["is_markdown", "read_markdown", "read_playbook"]


def is_markdown(name: str) -> bool:
    """No other plan is written in Markdown."""
    return PurePath(name).suffix.lower() in (".md", ".markdown")


def read_playbook(raw: Any, settings: Settings, defects: Defects, _: Known) -> Outline:
    """The plan a playbook stands for; each defect is told where it stands in the playbook."""
    playbook = shaped(PlaybookModel, raw, defects)
    judge(playbook, settings, defects)
    outline = translated(playbook, settings, defects)
    judge_parts(outline.draft)
    return outline
