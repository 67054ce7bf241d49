"""The words about a failure, from template files that people can see and change.

Project files win over shipped ones; a template that cannot be used costs its words, never the
attempt.
"""

from __future__ import annotations

from yaoki.formats.prompts.defects import check_tree
from yaoki.formats.prompts.library import PromptTree, Shown, Told
from yaoki.formats.prompts.location import PROJECT, Hit
from yaoki.formats.prompts.samples import sample
from yaoki.formats.prompts.values import KINDS, PARAMS

__all__ = [
    "KINDS",
    "PARAMS",
    "PROJECT",
    "Hit",
    "PromptTree",
    "Shown",
    "Told",
    "check_tree",
    "sample",
]
