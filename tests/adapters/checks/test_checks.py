"""Checks on real processes and files: passed, failed, broken, skipped, and never mistaken."""

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.time_limits import has_line, run_until_started
from yaoki.adapters.checks import CheckDispatcher
from yaoki.adapters.checks.test_count_request import request_test_count
from yaoki.adapters.processes.process_trees import ShimProcesses
from yaoki.adapters.system.clock import SystemClock
from yaoki.core.model import (
    CheckSpec,
    CheckType,
    Finding,
    GitCheck,
    HiddenFiles,
    OnFailure,
    Outcome,
    Verdict,
)
from yaoki.core.model.outcome import MISSING_PATH_PARAM, TIMED_OUT_PARAM
from yaoki.core.redact import MARK
from yaoki.core.text import format_duration
from yaoki.ports import Checker, Launch, ProcessPhase, commit_facts

PROCESSES = ShimProcesses()
CLOCK = SystemClock()
PLANTED = "planted-secret-value"
ENVIRON = {
    "PATH": os.environ["PATH"],
    "HOME": "/nowhere",
    "ACME_TOKEN": PLANTED,
    "PYTHONPATH": "/users/own/checkout",
    "GIT_DIR": "/elsewhere/.git",
}
CHECKS: Checker = CheckDispatcher(PROCESSES, timedelta(seconds=30), ENVIRON)


