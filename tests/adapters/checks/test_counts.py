"""How many tests ran, by each runner's own summary; a suite that ran none has not passed."""

import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from yaoki.adapters.checks import CheckDispatcher
from yaoki.adapters.checks.readers import CommandOutput, count_tests, split_output
from yaoki.adapters.checks.test_count_request import request_test_count
from yaoki.adapters.processes.process_trees import ShimProcesses
from yaoki.core.model import CheckSpec, Finding, Outcome
from yaoki.core.model.outcome import DOUBTFUL_PARAM
from yaoki.ports import commit_facts

CHECKS = CheckDispatcher(ShimProcesses(), timedelta(seconds=60), {"PATH": os.environ["PATH"]})
QUICK = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

SUMMARIES: list[tuple[str, tuple[int, int, int]]] = [
    ("===== 3 passed, 1 skipped in 0.12s =====", (3, 0, 1)),
    ("2 failed, 1 passed, 1 error, 1 xfailed, 5 warnings in 12.00s (0:00:12)", (1, 3, 1)),
    ("133 passed, 143 subtests passed in 1.87s", (133, 0, 0)),
    ("no tests ran in 0.01s", (0, 0, 0)),
    ("5 deselected in 0.01s", (0, 0, 0)),
    ("3 tests collected in 0.02s", (0, 0, 0)),
    ("1/3 tests collected (2 deselected) in 0.02s", (0, 0, 0)),
    ("Ran 3 tests in 0.001s\n\nOK (skipped=1, expected failures=1)", (1, 0, 2)),
    ("Ran 0 tests in 0.000s\n\nOK", (0, 0, 0)),
    ("Ran 0 tests in 0.000s\n\nNO TESTS RAN", (0, 0, 0)),
    ("Ran 4 tests in 0.1s\n\nFAILED (failures=1, errors=1)", (2, 2, 0)),
    ("2 tests in 2 items.\n2 passed and 0 failed.\nTest passed.", (2, 0, 0)),
    ("2 tests in 2 items.\n2 passed.\nTest passed.", (2, 0, 0)),
    ("0 tests in 1 items.\n0 passed and 0 failed.\nTest passed.", (0, 0, 0)),
    ("TAP version 13\n1..0\n# tests 0\n# pass 0\n# fail 0\n# skipped 0", (0, 0, 0)),
    ("ℹ tests 3\nℹ suites 1\nℹ pass 2\nℹ fail 0\nℹ cancelled 0\nℹ skipped 1", (2, 0, 1)),
    ("TAP version 13\nok 1 a\n1..1\n# tests 1\n# pass  1\n# ok", (1, 0, 0)),
    ("1..0", (0, 0, 0)),
    ("1..2\nok 1 - a\nok 2 - b # SKIP later", (1, 0, 1)),
    ("t/a.t .. ok\nFiles=1, Tests=7,  0 wallclock secs\nResult: PASS", (7, 0, 0)),
    ("Tests:       2 failed, 1 skipped, 1 passed, 4 total", (1, 2, 1)),
    ("Tests:       3 skipped, 3 total", (0, 0, 3)),
    ("No tests found, exiting with code 0", (0, 0, 0)),
    ("No test files found, exiting with code 0", (0, 0, 0)),
    ("      Tests  2 failed | 1 passed (3)", (1, 2, 0)),
    ("      Tests  no tests", (0, 0, 0)),
    ("  0 passing (1ms)", (0, 0, 0)),
    ("  3 passing (5ms)\n  1 pending\n  2 failing", (3, 2, 1)),
    ("ok | 3 passed | 0 failed | 1 ignored (5ms)", (3, 0, 1)),
    (" 3 pass\n 0 fail\nRan 3 tests across 1 files.", (3, 0, 0)),
    ("  2 tests passed", (2, 0, 0)),
    ("test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out", (0, 0, 0)),
    ("     Summary [   0.01s] 3 tests run: 2 passed, 1 failed, 0 skipped", (2, 1, 0)),
    ("?   \texample.com/m\t[no test files]", (0, 0, 0)),
    ("ok  \texample.com/m\t0.003s [no tests to run]", (0, 0, 0)),
    ("ok  \texample.com/m\t0.003s\n?   \texample.com/n\t[no test files]", (1, 0, 0)),
    ("--- PASS: TestA (0.00s)\n--- SKIP: TestB (0.00s)\nPASS\nok  \tm\t0.003s", (1, 0, 1)),
    ("3 examples, 0 failures, 1 pending", (2, 0, 1)),
    ("0 examples, 0 failures", (0, 0, 0)),
    ("OK (3 tests, 5 assertions)", (3, 0, 0)),
    ("Tests: 4, Assertions: 5, Failures: 1, Skipped: 1.", (2, 1, 1)),
    ("No tests executed!", (0, 0, 0)),
    ("[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1", (2, 0, 1)),
    ("Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3", (3, 0, 0)),
    ("No tests were found!!!", (0, 0, 0)),
    ("100% tests passed, 0 tests failed out of 3", (3, 0, 0)),
    ("5 runs, 9 assertions, 1 failures, 0 errors, 1 skips", (3, 1, 1)),
]


