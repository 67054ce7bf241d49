"""Command checks: run in the worktree, judged by exit, output and report."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from yaoki.adapters.checks.environment import environment, old_copy, take_report
from yaoki.adapters.checks.findings import TRY_LATER, broken, failed, passed
from yaoki.adapters.checks.output import ERR, OUT, blank, holds, read_channel, read_tails, shown
from yaoki.adapters.checks.readers import (
    Reading,
    Seen,
    extract,
    raw_params,
    read,
    read_file,
    reader_defect,
)
from yaoki.adapters.checks.readers.entries import FORMAT, LINT, TEST, TYPE
from yaoki.adapters.checks.runner import Ran, Runner
from yaoki.adapters.checks.search import search
from yaoki.adapters.checks.suite import Suite, suite_of
from yaoki.adapters.checks.test_count_request import counted
from yaoki.adapters.checks.tool_missing import full, missing_tool, no_space
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.system.files import plain_bytes
from yaoki.core.decide.classification import TIMED_OUT, UNFIT
from yaoki.core.display import one_line
from yaoki.core.model import CheckSpec, Finding
from yaoki.core.redact import mask
from yaoki.core.settings.settings import PATTERNS
from yaoki.ports import Launch

OUTPUT_BYTES_MAX = 256 << 20
REPORT = "report.xml"
WORDS_READ = 40
SCRIPT_BYTES_READ = 64 * 1024
SHELL_CHARS_READ = 4_000
LAST_LINE_CHARS = 120
# Patterns of which each failure has a name.
NAMING = {TEST, TYPE, LINT, FORMAT}
# Nobody but us or the machine ends a check by these: they say nothing about the work.
FROM_OUTSIDE = {signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP}

_NO_TESTS = re.compile(r"\b(?:0|no|zero) (?:tests?|passing|passed|specs?|examples?)\b", re.I)
_NONE_RAN = re.compile(r"^=* ?no tests ran in [\d.]+s", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{(report|worktree|base|commit)\}")


@dataclass(frozen=True, slots=True)
class Case:
    """One command check under way."""

    spec: CheckSpec
    worktree: Path
    runner: Runner
    ran: Ran
    reports: bool

    @property
    def secrets(self) -> tuple[str, ...]:
        return self.runner.secrets(self.spec.env)


def check_command(
    spec: CheckSpec, worktree: Path, runner: Runner, facts: Mapping[str, Any]
) -> Finding:
    defect = reader_defect(spec.reader)
    if defect or not (spec.argv or spec.shell):
        return broken(spec, defect or "the check has no command")
    cwd = (worktree / spec.cwd).resolve()
    if not cwd.is_relative_to(worktree.resolve()):
        return broken(spec, f"working directory {spec.cwd!r} is outside the worktree")
    if not cwd.is_dir():
        return failed(spec, f"working directory {spec.cwd!r} does not exist", "file-not-exists")
    spec, folder = counted(spec), runner.fresh()
    room = facts.get("room")
    values = _values(worktree, room.reports if room else folder, facts)
    scripts = _scripts(spec, cwd)
    own_values = facts.get("environment", {})
    given = {**environment(runner, room), **_named(spec, scripts, values, own_values)}
    own = (worktree, room.home, room.temporary, room.reports) if room else ()
    launch = _launch(spec, cwd, values, given, runner, tuple(map(str, own)))
    began = SystemClock().now()
    ran = runner.run(folder, launch)
    if room:
        take_report(room.reports / REPORT, folder / REPORT, launch.secrets)
    if room and (copied := old_copy(worktree, room.reports / REPORT, began)):
        words = f"its report is a copy of {copied}, which was there before the check"
        return failed(spec, words, log=str(folder / OUT), seconds=ran.look.seconds)
    return _judge(Case(spec, worktree, runner, ran, _wants_report(spec, scripts)))


def _wants_report(spec: CheckSpec, scripts: tuple[str, ...]) -> bool:
    named = any("YAOKI_REPORT" in text for text in (spec.shell, *scripts))
    return named or any("{report}" in part for part in spec.argv)


def _scripts(spec: CheckSpec, cwd: Path) -> tuple[str, ...]:
    """The text of each file that the command names: a script may use our variables as well."""
    words = dict.fromkeys(_words(spec)[:WORDS_READ])
    texts = (plain_bytes(cwd / word, SCRIPT_BYTES_READ) for word in words if word)
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
    runner: Runner,
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
        secrets=runner.told(env),
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


def _judge(case: Case) -> Finding:
    """Did it run at all; did it do what success means; does the report agree."""
    finding = _not_run(case) or _cut_off(case)
    if finding is not None:
        return finding
    finding = _success(case) or _report_says(case) or _reader_says(case)
    if finding is not None:
        return finding
    suite = suite_of(case.spec, _left(case), read_file(_left(case)) if case.reports else None)
    told = {**_seen(case), "params": suite.params, "passing": suite.names}
    return _suite_says(case, suite) or passed(case.spec, **told)


def _suite_says(case: Case, suite: Suite) -> Finding | None:
    """A test check that ran no test has not passed; None when tests passed, or none are meant."""
    nothing = Reading(params=raw_params(_left(case)))
    failing = case.spec.success.startswith("exitCode:") and case.spec.success != "exitCode:0"
    if failing and not (suite.tally is not None and suite.tally.total == 0):
        return None  # the plan wants it to fail, and it ran
    if suite.idle:
        finding = _failed(case, suite.idle, nothing, suite)
        return replace(finding, params={**finding.params, "idle": True})
    if suite.remedy and suite.said:
        words = f"{suite.runner} did not say how many tests passed; {suite.remedy}"
        return broken(case.spec, words, code=UNFIT, **_seen(case))
    if suite.tally is not None and suite.tally.failed:
        return _failed(case, "its exit code says success, and its tests failed", None, suite)
    return None


def _seen(case: Case) -> dict[str, Any]:
    return {
        "exit_code": case.ran.look.code,
        "output": shown(case.ran.folder, case.secrets),
        "log": str(case.ran.folder / OUT),
        "seconds": case.ran.look.seconds,
    }


def _not_run(case: Case) -> Finding | None:
    look, spec = case.ran.look, case.spec
    if case.ran.stopped:
        return broken(spec, "stopped", transient=True, **_seen(case))
    if look.start_error:
        later = look.start_errno in TRY_LATER
        return broken(spec, look.start_error, transient=later, **_seen(case))
    if look.phase != "exited":
        return broken(spec, "its process was lost", transient=True, **_seen(case))
    return None


def _cut_off(case: Case) -> Finding | None:
    look, spec = case.ran.look, case.spec
    match look.ended_by:
        case "":
            return _killed(case)
        case "deadline":
            late = _failed(case, f"timed out after {spec.timeout.total_seconds():g} s")
            return replace(late, params={**late.params, TIMED_OUT: True})
        case "output":
            return _failed(case, f"wrote more than {OUTPUT_BYTES_MAX} bytes and was ended")
        case _:
            return broken(spec, f"ended by {look.ended_by}", transient=True, **_seen(case))


def _killed(case: Case) -> Finding | None:
    number = case.ran.look.signal
    if number is None:
        return None
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    if number in FROM_OUTSIDE:
        return broken(case.spec, f"ended by {name} from outside", transient=True, **_seen(case))
    return _failed(case, f"crashed with {name}")


def _success(case: Case) -> Finding | None:
    """None when the command did what success means; a word we do not know proves nothing."""
    name, _, wanted = case.spec.success.partition(":")
    match name, wanted:
        case "exitCode", code if code.isdecimal():
            return None if case.ran.look.code == int(code) else _unsuccessful(case)
        case ("empty", "") | ("contains" | "matches", _) if name == "empty" or wanted:
            return _unsuccessful(case) if case.ran.look.code != 0 else _output(case, name, wanted)
        case _:
            return broken(case.spec, f"success {case.spec.success!r} is not understood")


def _output(case: Case, name: str, wanted: str) -> Finding | None:
    file = case.ran.folder / OUT
    if name == "empty":
        return None if blank(file) else _failed(case, "its output is not empty")
    if name == "contains":
        return None if holds(file, wanted) else _failed(case, f"its output lacks {wanted!r}")
    finding = search(case.spec, case.runner, wanted, file, "its output")
    if finding is None:
        return None
    return replace(finding, **_seen(case), params=_params(case, _reading(case)))


def _unsuccessful(case: Case) -> Finding:
    code = case.ran.look.code
    if code in (126, 127):
        why = "a command may not be executed" if code == 126 else "a command was not found"
        name = "PERMISSION_DENIED" if code == 126 else "RESOURCE_NOT_FOUND"
        said = _last_line(case)
        words = f"exit code {code}: {why}{f': {said}' if said else ''}"
        return broken(case.spec, words, code=name, **_seen(case))
    reading = _reading(case)
    finding = _unable(case, reading)
    if finding is not None:
        return finding
    said = f"exit code {code}"
    if reading.defect:
        said = f"{said}; the report {REPORT} {reading.defect}"
    return _failed(case, "" if reading.failures else said, reading)


def _unable(case: Case, reading: Reading) -> Finding | None:
    """The machine could not do it: known from a tool's own words, where no test says otherwise."""
    lines = read_tails(case.ran.folder, case.secrets).split("\n")
    if no_space(lines) and (not reading.failures or full(case.worktree)):
        return broken(case.spec, "no space left on the device", transient=True, **_seen(case))
    if reading.failures or reading.tally:
        return None
    said = missing_tool(lines, _words(case.spec))
    if not said:
        return None
    return broken(case.spec, f"a tool is missing: {said}", code="RESOURCE_NOT_FOUND", **_seen(case))


