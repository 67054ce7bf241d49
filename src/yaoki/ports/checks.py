"""Checks, and the criteria on the diff."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from yaoki.core.model import CheckSpec, Finding
from yaoki.core.model.change import Change, ChangeContext
from yaoki.core.model.check_definition import DefinitionReview, TreeView


class Checker(Protocol):
    def check(
        self,
        spec: CheckSpec,
        worktree: Path,
        folder: Path,
        *,
        facts: Mapping[str, Any],
        stop: Callable[[], bool],
    ) -> Finding:
        """Run one check in `worktree`; its logs go to `folder`.

        `facts` hold the inputs of git checks (commit, base, onto, changed, scope, branch) and of a
        judge (goal, findings so far, the function `diff`, the attempt).  `stop` is called while the
        check runs; true ends the check at once.
        """

    def narrow(self, spec: CheckSpec, finding: Finding) -> CheckSpec | None:
        """The check for only the tests that failed; None where they cannot run alone."""

    def mask_finding(self, finding: Finding, passed_names: Sequence[str]) -> Finding:
        """The finding with the values of the variables that agents get (`passed_names`) masked."""

    def confidential_variables(
        self, passed_names: Sequence[str], written: Mapping[str, str]
    ) -> Mapping[str, str]:
        """The variables, by name, whose value must not be in a commit.

        `passed_names` are names and globs from a plan, `written` variables that the plan sets.
        """


class QualityCriteria(Protocol):
    """The criteria on the diff.  They are pure, so a module with these functions is enough."""

    def judge_criteria(
        self, changes: Sequence[Change], claims: ChangeContext, *, exists: Callable[[str], bool]
    ) -> tuple[Finding, ...]: ...

    def find_gaming(self, changes: Sequence[Change]) -> Finding | None:
        """Code that satisfies a check instead of the task; None when there is none."""

    def is_trivial(self, changes: Sequence[Change]) -> bool:
        """True when only blank lines, comments or empty files were changed."""

    def review_definition(
        self,
        checks: Sequence[CheckSpec],
        changes: Sequence[Change],
        base: TreeView,
        candidate: TreeView,
        *,
        scope: Sequence[str],
        allow_weaker_tests: bool,
        goal: str = "",
    ) -> DefinitionReview:
        """Review the effect of the change on the definition of these checks."""