class CheckRun:
    """A worktree to check, and a folder for the logs."""

    def __init__(self, top: Path) -> None:
        self.worktree, self.folder = top / "tree", top / "logs" / "check"
        self.worktree.mkdir()

    def check(
        self,
        spec: CheckSpec,
        facts: Mapping[str, Any] | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> Finding:
        return CHECKS.check(
            spec,
            self.worktree,
            self.folder,
            facts=replace(commit_facts(""), **(facts or {})),
            stop=stop,
        )

    def sh(self, shell: str, **rest: Any) -> Finding:
        return self.check(CheckSpec("tests", shell=shell, **rest))

    def run(self, *argv: str, facts: Mapping[str, Any] | None = None, **rest: Any) -> Finding:
        return self.check(CheckSpec("tests", argv=argv, **rest), facts)

    def python(self, code: str, *more: str, **rest: Any) -> Finding:
        return self.run(sys.executable, "-I", "-c", code, *more, **rest)


@pytest.fixture
def check_run(tmp_path: Path) -> CheckRun:
    return CheckRun(tmp_path)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# ------------------------------------------------------------------ success


@pytest.mark.quick_cases(4)
@pytest.mark.spec("4.6")
@pytest.mark.parametrize(
    ("named", "said", "cwd", "changed", "expected"),
    [
        ("tests/tset.py", "tests/tset.py", "", ["a.txt"], "tests/tset.py"),
        ("tests/tset.py", "tests/tset.py", "", ["tests/tset.py"], ""),
        ("tests", "tests/tset.py", "", [], ""),
        ("app/test_a.py", "app/test_a.py", "", [], ""),
        ("tset.py::test_a", "tset.py::test_a", "app", [], "tset.py"),
        ("tset", "tset", "app", ["app/tset/test_b.py"], ""),
    ],
    ids=["mistyped", "removed by the work", "not named", "exists", "test in a folder", "folder"],
)
def test_a_path_of_a_command_that_never_existed_is_marked(
    check_run: CheckRun, named: str, said: str, cwd: str, changed: list[str], expected: str
) -> None:
    (check_run.worktree / "app").mkdir()
    (check_run.worktree / "app" / "test_a.py").touch()
    code = f"print('ERROR: file or directory not found: {said}'); raise SystemExit(4)"

    finding = check_run.python(code, named, cwd=cwd, facts={"changed": changed})

    assert finding.outcome is Outcome.FAILED
    assert finding.params.get(MISSING_PATH_PARAM, "") == expected


@pytest.mark.spec("6.2", "10.1")
@pytest.mark.parametrize("code", [1, 126])
def test_a_failure_names_files_without_the_folder_of_the_proof_room(
    check_run: CheckRun, code: int
) -> None:
    """A long path of a cache, which is another one in the next attempt."""
    finding = check_run.sh(f"echo Error in $PWD/test/lowercase.js; exit {code}")

    assert finding.message.endswith("Error in test/lowercase.js")
    assert str(check_run.worktree) not in str(finding.params)


@pytest.mark.quick_cases(6)
@pytest.mark.spec("6.1")
@pytest.mark.parametrize(
    ("shell", "success", "outcome"),
    [
        ("true", "exitCode:0", Outcome.PASSED),
        ("false", "exitCode:0", Outcome.FAILED),
        ("exit 3", "exitCode:3", Outcome.PASSED),
        ("exit 127", "exitCode:127", Outcome.PASSED),
        ("true", "exitCode:3", Outcome.FAILED),
        ("true", "empty", Outcome.PASSED),
        ("printf ' \n'", "empty", Outcome.PASSED),
        ("echo warn >&2", "empty", Outcome.PASSED),
        ("echo x", "empty", Outcome.FAILED),
        ("exit 1", "empty", Outcome.FAILED),
        ("echo all good", "contains:good", Outcome.PASSED),
        ("echo all bad", "contains:good", Outcome.FAILED),
        ("echo good >&2", "contains:good", Outcome.FAILED),
        ("echo all good; exit 1", "contains:good", Outcome.FAILED),
        ("printf 'a\n12 ok\n'", r"matches:^\d+ ok$", Outcome.PASSED),
        ("echo no", r"matches:^\d+ ok$", Outcome.FAILED),
        ("true", "matches:(", Outcome.BROKEN),
        ("true", "exitCode:zero", Outcome.BROKEN),
        ("true", "contains:", Outcome.BROKEN),
        ("true", "", Outcome.BROKEN),
        ("true", "looksGood", Outcome.BROKEN),
    ],
)
def test_the_plan_defines_the_success_of_a_check(
    check_run: CheckRun, shell: str, success: str, outcome: Outcome
) -> None:
    finding = check_run.sh(shell, success=success)

    assert finding.outcome is outcome, finding
    assert outcome is not Outcome.BROKEN or not finding.transient


@pytest.mark.spec("0.1", "6.1")
def test_a_pipeline_fails_when_its_first_command_does(check_run: CheckRun) -> None:
    assert check_run.sh("(echo wrong; exit 2) | tail -50").message == "exit code 2: wrong"
    assert check_run.sh("no-such-tool | tail -50").outcome is Outcome.BROKEN


@pytest.mark.spec("6.1")
def test_a_check_runs_in_the_plain_shell_without_bash(check_run: CheckRun) -> None:
    finding = check_run.sh("echo $0", env={"PATH": str(check_run.worktree)})

    assert finding.output == "/bin/sh\n"


@pytest.mark.spec("6.3")
def test_a_text_across_the_pieces_of_a_long_output_is_found(check_run: CheckRun) -> None:
    code = "import sys; sys.stdout.write('x' * (2**20 - 3) + 'needle' + 'y' * 2**20)"

    assert check_run.python(code, success="contains:needle").outcome is Outcome.PASSED
    assert check_run.python(code, success="contains:noodle").outcome is Outcome.FAILED


@pytest.mark.full
@pytest.mark.spec("6.3", "14.4")
def test_a_pattern_that_never_ends_is_ended(check_run: CheckRun) -> None:
    """The search would block this process, so it runs in a separate one."""
    shell = f"printf '{'a' * 60}b'"

    def searched(limit_s: float) -> Finding:
        return check_run.sh(shell, success="matches:^(a+)+$", timeout=timedelta(seconds=limit_s))

    finding, limit_s = run_until_started(
        searched, lambda seen: "timed out" not in seen.message, (1.5, 6.0, 24.0)
    )

    assert finding.outcome is Outcome.BROKEN
    assert f"took longer than {format_duration(limit_s)}" in finding.message


@pytest.mark.spec("6.3")
def test_a_match_reads_a_bounded_part_of_the_file(check_run: CheckRun) -> None:
    finding = check_run.python("print('x' * 2**21)", success="matches:x")

    assert finding.outcome is Outcome.FAILED
    assert "longer than" in finding.message


# ------------------------------------------------------------------ failed or broken


@pytest.mark.spec("4.2", "4.8", "0.1")
@pytest.mark.parametrize(
    ("argv", "words", "code"),
    [
        (("no-such-tool-at-all",), "no-such-tool-at-all", ""),
        (("./missing.sh",), "missing.sh", ""),
        (("./plain.txt",), "plain.txt", ""),
        (("sh", "-c", "exit 126"), "exit code 126", "PERMISSION_DENIED"),
        (("sh", "-c", "no-such-tool-at-all"), "exit code 127", "RESOURCE_NOT_FOUND"),
        ((), "no command", ""),
    ],
    ids=str,
)
def test_a_check_that_cannot_run_is_permanently_broken(
    check_run: CheckRun, argv: tuple[str, ...], words: str, code: str
) -> None:
    """A missing tool is recognised by the exit code, not by the message."""
    (check_run.worktree / "plain.txt").write_text("not executable")

    finding = check_run.run(*argv)

    assert (finding.outcome, finding.transient) == (Outcome.BROKEN, False)
    assert words in finding.message
    assert finding.code == code
    assert not Verdict((finding,)).passed


@pytest.mark.spec("4.8")
def test_a_full_disk_is_not_the_agents_failure(check_run: CheckRun) -> None:
    finding = check_run.sh("echo 'cp: error writing: No space left on device' >&2; exit 1")

    assert (finding.outcome, finding.transient) == (Outcome.BROKEN, True)


@pytest.mark.spec("4.8", "4.2")
@pytest.mark.parametrize(
    "line",
    [
        "AssertionError: No space left on device",
        "Error: test wants No space left on device",
        "FAILED t.py::x - OSError: [Errno 28] No space left on device",
    ],
)
def test_a_test_that_prints_about_a_full_disk_is_a_failure(check_run: CheckRun, line: str) -> None:
    assert check_run.sh(f"echo '{line}'; exit 1").outcome is Outcome.FAILED


@pytest.mark.spec("4.8", "4.2")
@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("python3 -m pytest -q", "/usr/bin/python3: No module named pytest"),
        ("npx --no-install jest", "npm error npx canceled due to missing packages and no YES"),
        ("make test", "make: *** [Makefile:2: test] Error 127"),
        ("nosuchtool; exit 1", "bash: line 1: nosuchtool: command not found"),
        ("poetry run pytest", "Command not found: pytest"),
        ("uv run pytest", "error: Failed to spawn: `pytest`"),
        ("uv run pytest", "error: Failed to spawn: pytest"),
        ("cargo nextest run", "error: no such command: `nextest`"),
    ],
)
def test_a_missing_tool_is_not_the_agents_failure(
    check_run: CheckRun, shell: str, line: str
) -> None:
    """The tools are not asked for: a script of that name says what they say."""
    first = shell.split()[0].rstrip(";")
    tool = check_run.worktree / "bin" / first
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\necho '{line}' >&2\nexit 1\n")
    tool.chmod(0o755)
    path = {"PATH": f"{tool.parent}:{os.environ['PATH']}"}

    finding = check_run.sh(shell, env=path)
    ran = f"#!/bin/sh\necho 'FAILED t.py::x - boom'\necho '{line}' >&2\nexit 1\n"
    tool.write_text(ran)

    assert (finding.outcome, finding.transient) == (Outcome.BROKEN, False)
    assert line in finding.message
    assert check_run.sh(shell, env=path).outcome is Outcome.FAILED


