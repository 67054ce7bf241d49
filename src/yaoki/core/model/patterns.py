"""The shipped patterns of failure: one record each, from which everything else about them is made.

A pattern says what exactly failed.  A plan may declare further names, which have no record.
"""

from __future__ import annotations

from collections.abc import Mapping

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model.enums import FailureKind


@dataclass(frozen=True, slots=True)
class FailurePattern:
    """One shipped pattern.

    `plain_words` are for readers who know only the report.  `paths`, `records` and `values` name
    what its template gets besides the common params: lists of paths, lists of records, the rest.
    What a check has found fills the first list, but never one of the `other_paths`.
    """

    name: str
    plain_words: str
    paths: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    other_paths: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    # INCOMPLETE is unfinished work, QUALITY_FAILURE bad work.
    kind: FailureKind = FailureKind.QUALITY_FAILURE

    @property
    def params(self) -> tuple[str, ...]:
        return (*self.paths, *self.other_paths, *self.records, *self.values)


_SHIPPED = (
    FailurePattern(
        "git-dirty",
        "files were left uncommitted",
        paths=("changedFiles", "untrackedFiles", "stagedFiles"),
    ),
    FailurePattern(
        "test-failed", "tests failed", records=("failedTests",), values=("errorOutput",)
    ),
    FailurePattern("type-error", "type errors", records=("typeErrors",)),
    FailurePattern("lint-error", "linter findings", records=("lintErrors",)),
    FailurePattern("format-error", "not formatted", paths=("unformattedFiles",), values=("diff",)),
    FailurePattern("file-not-exists", "a file is missing", paths=("missingFiles",)),
    FailurePattern(
        "merge-conflict",
        "in conflict with other work",
        paths=("conflictedFiles",),
        kind=FailureKind.CONFLICT,
    ),
    FailurePattern(
        "out-of-scope", "changed files outside its scope", paths=("outsideFiles", "scope")
    ),
    FailurePattern(
        "mass-deletion",
        "deleted far too much",
        paths=("deletedFiles",),
        values=("deleted", "tracked"),
    ),
    FailurePattern(
        "omission", "parts were left out", records=("omissions",), kind=FailureKind.INCOMPLETE
    ),
    FailurePattern("todo-added", "work was deferred in a comment", records=("todos",)),
    FailurePattern(
        "syntax-error", "broken code", records=("syntaxErrors",), kind=FailureKind.INCOMPLETE
    ),
    FailurePattern(
        "no-change",
        "nothing was changed",
        other_paths=("outsideFiles", "scope"),
        values=("exitCode", "sameWork"),
        kind=FailureKind.INCOMPLETE,
    ),
    FailurePattern(
        "not-committed", "it needs files that are in no commit", records=("uncommittedFiles",)
    ),
    FailurePattern("test-weakened", "tests were weakened", records=("weakenedTests",)),
    FailurePattern("branch-not-pushed", "its branch was not pushed", values=("branch",)),
    FailurePattern(
        "agent-failed",
        "the agent says that it failed",
        # The second: why the result file could not be read.
        values=("claim", "unreadable"),
        kind=FailureKind.INCOMPLETE,
    ),
    FailurePattern(
        "gamed", "the change satisfies the check instead of the task", records=("tellTales",)
    ),
    FailurePattern("not-red", "no test fails without the change", records=("greenTests",)),
    FailurePattern(
        "mutant-survived",
        "no test notices faults in the changed lines",
        records=("survivors",),
    ),
    FailurePattern(
        "too-large",
        "larger than a change may be",
        values=("tooLarge",),
        kind=FailureKind.INCOMPLETE,
    ),
    FailurePattern("secret-added", "the change contains a secret", records=("secrets",)),
)
PATTERNS: Mapping[str, FailurePattern] = {pattern.name: pattern for pattern in _SHIPPED}