@pytest.mark.spec("16.4")
@pytest.mark.parametrize(("text", "ends"), SUMMARIES, ids=[text[:40] for text, _ in SUMMARIES])
def test_the_summary_of_every_runner_is_counted(text: str, ends: tuple[int, int, int]) -> None:
    found = count_tests(split_output(CommandOutput(0, text)))

    assert found is not None
    assert (found.passed, found.failed, found.skipped) == ends


@pytest.mark.spec("16.4")
@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("3 passed, 2 skipped, 1 xfailed, 1 xpassed in 0.1s", (4, 3, 1)),
        ("Ran 3 tests in 0.001s\n\nOK (skipped=1, expected failures=1)", (1, 2, 1)),
    ],
)
def test_expected_failures_are_counted_beside_skipped_tests(
    text: str, counts: tuple[int, int, int]
) -> None:
    found = count_tests(split_output(CommandOutput(0, text)))

    assert found is not None
    assert (found.passed, found.skipped, found.xfailed) == counts


@pytest.mark.spec("16.4")
@pytest.mark.parametrize(
    "text", ["", "all good", "deployed 3 hosts", "\tindented words", "1 warning in 0.01s of it"]
)
def test_other_lines_are_not_counted_as_summaries(text: str) -> None:
    assert count_tests(split_output(CommandOutput(0, text))) is None


@pytest.mark.spec("16.5")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a.py::test_x PASSED  [ 50%]\na.py::test_y[a - b] PASSED\n2 passed in 0.1s", 2),
        ("test_x (m.C.test_x) ... ok\n\nRan 1 test in 0.1s\n\nOK", 1),
        ("test a::b ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured", 1),
        ("a.py::test_x PASSED\n2 passed in 0.1s", 0),
    ],
)
def test_names_are_kept_only_when_there_is_one_for_each_test(text: str, names: int) -> None:
    found = count_tests(split_output(CommandOutput(0, text)))

    assert found is not None
    assert len(found.passed_names) == names


@pytest.mark.spec("6.6")
@pytest.mark.parametrize(
    ("text", "passed", "failed"),
    [
        (
            "a.py::x PASSED [ 50%]\na.py::y FAILED [100%]\n=== 1 failed, 1 passed in 0.1s ===",
            ("a.py::x",),
            ("a.py::y",),
        ),
        (
            "x (m.C.x) ... FAIL\ny (m.C.y)\nIts words. ... ok\nz (m.C.z) ... written\nok\n"
            "w (m.C.w) ... ERROR\n\nRan 4 tests in 0.1s\n\nFAILED (failures=1, errors=1)",
            ("m.C.y", "m.C.z"),
            ("m.C.x", "m.C.w"),
        ),
        (
            "x (m.C.x) ... ok\ny (m.C.y) ... skipped 'no'\n\nRan 2 tests in 0.1s\n\nOK (skipped=1)",
            ("m.C.x",),
            (),
        ),
        (
            "test a::b ... ok\ntest a::c ... FAILED\ntest result: FAILED. 1 passed; 1 failed;"
            " 0 ignored; 0 measured",
            ("a::b",),
            ("a::c",),
        ),
        (
            "--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\tm/p\t0.1s",
            ("m/p::TestA",),
            ("m/p::TestB",),
        ),
        ("TAP version 13\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP\n1..3", ("a",), ("b",)),
        ("a.py::x PASSED\n=== 2 failed, 1 passed in 0.1s ===", ("a.py::x",), ()),
    ],
    ids=["pytest", "unittest", "skipped", "cargo", "go", "tap", "unnamed"],
)
def test_failed_tests_are_named_as_well(
    text: str, passed: tuple[str, ...], failed: tuple[str, ...]
) -> None:
    found = count_tests(split_output(CommandOutput(1, text)))

    assert found is not None
    assert (found.passed_names, found.failed_names) == (passed, failed)


