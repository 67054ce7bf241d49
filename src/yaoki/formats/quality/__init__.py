"""The quality criteria Q1 to Q6, and test integrity, on what a task changed and said.

Values in, findings out.
"""

from __future__ import annotations

from yaoki.formats.quality.criteria import judge
from yaoki.formats.quality.definition import definition_files, review
from yaoki.formats.quality.model import Change, Claims
from yaoki.formats.quality.tell_tales import gamed
from yaoki.formats.quality.triviality import is_trivial

__all__ = [
    "Change",
    "Claims",
    "definition_files",
    "gamed",
    "is_trivial",
    "judge",
    "review",
]
