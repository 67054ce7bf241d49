"""The files of one commit, and how a change affects the definition of its checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.model import FindingItem


@dataclass(frozen=True, slots=True)
class TreeView:
    """The tracked files of one commit, read-only.

    `read` gives None for a file that is absent, a link, binary or too large.  `blob_ids` (mode and
    hash) show whether a file differs between two trees without reading it.
    """

    paths: frozenset[str]
    read: Callable[[str], str | None]
    blob_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ParametrizedTests:
    """Tests that became cases of a parametrized test, and how many tests those are now."""

    names: frozenset[str] = frozenset()
    new_test_count: int = 0

    @property
    def fewer_tests(self) -> int:
        """The number of tests that a runner counts fewer because of that."""
        return max(0, len(self.names) - self.new_test_count)


NO_PARAMETRIZED_TESTS = ParametrizedTests()


@dataclass(frozen=True, slots=True)
class DefinitionReview:
    """The effect of a change on the definition of the checks.

    `weakened`: tests and settings that are certainly weaker, each with its file in `where`.
    `undecided`: changed files whose effect is unknown; the checks must also pass with the base's
    version of these, without those that the base does not have.  `parametrized` explains why a
    runner may count fewer tests than before.
    """

    weakened: tuple[FindingItem, ...] = ()
    undecided: tuple[str, ...] = ()
    parametrized: ParametrizedTests = NO_PARAMETRIZED_TESTS