# ------------------------------------------------------------------ whole checks


class CheckRun:
    """A worktree, and checks on it."""

    def __init__(self, top: Path) -> None:
        self.tree, self.logs = top / "tree", top / "logs" / "check"
        self.tree.mkdir()

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def run(self, *argv: str, **rest: Any) -> Finding:
        return self._check(CheckSpec("tests", argv=argv, **rest))

    def sh(self, shell: str, **rest: Any) -> Finding:
        return self._check(CheckSpec("tests", shell=shell, **rest))

    def tool(self, name: str, says: str, code: int = 0) -> dict[str, str]:
        """A program of this name that says this; the variables by which it is found."""
        self.write({f"bin/{name}": f"#!/bin/sh\ncat <<'END'\n{says}\nEND\nexit {code}\n"})
        (self.tree / "bin" / name).chmod(0o755)
        return {"PATH": f"{self.tree / 'bin'}:{os.environ['PATH']}"}

    def _check(self, spec: CheckSpec) -> Finding:
        return CHECKS.check(spec, self.tree, self.logs, facts=commit_facts(""), stop=lambda: False)


@pytest.fixture
def check_run(tmp_path: Path) -> CheckRun:
    return CheckRun(tmp_path)


@pytest.mark.spec("16.4", "0.1")
@pytest.mark.parametrize(
    ("tool", "command", "says", "words"),
    [
        ("jest", "jest", "Tests:       3 skipped, 3 total", "all 3 tests were skipped"),
        ("go", "go test ./...", "?   \tm\t[no test files]", "it ran no tests"),
        ("bats", "bats t", "1..0", "it ran no tests"),
        ("make", "make test", "===== 1 skipped in 0.1s =====", "its one test was skipped"),
        ("make", "make test", "== 1 xfailed in 0.1s ==", "none of its tests passed: 1 xfailed"),
        ("npm", "npm test", "  0 passing (1ms)", "it ran no tests"),
        ("tox", "tox -q", "no tests ran in 0.01s", "it ran no tests"),
    ],
)
def test_a_test_check_that_ran_no_test_has_not_passed(
    check_run: CheckRun, tool: str, command: str, says: str, words: str
) -> None:
    finding = check_run.sh(command, env=check_run.tool(tool, says))

    assert (finding.outcome, finding.params["passedCount"]) == (Outcome.FAILED, 0)
    assert finding.message.startswith(words)


@pytest.mark.spec("16.4")
@pytest.mark.parametrize(
    ("tool", "command", "words"),
    [
        ("pytest", "pytest -qq -p no:junitxml", "--junit-xml {report}"),
        ("jest", "npx jest --json", "jest-junit"),
        ("go", "go test -exec x ./...", "-v"),
    ],
)
def test_a_known_runner_without_a_test_count_is_broken_with_a_remedy(
    check_run: CheckRun, tool: str, command: str, words: str
) -> None:
    env = check_run.tool(tool, "fine")
    check_run.tool("npx", "fine")

    finding = check_run.run(*command.split(), env=env)

    assert (finding.outcome, finding.transient) == (Outcome.BROKEN, False)
    assert words in finding.message


NODE_TESTS = "const test = require('node:test');\n\ntest('adds', () => {});\n"


