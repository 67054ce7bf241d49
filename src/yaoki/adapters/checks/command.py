"""Command checks: run in the worktree, judged by exit, output and report."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from yaoki.adapters.checks.environment import (
    build_check_environment,
    find_copied_report,
    save_report,
)
from yaoki.adapters.checks.findings import TRANSIENT_ERRNOS, make_broken, make_failed, make_passed
from yaoki.adapters.checks.output import (
    ERR,
    OUT,
    contains_text,
    is_blank,
    read_channel,
    read_excerpt,
    read_tails,
)
from yaoki.adapters.checks.readers import (
    CommandOutput,
    Interpretation,
    extract,
    interpret_output,
    interpret_report,
    raw_params,
    reader_defect,
)
from yaoki.adapters.checks.readers.entries import FORMAT_ERROR, LINT_ERROR, TEST_FAILED, TYPE_ERROR
from yaoki.adapters.checks.runner import CheckProcesses, ProcessResult
from yaoki.adapters.checks.search import search_file
from yaoki.adapters.checks.suite import SuiteRun, read_suite_run
from yaoki.adapters.checks.test_count_request import request_test_count
from yaoki.adapters.checks.tool_missing import find_missing_tool, is_disk_full, reports_no_space
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.system.files import read_plain_bytes
from yaoki.core.decide.classification import CHECK_UNFIT, TIMED_OUT_PARAM
from yaoki.core.model import CheckSpec, Finding
from yaoki.core.redact import mask
from yaoki.core.settings.settings import PATTERNS
from yaoki.core.text import one_line
from yaoki.ports import Launch

OUTPUT_BYTES_MAX = 256 << 20
REPORT = "report.xml"
WORDS_READ = 40
SCRIPT_BYTES_READ = 64 * 1024
SHELL_CHARS_READ = 4_000
LAST_LINE_CHARS = 120
# Patterns of which each failure has a name.
PATTERNS_WITH_NAMES = {TEST_FAILED, TYPE_ERROR, LINT_ERROR, FORMAT_ERROR}
# Nobody but us or the machine ends a check by these: they say nothing about the work.
EXTERNAL_SIGNALS = {signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP}

_NO_TESTS = re.compile(r"\b(?:0|no|zero) (?:tests?|passing|passed|specs?|examples?)\b", re.I)
_NONE_RAN = re.compile(r"^=* ?no tests ran in [\d.]+s", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{(report|worktree|base|commit)\}")


@dataclass(frozen=True, slots=True)
class CommandCheckRun:
    """One command check under way."""

    spec: CheckSpec
    worktree: Path
    runner: CheckProcesses
    process_result: ProcessResult
    expects_report: bool

    @property
    def secrets(self) -> tuple[str, ...]:
        return self.runner.secrets(self.spec.env)


def check_command(
    spec: CheckSpec, worktree: Path, runner: CheckProcesses, facts: Mapping[str, Any]
) -> Finding:
    defect = reader_defect(spec.reader)
    if defect or not (spec.argv or spec.shell):
        return make_broken(spec, defect or "the check has no command")
    cwd = (worktree / spec.cwd).resolve()
    if not cwd.is_relative_to(worktree.resolve()):
        return make_broken(spec, f"working directory {spec.cwd!r} is outside the worktree")
    if not cwd.is_dir():
        return make_failed(
            spec, f"working directory {spec.cwd!r} does not exist", "file-not-exists"
        )
    spec, folder = request_test_count(spec), runner.next_free_folder()
    room = facts.get("room")
    values = _values(worktree, room.reports if room else folder, facts)
    scripts = _scripts(spec, cwd)
    own_values = facts.get("environment", {})
    given = {**build_check_environment(runner, room), **_named(spec, scripts, values, own_values)}
    own = (worktree, room.home, room.temporary, room.reports) if room else ()
    launch = _launch(spec, cwd, values, given, runner, tuple(map(str, own)))
    began = SystemClock().now()
    ran = runner.run(folder, launch)
    if room:
        save_report(room.reports / REPORT, folder / REPORT, launch.secrets)
    if room and (copied := find_copied_report(worktree, room.reports / REPORT, began)):
        words = f"its report is a copy of {copied}, which was there before the check"
        return make_failed(spec, words, log=str(folder / OUT), seconds=ran.state.seconds)
    return _judge(CommandCheckRun(spec, worktree, runner, ran, _wants_report(spec, scripts)))


def _wants_report(spec: CheckSpec, scripts: tuple[str, ...]) -> bool:
    named = any("YAOKI_REPORT" in text for text in (spec.shell, *scripts))
    return named or any("{report}" in part for part in spec.argv)


def _scripts(spec: CheckSpec, cwd: Path) -> tuple[str, ...]:
    """The text of each file that the command names: a script may use our variables as well."""
    words = dict.fromkeys(_words(spec)[:WORDS_READ])
    texts = (read_plain_bytes(cwd / word, SCRIPT_BYTES_READ) for word in words if word)
    return tuple(text.decode("utf-8", "replace") for text in texts if text)


def _values(worktree: Path, folder: Path, facts: Mapping[str, Any]) -> Mapping[str, str]:
    return {
        "report": str(folder / REPORT),
        "worktree": str(worktree),
        "base": str(facts.get("base", "")),
        "commit": str(facts.get("commit", "")),
    }


def _launch(
    spec: CheckSpec,
    cwd: Path,
    values: Mapping[str, str],
    given: Mapping[str, str],
    runner: CheckProcesses,
    writable: tuple[str, ...],
) -> Launch:
    """Values reach a shell as variables only, and an argument as one whole argument."""
    filled = (_PLACEHOLDER.sub(lambda hit: values[hit[1]], part) for part in spec.argv)
    env = {**given, **spec.env}
    return Launch(
        argv=(*_shell(env), spec.shell) if spec.shell else tuple(filled),
        cwd=str(cwd),
        env=env,
        deadline=spec.timeout,
        lease=runner.lease,
        output_bytes_max=OUTPUT_BYTES_MAX,
        secrets=runner.visible_secrets(env),
        writable=writable,
    )


def _named(
    spec: CheckSpec, scripts: tuple[str, ...], values: Mapping[str, str], own: Mapping[str, str]
) -> dict[str, str]:
    """Only the variables that the command or its scripts name, the task's own ports and databases
    too: any other would tell the code under test who runs it.
    """
    offered = {**{f"YAOKI_{name.upper()}": value for name, value in values.items()}, **own}
    words = (spec.shell, *spec.argv, *spec.env.values(), *scripts)
    return {name: value for name, value in offered.items() if any(name in w for w in words)}


def _shell(env: Mapping[str, str]) -> tuple[str, ...]:
    """In `mypy src | tail` the failure must count, and only bash can say so everywhere."""
    bash = shutil.which("bash", path=env.get("PATH"))
    return (bash, "-o", "pipefail", "-c") if bash else ("/bin/sh", "-c")


# ------------------------------------------------------------------ judging


def _judge(case: CommandCheckRun) -> Finding:
    """Did it run at all; did it do what success means; does the report agree."""
    finding = _not_run(case) or _cut_off(case)
    if finding is not None:
        return finding
    finding = _success(case) or _report_says(case) or _reader_says(case)
    if finding is not None:
        return finding
    suite = read_suite_run(
        case.spec, _left(case), interpret_report(_left(case)) if case.expects_report else None
    )
    told = {**_seen(case), "params": suite.params, "passing_tests": suite.passed_names}
    return _suite_says(case, suite) or make_passed(case.spec, **told)


def _suite_says(case: CommandCheckRun, suite: SuiteRun) -> Finding | None:
    """A test check that ran no test has not passed; None when tests passed, or none are meant."""
    nothing = Interpretation(params=raw_params(_left(case)))
    failing = case.spec.success.startswith("exitCode:") and case.spec.success != "exitCode:0"
    if failing and not (suite.tally is not None and suite.tally.total == 0):
        return None  # the plan wants it to fail, and it ran
    if suite.idle_reason:
        finding = _failed(case, suite.idle_reason, nothing, suite)
        return replace(finding, params={**finding.params, "idle": True})
    if suite.counting_remedy and suite.expects_tests:
        words = f"{suite.runner} did not say how many tests passed; {suite.counting_remedy}"
        return make_broken(case.spec, words, code=CHECK_UNFIT, **_seen(case))
    if suite.tally is not None and suite.tally.failed:
        return _failed(case, "its exit code says success, and its tests failed", None, suite)
    return None


def _seen(case: CommandCheckRun) -> dict[str, Any]:
    return {
        "exit_code": case.process_result.state.code,
        "output": read_excerpt(case.process_result.folder, case.secrets),
        "log": str(case.process_result.folder / OUT),
        "seconds": case.process_result.state.seconds,
    }


def _not_run(case: CommandCheckRun) -> Finding | None:
    look, spec = case.process_result.state, case.spec
    if case.process_result.was_stopped:
        return make_broken(spec, "stopped", transient=True, **_seen(case))
    if look.start_error:
        later = look.start_errno in TRANSIENT_ERRNOS
        return make_broken(spec, look.start_error, transient=later, **_seen(case))
    if look.phase != "exited":
        return make_broken(spec, "its process was lost", transient=True, **_seen(case))
    return None


def _cut_off(case: CommandCheckRun) -> Finding | None:
    look, spec = case.process_result.state, case.spec
    match look.ended_by:
        case "":
            return _killed(case)
        case "deadline":
            late = _failed(case, f"timed out after {spec.timeout.total_seconds():g} s")
            return replace(late, params={**late.params, TIMED_OUT_PARAM: True})
        case "output":
            return _failed(case, f"wrote more than {OUTPUT_BYTES_MAX} bytes and was ended")
        case _:
            return make_broken(spec, f"ended by {look.ended_by}", transient=True, **_seen(case))


def _killed(case: CommandCheckRun) -> Finding | None:
    number = case.process_result.state.signal
    if number is None:
        return None
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    if number in EXTERNAL_SIGNALS:
        return make_broken(
            case.spec, f"ended by {name} from outside", transient=True, **_seen(case)
        )
    return _failed(case, f"crashed with {name}")


def _success(case: CommandCheckRun) -> Finding | None:
    """None when the command did what success means; a word we do not know proves nothing."""
    name, _, wanted = case.spec.success.partition(":")
    match name, wanted:
        case "exitCode", code if code.isdecimal():
            return None if case.process_result.state.code == int(code) else _unsuccessful(case)
        case ("empty", "") | ("contains" | "matches", _) if name == "empty" or wanted:
            return (
                _unsuccessful(case)
                if case.process_result.state.code != 0
                else _output(case, name, wanted)
            )
        case _:
            return make_broken(case.spec, f"success {case.spec.success!r} is not understood")


def _output(case: CommandCheckRun, name: str, wanted: str) -> Finding | None:
    file = case.process_result.folder / OUT
    if name == "empty":
        return None if is_blank(file) else _failed(case, "its output is not empty")
    if name == "contains":
        return (
            None if contains_text(file, wanted) else _failed(case, f"its output lacks {wanted!r}")
        )
    finding = search_file(case.spec, case.runner, wanted, file, "its output")
    if finding is None:
        return None
    return replace(finding, **_seen(case), params=_params(case, _reading(case)))


def _unsuccessful(case: CommandCheckRun) -> Finding:
    code = case.process_result.state.code
    if code in (126, 127):
        why = "a command may not be executed" if code == 126 else "a command was not found"
        name = "PERMISSION_DENIED" if code == 126 else "RESOURCE_NOT_FOUND"
        said = _last_line(case)
        words = f"exit code {code}: {why}{f': {said}' if said else ''}"
        return make_broken(case.spec, words, code=name, **_seen(case))
    reading = _reading(case)
    finding = _unable(case, reading)
    if finding is not None:
        return finding
    said = f"exit code {code}"
    if reading.report_defect:
        said = f"{said}; the report {REPORT} {reading.report_defect}"
    return _failed(case, "" if reading.failure_count else said, reading)


def _unable(case: CommandCheckRun, reading: Interpretation) -> Finding | None:
    """The machine could not do it: known from a tool's own words, where no test says otherwise."""
    lines = read_tails(case.process_result.folder, case.secrets).split("\n")
    if reports_no_space(lines) and (not reading.failure_count or is_disk_full(case.worktree)):
        return make_broken(case.spec, "no space left on the device", transient=True, **_seen(case))
    if reading.failure_count or reading.tally:
        return None
    said = find_missing_tool(lines, _words(case.spec))
    if not said:
        return None
    return make_broken(
        case.spec, f"a tool is missing: {said}", code="RESOURCE_NOT_FOUND", **_seen(case)
    )


