"""Judges a command check: did it run, did it do what success means, does its report agree."""

from __future__ import annotations

import re
import signal

from yaoki.adapters.checks.command_run import REPORT, CommandCheckRun, split_words
from yaoki.adapters.checks.findings import TRANSIENT_ERRNOS, make_broken, make_passed
from yaoki.adapters.checks.missing_tool import (
    find_missing_command,
    find_missing_tool,
    is_disk_full,
    reports_no_space,
)
from yaoki.adapters.checks.output import OUT, contains_text, is_blank
from yaoki.adapters.checks.readers import Interpretation, interpret_report, raw_params
from yaoki.adapters.checks.search import search_file
from yaoki.adapters.checks.suite import SuiteRun, read_suite_run
from yaoki.core.lazy_dataclass import replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import EndCause, Finding
from yaoki.core.model.outcome import MISSING_COMMAND_PARAM, TIMED_OUT_PARAM
from yaoki.core.text import format_bytes, format_duration
from yaoki.errors import FatalCode
from yaoki.ports.processes import ProcessPhase

OUTPUT_BYTES_MAX = 256 << 20
# Only yaoki or the machine ends a check by these: they say nothing about the work.
EXTERNAL_SIGNALS = {signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP}
NOT_EXECUTABLE, NOT_FOUND = 126, 127

_NONE_RAN = lazy_compile(r"^=* ?no tests ran in [\d.]+s", re.MULTILINE)


def judge_command(run: CommandCheckRun) -> Finding:
    finding = (
        _find_interruption(run)
        or _find_early_end(run)
        or _find_failure(run)
        or _find_report_failure(run)
        or _find_reader_failure(run)
    )
    if finding is not None:
        return finding
    output = run.output()
    suite = read_suite_run(
        run.spec, output, interpret_report(output) if run.expects_report else None
    )
    fields = {
        **run.evidence(),
        "params": suite.params,
        "passing_tests": suite.passed_names,
        "failing_tests": suite.failed_names,
    }
    return _find_missing_tests(run, suite) or make_passed(run.spec, **fields)


# ------------------------------------------------------------------ did it run to its end


def _find_interruption(run: CommandCheckRun) -> Finding | None:
    if run.process_result.was_stopped:
        return run.make_broken("stopped", transient=True)
    if run.state.start_error:
        is_transient = run.state.start_errno in TRANSIENT_ERRNOS
        return run.make_broken(run.state.start_error, transient=is_transient)
    if run.state.phase != ProcessPhase.EXITED:
        return run.make_broken("its process was lost", transient=True)
    return None


def _find_early_end(run: CommandCheckRun) -> Finding | None:
    match run.state.ended_by:
        case EndCause.NONE:
            return _find_signal(run)
        case EndCause.DEADLINE:
            late = run.make_failed(
                f"timed out after {format_duration(run.spec.timeout.total_seconds())}"
            )
            return replace(late, params={**late.params, TIMED_OUT_PARAM: True})
        case EndCause.OUTPUT:
            return run.make_failed(
                f"wrote more than {format_bytes(OUTPUT_BYTES_MAX)} and was ended"
            )
        case cause:
            return run.make_broken(f"ended by {cause}", transient=True)


def _find_signal(run: CommandCheckRun) -> Finding | None:
    number = run.state.signal
    if number is None:
        return None
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    if number in EXTERNAL_SIGNALS:
        return run.make_broken(f"ended by {name} from outside", transient=True)
    return run.make_failed(f"crashed with {name}")


# ------------------------------------------------------------------ did it succeed


def _find_failure(run: CommandCheckRun) -> Finding | None:
    """The failure; None when the command meets its rule of success.  An unknown rule proves
    nothing.
    """
    code = run.state.code
    name, _, expected = run.spec.success.partition(":")
    match name, expected:
        case "exitCode", digits if digits.isdecimal():
            return None if code == int(digits) else _explain_exit_code(run)
        case ("empty", "") | ("contains" | "matches", _) if name == "empty" or expected:
            return _explain_exit_code(run) if code != 0 else _compare_output(run, name, expected)
        case _:
            return make_broken(run.spec, f"success {run.spec.success!r} is not understood")


def _compare_output(run: CommandCheckRun, rule: str, expected: str) -> Finding | None:
    file = run.folder / OUT
    if rule == "empty":
        return None if is_blank(file) else run.make_failed("its output is not empty")
    if rule == "contains":
        is_there = contains_text(file, expected)
        return None if is_there else run.make_failed(f"its output lacks {expected!r}")
    finding = search_file(run.spec, run.runner, expected, file, "its output")
    if finding is None:
        return None
    return replace(finding, **run.evidence(), params=run.params(run.interpret()))


