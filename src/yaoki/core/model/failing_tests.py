"""A test file in which every test fails, for a negative control (rule 17.9)."""

from __future__ import annotations

from yaoki.core.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FailingTests:
    """The text of a test file after each test of it was made to fail at its end.

    Names are `folder.module.Class.test`.  `left_alone`: tests that cannot be made to fail so.
    """

    text: str
    names: frozenset[str]
    left_alone: frozenset[str] = frozenset()
