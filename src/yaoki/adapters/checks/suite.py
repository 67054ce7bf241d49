"""What a command showed of the tests it ran: how many passed, what did not load, where it stopped.

A test check that ran no test has not passed, whatever its exit code says (rule 16.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from yaoki.adapters.checks.readers import Reading, Seen, count, opened
from yaoki.adapters.checks.readers.choice import OF_TESTS
from yaoki.adapters.checks.readers.entries import TEST
from yaoki.adapters.checks.readers.suite_stop import Stop, declared, stop_of
from yaoki.adapters.checks.readers.tally import Tally
from yaoki.adapters.checks.recipes import NO_RECIPE, Recipe, recipe_of
from yaoki.core.commands.test_runners import runners, stops_early
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
class Suite:
    """`runner` is empty where nobody knows what runs; then no tests need be shown.

    `said`: the plan says by its pattern, reader or command that tests are run.
    """

    tally: Tally | None
    stop: Stop
    runner: str = ""
    said: bool = False
    recipe: Recipe = NO_RECIPE
    installed: tuple[str, ...] = ()

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
    def trouble(self) -> dict[str, Any]:
        """The same of a suite that failed: why it did not run as a whole."""
        held: dict[str, Any] = {}
        if self.stop.load:
            held["loadError"] = True
        if self.stop.early:
            held["stoppedEarly"] = self.stop.early
        if self.stop.missing:
            held["missingModules"] = [one.name for one in self.stop.missing]
            held["declaredModules"] = list(self.installed)
            held["remedy"] = "; ".join(one.command for one in self.stop.missing)
        return held

    @property
    def names(self) -> tuple[str, ...]:
        return self.tally.names if self.tally is not None else ()

    @property
    def idle(self) -> str:
        """Why a run that ended well has proven nothing; empty when it has."""
        if self.recipe.idle:
            return self.recipe.idle
        if self.tally is None or self.tally.passed > 0:
            return ""
        if self.tally.skipped and not self.tally.failed:
            many = self.tally.skipped
            return "its one test was skipped" if many == 1 else f"all {many} tests were skipped"
        return "it ran no tests" if not self.tally.failed else "none of its tests passed"

    @property
    def remedy(self) -> str:
        """How a known runner whose tests nobody could count is made to tell; empty elsewhere."""
        if self.tally is not None or not self.runner:
            return ""
        return _REMEDIES.get(self.runner, _OTHERWISE)


def suite_of(spec: CheckSpec, seen: Seen, reading: Reading | None) -> Suite:
    """By the report where there is one, else by what the runner printed."""
    output, recipe = opened(seen), recipe_of(spec, seen.worktree)
    known = (*runners(spec.argv, spec.shell), *runners((), recipe.text))
    named = spec.reader if spec.reader in OF_TESTS - {"junit"} else ""
    runner = named or (known[0] if known else "")
    tally = reading.tally if reading is not None and reading.tally is not None else None
    stop = stop_of(output.lines, seen, _load(runner, seen, reading))
    if reading is not None and reading.missing:
        stop = replace(stop, missing=tuple(dict.fromkeys((*reading.missing, *stop.missing))))
    early = stop.early or stops_early(spec.argv, spec.shell)
    return Suite(
        tally or count(output, runner),
        replace(stop, early=early),
        runner,
        bool(known) or spec.pattern == TEST or spec.reader in OF_TESTS,
        recipe,
        declared(stop.missing, seen.worktree),
    )


def _load(runner: str, seen: Seen, reading: Reading | None) -> str:
    if reading is not None and reading.load:
        return reading.load
    return _UNRUN.get(seen.exit_code or 0, "") if runner == "pytest" else ""
