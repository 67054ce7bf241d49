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
    """Tests that became cases of a parametrized test, and how many tests those are now.

    `followed`: the name of each reviewed test under which it runs now, where that is another one.
    `removed`: tests of nothing but what the goal asks to remove; they are among `names` as well.
    Both write a test as pytest does, with its file: `tests/test_a.py::TestA::test_b`.
    """

    names: frozenset[str] = frozenset()
    new_test_count: int = 0
    followed: Mapping[str, str] = field(default_factory=dict)
    removed: frozenset[str] = frozenset()

    @property
    def fewer_tests(self) -> int:
        """The number of tests that a runner counts fewer because of that."""
        return max(0, len(self.names) - self.new_test_count)


NO_PARAMETRIZED_TESTS = ParametrizedTests()
# A test by its file and its name in it: `("tests/test_a.py", "TestA.test_x")`.
TestPlace = tuple[str, str]


def format_test_id(path: str, name: str) -> str:
    """As pytest writes it."""
    return "::".join((path, *name.split(".")))


@dataclass(frozen=True, slots=True)
class TestsOfTwoRuns:
    """The tests that ran before a change and with it, by name; cases have their parameters.

    `failed_before`: those of `before` that failed there.  `is_guard`: old failures are accepted.
    """

    __test__ = False

    before: tuple[str, ...]
    now: tuple[str, ...]
    failed_before: frozenset[str] = frozenset()
    is_guard: bool = False


@dataclass(frozen=True, slots=True)
class DefinitionReview:
    """The effect of a change on the definition of the checks.

    `weakened`: tests and settings that are certainly weaker, each with its file in `where`.
    `undecided`: changed files whose effect is unknown; the checks must also pass with the base's
    version of these, without those that the base does not have.  `parametrized` explains why a
    runner may count fewer tests than before.  `replacements`: for a test that is gone from its
    place, the tests that have its assertions now.
    """

    weakened: tuple[FindingItem, ...] = ()
    undecided: tuple[str, ...] = ()
    parametrized: ParametrizedTests = NO_PARAMETRIZED_TESTS
    replacements: Mapping[TestPlace, tuple[TestPlace, ...]] = field(default_factory=dict)