@pytest.mark.spec("4.8")
def test_a_module_that_the_task_must_create_is_not_a_missing_tool(check_run: CheckRun) -> None:
    finding = check_run.run("python3", "-m", "app_of_this_task", env={"PATH": os.environ["PATH"]})

    assert finding.outcome is Outcome.FAILED


@pytest.mark.spec("4.8")
@pytest.mark.parametrize("name", ["TERM", "KILL"])
def test_a_check_ended_from_outside_is_retried(check_run: CheckRun, name: str) -> None:
    finding = check_run.sh(f"kill -{name} $$; sleep 5")

    assert (finding.outcome, finding.transient) == (Outcome.BROKEN, True)
    assert finding.message == f"ended by SIG{name} from outside"


@pytest.mark.spec("4.2")
def test_the_failure_of_a_check_without_any_output_names_its_command(check_run: CheckRun) -> None:
    grep = check_run.run("grep", "-q", "an empty cart", os.devnull)
    long = check_run.sh(f"true {'x' * 200}\nfalse")
    secret = check_run.sh(f"test {PLANTED} = 1")
    printed = check_run.sh("echo no such words; false")
    hidden = check_run.sh("false", hidden=HiddenFiles())

    assert grep.message.endswith(" without output: grep -q 'an empty cart' /dev/null")
    assert long.message.startswith("exit code 1 without output: true xxx")
    assert len(long.message) < 120
    assert secret.message == f"exit code 1 without output: test {MARK} = 1"
    assert printed.message == "exit code 1: no such words"
    assert hidden.message == "exit code 1", "agents see the message"


@pytest.mark.spec("4.2")
def test_a_check_that_crashes_has_failed(check_run: CheckRun) -> None:
    finding = check_run.sh("kill -SEGV $$")

    assert finding.outcome is Outcome.FAILED
    assert finding.message == "crashed with SIGSEGV"


@pytest.mark.spec("6.3", "3.8")
def test_a_check_that_times_out_has_failed_and_its_processes_are_gone(check_run: CheckRun) -> None:
    shell = "sleep 60 & echo $! > pid; setsid sleep 60 & echo $! > pid2; wait"
    pids = [check_run.worktree / name for name in ("pid", "pid2")]

    finding, limit_s = run_until_started(
        lambda limit_s: check_run.sh(shell, timeout=timedelta(seconds=limit_s)),
        lambda _: all(map(has_line, pids)),
    )

    assert (finding.outcome, finding.message) == (
        Outcome.FAILED,
        f"timed out after {format_duration(limit_s)}",
    )
    assert finding.params[TIMED_OUT_PARAM] is True
    assert not any(alive(int(pid.read_text())) for pid in pids)


@pytest.mark.spec("6.3", "11.8")
def test_a_check_is_stopped_when_asked(check_run: CheckRun) -> None:
    started = check_run.worktree / "pid"

    finding = check_run.check(
        CheckSpec("tests", shell="echo $$ > tmp; mv tmp pid; exec sleep 60"), stop=started.exists
    )

    assert (finding.outcome, finding.transient) == (Outcome.BROKEN, True)
    assert finding.message == "stopped"
    assert not alive(int(started.read_text()))


@pytest.mark.spec("6.3")
def test_an_interrupt_during_a_check_leaves_no_process(check_run: CheckRun) -> None:
    started = check_run.worktree / "pid"

    def interrupted() -> bool:
        if started.exists():
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        check_run.check(
            CheckSpec("slow", shell="echo $$ > tmp; mv tmp pid; exec sleep 60"), stop=interrupted
        )

    assert not alive(int(started.read_text()))


