"""The rules of `[worker]` and `[resources]` beyond types."""

from __future__ import annotations

import re

from yaoki.core.settings.settings import Settings
from yaoki.core.settings.tags import TAG_FORM, is_tag
from yaoki.formats.config.defects import SettingsDefects

PREFIX = re.compile(r"[a-z_][a-z0-9_]{0,31}")


def check_workers(settings: Settings, notes: SettingsDefects) -> None:
    for tag in settings.worker.tags:
        if not is_tag(tag):
            notes.add("worker.tags", f"{tag[:80]!r} is not a tag; a tag has {TAG_FORM}")
    try:
        settings.resources.port_ranges  # noqa: B018 - asked for what it raises
    except ValueError as wrong:
        notes.add("resources.ports", str(wrong))
    if not PREFIX.fullmatch(settings.resources.database_prefix):
        words = "must be 1 to 32 small ASCII letters, digits or '_', and not begin with a digit"
        notes.add("resources.database_prefix", words)
