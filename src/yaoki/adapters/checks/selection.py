"""Narrows a test command to the tests that failed.

Only if every word of the command is understood; otherwise the whole check runs again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from yaoki.adapters.checks.test_count_request import request_test_count
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import CheckSpec, Finding

TESTS_MAX = 50
# Options of pytest whose value is the next word.
_VALUED = frozenset(
    {
        *("-k", "-m", "-p", "-c", "-o", "-W", "-n", "--maxfail", "--durations", "--rootdir"),
        *("--tb", "--color", "--basetemp", "--confcutdir", "--ignore", "--deselect"),
        *("--import-mode", "--junit-xml", "--junitxml", "--timeout", "--dist", "--numprocesses"),
        *("--log-level", "--verbosity", "--capture", "--cov-report", "--cov-config"),
    }
)


def narrow_to_failures(spec: CheckSpec, finding: Finding) -> CheckSpec | None:
    """The check for the failed tests alone; None if they cannot be run alone."""
    names = [item.name for item in finding.items]
    counted = request_test_count(spec)
    are_selectable = names and len(names) <= TESTS_MAX and all("::" in name for name in names)
    if (
        not are_selectable
        or counted is spec
        or len(names) < int(finding.params.get("failureCount", 0))
    ):
        return None
    start = _program_end(spec.argv)
    options = tuple(_select_options(spec.argv[start:])) if start else ()
    if start is None or None in options:
        return None
    return replace(spec, argv=(*spec.argv[:start], *(word for word in options if word), *names))


def _program_end(argv: Sequence[str]) -> int | None:
    """The index of the first argument of pytest."""
    for start, (word, next_word) in enumerate(pairwise((*argv, ""))):
        if (word, next_word) == ("-m", "pytest"):
            return start + 2
        if PurePosixPath(word).name in {"pytest", "py.test"}:
            return start + 1
    return None


def _select_options(words: Sequence[str]) -> Iterator[str | None]:
    """The words without paths; None for a word that may be the value of an unknown option."""
    for before, word in pairwise(("", *words)):
        if word.startswith("-") or before in _VALUED:
            yield word
        elif before.startswith("--") and "=" not in before and before not in _FLAGS:
            yield None


_FLAGS = frozenset(
    {
        *("--quiet", "--verbose", "--exitfirst", "--lf", "--ff", "--last-failed", "--strict"),
        *("--strict-markers", "--strict-config", "--no-header", "--no-summary", "--showlocals"),
        *("--disable-warnings", "--no-cov", "--cov", "--doctest-modules", "--pyargs"),
    }
)
