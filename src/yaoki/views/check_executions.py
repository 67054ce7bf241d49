"""The executions of a check, recognised by the names of the folders with their output.

A failed check is run again, and on the base; the verdict is based on only one of its executions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import CheckRunPurpose
from yaoki.views.history import CheckResult

_FOLDER = lazy_compile(r"(\d+|aims|mutant-\d+)-(.+)", re.DOTALL)
# A verification that is repeated numbers its folders; `-match` is the search in a large file.
_CANDIDATE_SUFFIX = lazy_compile(r"(-match)?(-\d+)?")
# By the start of the suffix that the stages give to the folder of a further execution.
_SUFFIXES: Mapping[str, tuple[CheckRunPurpose, str]] = {
    "-again-": (CheckRunPurpose.AGAIN, "again, after its failure"),
    "-asked-": (CheckRunPurpose.AGAIN, "again, after an answer that could not be read"),
    "-base": (CheckRunPurpose.BASE, "on the base"),
    "-onto-": (CheckRunPurpose.BASE, "on the base"),
    "-landed-": (CheckRunPurpose.BASE, "on landed work for which it was waived"),
    "-without-change": (CheckRunPurpose.COMPARISON, "without the change"),
    "-definition-before": (CheckRunPurpose.COMPARISON, "as it was before the change"),
    "-with-ignored-files": (CheckRunPurpose.COMPARISON, "with the ignored files"),
    "-negative-control": (CheckRunPurpose.COMPARISON, "with tests that must fail"),
    "-wrong-values": (CheckRunPurpose.COMPARISON, "with wrong values in its comparisons"),
    "-own-tests": (CheckRunPurpose.MUTANT, "with the new tests alone"),
}


@dataclass(frozen=True, slots=True)
class CheckExecution:
    """One execution of a check; `name` is that of its folder.

    `words`: its purpose; empty for an execution on the candidate.  `is_verdict`: the newest verdict
    of the attempt is based on it.
    """

    name: str
    check: str
    purpose: CheckRunPurpose
    words: str
    is_verdict: bool = False


def read_execution(folder: str, checks: Iterable[str]) -> CheckExecution | None:
    """The execution that a folder belongs to; None for the folder of something else."""
    hit = _FOLDER.fullmatch(folder)
    longest_first = sorted(checks, key=len, reverse=True)
    names = (name for name in longest_first if hit and f"{hit[2]}-".startswith(f"{name}-"))
    check = next(names, None)
    if hit is None or check is None:
        return None
    suffix = hit[2].removeprefix(check)
    if hit[1] == "aims":
        return CheckExecution(folder, check, CheckRunPurpose.BASE, "on the base")
    if not hit[1].isdecimal():
        return CheckExecution(folder, check, CheckRunPurpose.MUTANT, "on a mutant")
    if _CANDIDATE_SUFFIX.fullmatch(suffix):
        return CheckExecution(folder, check, CheckRunPurpose.CANDIDATE, "")
    kinds = (kind for start, kind in _SUFFIXES.items() if suffix.startswith(start))
    kind = next(kinds, None)
    return CheckExecution(folder, check, *kind) if kind else None


def list_executions(
    folders: Iterable[str], checks: Sequence[str], verdicts: Mapping[str, str]
) -> Iterator[CheckExecution]:
    """The executions in the order of the folders; `verdicts` has a folder for each check."""
    for folder in folders:
        execution = read_execution(folder, checks)
        if execution is None:
            continue
        if verdicts.get(execution.check) == folder:
            yield replace(execution, words="", is_verdict=True)
        elif execution.purpose is CheckRunPurpose.CANDIDATE and execution.check in verdicts:
            yield replace(execution, words="in another verification")
        else:
            yield execution


def choose_execution(executions: Sequence[CheckExecution]) -> CheckExecution | None:
    """The execution of the verdict; before a verdict the newest on the candidate.

    `executions`: those of one check, oldest first.
    """

    def importance(one: CheckExecution) -> tuple[bool, bool]:
        return one.is_verdict, one.purpose is CheckRunPurpose.CANDIDATE

    return max(reversed(executions), key=importance, default=None)


def verdict_folders(results: Iterable[CheckResult]) -> dict[str, str]:
    """By check the folder of the execution that its newest result was read from."""
    return {one.check: PurePosixPath(one.log).parent.name for one in results if one.log}
