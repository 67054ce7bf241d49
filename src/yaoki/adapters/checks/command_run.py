"""A command check that has ended: what it left behind, and findings that carry this evidence."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from yaoki.adapters.checks.findings import CHECK_FAILED, make_broken, make_failed
from yaoki.adapters.checks.output import ERR, OUT, read_channel, read_excerpt, read_tails
from yaoki.adapters.checks.readers import CommandOutput, Interpretation, extract, interpret_output
from yaoki.adapters.checks.readers.entries import FORMAT_ERROR, LINT_ERROR, TEST_FAILED, TYPE_ERROR
from yaoki.adapters.checks.readers.locations import list_worktree_paths, remove_paths
from yaoki.adapters.checks.readers.suite_stop import (
    cannot_start,
    find_missing_path,
    find_wrong_call,
    is_unknown_pytest_option,
)
from yaoki.adapters.checks.runner import CheckProcesses, ProcessResult
from yaoki.adapters.checks.suite import SuiteRun, read_suite_run
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import CheckSpec, EndCause, Finding
from yaoki.core.model.outcome import CANNOT_START_PARAM, DOUBTFUL_PARAM, MISSING_PATH_PARAM
from yaoki.core.model.patterns import PATTERNS
from yaoki.core.redact import mask, mask_values
from yaoki.core.text import format_count, one_line
from yaoki.ports import ProcessState

REPORT = "report.xml"
SHELL_CHARS_READ = 4_000
LAST_LINE_CHARS = 120
COMMAND_CHARS = 80
# Failures with these patterns have names: of a test, a file, a rule.
PATTERNS_WITH_NAMES = {TEST_FAILED, TYPE_ERROR, LINT_ERROR, FORMAT_ERROR}
SILENT = "--silent"
PLUGIN_MISSING = "probably an option of a pytest plugin that is not installed"

_NODE_VERSION = lazy_compile(r"Node\.js v\d")
_ERROR = lazy_compile(r"(?:Uncaught )?[A-Z]\w{0,80}(?:Error|Exception)\b|Error\b")
# The last lines of TAP: `# duration_ms 53.6`.
_TAP_COUNT = lazy_compile(r"# \w{1,40} [\d.]{1,40}")
_NO_TESTS = lazy_compile(r"\b(?:0|no|zero) (?:tests?|passing|passed|specs?|examples?)\b", re.I)


@dataclass(frozen=True, slots=True)
class CommandCheckRun:
    spec: CheckSpec
    worktree: Path
    runner: CheckProcesses
    process_result: ProcessResult
    expects_report: bool
    # The paths in which the commit differs from the one below it.
    changed: Sequence[str]

    @property
    def state(self) -> ProcessState:
        return self.process_result.state

    @property
    def folder(self) -> Path:
        return self.process_result.folder

    @property
    def secrets(self) -> tuple[str, ...]:
        return self.runner.secrets(self.spec.env)

    # -------------------------------------------------------------- what the command left

    def output(self) -> CommandOutput:
        """Output, errors and report for the readers, which mask secrets in what they take."""
        secrets = self.secrets
        return CommandOutput(
            self.state.code,
            read_channel(self.folder / OUT),
            read_channel(self.folder / ERR),
            self.folder / REPORT if self.expects_report else None,
            self.worktree,
            self.spec.cwd,
            lambda text: mask(text, secrets),
        )

    def interpret(self) -> Interpretation:
        spec = self.spec
        words = spec.argv or spec.shell.split(maxsplit=20)
        return interpret_output(self.output(), words, reader=spec.reader, pattern=spec.pattern)

    def last_lines(self) -> list[str]:
        return read_tails(self.folder, self.secrets).split("\n")

    def last_line(self) -> str:
        """The last line of the output, in which a shell names the command that was not found."""
        lines = self.last_lines()
        last = next((line for line in reversed(lines) if line.strip()), "")
        return one_line(self._without_room(last), LAST_LINE_CHARS)

    def visible_command(self) -> str:
        """The command in one line; empty for a hidden check, whose message agents see as well."""
        if self.spec.hidden is not None:
            return ""
        command = self.spec.shell or shlex.join(self.spec.argv)
        return one_line(mask_values(command, self.secrets), COMMAND_CHARS)

    def _without_room(self, text: str) -> str:
        """The text with paths relative to the worktree: the next proof room is another folder."""
        return remove_paths(text, list_worktree_paths(self.output()))

    def evidence(self) -> dict[str, Any]:
        """The fields that every finding about this run has."""
        return {
            "exit_code": self.state.code,
            "output": read_excerpt(self.folder, self.secrets),
            "log": str(self.folder / OUT),
            "seconds": self.state.seconds,
        }

    def params(self, reading: Interpretation) -> Mapping[str, Any]:
        """Params read from the output, and those that the extractors of the plan find in it."""
        if not self.spec.extract:
            return reading.params
        return {**reading.params, **extract(self.spec.extract, self.output())}

    # -------------------------------------------------------------- findings

    def make_broken(self, message: str, **fields: Any) -> Finding:
        return make_broken(self.spec, message, **{**self.evidence(), **fields})

    def make_failed(
        self, message: str, reading: Interpretation | None = None, suite: SuiteRun | None = None
    ) -> Finding:
        """Names the failures that were read; otherwise the last line of the output follows."""
        reading = self.interpret() if reading is None else reading
        suite = suite or read_suite_run(self.spec, self.output(), reading)
        fields = {
            **self.evidence(),
            "params": {**self.params(reading), **suite.params, **suite.failure_params},
            "fault": reading.reader_fault,
            "passing_tests": suite.passed_names,
            "failing_tests": suite.failed_names,
        }
        if reading.failure_count:
            names = f"{message}; {_describe_failures(self.spec, reading)}".removeprefix("; ")
            return make_failed(
                self.spec,
                names,
                reading.pattern,
                items=reading.items,
                unlisted=reading.unlisted,
                **fields,
            )
        wrong_call = find_wrong_call(self.last_lines())
        if wrong_call or (suite.tally is not None and suite.tally.total == 0):
            fields["params"] |= {DOUBTFUL_PARAM: True}
        if cannot_start(wrong_call):
            fields["params"] |= {CANNOT_START_PARAM: True}
        if path := self._missing_path(wrong_call):
            fields["params"] |= {MISSING_PATH_PARAM: path}
        line = _most_telling_line(fields["output"], counts=bool(suite.idle_reason))
        if wrong_call and (suite.stop.load_error or suite.idle_reason):
            # A runner prints its counts or its folder below it, or on the other channel.
            line = wrong_call
        line = self._without_room(line)
        if not wrong_call and (passed := self._passed_beside_failure(suite)):
            fields["params"] |= {DOUBTFUL_PARAM: True}
            words = f"{message}, although {passed} and none failed, so something else did"
            line = "" if _TAP_COUNT.fullmatch(line) else line
            words = f"{words}: {line}" if line else words
            failed = make_failed(self.spec, f"{words}{self._loud_command}", **fields)
            # No test needs a fix, although the plan expects failures of tests.
            is_test = self.spec.pattern == TEST_FAILED
            return replace(failed, pattern=CHECK_FAILED) if is_test else failed
        is_option = is_unknown_pytest_option(wrong_call)
        is_unread = self.spec.pattern in PATTERNS_WITH_NAMES and line and not wrong_call
        remark = " (its output was not understood)" if is_unread else ""
        line += f"; {PLUGIN_MISSING}" if is_option else ""
        return make_failed(self.spec, f"{message}{remark}: {line}" if line else message, **fields)

    @property
    def _loud_command(self) -> str:
        """The command that does not silence its scripts, for a person."""
        loud = [word for word in self.spec.argv if word != SILENT]
        has_more = len(loud) < len(self.spec.argv) and self.spec.hidden is None
        return f"; to see more: {shlex.join(loud)}" if has_more else ""

    def _passed_beside_failure(self, suite: SuiteRun) -> str:
        """The tests of a complete suite without a failure, in words, if the command failed."""
        has_failed = self.state.ended_by is EndCause.NONE and bool(self.state.code)
        if not has_failed or suite.failure_params or suite.tally is None or suite.tally.failed:
            return ""
        passed = suite.tally.passed
        return format_count(passed, "test passed", "tests passed") if passed else ""

    def _missing_path(self, wrong_call: str) -> str:
        """The missing path, if the command itself names it and the work did not remove it."""
        path = find_missing_path(wrong_call)
        if not path or path not in {word.partition("::")[0] for word in split_words(self.spec)}:
            return ""
        place = Path(os.path.normpath(Path(self.spec.cwd, path)))
        removed = any(Path(one).is_relative_to(place) for one in self.changed)
        return "" if removed or (self.worktree / place).exists() else path


def split_words(spec: CheckSpec) -> tuple[str, ...]:
    return spec.argv or tuple(re.split(r"[\s;|&()<>'\"]+", spec.shell[:SHELL_CHARS_READ]))


def _most_telling_line(output: str, *, counts: bool) -> str:
    """The last line; with `counts`, the last line that says that no tests ran.

    Tools end with hints after the error itself.
    """
    every = [line for line in reversed(output.splitlines()) if line.strip()]
    lines = [line for line in every if not line.lstrip().startswith(("hint:", "help:"))] or every
    numbers = (line for line in lines if counts and _NO_TESTS.search(line))
    return next(numbers, _uncaught_error(lines) or (lines[0] if lines else ""))


def _uncaught_error(newest_first: Sequence[str]) -> str:
    """node prints its version last, below an error that nothing caught."""
    if not newest_first or not _NODE_VERSION.match(newest_first[0]):
        return ""
    return next((line for line in newest_first if _ERROR.match(line)), "")


def _describe_failures(spec: CheckSpec, reading: Interpretation) -> str:
    """A pattern of the plan's own replaces the reader's words for the same failures."""
    if spec.pattern in ("", *PATTERNS):
        return reading.message
    count = f"{reading.failure_count} failure{'' if reading.failure_count == 1 else 's'}"
    return f"{count} of {spec.name}: {reading.message.partition(': ')[2]}"