def _last_line(case: Case) -> str:
    """The command's last words, which name what a shell did not find."""
    lines = read_tails(case.ran.folder, case.secrets).split("\n")
    return one_line(next((line for line in reversed(lines) if line.strip()), ""), LAST_LINE_CHARS)


def _words(spec: CheckSpec) -> tuple[str, ...]:
    return spec.argv or tuple(re.split(r"[\s;|&()<>'\"]+", spec.shell[:SHELL_CHARS_READ]))


def _report_says(case: Case) -> Finding | None:
    """A report that was asked for must prove something, whatever the exit code said."""
    if not case.reports:
        return None
    seen, spec = _left(case), case.spec
    reading, nothing = read_file(seen, spec.pattern), Reading(params=raw_params(seen))
    if reading is None:
        return _failed(case, f"it left no report: {REPORT} is missing or empty", nothing)
    if reading.defect:
        # The command did well: whoever wrote this report, or asked for it, is to mend that.
        told = {**_seen(case), "fault": reading.fault, "code": UNFIT}
        return broken(spec, f"its report {REPORT} {reading.defect}", **told)
    suite = suite_of(spec, seen, reading)
    if suite.said and reading.tally is None and not reading.failures:
        return _failed(case, f"the report {REPORT} holds no test case", nothing, suite)
    if reading.tally is not None and not reading.tally.total and not reading.failures:
        return _failed(case, f"the report {REPORT} holds no test case", nothing, suite)
    if _NONE_RAN.search(read_tails(case.ran.folder, case.secrets)):
        # It lists a test that it only planned, too.
        return _failed(case, "it ran no tests", nothing, suite)
    return _failed(case, "", reading) if reading.failures else None


