"""The words about a failure, from template files that people can see and change.

Project files win over shipped ones; a template that cannot be used costs its words, never the
attempt.
"""

from __future__ import annotations

from yaoki.prompts.defects import check_tree
from yaoki.prompts.place import PROJECT, Hit
from yaoki.prompts.samples import sample
from yaoki.prompts.tree import PromptTree, Shown, Told
from yaoki.prompts.values import KINDS, PARAMS

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
