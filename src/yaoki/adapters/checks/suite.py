"""What a command showed of the tests it ran: how many passed, what did not load, where it stopped.

A test check that ran no test has not passed, whatever its exit code says (rule 16.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from yaoki.adapters.checks.readers import CommandOutput, Interpretation, count_tests, split_output
from yaoki.adapters.checks.readers.choice import TEST_READER_NAMES
from yaoki.adapters.checks.readers.entries import TEST_FAILED
from yaoki.adapters.checks.readers.suite_stop import (
    SuiteStop,
    find_suite_stop,
    list_declared_packages,
)
from yaoki.adapters.checks.readers.tally import SuiteTally
from yaoki.adapters.checks.recipes import NO_RECIPE, Recipe, find_recipe
from yaoki.core.commands.test_runners import fail_fast_option, find_test_runners
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import CheckSpec

# pytest's exit codes for a session that did not run its tests: interrupted, internal, usage.
_UNRUN = {
    2: "the session was interrupted",
    3: "pytest failed itself",
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
_OTHERWISE = "let it print its summary, or write a JUnit report to {report}"


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """`runner` is empty where nobody knows what runs; then no tests need be shown.

    `said`: the plan says by its pattern, reader or command that tests are run.
    """

    tally: SuiteTally | None
    stop: SuiteStop
    runner: str = ""
    expects_tests: bool = False
    recipe: Recipe = NO_RECIPE
    declared_packages: tuple[str, ...] = ()

    @property
    def params(self) -> dict[str, Any]:
        """Facts that `core/decide` compares between two runs of a check."""
        held: dict[str, Any] = {}
        if self.tally is not None:
            held["testCount"] = self.tally.total
            held["skippedCount"] = self.tally.skipped
            held["passedCount"] = self.tally.passed
        return held

    @property
    def failure_params(self) -> dict[str, Any]:
        """The same of a suite that failed: why it did not run as a whole."""
        held: dict[str, Any] = {}
        if self.stop.load_error:
            held["loadError"] = True
        if self.stop.early_stop:
            held["stoppedEarly"] = self.stop.early_stop
        if self.stop.missing_packages:
            held["missingModules"] = [one.name for one in self.stop.missing_packages]
            held["declaredModules"] = list(self.declared_packages)
            held["remedy"] = "; ".join(one.install_command for one in self.stop.missing_packages)
        return held

    @property
    def passed_names(self) -> tuple[str, ...]:
        return self.tally.passed_names if self.tally is not None else ()

    @property
    def idle_reason(self) -> str:
        """Why a run that ended well has proven nothing; empty when it has."""
        if self.recipe.idle_reason:
            return self.recipe.idle_reason
        if self.tally is None or self.tally.passed > 0:
            return ""
        if self.tally.skipped and not self.tally.failed:
            many = self.tally.skipped
            return "its one test was skipped" if many == 1 else f"all {many} tests were skipped"
        return "it ran no tests" if not self.tally.failed else "none of its tests passed"

    @property
    def counting_remedy(self) -> str:
        """How a known runner whose tests nobody could count is made to tell; empty elsewhere."""
        if self.tally is not None or not self.runner:
            return ""
        return _REMEDIES.get(self.runner, _OTHERWISE)


def read_suite_run(
    spec: CheckSpec, seen: CommandOutput, reading: Interpretation | None
) -> SuiteRun:
    """By the report where there is one, else by what the runner printed."""
    output, recipe = split_output(seen), find_recipe(spec, seen.worktree)
    known = (*find_test_runners(spec.argv, spec.shell), *find_test_runners((), recipe.text))
    named = spec.reader if spec.reader in TEST_READER_NAMES - {"junit"} else ""
    runner = named or (known[0] if known else "")
    tally = reading.tally if reading is not None and reading.tally is not None else None
    stop = find_suite_stop(output.lines, seen, _load(runner, seen, reading))
    if reading is not None and reading.missing_packages:
        stop = replace(
            stop,
            missing_packages=tuple(
                dict.fromkeys((*reading.missing_packages, *stop.missing_packages))
            ),
        )
    early = stop.early_stop or fail_fast_option(spec.argv, spec.shell)
    return SuiteRun(
        tally or count_tests(output, runner),
        replace(stop, early_stop=early),
        runner,
        bool(known) or spec.pattern == TEST_FAILED or spec.reader in TEST_READER_NAMES,
        recipe,
        list_declared_packages(stop.missing_packages, seen.worktree),
    )


def _load(runner: str, seen: CommandOutput, reading: Interpretation | None) -> str:
    if reading is not None and reading.load_error:
        return reading.load_error
    return _UNRUN.get(seen.exit_code or 0, "") if runner == "pytest" else ""