def _reader_says(case: Case) -> Finding | None:
    """Who names the reader says what the output is: faults in it count whatever the exit code."""
    if not case.spec.reader:
        return None
    reading = _reading(case)
    return _failed(case, "", reading) if reading.failures else None


def _failed(
    case: Case, words: str, reading: Reading | None = None, suite: Suite | None = None
) -> Finding:
    """What was read is named; else the words are followed by the last line of the output."""
    reading = _reading(case) if reading is None else reading
    suite = suite or suite_of(case.spec, _left(case), reading)
    params = {**_params(case, reading), **suite.params, **suite.trouble}
    seen = {**_seen(case), "params": params, "fault": reading.fault, "passing": suite.names}
    if reading.failures:
        told = f"{words}; {_told(case.spec, reading)}".removeprefix("; ")
        return failed(case.spec, told, reading.pattern, items=reading.items, **seen)
    last = _telling_line(seen["output"], counts=bool(suite.idle))
    unread_ = " (its output was not understood)" if case.spec.pattern in NAMING and last else ""
    return failed(case.spec, f"{words}{unread_}: {last}" if last else words, **seen)


def _telling_line(output: str, *, counts: bool) -> str:
    """The last line, or the one that says how many tests there were where that is the matter."""
    lines = [line for line in reversed(output.splitlines()) if line.strip()]
    numbers = (line for line in lines if counts and _NO_TESTS.search(line))
    return next(numbers, lines[0] if lines else "")


def _told(spec: CheckSpec, reading: Reading) -> str:
    """A failure that the plan names by itself only looks like one that the reader knows."""
    if spec.pattern in ("", *PATTERNS):
        return reading.message
    many = f"{reading.failures} failure{'' if reading.failures == 1 else 's'}"
    return f"{many} of {spec.name}: {reading.message.partition(': ')[2]}"


def _params(case: Case, reading: Reading) -> Mapping[str, Any]:
    """What was read, and what the plan asks for by name of an extractor."""
    if not case.spec.extract:
        return reading.params
    return {**reading.params, **extract(case.spec.extract, _left(case))}


def _reading(case: Case) -> Reading:
    spec = case.spec
    words = spec.argv or spec.shell.split(maxsplit=20)
    return read(_left(case), words, reader=spec.reader, pattern=spec.pattern)


def _left(case: Case) -> Seen:
    """What the command left, for the readers; secrets are masked as they take it."""
    folder, secrets = case.ran.folder, case.secrets
    return Seen(
        case.ran.look.code,
        read_channel(folder / OUT),
        read_channel(folder / ERR),
        folder / REPORT if case.reports else None,
        case.worktree,
        case.spec.cwd,
        lambda text: mask(text, secrets),
    )
