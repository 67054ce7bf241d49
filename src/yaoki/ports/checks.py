"""Checks, and the criteria on the diff."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import CheckSpec, Finding, FindingItem
from yaoki.core.model.change import Change, ChangeContext
from yaoki.core.model.check_definition import DefinitionReview, TestsOfTwoRuns, TreeView
from yaoki.core.model.failing_tests import FailingTests
from yaoki.core.model.mutant import HiddenCode, Mutant
from yaoki.core.model.suppression import Suppression
from yaoki.ports.proof_rooms import RoomFolders


@dataclass(frozen=True, slots=True)
class CheckFacts:
    """What a check may know besides the files: the commit, its change, the task behind it.

    A new fact gets no default here, so that the type checker names everyone who must supply it.
    """

    commit: str
    # The commit that the attempt began on.
    base: str
    # The commit below `commit`: `changed` are the paths in which the two differ.
    onto: str
    # The verified commit of the branch below `commit`.  For a joint commit that is not `onto`,
    # which contains the work of other tasks.
    verified_below: str
    # The commit whose failures are known and do not count.
    baseline_commit: str
    changed: Sequence[str]
    scope: Sequence[str]
    # None, here and below: it is not known, so a git check that asks for it is BROKEN.
    dirty: Sequence[str] | None
    pushed: bool | None
    merged: bool | None
    run: str
    task: str
    task_name: str
    attempt: int
    epoch: int
    goal: str
    branch: str
    # A function, because it costs a git command.
    diff: Callable[[], str]
    # Variables that the check sees besides those of every check.
    environment: Mapping[str, str]
    # Names of the variables that agents get; their values are masked.
    passed_names: Sequence[str]
    # The findings of the checks before this one.
    findings: Sequence[Finding] = ()
    # The private folders of one run of a check in a proof room.
    room: RoomFolders | None = None
    # Another text for each hidden file, by its path; the texts are those of the check without it.
    rewrite_hidden: Callable[[str, str], str] | None = None


def commit_facts(
    commit: str, environment: Mapping[str, str] | None = None, passed_names: Sequence[str] = ()
) -> CheckFacts:
    """The facts of a commit alone: no task, no change, nothing known about branches."""
    return CheckFacts(
        commit=commit,
        base=commit,
        onto=commit,
        verified_below=commit,
        baseline_commit=commit,
        changed=(),
        scope=(),
        dirty=None,
        pushed=None,
        merged=None,
        run="",
        task="",
        task_name="",
        attempt=1,
        epoch=0,
        goal="",
        branch="",
        diff=str,
        environment=environment or {},
        passed_names=passed_names,
    )


class Checker(Protocol):
    def check(
        self,
        spec: CheckSpec,
        worktree: Path,
        folder: Path,
        *,
        facts: CheckFacts,
        stop: Callable[[], bool],
    ) -> Finding:
        """Run one check in `worktree`; its logs go to `folder`.

        `stop` is called while the check runs; true ends the check at once.
        """

    def identify_tools(self, spec: CheckSpec) -> str:
        """Identifies the programs that a command starts, by version; empty if that is unknown."""

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

    def find_gaming(
        self,
        changes: Sequence[Change],
        base: TreeView,
        *,
        goal: str = "",
        checks: Sequence[CheckSpec] = (),
    ) -> Finding | None:
        """Code that satisfies a check instead of the task; None when there is none."""

    def list_test_files(self, changes: Sequence[Change]) -> tuple[str, ...]:
        """The changed files that are tests or belong to tests, and to nothing else."""

    def list_mutants(self, changes: Sequence[Change], count_max: int) -> tuple[Mutant, ...]:
        """Faults in the changed lines of the program, at most this many."""

    def list_hidden_code(self, changes: Sequence[Change]) -> tuple[HiddenCode, ...]:
        """Changed code of the program that no mutant can reach."""

    def find_process_access(
        self, changes: Sequence[Change], paths: Sequence[str]
    ) -> tuple[FindingItem, ...]:
        """Code that could rewrite the result of its tests; `paths` are all changed files."""

    def find_suppressions(
        self, changes: Sequence[Change], checks: Sequence[CheckSpec], base: TreeView
    ) -> tuple[Suppression, ...]:
        """The comments that the change adds and that silence a tool of these checks."""

    def remove_suppressions(
        self, changes: Sequence[Change], suppressions: Sequence[Suppression]
    ) -> Mapping[str, str]:
        """The texts of the changed files without these comments, by path."""

    def find_own_equality(self, changes: Sequence[Change]) -> tuple[FindingItem, ...]:
        """Code that decides how values of the program compare with others."""

    def decides_equality(self, changes: Sequence[Change]) -> bool:
        """True if such code alone could make a value equal to a wrong one."""

    def is_unread(self, path: str, text: str, *, is_run: bool) -> bool:
        """True if the comparisons of a test file cannot be made with wrong values."""

    def compare_with_wrong_values(self, path: str, text: str, changed: Sequence[str]) -> str | None:
        """The test file with comparisons that are made with wrong values as well."""

    def is_python_test_file(self, path: str) -> bool:
        """True for a Python file that holds tests by its name."""

    def make_tests_fail(self, path: str, text: str) -> FailingTests | None:
        """The test file with tests that fail; None where it has none or cannot be read."""

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

    def find_absent_tests(
        self,
        tests: TestsOfTwoRuns,
        review: DefinitionReview,
        base: TreeView,
        candidate: TreeView,
        *,
        folder: str = ".",
    ) -> Mapping[str, int]:
        """The tests of the base that do not run any more, and how many cases of each, without those
        that the reviewed change replaces.
        """