@pytest.mark.spec("16.4", "0.1")
@pytest.mark.parametrize(
    ("says", "passed"),
    [
        ("TAP version 13\nok 1 - {0}\n1..1\n# tests 1\n# pass 1\n# fail 0", 0),
        ("✔ {0} (31.2ms)\nℹ tests 1\nℹ pass 1\nℹ fail 0", 0),
        ("TAP version 13\n    ok 1 - adds\n    1..1\nok 1 - {0}\n# tests 1\n# pass 1\n# fail 0", 1),
        ("TAP version 13\nok 1 - adds\n1..1\n# tests 1\n# pass 1\n# fail 0", 1),
    ],
)
def test_a_file_that_ends_before_its_tests_is_no_passed_test(
    check_run: CheckRun, says: str, passed: int
) -> None:
    """node counts the file itself as one test, so an exit at import looks like a pass."""
    check_run.write({"calc.test.js": NODE_TESTS})
    env = check_run.tool("node", says.format("calc.test.js"))

    finding = check_run.run("node", "--test", env=env)

    assert finding.params["passedCount"] == passed
    assert (finding.outcome is Outcome.PASSED) is bool(passed)


@pytest.mark.spec("16.4")
def test_a_file_of_plain_assertions_is_a_passed_test(check_run: CheckRun) -> None:
    check_run.write({"calc.test.js": "require('node:assert').equal(1, 1);\n"})
    says = "TAP version 13\nok 1 - calc.test.js\n1..1\n# tests 1\n# pass 1\n# fail 0"

    finding = check_run.run("node", "--test", env=check_run.tool("node", says))

    assert (finding.outcome, finding.params["passedCount"]) == (Outcome.PASSED, 1)


@pytest.mark.spec("16.4")
def test_an_unreadable_script_counts_as_a_plain_command(check_run: CheckRun) -> None:
    check_run.write({"t.sh": "test -f t.sh\n"})

    finding = check_run.run("sh", "t.sh", pattern="test-failed")

    assert (finding.outcome, dict(finding.params)) == (Outcome.PASSED, {})


@pytest.mark.spec("16.4", "0.1")
def test_a_summary_with_failures_outweighs_the_exit_code(check_run: CheckRun) -> None:
    finding = check_run.run(
        "pytest", "--version", env=check_run.tool("pytest", "1 failed, 2 passed in 1s")
    )

    assert finding.outcome is Outcome.FAILED
    assert "its tests failed" in finding.message


@pytest.mark.spec("16.4")
@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"package.json": '{"scripts": {"test": "echo no tests yet"}}'}, "npm test"),
        ({"package.json": '{"scripts": {"test": "jest || true"}}'}, "npm run test"),
        ({"Makefile": "test:\n\t@echo nothing\n"}, "make test"),
        ({"Makefile": "test:\n\t-./run\n"}, "make test"),
    ],
)
def test_a_script_that_cannot_fail_has_not_passed(
    check_run: CheckRun, files: dict[str, str], command: str
) -> None:
    check_run.write(files)
    env = check_run.tool(command.split()[0], "fine")

    finding = check_run.sh(command, env=env)

    assert finding.outcome is Outcome.FAILED
    assert "runs nothing" in finding.message


@pytest.mark.spec("16.4")
def test_an_empty_file_of_node_does_not_count_as_a_test(check_run: CheckRun) -> None:
    said = "TAP version 13\nok 1 - {0}\n1..1\n# tests 1\n# pass 1\n# fail 0"
    check_run.write({"a.test.js": "\n"})
    env = check_run.tool("node", said.format(check_run.tree / "a.test.js"))

    assert check_run.run("node", "--test", env=env).outcome is Outcome.FAILED
    check_run.write({"a.test.js": "require('assert')(true)\n"})
    assert check_run.run("node", "--test", env=env).outcome is Outcome.PASSED


