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

        `facts` hold what git checks need: commit, base, onto, changed, scope, branch; and what
        a judge needs: goal, the findings so far, `diff` to be called, and whose attempt it is.
        `stop` is asked while it runs; true means end it at once.
        """

    def narrow(self, spec: CheckSpec, finding: Finding) -> CheckSpec | None:
        """The check for just the tests that failed; None where they cannot be run alone."""

    def mask_finding(self, finding: Finding, handed: Sequence[str]) -> Finding:
        """A finding about the change itself, without the values that agents are `handed`."""

    def confidential_variables(
        self, handed: Sequence[str], written: Mapping[str, str]
    ) -> Mapping[str, str]:
        """The variables, by name, whose value has no place in a commit.

        `handed` are names and globs of a plan, `written` variables that it gives a value itself.
        """


class QualityCriteria(Protocol):
    """The criteria on the diff; pure, so a module with these functions will do."""

    def judge_criteria(
        self, changes: Sequence[Change], claims: ChangeContext, *, exists: Callable[[str], bool]
    ) -> tuple[Finding, ...]: ...

    def find_gaming(self, changes: Sequence[Change]) -> Finding | None:
        """Code that serves a check instead of the task; None when there is none."""

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
        """What the change does to the definition of these checks."""