@pytest.mark.spec("4.8")
def test_a_check_whose_lease_expired_is_broken(tmp_path: Path) -> None:
    """The lease was not renewed: the worker was stopped for longer than its lease."""
    (tmp_path / "tree").mkdir()
    patient = CheckDispatcher(PROCESSES, timedelta(seconds=0.4), ENVIRON)
    asleep: list[int] = []

    def stop() -> bool:
        if not asleep:
            asleep.append(1)
            while PROCESSES.inspect(tmp_path / "logs").phase == ProcessPhase.RUNNING:
                CLOCK.sleep(timedelta(milliseconds=20))
        return False

    finding = patient.check(
        CheckSpec("slow", shell="sleep 30"),
        tmp_path / "tree",
        tmp_path / "logs",
        facts=commit_facts(""),
        stop=stop,
    )

    assert (finding.outcome, finding.transient) == (Outcome.BROKEN, True)
    assert finding.message == "ended by lease"


@pytest.mark.spec("8.6", "0.3")
def test_a_process_that_an_earlier_try_left_running_is_ended_first(check_run: CheckRun) -> None:
    """A worker died during the check; the next one does not wait for its process."""
    launch = Launch(("sleep", "60"), str(check_run.worktree), {"PATH": ENVIRON["PATH"]})
    PROCESSES.start(check_run.folder, launch)

    finding = check_run.sh("echo second")

    assert finding.outcome is Outcome.PASSED
    assert PROCESSES.inspect(check_run.folder).phase == ProcessPhase.EXITED
    assert finding.log == str(check_run.folder.with_name("check-2") / "out.log")


@pytest.mark.spec("6.8")
@pytest.mark.parametrize(
    ("asked", "outcome"),
    [
        (OnFailure.RETRY, Outcome.FAILED),
        (OnFailure.ABORT, Outcome.FAILED),
        (OnFailure.SKIP, Outcome.SKIPPED),
    ],
)
def test_on_failure_is_kept_and_skipped_is_not_passed(
    check_run: CheckRun, asked: OnFailure, outcome: Outcome
) -> None:
    finding = check_run.sh("echo why; exit 1", on_failure=asked)

    assert (finding.outcome, finding.on_failure) == (outcome, asked)
    assert finding.message == "exit code 1: why"
    assert not Verdict((finding,)).passed


@pytest.mark.spec("6.8", "0.1")
def test_a_broken_check_is_not_skipped(check_run: CheckRun) -> None:
    assert check_run.run("no-such-tool", on_failure=OnFailure.SKIP).outcome is Outcome.BROKEN


# ------------------------------------------------------------------ what a command is given


@pytest.mark.spec("6.3", "14.4")
def test_parameters_never_reach_a_shell_as_code(check_run: CheckRun) -> None:
    facts = {"commit": "x; touch pwned", "base": "$(touch pwned)"}

    by_argument = check_run.python(
        "import sys; print(sys.argv[1:])", "{commit}", "{base}", facts=facts
    )
    by_variable = check_run.check(
        CheckSpec("sh", shell='echo {commit} "$YAOKI_COMMIT" "$YAOKI_BASE"'), facts
    )

    assert by_argument.output.strip() == "['x; touch pwned', '$(touch pwned)']"
    assert by_variable.output.strip() == "{commit} x; touch pwned $(touch pwned)"
    assert not (check_run.worktree / "pwned").exists()


@pytest.mark.spec("6.3")
def test_a_value_that_looks_like_a_placeholder_is_not_filled_again(check_run: CheckRun) -> None:
    finding = check_run.run("echo", "{commit}", "{other}", facts={"commit": "{worktree}"})

    assert finding.output.strip() == "{worktree} {other}"


@pytest.mark.spec("14.2", "6.3")
def test_a_check_sees_allowed_variables_and_no_other(check_run: CheckRun) -> None:
    code = "import os; print(*sorted(os.environ))"

    finding = check_run.python(code, env={"MODE": "ci"})

    assert set(finding.output.split()) - {"LC_CTYPE"} == {
        "HOME",
        "INVOCATION_ID",
        "MODE",
        "NO_COLOR",
        "PATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONNOUSERSITE",
        "PY_COLORS",
        "TERM",
    }


@pytest.mark.spec("16.1")
def test_a_check_gets_the_variables_of_yaoki_that_its_command_names(check_run: CheckRun) -> None:
    told = check_run.sh('echo "commit=$YAOKI_COMMIT"; env | grep -c YAOKI').output.split()

    assert len(told) == 2
    assert told[1] == "1"


@pytest.mark.spec("6.3")
def test_the_working_directory_is_explicit_and_inside(check_run: CheckRun) -> None:
    (check_run.worktree / "sub").mkdir()
    (check_run.worktree / "link").symlink_to("/")

    assert check_run.sh("pwd", cwd="sub").output.strip() == str(check_run.worktree / "sub")
    assert check_run.sh("pwd", cwd="..").outcome is Outcome.BROKEN
    assert check_run.sh("pwd", cwd="link").outcome is Outcome.BROKEN
    assert check_run.sh("pwd", cwd="gone").outcome is Outcome.FAILED


