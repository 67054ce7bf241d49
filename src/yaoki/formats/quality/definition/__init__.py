"""The definition of a check: which files belong to it, and whether a change weakens them.

Values in, values out: trees are read through `TreeView`, and nothing is run.
"""

from __future__ import annotations

from yaoki.core.model.check_definition import DefinitionReview, TreeView
from yaoki.formats.quality.definition.absent_tests import find_absent_tests
from yaoki.formats.quality.definition.review import review_definition

__all__ = ["DefinitionReview", "TreeView", "find_absent_tests", "review_definition"]
