"""Command checks: run in the worktree, judged by exit, output and report."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from yaoki.checks.extract import Tests, from_junit, from_text
from yaoki.checks.output import OUT, blank, holds, read_tails, shown
from yaoki.checks.runner import Ran, Runner
from yaoki.checks.search import search
from yaoki.checks.told import TRY_LATER, broken, failed, passed
from yaoki.core.environment import BASIC, allowed
from yaoki.core.model import CheckSpec, Finding, Item
from yaoki.core.redact import mask, secret_values
from yaoki.ports import Launch

OUTPUT_BYTES_MAX = 256 << 20
REPORT = "report.xml"
# Nobody but us or the machine ends a check by these: they say nothing about the work.
FROM_OUTSIDE = {signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP}

_PLACEHOLDER = re.compile(r"\{(report|worktree|base|commit)\}")
_NO_SPACE = re.compile(
    r"^(?:[^\n]{0,400}: )?(?:\[Errno 28\] )?(?:No space left on device|Disk quota exceeded)\b",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Case:
    """One command check under way."""

    spec: CheckSpec
    runner: Runner
    ran: Ran
    reports: bool

    @property
    def secrets(self) -> tuple[str, ...]:
        return (*secret_values(self.runner.environ), *secret_values(self.spec.env))


def check_command(
    spec: CheckSpec, worktree: Path, runner: Runner, facts: Mapping[str, Any]
) -> Finding:
    if not spec.argv and not spec.shell:
        return broken(spec, "the check has no command")
    cwd = (worktree / spec.cwd).resolve()
    if not cwd.is_relative_to(worktree.resolve()):
        return broken(spec, f"working directory {spec.cwd!r} is outside the worktree")
    if not cwd.is_dir():
        return failed(spec, f"working directory {spec.cwd!r} does not exist", "file-not-exists")
    folder = runner.fresh()
    launch = _launch(spec, cwd, _values(worktree, folder, facts), runner)
    return _judge(Case(spec, runner, runner.run(folder, launch), _wants_report(spec)))


def _wants_report(spec: CheckSpec) -> bool:
    return any("{report}" in part for part in spec.argv) or "YAOKI_REPORT" in spec.shell


def _values(worktree: Path, folder: Path, facts: Mapping[str, Any]) -> Mapping[str, str]:
    return {
        "report": str(folder / REPORT),
        "worktree": str(worktree),
        "base": str(facts.get("base", "")),
        "commit": str(facts.get("commit", "")),
    }


def _launch(spec: CheckSpec, cwd: Path, values: Mapping[str, str], runner: Runner) -> Launch:
    """Values reach a shell as variables only, and an argument as one whole argument."""
    filled = (_PLACEHOLDER.sub(lambda hit: values[hit[1]], part) for part in spec.argv)
    env = {
        **allowed(runner.environ, (*BASIC, "VIRTUAL_ENV")),
        "TERM": "dumb",
        # Compiled files in the worktree would look like the agent's work.
        "PYTHONDONTWRITEBYTECODE": "1",
        **{f"YAOKI_{name.upper()}": value for name, value in values.items()},
        **spec.env,
    }
    return Launch(
        argv=(*_shell(env), spec.shell) if spec.shell else tuple(filled),
        cwd=str(cwd),
        env=env,
        deadline=spec.timeout,
        lease=runner.lease,
        output_bytes_max=OUTPUT_BYTES_MAX,
    )


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
    finding = _success(case) or _report_says(case)
    return finding or passed(case.spec, **_seen(case))


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
            words = f"timed out after {spec.timeout.total_seconds():g} s"
            return _failed(case, words)
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
    return None if finding is None else replace(finding, **_seen(case))


def _unsuccessful(case: Case) -> Finding:
    code = case.ran.look.code
    if code in (126, 127):
        why = "a command may not be executed" if code == 126 else "a command was not found"
        return broken(case.spec, f"exit code {code}: {why}", **_seen(case))
    if _NO_SPACE.search(read_tails(case.ran.folder, ())):
        return broken(case.spec, "no space left on the device", transient=True, **_seen(case))
    tests = _tests(case)
    return _failed(case, "" if tests.failures else f"exit code {code}", tests)


def _report_says(case: Case) -> Finding | None:
    """A report that was asked for must prove something, whatever the exit code said."""
    if not case.reports:
        return None
    tests = from_junit(case.ran.folder / REPORT)
    if tests is None or tests.cases == 0:
        return _failed(case, f"the report {REPORT} holds no test case", Tests())
    if tests.cases == tests.skipped:
        return _failed(case, f"all {tests.cases} tests were skipped", Tests())
    return _failed(case, "", tests) if tests.failures else None


def _failed(case: Case, words: str, tests: Tests | None = None) -> Finding:
    """Failing tests are named; else the words are followed by the last line of the output."""
    tests = _tests(case) if tests is None else tests
    seen = _seen(case)
    if tests.failures:
        items = _masked(tests.items, case.secrets)
        named = f"{words}; {_named(tests.failures, items[0])}".removeprefix("; ")
        return failed(case.spec, named, "test-failed", items=items, **seen)
    last = next((line for line in reversed(seen["output"].splitlines()) if line.strip()), "")
    return failed(case.spec, f"{words}: {last}" if last else words, **seen)


def _named(count: int, first: Item) -> str:
    tests = "1 test" if count == 1 else f"{count} tests"
    return f"{tests} failed: {': '.join(filter(None, (first.name, first.message)))}"


def _masked(items: tuple[Item, ...], secrets: tuple[str, ...]) -> tuple[Item, ...]:
    return tuple(
        Item(mask(item.name, secrets), mask(item.message, secrets), item.where) for item in items
    )


def _tests(case: Case) -> Tests:
    report = from_junit(case.ran.folder / REPORT) if case.reports else None
    if report is not None and report.failures:
        return report
    return from_text(read_tails(case.ran.folder, case.secrets))