def _explain_exit_code(run: CommandCheckRun) -> Finding:
    code = run.state.code
    if code in (NOT_EXECUTABLE, NOT_FOUND):
        return _explain_shell_code(run, code)
    reading = run.interpret()
    finding = _find_machine_fault(run, reading)
    if finding is not None:
        return finding
    message = f"exit code {code}"
    if reading.report_defect:
        message = f"{message}; the report {REPORT} {reading.report_defect}"
    elif (command := run.visible_command()) and not run.last_line():
        # Without any output, only the command tells what is wrong.
        message = f"{message} without output: {command}"
    return run.make_failed("" if reading.failure_count else message, reading)


def _explain_shell_code(run: CommandCheckRun, code: int) -> Finding:
    line = run.last_line()
    if code == NOT_EXECUTABLE:
        message = f"exit code {code}: a command may not be executed{f': {line}' if line else ''}"
        return run.make_broken(message, code=FatalCode.PERMISSION_DENIED)
    command = find_missing_command(run.last_lines())
    reason = f"the command {command!r} was not found" if command else "a command was not found"
    more = f": {line}" if line and not command else ""
    return _make_missing(run, f"exit code {code}: {reason}{more}", command)


def _make_missing(run: CommandCheckRun, message: str, command: str) -> Finding:
    params = {MISSING_COMMAND_PARAM: command} if command else {}
    return run.make_broken(message, code=FatalCode.RESOURCE_NOT_FOUND, params=params)


def _find_machine_fault(run: CommandCheckRun, reading: Interpretation) -> Finding | None:
    """A full disk or a missing tool, by the tool's own words, where no test says otherwise."""
    lines = run.last_lines()
    if reports_no_space(lines) and (not reading.failure_count or is_disk_full(run.worktree)):
        return run.make_broken("no space left on the device", transient=True)
    if reading.failure_count or reading.tally:
        return None
    tool = find_missing_tool(lines, split_words(run.spec))
    if not tool:
        return None
    command = find_missing_command(lines)
    named = f"{command}: {tool}" if command and command not in tool else tool
    return _make_missing(run, f"a tool is missing: {named}", command)


# ------------------------------------------------------------------ do report and tests agree


def _find_report_failure(run: CommandCheckRun) -> Finding | None:
    """A requested report must prove something, whatever the exit code says."""
    if not run.expects_report:
        return None
    output, spec = run.output(), run.spec
    reading, raw = interpret_report(output, spec.pattern), Interpretation(params=raw_params(output))
    if reading is None:
        return run.make_failed(f"it left no report: {REPORT} is missing or empty", raw)
    if reading.report_defect:
        # The command succeeded: its author has to fix the report, not the agent.
        message = f"its report {REPORT} {reading.report_defect}"
        return run.make_broken(message, fault=reading.reader_fault, code=FatalCode.CHECK_UNFIT)
    suite = read_suite_run(spec, output, reading)
    has_no_case = suite.expects_tests if reading.tally is None else not reading.tally.total
    if has_no_case and not reading.failure_count:
        return run.make_failed(f"the report {REPORT} contains no test case", raw, suite)
    if _NONE_RAN.search("\n".join(run.last_lines())):
        # The report also lists a test that was only collected.
        return run.make_failed("it ran no tests", raw, suite)
    return run.make_failed("", reading) if reading.failure_count else None


def _find_reader_failure(run: CommandCheckRun) -> Finding | None:
    """A plan that names the reader says what the output is: failures in it count even with
    exit code 0.
    """
    if not run.spec.reader:
        return None
    reading = run.interpret()
    return run.make_failed("", reading) if reading.failure_count else None


def _find_missing_tests(run: CommandCheckRun, suite: SuiteRun) -> Finding | None:
    """A test check that ran no test has not passed; None when tests passed, or none are meant."""
    success = run.spec.success
    has_to_fail = success.startswith("exitCode:") and success != "exitCode:0"
    if has_to_fail and not (suite.tally is not None and suite.tally.total == 0):
        return None
    if suite.idle_reason:
        raw = Interpretation(params=raw_params(run.output()))
        finding = run.make_failed(suite.idle_reason, raw, suite)
        return replace(finding, params={**finding.params, "idle": True})
    if suite.counting_remedy and suite.expects_tests:
        message = f"{suite.runner} did not say how many tests passed; {suite.counting_remedy}"
        return run.make_broken(message, code=FatalCode.CHECK_UNFIT)
    if suite.tally is not None and suite.tally.failed:
        return run.make_failed("its exit code says success, but its tests failed", None, suite)
    return None