@pytest.mark.spec("6.3", "14.2", "14.4")
def test_output_is_bounded_clean_and_masked(check_run: CheckRun) -> None:
    code = (
        "import sys; print('FIRST'); print('x' * 5_000_000); "
        f"print('\\x1b[31mkey {PLANTED} own-secret-99\\x07'); "
        "sys.stderr.write('warned\\n'); sys.exit(1)"
    )

    finding = check_run.python(code, env={"MY_SECRET": "own-secret-99"})

    assert finding.output.startswith("FIRST\n")
    stars = "*" * len("own-secret-99")
    assert finding.output.endswith(f"key {MARK} {stars}\\x07\n\n[stderr]\nwarned\n")
    assert len(finding.output) < 9000
    assert "bytes left out]" in finding.output
    assert Path(finding.log).stat().st_size > 5_000_000
    assert finding.exit_code == 1
    assert finding.seconds > 0


# ------------------------------------------------------------------ reports and readers

CASES = """<testsuites><testsuite name="s" tests="3">
<testcase classname="tests.test_a" name="test_ok"/>
<testcase classname="tests.test_a" name="test_x" file="tests/test_a.py" line="4">
  <failure message="assert 1 == 2&#10;more&#10;lines&#10;left out">E assert</failure></testcase>
<testcase classname="tests.test_b" name="test_y"><error message="boom"/></testcase>
</testsuite></testsuites>"""
GREEN = '<testsuite><testcase name="a"/><testcase name="b"><skipped/></testcase></testsuite>'
SKIPPED = '<testsuite><testcase name="a"><skipped/></testcase></testsuite>'
# Node's own runner puts cases directly under the root.
FLAT = '<testsuites><testcase name="flat"><failure message="no"/></testcase></testsuites>'


# Writes the report it is given, if any, and exits with the code it is given.
REPORTER = """
import pathlib, sys
if sys.argv[3:]: pathlib.Path(sys.argv[1]).write_text(sys.argv[3])
sys.exit(int(sys.argv[2]))
"""


def reporting(check_run: CheckRun, report: str | None, code: int = 0) -> Finding:
    more = () if report is None else (report,)
    return check_run.python(REPORTER, "{report}", str(code), *more)


def leaving(check_run: CheckRun, report: str, code: int = 0, **rest: Any) -> Finding:
    """The same for a report that no argument could hold."""
    file = check_run.worktree.parent / "left"
    file.write_bytes(report.encode())
    copy = 'cp "$1" "$2"; exit "$3"'
    return check_run.run("sh", "-c", copy, "sh", str(file), "{report}", str(code), **rest)


@pytest.mark.spec("6.2")
def test_failing_tests_are_named_from_the_report(check_run: CheckRun) -> None:
    finding = reporting(check_run, CASES, 1)

    assert (finding.outcome, finding.pattern) == (Outcome.FAILED, "test-failed")
    assert finding.message == "2 tests failed: tests.test_a::test_x: assert 1 == 2 more lines"
    assert [(item.name, item.message, item.where) for item in finding.items] == [
        ("tests.test_a::test_x", "assert 1 == 2 more lines", "tests/test_a.py:4"),
        ("tests.test_b::test_y", "boom", ""),
    ]


NOT_RUN = """<testsuites tests="2" disabled="2"><testsuite name="A" tests="2">
<testcase name="DISABLED_x" status="notrun" result="suppressed" classname="A"/>
<testcase name="y" status="disabled" classname="A"><skipped/></testcase></testsuite></testsuites>"""
BAD_STATUS = """<testsuite><testcase classname="A" name="x" status="failed" result="failed"/>
<testcase classname="A" name="y" status="fail"/><testcase name="z" status="run"/></testsuite>"""


@pytest.mark.quick_cases(6)
@pytest.mark.spec("6.2", "0.1")
@pytest.mark.parametrize(
    ("report", "words"),
    [
        (None, "it left no report"),
        ("", "it left no report"),
        (" \n", "it left no report"),
        ("<testsuite/>", "contains no test case"),
        (NOT_RUN, "all 2 tests were skipped"),
        (BAD_STATUS, "2 tests failed: A::x"),
        (SKIPPED, "its one test was skipped"),
        (CASES, "2 tests failed"),
        (FLAT, "1 test failed: flat: no"),
    ],
)
def test_exit_zero_does_not_outweigh_a_report_that_proves_nothing(
    check_run: CheckRun, report: str | None, words: str
) -> None:
    finding = reporting(check_run, report)

    assert finding.outcome is Outcome.FAILED
    assert words in finding.message


