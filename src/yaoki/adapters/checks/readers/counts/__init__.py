"""Counts tests by the summaries that runners print, however they were started.

A line counts only in the exact form of its runner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from yaoki.adapters.checks.readers.command_output import OutputLines
from yaoki.adapters.checks.readers.counts.javascript import (
    count_ava,
    count_bun,
    count_deno,
    count_jest,
    count_mocha,
    count_node,
)
from yaoki.adapters.checks.readers.counts.other_languages import count_cargo, count_go, count_others
from yaoki.adapters.checks.readers.counts.python import count_doctest, count_pytest, count_unittest
from yaoki.adapters.checks.readers.tally import (
    SuiteTally,
    TallyReader,
    add_tallies,
    names_if_complete,
)

__all__ = ["SuiteTally", "count_tests", "names_if_complete"]

_ALL: tuple[TallyReader, ...] = (
    *(count_pytest, count_unittest, count_doctest, count_node, count_jest, count_mocha),
    *(count_ava, count_deno, count_bun, count_cargo, count_go, count_others),
)
_BY_RUNNER: Mapping[str, tuple[TallyReader, ...]] = {
    "pytest": (count_pytest,),
    "unittest": (count_unittest,),
    "doctest": (count_doctest,),
    "jest": (count_jest,),
    "vitest": (count_jest,),
    "node": (count_node,),
    "tap": (count_node, count_others),
    "deno": (count_deno, count_node),
    "go": (count_go,),
    "cargo": (count_cargo,),
    "mocha": (count_mocha,),
    "ava": (count_ava,),
    "bun": (count_bun,),
}


def count_tests(output: OutputLines, runner: str = "") -> SuiteTally | None:
    """The summaries of `runner` if there are any, otherwise all summaries."""
    tally = _sum(output, _BY_RUNNER.get(runner, ()))
    return tally if tally is not None else _sum(output, _ALL)


def _sum(output: OutputLines, counts: Sequence[TallyReader]) -> SuiteTally | None:
    return add_tallies([tally for count in counts if (tally := count(output)) is not None])
