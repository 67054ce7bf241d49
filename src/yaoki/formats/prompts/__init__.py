"""Renders the prompt text about a failure from template files that people can read and change.

Project files take precedence over shipped ones.  A template that cannot be used falls back to the
built-in text; it never fails the attempt.
"""

from __future__ import annotations

from yaoki.formats.prompts.defects import check_templates
from yaoki.formats.prompts.library import PromptLibrary, RenderedPrompt, TemplateView
from yaoki.formats.prompts.location import PROJECT_FOLDER, TemplateFile
from yaoki.formats.prompts.samples import sample_failure
from yaoki.formats.prompts.values import KINDS, PARAMS

__all__ = [
    "KINDS",
    "PARAMS",
    "PROJECT_FOLDER",
    "PromptLibrary",
    "RenderedPrompt",
    "TemplateFile",
    "TemplateView",
    "check_templates",
    "sample_failure",
]