@pytest.mark.quick_cases(6)
@pytest.mark.spec("6.2", "4.8", "14.4")
@pytest.mark.parametrize(
    ("report", "words"),
    [
        ("<testsuite", "ends in the middle"),
        ("<testsuite>\n<testcase name='x'/>\n<testcase name='y'><failure>bo", "ends in the middle"),
        ("<testsuite><testcase></testsuite>", "is not valid XML: mismatched tag, line 1"),
        ("<!DOCTYPE x [<!ENTITY a 'a'>]><testsuite/>", "has a document type"),
        ("<testsuite>" * 200, "nested deeper than 100"),
        ("<TestRun><Results/></TestRun>", "is TRX of Visual Studio, not JUnit XML"),
        ("<test-run><test-case/></test-run>", "is NUnit, not JUnit XML"),
        ("<html><body>500</body></html>", "is HTML, not JUnit XML"),
        ("<odd/>", "begins with <odd>"),
        ("\x00\x01", "is neither XML nor JSON"),
        ('{"a": 1}', "JSON of an unknown tool"),
        ('{"a": ', "JSON that is broken"),
        (f"<testsuite><testcase {'a' * (2 << 20)}", "has a tag over 1048576 bytes"),
        ("<?xml version='1.0' encoding='cp1252'?><testsuite>\u0081", "not in the encoding"),
    ],
    ids=lambda value: value[:20],
)
def test_an_unreadable_report_is_named_and_not_a_failure_of_the_agent(
    check_run: CheckRun, report: str, words: str
) -> None:
    finding = leaving(check_run, report)

    assert (finding.outcome, finding.transient) == (Outcome.BROKEN, False)
    assert words in finding.message
    assert leaving(check_run, report, 1).outcome is Outcome.FAILED


@pytest.mark.spec("6.2")
def test_a_report_in_a_declared_encoding_is_read(check_run: CheckRun) -> None:
    text = "<?xml version='1.0' encoding='Shift_JIS'?><testsuite><testcase name='試験'>"
    whole = f"{text}<failure message='失敗'/></testcase></testsuite>".encode("shift_jis")
    code = f"import sys; open(sys.argv[1], 'wb').write({whole!r})"

    assert check_run.python(code, "{report}").message == "1 test failed: 試験: 失敗"


@pytest.mark.spec("6.2", "0.1")
@pytest.mark.parametrize("report", ["[]", '{"version": "2.1.0", "runs": [{"results": []}]}'])
def test_a_green_report_of_a_linter_proves_no_test(check_run: CheckRun, report: str) -> None:
    finding = leaving(check_run, report, pattern="test-failed")

    assert finding.outcome is Outcome.FAILED
    assert "contains no test case" in finding.message
    assert leaving(check_run, report, pattern="lint-error").outcome is Outcome.PASSED


@pytest.mark.spec("6.2")
def test_a_green_report_passes_only_with_the_exit_code(check_run: CheckRun) -> None:
    assert reporting(check_run, GREEN).outcome is Outcome.PASSED
    assert reporting(check_run, GREEN, 1).outcome is Outcome.FAILED


def test_a_shell_check_reports_through_its_variable(check_run: CheckRun) -> None:
    (check_run.worktree / "r.xml").write_text(GREEN)

    assert check_run.sh('cp r.xml "$YAOKI_REPORT"').outcome is Outcome.PASSED
    assert check_run.sh('test -n "$YAOKI_REPORT"').outcome is Outcome.FAILED


@pytest.mark.full
@pytest.mark.spec("6.2")
def test_real_pytest_is_read_by_report_and_by_text(check_run: CheckRun) -> None:
    (check_run.worktree / "test_a.py").write_text(
        "def test_ok(): pass\ndef test_x(): assert 1 == 2\n"
    )
    # A configuration somebody left above the folder of this test must not be found.
    alone = ("-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", ".", "--confcutdir", ".")
    pytest_ = (sys.executable, "-m", "pytest", "-q", *alone, "test_a.py")
    quick = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    by_report = check_run.run(*pytest_, "--junit-xml", "{report}", env=quick)
    unasked = check_run.run(*pytest_, env=quick)
    by_text = check_run.sh(shlex.join(pytest_), env=quick)

    assert by_report.message == "1 test failed: test_a.py::test_x: assert 1 == 2"
    assert (unasked.message, unasked.params["testCount"]) == (by_report.message, 2)
    assert by_text.message == "1 test failed: test_a.py::test_x: assert 1 == 2"
    assert {by_report.pattern, by_text.pattern} == {"test-failed"}
    assert not list(check_run.worktree.rglob("__pycache__"))


@pytest.mark.quick_cases(2)
@pytest.mark.spec("6.2", "6.6", "0.1")
@pytest.mark.parametrize("option", ["--co", "--setup-plan", "--help", "--fixtures", "exit"])
def test_a_pytest_that_runs_nothing_proves_nothing(check_run: CheckRun, option: str) -> None:
    """Whether its settings say so or the work itself ends the process with zero."""
    ends = "import os\nos._exit(0)\n" if option == "exit" else ""
    (check_run.worktree / "test_a.py").write_text(f"{ends}def test_x(): assert 1 == 2\n")
    options = "" if option == "exit" else f"addopts = {option}\n"
    (check_run.worktree / "pytest.ini").write_text(f"[pytest]\n{options}")
    quick = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    finding = check_run.run(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", env=quick
    )

    assert finding.outcome is Outcome.FAILED, finding.output