def _last_line(case: CommandCheckRun) -> str:
    """The command's last words, which name what a shell did not find."""
    lines = read_tails(case.process_result.folder, case.secrets).split("\n")
    return one_line(next((line for line in reversed(lines) if line.strip()), ""), LAST_LINE_CHARS)


def _words(spec: CheckSpec) -> tuple[str, ...]:
    return spec.argv or tuple(re.split(r"[\s;|&()<>'\"]+", spec.shell[:SHELL_CHARS_READ]))


def _report_says(case: CommandCheckRun) -> Finding | None:
    """A report that was asked for must prove something, whatever the exit code said."""
    if not case.expects_report:
        return None
    seen, spec = _left(case), case.spec
    reading, nothing = interpret_report(seen, spec.pattern), Interpretation(params=raw_params(seen))
    if reading is None:
        return _failed(case, f"it left no report: {REPORT} is missing or empty", nothing)
    if reading.report_defect:
        # The command did well: whoever wrote this report, or asked for it, is to mend that.
        told = {**_seen(case), "fault": reading.reader_fault, "code": CHECK_UNFIT}
        return make_broken(spec, f"its report {REPORT} {reading.report_defect}", **told)
    suite = read_suite_run(spec, seen, reading)
    if suite.expects_tests and reading.tally is None and not reading.failure_count:
        return _failed(case, f"the report {REPORT} holds no test case", nothing, suite)
    if reading.tally is not None and not reading.tally.total and not reading.failure_count:
        return _failed(case, f"the report {REPORT} holds no test case", nothing, suite)
    if _NONE_RAN.search(read_tails(case.process_result.folder, case.secrets)):
        # It lists a test that it only planned, too.
        return _failed(case, "it ran no tests", nothing, suite)
    return _failed(case, "", reading) if reading.failure_count else None


