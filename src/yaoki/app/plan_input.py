"""Reads the plan that a person or a program names: a file, standard input, or a goal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.errors import PlanInvalid

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.settings.settings import Settings
    from yaoki.formats.plan import Plan

STDIN = "-"


def read_plan(app: App, file: Path, settings: Settings | None = None) -> Plan:
    """The plan, or every defect at once; nothing is created or written.

    `settings` replace those of the repository.
    """
    from yaoki.formats.plan_file import parse_plan

    try:
        text, name = read_plan_text(file)
        return parse_plan(text, name, settings or app.settings, app.preflight.known_names)
    except PlanInvalid as error:
        if str(file) == STDIN:
            error.hint = "fix the plan on standard input and run this again"
        if error.lacks_settings:
            error.hint = _suggest_settings(app)
        raise


def _suggest_settings(app: App) -> str:
    """The command that shows how to add the agent or check that the plan lacks to the settings."""
    from yaoki.formats.discovery import commented_out_checks

    config = app.context.loaded_settings.file
    if config is None:
        return "yaoki init"
    aside = commented_out_checks(config.read_text(encoding="utf-8"))
    if aside and not app.settings.checks:
        first = aside[0]
        words = f"{first.name} is commented out in line {first.line} of {config.name}"
        return f"{words}; yaoki doctor says why"
    return f"yaoki init --dry-run --no-run shows what {config} could contain"


def read_plan_text(file: Path) -> tuple[str, str]:
    """The text and its name for people; `-` is standard input."""
    from yaoki.formats.plan_file import read_plan_file, read_plan_stream

    if str(file) != STDIN:
        return read_plan_file(file), str(file)
    name = "standard input"
    return read_plan_stream(sys.stdin.buffer, name), name