@pytest.mark.spec("6.2")
@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("pytest", True),
        ("/x/bin/python3.12 -X dev -m pytest tests", True),
        ("uv run pytest -q", True),
        ("poetry run python -m pytest", True),
        ("pytest --cov=src --color=yes", True),
        ("pytest --collect-only", False),
        ("pytest --co", False),
        ("pytest --junitxml=x.xml", False),
        ("pytest -p no:junitxml", False),
        ("pytest -- tests", False),
        ("pip install pytest", False),
        ("make pytest", False),
        ("python pytest", False),
    ],
)
def test_only_pytest_itself_is_asked_for_a_report(words: str, asked: bool) -> None:
    spec = CheckSpec("tests", argv=tuple(words.split()))

    assert (request_test_count(spec) != spec) is asked
    assert request_test_count(replace(spec, success="exitCode:5")).argv == spec.argv


@pytest.mark.spec("6.2")
def test_real_unittest_is_read_by_text(check_run: CheckRun) -> None:
    (check_run.worktree / "test_b.py").write_text(
        "import unittest\nclass T(unittest.TestCase):\n"
        "    def test_x(self): self.assertEqual(1, 2)\n    def test_y(self): raise KeyError('k')\n"
    )

    finding = check_run.run(sys.executable, "-m", "unittest", "test_b")

    assert finding.message == "2 tests failed: test_b.T.test_y: KeyError: 'k'"
    assert [item.message for item in finding.items] == ["KeyError: 'k'", "AssertionError: 1 != 2"]


@pytest.mark.spec("4.5")
def test_the_pattern_comes_from_the_plan_or_is_inferred(check_run: CheckRun) -> None:
    assert check_run.sh("exit 1", pattern="type-error").pattern == "type-error"
    assert check_run.sh("exit 1").pattern == "check-failed"
    assert check_run.sh("true", pattern="type-error").pattern == ""


@pytest.mark.spec("4.5")
def test_a_pattern_of_the_plan_is_reported_by_the_name_of_its_check(check_run: CheckRun) -> None:
    """A list of dead links may look like one of type errors, and is none."""
    said = "printf 'guide.md:3: error: no such page\\nguide.md:9: error: no such page\\n'; exit 1"

    own = check_run.check(CheckSpec("links", shell=said, pattern="dead-link", reader="mypy"))
    known = check_run.check(CheckSpec("links", shell=said, pattern="type-error", reader="mypy"))

    assert own.message == "2 failures of links: guide.md:3: no such page"
    assert own.pattern == "dead-link"
    assert known.message.startswith("2 type errors: guide.md:3")


@pytest.mark.spec("14.2")
def test_secrets_in_a_report_are_masked(check_run: CheckRun) -> None:
    finding = reporting(check_run, CASES.replace("boom", f"key {PLANTED}"), 1)

    assert finding.items[1].message == f"key {MARK}"


# ------------------------------------------------------------------ files


def file_check(check_run: CheckRun, path: str, conditions: Mapping[str, Any]) -> Finding:
    return check_run.check(CheckSpec("file", type=CheckType.FILE, path=path, file=conditions))


@pytest.mark.spec("6.1")
@pytest.mark.parametrize(
    ("path", "conditions", "outcome"),
    [
        ("a.txt", {"exists": True}, Outcome.PASSED),
        ("b.txt", {"exists": True}, Outcome.FAILED),
        ("", {"exists": "a.txt"}, Outcome.PASSED),
        ("", {"exists": ["a.txt", "b.txt"]}, Outcome.FAILED),
        ("", {"path": "a.txt", "exists": True}, Outcome.PASSED),
        ("b.txt", {"absent": True}, Outcome.PASSED),
        ("a.txt", {"absent": True}, Outcome.FAILED),
        ("dangling", {"absent": True}, Outcome.FAILED),
        ("a.txt", {"contains": "hello"}, Outcome.PASSED),
        ("a.txt", {"contains": "goodbye"}, Outcome.FAILED),
        ("a.txt", {"matches": r"^v\d+$"}, Outcome.PASSED),
        ("a.txt", {"matches": r"^w\d+$"}, Outcome.FAILED),
        ("a.txt", {"exists": True, "contains": "hello", "matches": "nope"}, Outcome.FAILED),
        ("b.txt", {"contains": "x"}, Outcome.FAILED),
        ("pipe", {"contains": "x"}, Outcome.FAILED),
        ("a.txt", {"matches": "("}, Outcome.BROKEN),
        ("a.txt", {}, Outcome.BROKEN),
        ("a.txt", {"exists": False}, Outcome.BROKEN),
        ("a.txt", {"smells": "good"}, Outcome.BROKEN),
        ("a.txt", {"exists": True, "smells": "good"}, Outcome.BROKEN),
        ("", {"exists": True}, Outcome.BROKEN),
        ("../x", {"exists": True}, Outcome.BROKEN),
        ("/etc/passwd", {"exists": True}, Outcome.BROKEN),
    ],
    ids=str,
)
def test_a_file_check_tests_its_conditions(
    check_run: CheckRun, path: str, conditions: dict[str, Any], outcome: Outcome
) -> None:
    (check_run.worktree / "a.txt").write_text("hello\nv12\n")
    (check_run.worktree / "dangling").symlink_to("nowhere")
    os.mkfifo(check_run.worktree / "pipe")

    finding = file_check(check_run, path, conditions)

    assert finding.outcome is outcome, finding


