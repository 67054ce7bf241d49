"""The failing tests of a check alone: the same command, narrowed to them.

Only where every word of the command is understood; else the whole check is run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePosixPath

from yaoki.adapters.checks.test_count_request import request_test_count
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
    """The check for just the tests that failed; None where they cannot be run alone."""
    names = [item.name for item in finding.items]
    reported = request_test_count(spec)
    known = names and len(names) <= TESTS_MAX and all("::" in name for name in names)
    if not known or reported is spec or len(names) < int(finding.params.get("failureCount", 0)):
        return None
    at = _program_end(spec.argv)
    options = tuple(_options(spec.argv[at:])) if at else ()
    if at is None or None in options:
        return None
    return replace(spec, argv=(*spec.argv[:at], *(word for word in options if word), *names))


def _program_end(argv: Sequence[str]) -> int | None:
    """Where the words of pytest itself begin."""
    for at, (one, other) in enumerate(pairwise((*argv, ""))):
        if (one, other) == ("-m", "pytest"):
            return at + 2
        if PurePosixPath(one).name in {"pytest", "py.test"}:
            return at + 1
    return None


def _options(words: Sequence[str]) -> Iterator[str | None]:
    """The words without paths; None where a word may be the value of an option nobody knows."""
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