@pytest.mark.spec("16.4", "16.5")
def test_tests_are_counted_and_named_without_a_report_asked_for(check_run: CheckRun) -> None:
    check_run.write({"test_a.py": "def test_x(): pass\nclass TestC:\n    def test_y(self): pass\n"})
    pytest_ = f"{sys.executable} -m pytest -q -p no:cacheprovider"

    by_shell, by_argv = check_run.sh(pytest_, env=QUICK), check_run.run(*pytest_.split(), env=QUICK)

    assert by_shell.params["passedCount"] == by_argv.params["passedCount"] == 2
    assert (
        by_argv.passing_tests
        == by_shell.passing_tests
        == ("test_a.py::test_x", "test_a.py::TestC::test_y")
    )


@pytest.mark.spec("16.4")
@pytest.mark.parametrize(("test", "outcome"), [(">>> 1\n    1", "PASSED"), ("", "FAILED")])
def test_doctest_is_run_with_the_option_that_names_its_tests(
    check_run: CheckRun, test: str, outcome: str
) -> None:
    check_run.write({"m.py": f'"""\n    {test}\n"""\n'})

    assert check_run.run(sys.executable, "-m", "doctest", "m.py").outcome == outcome


@pytest.mark.spec("16.4")
def test_unittest_without_tests_has_not_passed(check_run: CheckRun) -> None:
    """From Python 3.12 on unittest itself fails then, and says so."""
    fails_itself = sys.version_info >= (3, 12)

    finding = check_run.run(sys.executable, "-m", "unittest")

    assert finding.outcome is Outcome.FAILED
    words = "exit code 5: NO TESTS RAN" if fails_itself else "it ran no tests"
    assert finding.message.startswith(words)


@pytest.mark.spec("6.2", "16.4")
@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("go test ./...", "go test -v ./..."),
        ("go test -json ./...", "go test -json ./..."),
        ("python -m unittest discover", "python -m unittest discover -v"),
        ("python -m unittest -q", "python -m unittest -q"),
        ("python -m doctest m.py", "python -m doctest -v m.py"),
        ("cargo test", "cargo test"),
    ],
)
def test_a_runner_is_asked_to_name_its_tests(words: str, made: str) -> None:
    assert request_test_count(CheckSpec("tests", argv=tuple(words.split()))).argv == tuple(
        made.split()
    )


# ------------------------------------------------------------------ what did not load


@pytest.mark.spec("16.5", "6.2")
def test_a_module_that_is_not_installed_is_named_with_its_command(check_run: CheckRun) -> None:
    check_run.write(
        {
            "pyproject.toml": '[project]\nname = "m"\ndependencies = ["not-installed-lib"]\n',
            "test_a.py": "import not_installed_lib\n",
            "test_b.py": "def test_f(): pass\n",
        }
    )

    finding = check_run.run(
        sys.executable, "-m", "pytest", "-q", "--color=yes", "-p", "no:cacheprovider", env=QUICK
    )

    assert (finding.outcome, finding.pattern) == (Outcome.FAILED, "test-failed")
    assert finding.message.endswith("No module named 'not_installed_lib'")
    assert finding.params["loadError"] is True
    assert finding.params["missingModules"] == ["not_installed_lib"]
    assert finding.params["declaredModules"] == ["not_installed_lib"]
    assert finding.params["remedy"] == "python -m pip install not_installed_lib"
    assert "\x1b" not in str(finding.params)


@pytest.mark.spec("16.5")
@pytest.mark.parametrize(
    ("text", "missing", "remedy"),
    [
        ("E   ModuleNotFoundError: No module named 'yaml'", "yaml", "pip install PyYAML"),
        ("E       fixture 'benchmark' not found", "pytest-benchmark", "pytest-benchmark"),
        ("pytest: error: unrecognized arguments: --cov=src", "pytest-cov", "pytest-cov"),
        (
            "python -m pytest: error: unrecognized arguments: --cov-append --cov=shop",
            "pytest-cov",
            "python -m pip install pytest-cov",
        ),
        (
            "__main__.py: error: unrecognized arguments: -nauto --frob --asyncio-mode=auto",
            "pytest-xdist",
            "python -m pip install pytest-xdist pytest-asyncio",
        ),
        (
            "ERROR: Error importing plugin \"xdist\": No module named 'xdist'",
            "pytest-xdist",
            "pip install pytest-xdist",
        ),
        (
            "ERROR: Missing required plugins: pytest-bdd>=7, pytest-mock",
            "pytest-bdd",
            "pip install pytest-bdd pytest-mock",
        ),
        ("Error: Cannot find module 'left-pad/x'", "left-pad", "npm install left-pad"),
        (
            "a.go:3:8: no required module provides package github.com/a/b; to add it:",
            "github",
            "go",
        ),
        ("error[E0463]: can't find crate for `serde`", "serde", "cargo add serde"),
    ],
)
def test_missing_packages_are_read_from_every_runner(
    check_run: CheckRun, text: str, missing: str, remedy: str
) -> None:
    finding = check_run.run("run", env=check_run.tool("run", text, 1))

    assert finding.params["missingModules"][0].startswith(missing)
    assert remedy in finding.params["remedy"]
    assert finding.params["loadError"] is True