@pytest.mark.spec("6.1", "4.5")
def test_missing_files_are_named(check_run: CheckRun) -> None:
    finding = file_check(check_run, "", {"exists": ["a.txt", "b.txt"]})

    assert finding.pattern == "file-not-exists"
    assert finding.message == "a.txt, b.txt do not exist"
    assert [item.name for item in finding.items] == ["a.txt", "b.txt"]


@pytest.mark.spec("6.1")
@pytest.mark.parametrize(
    ("path", "conditions", "told"),
    [
        ("b.txt", {"exists": True}, "does not exist"),
        ("a.txt", {"absent": True}, "exists and must not"),
        ("b.txt", {"contains": "x"}, "does not exist"),
        ("folder", {"contains": "x"}, "exists but is not a file"),
        ("a.txt", {"contains": "good\nbye"}, "does not contain 'good bye'"),
        ("a.txt", {"contains": "x" * 200}, f"does not contain '{'x' * 99}…'"),
        ("empty", {"contains": "x"}, "does not contain 'x': it is empty"),
        ("link", {"contains": "x"}, "does not contain 'x': it is a link, and links are not"),
        ("out", {"exists": True}, "leads out of the worktree"),
    ],
    ids=str,
)
def test_a_failing_file_check_says_for_each_file_what_is_wrong(
    check_run: CheckRun, path: str, conditions: dict[str, Any], told: str
) -> None:
    """Screens show the first item alone: a bare name would say nothing."""
    (check_run.worktree / "a.txt").write_text("hello\n")
    (check_run.worktree / "empty").touch()
    (check_run.worktree / "folder").mkdir()
    (check_run.worktree / "link").symlink_to("a.txt")
    (check_run.worktree / "out").symlink_to(check_run.worktree.parent)

    finding = file_check(check_run, path, conditions)

    assert finding.items[0].name == path
    assert finding.items[0].message.startswith(told)
    assert finding.message.startswith(f"{path} {told}")


@pytest.mark.spec("14.4", "6.1")
@pytest.mark.parametrize("conditions", [{"exists": True}, {"contains": "secret"}], ids=str)
def test_a_link_out_of_the_worktree_proves_nothing(check_run: CheckRun, conditions: Any) -> None:
    (check_run.worktree.parent / "outside.txt").write_text("secret")
    (check_run.worktree / "in.txt").symlink_to(check_run.worktree.parent / "outside.txt")

    finding = file_check(check_run, "in.txt", conditions)

    assert finding.outcome is Outcome.FAILED
    assert finding.message == "in.txt leads out of the worktree"


# ------------------------------------------------------------------ git facts


@pytest.mark.spec("6.1", "3.6", "4.5")
@pytest.mark.parametrize(
    ("git", "facts", "outcome", "pattern"),
    [
        ("clean", {"dirty": []}, Outcome.PASSED, ""),
        ("clean", {"dirty": ["a", "b"]}, Outcome.FAILED, "git-dirty"),
        ("clean", {}, Outcome.BROKEN, ""),
        ("scope", {"changed": ["src/a"], "scope": ["src/**"]}, Outcome.PASSED, ""),
        ("scope", {"changed": ["b"], "scope": ["src/**"]}, Outcome.FAILED, "out-of-scope"),
        ("scope", {}, Outcome.PASSED, ""),
        ("pushed", {"pushed": True}, Outcome.PASSED, ""),
        ("pushed", {"pushed": False}, Outcome.FAILED, "branch-not-pushed"),
        ("pushed", {"pushed": None}, Outcome.BROKEN, ""),
        ("pushed", {"pushed": "yes"}, Outcome.FAILED, "branch-not-pushed"),
        ("merged", {"merged": True}, Outcome.PASSED, ""),
        ("merged", {"merged": False}, Outcome.FAILED, "check-failed"),
        ("merged", {}, Outcome.BROKEN, ""),
        ("", {"merged": True}, Outcome.BROKEN, ""),
    ],
)
def test_git_checks_use_only_the_supplied_facts(
    check_run: CheckRun, git: str, facts: dict[str, Any], outcome: Outcome, pattern: str
) -> None:
    finding = check_run.check(CheckSpec("git", type=CheckType.GIT, git=GitCheck(git)), facts)

    assert (finding.outcome, finding.pattern) == (outcome, pattern)


def test_dirty_paths_are_named(check_run: CheckRun) -> None:
    finding = check_run.check(
        CheckSpec("git", type=CheckType.GIT, git=GitCheck.CLEAN), {"dirty": ["a.py", "b.py"]}
    )

    assert finding.message == "a.py and 1 more are not committed"
    assert [item.where for item in finding.items] == ["a.py", "b.py"]
    assert [item.message for item in finding.items] == ["is not committed"] * 2
