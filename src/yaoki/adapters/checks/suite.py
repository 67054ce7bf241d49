"""The tests that a command ran: how many passed, which did not load, where it stopped.

A test check that ran no test has not passed, whatever its exit code says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yaoki.adapters.checks.readers import CommandOutput, Interpretation, count_tests, split_output
from yaoki.adapters.checks.readers.choice import TEST_READER_NAMES
from yaoki.adapters.checks.readers.entries import TEST_FAILED
from yaoki.adapters.checks.readers.locations import list_worktree_paths, remove_paths
from yaoki.adapters.checks.readers.suite_stop import (
    SuiteStop,
    find_suite_stop,
    join_install_commands,
    list_declared_packages,
)
from yaoki.adapters.checks.readers.tally import SuiteTally
from yaoki.adapters.checks.recipes import NO_RECIPE, Recipe, find_recipe
from yaoki.core.commands.test_runners import fail_fast_option, find_test_runners
from yaoki.core.decide.integrity import describe_unproven
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import CheckSpec

# pytest's exit codes for a session that did not run its tests: interrupted, internal, usage.
_NOT_RUN_BY_EXIT_CODE = {
    2: "the session was interrupted",
    3: "pytest had an internal error",
    4: "pytest was called wrongly",
}
_REMEDIES: Mapping[str, str] = {
    "pytest": "write a report: --junit-xml {report}",
    "doctest": "let it name its tests: -v",
    "unittest": "let it print its summary",
    "go": "let it name its tests: -v",
    "node": "let it print its summary: --test-reporter tap",
    "jest": "let it print its summary, or write a report with jest-junit to {report}",
    "vitest": "write a report: --reporter default --reporter junit --outputFile.junit {report}",
    "mocha": "let it print its summary: --reporter spec",
}
_DEFAULT_REMEDY = "let it print its summary, or write a JUnit report to {report}"


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """`runner` is empty if the command is no known test runner; then no tests are required.

    `expects_tests`: the pattern, reader or command of the plan says that tests run.
    """

    tally: SuiteTally | None
    stop: SuiteStop
    runner: str = ""
    expects_tests: bool = False
    recipe: Recipe = NO_RECIPE
    declared_packages: tuple[str, ...] = ()

    @property
    def params(self) -> dict[str, Any]:
        """Counts that `core/decide` compares between two runs of a check."""
        params: dict[str, Any] = {}
        if self.tally is not None:
            params["testCount"] = self.tally.total
            params["skippedCount"] = self.tally.skipped
            params["passedCount"] = self.tally.passed
            if self.tally.xfailed:
                params["xfailedCount"] = self.tally.xfailed
        return params

    @property
    def failure_params(self) -> dict[str, Any]:
        """The reason why a failed suite did not run completely, as params."""
        params: dict[str, Any] = {}
        if self.stop.load_error:
            params["loadError"] = True
        if self.stop.early_stop:
            params["stoppedEarly"] = self.stop.early_stop
        if self.stop.missing_packages:
            params["missingModules"] = [package.name for package in self.stop.missing_packages]
            params["declaredModules"] = list(self.declared_packages)
            params["remedy"] = join_install_commands(self.stop.missing_packages)
        return params

    @property
    def passed_names(self) -> tuple[str, ...]:
        return self.tally.passed_names if self.tally is not None else ()

    @property
    def failed_names(self) -> tuple[str, ...]:
        return self.tally.failed_names if self.tally is not None else ()

    @property
    def idle_reason(self) -> str:
        """The reason why a run with exit code 0 proves nothing; empty if it proves something."""
        if self.recipe.idle_reason:
            return self.recipe.idle_reason
        if self.tally is None or self.tally.passed > 0:
            return ""
        if self.tally.xfailed and not self.tally.failed:
            return "none of its tests passed: " + describe_unproven(
                self.tally.skipped, self.tally.xfailed
            )
        if self.tally.skipped and not self.tally.failed:
            count = self.tally.skipped
            return "its one test was skipped" if count == 1 else f"all {count} tests were skipped"
        return "it ran no tests" if not self.tally.failed else "none of its tests passed"

    @property
    def counting_remedy(self) -> str:
        """The way to make a known runner report its test count; empty if not needed."""
        if self.tally is not None or not self.runner:
            return ""
        return _REMEDIES.get(self.runner, _DEFAULT_REMEDY)


def read_suite_run(
    spec: CheckSpec, output: CommandOutput, reading: Interpretation | None
) -> SuiteRun:
    """Read the report if there is one, otherwise the output of the runner."""
    parts, recipe = split_output(output), find_recipe(spec, output.worktree)
    runners = (*find_test_runners(spec.argv, spec.shell), *find_test_runners((), recipe.text))
    reader_runner = spec.reader if spec.reader in TEST_READER_NAMES - {"junit"} else ""
    runner = reader_runner or (runners[0] if runners else "")
    tally = reading.tally if reading is not None and reading.tally is not None else None
    stop = find_suite_stop(parts.lines, output, _find_load_error(runner, output, reading))
    if reading is not None and reading.missing_packages:
        stop = replace(
            stop,
            missing_packages=tuple(
                dict.fromkeys((*reading.missing_packages, *stop.missing_packages))
            ),
        )
    tally = tally or count_tests(parts, runner)
    early = stop.early_stop or fail_fast_option(spec.argv, spec.shell)
    return SuiteRun(
        _with_stable_names(tally, output) if tally is not None else None,
        replace(stop, early_stop=early),
        runner,
        bool(runners) or spec.pattern == TEST_FAILED or spec.reader in TEST_READER_NAMES,
        recipe,
        list_declared_packages(stop.missing_packages, output.worktree),
    )


def _with_stable_names(tally: SuiteTally, output: CommandOutput) -> SuiteTally:
    """node names a file without tests by its path, which is another one in each proof room."""
    folders = list_worktree_paths(output)
    passed, failed = (
        tuple(remove_paths(name, folders) for name in names)
        for names in (tally.passed_names, tally.failed_names)
    )
    return replace(tally, passed_names=passed, failed_names=failed)


def _find_load_error(runner: str, output: CommandOutput, reading: Interpretation | None) -> str:
    if reading is not None and reading.load_error:
        return reading.load_error
    return _NOT_RUN_BY_EXIT_CODE.get(output.exit_code or 0, "") if runner == "pytest" else ""