def _reader_says(case: CommandCheckRun) -> Finding | None:
    """Who names the reader says what the output is: faults in it count whatever the exit code."""
    if not case.spec.reader:
        return None
    reading = _reading(case)
    return _failed(case, "", reading) if reading.failure_count else None


def _failed(
    case: CommandCheckRun,
    words: str,
    reading: Interpretation | None = None,
    suite: SuiteRun | None = None,
) -> Finding:
    """What was read is named; else the words are followed by the last line of the output."""
    reading = _reading(case) if reading is None else reading
    suite = suite or read_suite_run(case.spec, _left(case), reading)
    params = {**_params(case, reading), **suite.params, **suite.failure_params}
    seen = {
        **_seen(case),
        "params": params,
        "fault": reading.reader_fault,
        "passing_tests": suite.passed_names,
    }
    if reading.failure_count:
        told = f"{words}; {_told(case.spec, reading)}".removeprefix("; ")
        return make_failed(case.spec, told, reading.pattern, items=reading.items, **seen)
    last = _telling_line(seen["output"], counts=bool(suite.idle_reason))
    unread_ = (
        " (its output was not understood)"
        if case.spec.pattern in PATTERNS_WITH_NAMES and last
        else ""
    )
    return make_failed(case.spec, f"{words}{unread_}: {last}" if last else words, **seen)