@pytest.mark.spec("16.5")
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("!!!!! Interrupted: 1 error during collection !!!!!", "loadError"),
        ("ERROR: t (unittest.loader._FailedTest.t)", "loadError"),
        ("  ● Test suite failed to run", "loadError"),
        ("FAIL\tm [build failed]", "loadError"),
        ("error: could not compile `m` (lib test) due to 1 previous error", "loadError"),
        ("!!!!!!! stopping after 1 failures !!!!!!!", "stoppedEarly"),
        ("error: test failed, to rerun pass `--lib`", "stoppedEarly"),
    ],
)
def test_a_suite_that_did_not_run_completely_is_marked(
    check_run: CheckRun, text: str, key: str
) -> None:
    assert check_run.run("run", env=check_run.tool("run", text, 1)).params[key]


@pytest.mark.spec("10.4")
@pytest.mark.parametrize(
    ("text", "is_doubtful"),
    [
        ("sh: 0: cannot open check.sh: No such file", True),
        ("Error: Cannot find module '/x/check.js'", True),
        ("Error: Cannot find module './check.js'", False),
        ("ERROR: file or directory not found: tests/test_a.py", True),
        ("ERROR: not found: tests/test_a.py::test_b", True),
        ("pytest: error: argument -n/--numprocesses: expected one argument", True),
        ("pytest: error: unrecognized arguments: --fast", True),
        ("Error: No such option: --fast", True),
        ("python3: can't open file '/x/check.py': [Errno 2] No such file or directory", True),
        ("bash: check.sh: No such file or directory", True),
        ("============ 12 deselected in 0.01s ============", True),
        ("E   assert 1 == 2", False),
        ("No such file or directory", False),
        ("FAILED test_a.py::test_b - x: No such file or directory\n1 failed in 0.1s", False),
    ],
)
def test_a_check_that_may_be_wrong_itself_is_marked(
    check_run: CheckRun, text: str, is_doubtful: bool
) -> None:
    finding = check_run.run("pytest", env=check_run.tool("pytest", text, 1))

    assert finding.params.get(DOUBTFUL_PARAM, False) is is_doubtful, finding


@pytest.mark.spec("16.5")
def test_an_unknown_option_of_pytest_is_explained_and_one_of_another_program_is_not(
    check_run: CheckRun,
) -> None:
    text = "error: unrecognized arguments: --frob --timeout=3"
    argv = ("run", "-m", "pytest")

    of_pytest = check_run.run(
        *argv, env=check_run.tool("run", f"python -m pytest: {text}", 4), pattern="test-failed"
    )
    of_script = check_run.run("other", env=check_run.tool("other", f"check.py: {text}", 2))

    words = "; probably an option of a pytest plugin that is not installed"
    assert of_pytest.message.endswith(f"{text}{words}")
    assert "not understood" not in of_pytest.message
    assert of_pytest.params["remedy"] == "python -m pip install pytest-timeout"
    assert of_script.message.endswith(text)
    assert "remedy" not in of_script.params


@pytest.mark.spec("16.5")
def test_a_missing_module_of_the_project_is_not_a_missing_package(check_run: CheckRun) -> None:
    check_run.write({"slug/__init__.py": ""})
    env = check_run.tool("run", "E   ModuleNotFoundError: No module named 'slug.words'", 1)

    assert "missingModules" not in check_run.run("run", env=env).params
