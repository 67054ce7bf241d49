"""The definition of a check: one commit as it is looked at, and what was found out about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import FindingItem


@dataclass(frozen=True, slots=True)
class TreeView:
    """The tracked files of one commit, to be read and never written.

    `read` is None for a file that is absent, a link, binary or over the reader's bound.  `ids`
    (mode and hash) tell whether a file differs between two trees without reading it.
    """

    paths: frozenset[str]
    read: Callable[[str], str | None]
    blob_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ParametrizedTests:
    """Tests that became cases of a loop and ask the same there; `into` counts its new tests."""

    names: frozenset[str] = frozenset()
    new_test_count: int = 0

    @property
    def fewer_tests(self) -> int:
        """So many tests less a runner counts for that."""
        return max(0, len(self.names) - self.new_test_count)


NO_PARAMETRIZED_TESTS = ParametrizedTests()


@dataclass(frozen=True, slots=True)
class DefinitionReview:
    """What a change does to the definition of the checks.

    `weakened`: surely weaker, by test or setting, each with its file in `where`.  `undecided`:
    changed files of the definition whose effect cannot be judged; the checks must pass with the
    base's version of these as well, without the ones that the base does not have.  `folding`:
    why a runner may count fewer tests than before.
    """

    weakened: tuple[FindingItem, ...] = ()
    undecided: tuple[str, ...] = ()
    parametrized: ParametrizedTests = NO_PARAMETRIZED_TESTS