def _telling_line(output: str, *, counts: bool) -> str:
    """The last line, or the one that says how many tests there were where that is the matter."""
    lines = [line for line in reversed(output.splitlines()) if line.strip()]
    numbers = (line for line in lines if counts and _NO_TESTS.search(line))
    return next(numbers, lines[0] if lines else "")


def _told(spec: CheckSpec, reading: Interpretation) -> str:
    """A failure that the plan names by itself only looks like one that the reader knows."""
    if spec.pattern in ("", *PATTERNS):
        return reading.message
    many = f"{reading.failure_count} failure{'' if reading.failure_count == 1 else 's'}"
    return f"{many} of {spec.name}: {reading.message.partition(': ')[2]}"


def _params(case: CommandCheckRun, reading: Interpretation) -> Mapping[str, Any]:
    """What was read, and what the plan asks for by name of an extractor."""
    if not case.spec.extract:
        return reading.params
    return {**reading.params, **extract(case.spec.extract, _left(case))}


def _reading(case: CommandCheckRun) -> Interpretation:
    spec = case.spec
    words = spec.argv or spec.shell.split(maxsplit=20)
    return interpret_output(_left(case), words, reader=spec.reader, pattern=spec.pattern)


def _left(case: CommandCheckRun) -> CommandOutput:
    """What the command left, for the readers; secrets are masked as they take it."""
    folder, secrets = case.process_result.folder, case.secrets
    return CommandOutput(
        case.process_result.state.code,
        read_channel(folder / OUT),
        read_channel(folder / ERR),
        folder / REPORT if case.expects_report else None,
        case.worktree,
        case.spec.cwd,
        lambda text: mask(text, secrets),
    )
