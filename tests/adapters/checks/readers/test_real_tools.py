"""Readers with real tools that run as checks."""

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from yaoki.adapters.checks import CheckDispatcher
from yaoki.adapters.processes.process_trees import ShimProcesses
from yaoki.core.model import CheckSpec, Finding, Outcome
from yaoki.core.model.outcome import DOUBTFUL_PARAM
from yaoki.ports import commit_facts

ROOT = Path(__file__).parents[4]
TOOLS = ROOT / "tests" / "tools"
BIN = Path(sys.executable).parent
CHECKS = CheckDispatcher(ShimProcesses(), timedelta(seconds=60), {"PATH": os.environ["PATH"]})
# Configuration in a parent folder must not be found.
PYTEST = ("-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", ".", "--confcutdir", ".")
QUICK = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


class CheckRun:
    """A worktree with a few files, and a check to run on it."""

    def __init__(self, top: Path) -> None:
        self.tree, self.logs = top / "tree", top / "logs" / "check"
        self.tree.mkdir()

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.tree / name.replace("__", ".")).write_text(text, encoding="utf-8")

    def run(self, *argv: str | Path, **rest: Any) -> Finding:
        spec = CheckSpec("check", argv=tuple(map(str, argv)), **rest)
        return CHECKS.check(spec, self.tree, self.logs, facts=commit_facts(""), stop=lambda: False)


@pytest.fixture
def check_run(tmp_path: Path) -> CheckRun:
    return CheckRun(tmp_path)


def rows(finding: Finding, param: str, *keys: str) -> list[tuple[Any, ...]]:
    assert finding.outcome is Outcome.FAILED, finding
    return [tuple(row[key] for key in keys) for row in finding.params[param]]


# ------------------------------------------------------------------ from PyPI

SHOP = """
import pytest

class TestCart:
    @pytest.mark.parametrize("n", [1, "a - b"])
    def test_total(self, n):
        assert {"price": 1, "count": n} == {"price": 1, "count": 2, "currency": "a long word"}

@pytest.fixture
def bad(): raise RuntimeError("no fixture")
def test_needs(bad): ...
def test_ok(): ...
@pytest.mark.skip
def test_later(): ...
"""


@pytest.mark.spec("6.2", "6.9")
def test_failures_of_pytest_are_read_from_text(check_run: CheckRun) -> None:
    check_run.write(test_s__py=SHOP, test_c__py="import nowhere\n")
    files = ("test_s.py", "test_c.py", "--continue-on-collection-errors")

    # No report is requested unless the check asks for one.
    finding = check_run.run(BIN / "pytest", *PYTEST, *files, "-p", "no:junitxml", env=QUICK)

    said = "AssertionError: assert {'price': 1, 'count': 1} == {'price': 1, ...'a long word'}"
    assert rows(finding, "failedTests", "name", "file", "line") == [
        ("test_s.py::TestCart::test_total[1]", "test_s.py", 7),
        ("test_s.py::TestCart::test_total[a - b]", "test_s.py", 7),
        ("test_c.py", "test_c.py", 1),
        ("test_s.py::test_needs", "test_s.py", 10),
    ]
    assert finding.params["failedTests"][0]["error"].startswith(said)
    assert finding.params["failedTests"][2]["error"].endswith("No module named 'nowhere'")
    assert finding.params["exitCode"] == 1
    assert "short test summary" in finding.params["errorOutput"]


@pytest.mark.spec("6.2")
def test_failures_of_pytest_are_read_without_its_summary(check_run: CheckRun) -> None:
    check_run.write(test_s__py=SHOP)

    options = ("-rN", "--tb=short", "-p", "no:junitxml")
    finding = check_run.run(BIN / "pytest", *PYTEST, *options, "test_s.py", env=QUICK)

    assert rows(finding, "failedTests", "name", "line") == [
        ("test_needs", 10),
        ("TestCart.test_total[1]", 7),
        ("TestCart.test_total[a - b]", 7),
    ]


@pytest.mark.spec("6.2")
def test_failures_of_pytest_are_read_from_its_report(check_run: CheckRun) -> None:
    check_run.write(test_s__py=SHOP)

    finding = check_run.run(
        BIN / "pytest", *PYTEST, "--junit-xml", "{report}", "test_s.py", env=QUICK
    )

    assert [name for (name,) in rows(finding, "failedTests", "name")] == [
        "test_s.py::TestCart::test_total[1]",
        "test_s.py::TestCart::test_total[a - b]",
        "test_s.py::test_needs",
    ]
    assert finding.params["failedTests"][0]["line"] == 7


DOCTESTS = """
def f(x):
    \'\'\'One of the natural numbers.

    >>> f(1)
    2
    >>> f(2)
    3
    \'\'\'
    return x + (x < 2)

def quiet(x):
    \'\'\'
    >>> quiet("Expected:")
    \'\'\'
    return x

def lines():
    \'\'\'
    >>> print(lines())
    a
    b
    \'\'\'
    return "a\\nc"

def raises():
    \'\'\'
    >>> raises()
    1
    \'\'\'
    return 1 / 0
"""


@pytest.mark.spec("6.2")
def test_a_failed_doctest_of_pytest_says_what_it_got(check_run: CheckRun) -> None:
    """Its message began with the text of the docstring."""
    check_run.write(m__py=DOCTESTS)

    finding = check_run.run(
        *(BIN / "pytest", *PYTEST, "--doctest-modules", "--junit-xml", "{report}", "m.py"),
        env=QUICK,
    )

    assert rows(finding, "failedTests", "name", "error") == [
        ("m.py::m.f", "f(2): expected 3, got 2"),
        ("m.py::m.lines", "print(lines()): expected a b, got a c"),
        ("m.py::m.quiet", "quiet(\"Expected:\"): expected nothing, got 'Expected:'"),
        ("m.py::m.raises", "raises(): ZeroDivisionError('division by zero')"),
    ]


FIXTURES = """
import pytest
from types import SimpleNamespace as Names
extension = Names(LOADED=False)

@pytest.fixture
def explained(): assert extension.LOADED, "extension not loaded"
@pytest.fixture
def bare(): assert extension.LOADED
@pytest.fixture
def broken(): compile("x = = 1", "f.py", "exec")
@pytest.fixture
def chained():
    try: {}["a"]
    except KeyError as error: raise RuntimeError("no server") from error
@pytest.fixture
def late():
    yield
    assert extension.LOADED, "still not loaded"

def test_explained(explained): ...
def test_bare(bare): ...
def test_broken(broken): ...
def test_chained(chained): ...
def test_late(late): ...
def test_unknown(nowhere): ...
def test_own(): assert extension.LOADED, "not loaded here"
"""


@pytest.mark.spec("6.2")
def test_an_error_of_pytest_outside_the_test_is_its_exception(check_run: CheckRun) -> None:
    """Explanations (`+ where …`) and source lines say less than the message of the assertion."""
    check_run.write(
        test_f__py=FIXTURES,
        test_l__py="n = []\nassert n.copy(), 'set the variable'\n",
        test_s__py="x = = 1\n",
    )

    options = ("--junit-xml", "{report}", "--continue-on-collection-errors")
    finding = check_run.run(BIN / "pytest", *PYTEST, *options, env=QUICK)

    assert dict(rows(finding, "failedTests", "name", "error")) == {
        "test_l.py": "AssertionError: set the variable",
        "test_s.py": "SyntaxError: invalid syntax",
        "test_f.py::test_explained": "AssertionError: extension not loaded",
        "test_f.py::test_bare": "assert False +  where False = namespace(LOADED=False).LOADED",
        "test_f.py::test_broken": "SyntaxError: invalid syntax",
        "test_f.py::test_chained": "RuntimeError: no server",
        "test_f.py::test_late": "AssertionError: still not loaded",
        "test_f.py::test_unknown": "fixture 'nowhere' not found",
        "test_f.py::test_own": "AssertionError: not loaded here assert False"
        " +  where False = namespace(LOADED=False).LOADED",
    }


@pytest.mark.spec("6.2")
def test_failures_of_pytest_have_names_that_can_be_run_again(check_run: CheckRun) -> None:
    """The report writes dots; pytest takes paths."""
    (check_run.tree / "shop" / "tests").mkdir(parents=True)
    check_run.write(test_c__py="import nowhere\n")
    (check_run.tree / "shop" / "tests" / "test_s.py").write_text(SHOP)
    files = ("shop/tests/test_s.py", "test_c.py", "--continue-on-collection-errors")

    finding = check_run.run(BIN / "pytest", *PYTEST, *files, env=QUICK)
    names = [name for (name,) in rows(finding, "failedTests", "name")]
    again = check_run.run(BIN / "pytest", *PYTEST, *names[1:], env=QUICK)

    assert names == [
        "test_c.py",
        "shop/tests/test_s.py::TestCart::test_total[1]",
        "shop/tests/test_s.py::TestCart::test_total[a - b]",
        "shop/tests/test_s.py::test_needs",
    ]
    assert again.params["testCount"] == 3


@pytest.mark.spec("6.6")
def test_a_passing_report_has_the_number_of_its_tests(check_run: CheckRun) -> None:
    """Fewer than before, or more skipped, can then be noticed."""
    check_run.write(r__xml='<a><testcase name="x"/><testcase name="y"><skipped/></testcase></a>')

    finding = check_run.run("cp", "r.xml", "{report}")

    assert (finding.outcome, finding.message) == (Outcome.PASSED, "")
    assert finding.params == {"testCount": 2, "skippedCount": 1, "passedCount": 1}
    assert finding.passing_tests == ("x",)


@pytest.mark.spec("6.2")
def test_failures_of_unittest_are_read_from_text(check_run: CheckRun) -> None:
    check_run.write(
        test_b__py="import unittest\nclass T(unittest.TestCase):\n"
        "    def test_x(self):\n        self.assertEqual(1, 2, 'sum')\n"
    )

    finding = check_run.run(sys.executable, "-m", "unittest", "test_b")

    assert rows(finding, "failedTests", "name", "error", "file", "line") == [
        ("test_b.T.test_x", "AssertionError: 1 != 2 : sum", "test_b.py", 4)
    ]


TYPED = "def f(a: int) -> str:\n    return a\n\n\nf('x')\n"
MYPY = ("--config-file=", "--cache-dir", os.devnull, "--no-site-packages")
RETURNED = 'Incompatible return value type (got "int", expected "str")'


@pytest.mark.quick_cases(1)
@pytest.mark.spec("6.2", "4.5")
@pytest.mark.parametrize(
    ("more", "columns"),
    [
        ((), (None, None)),
        (("--show-column-numbers", "--pretty"), (12, 3)),
        (("-O", "json"), (12, 3)),
    ],
    ids=str,
)
def test_errors_of_mypy_are_read(
    check_run: CheckRun, more: tuple[str, ...], columns: tuple[int | None, ...]
) -> None:
    check_run.write(a__py=TYPED)

    finding = check_run.run(BIN / "mypy", *MYPY, *more, "a.py")

    assert finding.pattern == "type-error"
    assert rows(finding, "typeErrors", "file", "line", "column", "code") == [
        ("a.py", 2, columns[0], "return-value"),
        ("a.py", 5, columns[1], "arg-type"),
    ]
    assert finding.params["typeErrors"][0]["message"] == RETURNED


RUFF = (BIN / "ruff", "check", "--isolated", "--no-cache")


@pytest.mark.spec("6.2", "4.5")
@pytest.mark.parametrize("form", ["full", "concise", "json", "json-lines", "sarif"])
def test_errors_of_ruff_check_are_read(check_run: CheckRun, form: str) -> None:
    check_run.write(a__py="import os\n", b__py="def (:\n")

    finding = check_run.run(*RUFF, "--output-format", form, ".")

    assert finding.pattern == "lint-error"
    found = rows(finding, "lintErrors", "file", "line", "column", "code", "message")
    assert found[0] == ("a.py", 1, 8, "F401", "`os` imported but unused")
    assert found[1][:4] == ("b.py", 1, 5, "invalid-syntax")


@pytest.mark.spec("6.2")
def test_errors_are_read_from_a_sarif_report(check_run: CheckRun) -> None:
    check_run.write(a__py="import os\n", b__py="x = 1\n")
    form = ("--output-format", "sarif", "--exit-zero", "--output-file", "{report}")

    red, green = check_run.run(*RUFF, *form, "a.py"), check_run.run(*RUFF, *form, "b.py")

    assert red.message == "1 lint error: a.py:1:8: `os` imported but unused"
    assert green.outcome is Outcome.PASSED


@pytest.mark.spec("6.2", "4.5")
@pytest.mark.parametrize("form", ["--check", "--diff"])
def test_unformatted_files_of_ruff_are_read(check_run: CheckRun, form: str) -> None:
    check_run.write(a__py="x = {  'a':1 }\n", b__py="y = 1\n")

    finding = check_run.run(BIN / "ruff", "format", "--isolated", "--no-cache", form, ".")

    assert finding.pattern == "format-error"
    assert finding.params["unformattedFiles"] == ["a.py"]
    assert '{"a": 1}' in finding.params["diff"]


@pytest.mark.spec("6.2")
def test_changed_files_of_git_status_are_read(check_run: CheckRun) -> None:
    check_run.write(a__txt="a")
    subprocess.run(["git", "init", "-q", str(check_run.tree)], check=True)

    finding = check_run.run("git", "status", "--porcelain", success="empty")

    assert finding.pattern == "git-dirty"
    assert finding.params["untrackedFiles"] == ["a.txt"]
    assert finding.message == "its output is not empty; 1 file is not committed: a.txt"


@pytest.mark.spec("6.2", "0.1", "0.6")
def test_a_configured_reader_is_used_and_an_unknown_one_breaks_the_check(
    check_run: CheckRun,
) -> None:
    """`gofmt -l` and its like list what is wrong and exit with nought."""
    listing = check_run.run("echo", "calc/bad.go", reader="gofmt")

    assert (listing.outcome, listing.pattern) == (Outcome.FAILED, "format-error")
    assert check_run.run("true", reader="gofmt").outcome is Outcome.PASSED
    assert check_run.run("echo", "calc/bad.go").outcome is Outcome.PASSED
    assert check_run.run("true", reader="oracle").outcome is Outcome.BROKEN


@pytest.mark.spec("6.2")
def test_output_that_no_reader_understands_is_kept_raw(check_run: CheckRun) -> None:
    finding = check_run.run("sh", "-c", "echo odd; echo worse >&2; exit 3", pattern="test-failed")

    assert finding.message == "exit code 3 (its output was not understood): worse"
    assert finding.items == ()
    assert finding.params == {
        "failedTests": [],
        "errorOutput": "odd\nworse",
        "stdout": "odd\n",
        "stderr": "worse\n",
        "exitCode": 3,
    }


TAP_OF_TWO = """\
TAP version 13
ok 1 - one
ok 2 - two
1..2
# tests 2
# pass 2
# fail 0
# skipped 0
# duration_ms 53.6
"""


@pytest.mark.spec("6.2", "12.2", "17.1")
@pytest.mark.parametrize(
    ("act", "shown"),
    [
        (
            "echo '1 vulnerability' >&2; exit 1",
            "exit code 1, although 2 tests passed and none failed, so something else did: "
            "1 vulnerability",
        ),
        (
            "exit 1",
            "exit code 1, although 2 tests passed and none failed, so something else did",
        ),
        ("echo 'not ok 3 - three'; exit 1", "1 test failed: three"),
    ],
)
def test_a_failure_beside_passing_tests_is_no_failure_of_a_test(
    check_run: CheckRun, act: str, shown: str
) -> None:
    """An audit after the tests failed, and agents were asked to mend the tests."""
    check_run.write(said__txt=TAP_OF_TWO)

    finding = check_run.run("sh", "-c", f"cat said.txt; {act}", pattern="test-failed")

    silenced = check_run.run("sh", "-c", f"cat said.txt; {act}", "--silent", pattern="test-failed")

    is_test = "although" not in shown
    more = f"; to see more: {shlex.join(['sh', '-c', f'cat said.txt; {act}'])}"
    assert silenced.message == (shown if is_test else f"{shown}{more}")
    assert finding.message == shown
    assert (finding.pattern == "test-failed") is is_test
    assert (DOUBTFUL_PARAM in finding.params) is not is_test


UNCAUGHT = """\
node:assert:90
  throw new AssertionError(obj);
  ^

AssertionError [ERR_ASSERTION]: sum

2 !== 3

    at Object.<anonymous> (n.js:2:8) {
  code: 'ERR_ASSERTION'
}

Node.js v20.20.2
"""


@pytest.mark.spec("6.2", "12.2")
def test_an_error_that_nothing_caught_in_node_is_named_and_not_the_version_of_node(
    check_run: CheckRun,
) -> None:
    check_run.write(said__txt=UNCAUGHT)

    finding = check_run.run("sh", "-c", "cat said.txt >&2; exit 1", pattern="test-failed")

    words = "exit code 1 (its output was not understood): AssertionError [ERR_ASSERTION]: sum"
    assert finding.message == words


# ------------------------------------------------------------------ from npm


def test_the_lock_file_of_the_tools_contains_no_address() -> None:
    text = (TOOLS / "package-lock.json").read_text(encoding="utf-8")

    assert "http" not in text
    assert '"resolved"' not in text
    assert text.count('"integrity"') > 100


def installed(folder: Path) -> str:
    """Why the pinned tools are not there, or nothing.  One process installs, the others wait."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return ""
        fresh = folder.with_suffix(".new")
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(TOOLS, fresh)
        try:
            done = subprocess.run(
                ["npm", "ci", "--ignore-scripts"],
                cwd=fresh,
                capture_output=True,
                text=True,
                timeout=200,
            )
        except (OSError, subprocess.TimeoutExpired) as fault:
            return str(fault)
        if done.returncode == 0:
            fresh.rename(folder)
        return "" if done.returncode == 0 else done.stderr[-500:]


@pytest.fixture(scope="module")
def npm() -> Path:
    """The folder of the pinned tools, made once for each version of the lock file."""
    mark = hashlib.sha256((TOOLS / "package-lock.json").read_bytes()).hexdigest()[:12]
    folder = ROOT / ".venv" / "tools-npm" / mark
    why = installed(folder)
    if why and os.environ.get("CI") == "true":
        pytest.fail(f"npm ci failed: {why}")
    if why:
        pytest.skip(f"THE READERS OF JAVASCRIPT TOOLS ARE NOT PROVEN HERE: npm ci failed: {why}")
    return folder / "node_modules"


ADDS = "test('adds', () => { expect(1 + 1).toBe(3); });\ntest('ok', () => {});\n"
NODE = """const { test } = require('node:test');
test('adds', () => { require('assert').equal(2, 3); });
"""
JEST_REPORT = """
JEST_JUNIT_OUTPUT_FILE="$YAOKI_REPORT" node_modules/.bin/jest --rootDir . --reporters=jest-junit
"""

patient = pytest.mark.timeout(300)


def with_tools(check_run: CheckRun, npm: Path, **files: str) -> None:
    (check_run.tree / "node_modules").symlink_to(npm)
    check_run.write(package__json='{"name": "x", "private": true}', **files)


def run(check_run: CheckRun, npm: Path, tool: str, *argv: str, **env: str) -> Finding:
    return check_run.run(npm / ".bin" / tool, *argv, env={"NO_COLOR": "1", "CI": "true", **env})


def same_tests(finding: Finding, expected: Mapping[str, Any]) -> bool:
    [row] = finding.params["failedTests"]
    return {key: row[key] for key in expected} == expected and finding.pattern == "test-failed"


@pytest.mark.full
@patient
@pytest.mark.spec("6.2")
def test_failures_of_jest_are_read(check_run: CheckRun, npm: Path) -> None:
    with_tools(check_run, npm, sum__test__js=ADDS)
    place = {"file": "sum.test.js", "line": 1}

    by_text = run(check_run, npm, "jest", "--rootDir", ".")
    by_report = check_run.run("sh", "-c", JEST_REPORT, "{report}")

    assert same_tests(by_text, {"name": "sum.test.js › adds", **place})
    assert same_tests(by_report, {"name": "adds", **place}), by_report


@pytest.mark.full
@patient
@pytest.mark.spec("6.2")
def test_failures_of_vitest_are_read(check_run: CheckRun, npm: Path) -> None:
    with_tools(check_run, npm, sum__test__mjs=f"import {{ expect, test }} from 'vitest';\n{ADDS}")
    place = {"file": "sum.test.mjs", "line": 2}

    by_text = run(check_run, npm, "vitest", "run")
    by_report = run(check_run, npm, "vitest", "run", "--reporter=junit", "--outputFile={report}")

    assert same_tests(by_text, {"name": "sum.test.mjs > adds", **place})
    assert same_tests(by_report, {"name": "sum.test.mjs::adds", **place}), by_report


@pytest.mark.spec("6.2")
@pytest.mark.parametrize("reporter", ["tap", "spec", "junit"])
def test_failures_of_node_are_read(check_run: CheckRun, reporter: str) -> None:
    if shutil.which("node") is None:
        pytest.skip("THE READERS OF NODE'S OWN RUNNER ARE NOT PROVEN HERE: there is no node")
    check_run.write(sum__test__js=NODE)
    to_file = ("--test-reporter-destination={report}",) if reporter == "junit" else ()

    finding = check_run.run("node", "--test", f"--test-reporter={reporter}", *to_file)

    assert same_tests(finding, {"name": "adds", "file": "sum.test.js", "line": 2}), finding


@pytest.mark.spec("6.2", "16.7")
@pytest.mark.parametrize("reporter", ["tap", "junit"])
def test_a_file_of_node_without_tests_has_the_same_name_in_every_room(
    tmp_path: Path, reporter: str
) -> None:
    """node 20 names it by its absolute path, also where the worktree is reached by a link."""
    if shutil.which("node") is None:
        pytest.skip("THE READERS OF NODE'S OWN RUNNER ARE NOT PROVEN HERE: there is no node")
    (tmp_path / "1").mkdir()
    (tmp_path / "2").symlink_to(tmp_path / "1")
    to_file = ("--test-reporter-destination={report}",) if reporter == "junit" else ()
    command = ("node", "--test", f"--test-reporter={reporter}", *to_file)
    first = CheckRun(tmp_path / "1")
    first.write(
        plain__test__js="require('node:assert').equal(1, 1);\n",
        sum__test__js=NODE.replace("2, 3", "3, 3"),
    )

    names = first.run(*command).passing_tests
    first.tree = tmp_path / "2" / "tree"
    linked_names = first.run(*command).passing_tests

    assert names == linked_names == ("plain.test.js", "adds")


@pytest.mark.spec("6.2")
@pytest.mark.parametrize("reporter", ["tap", "spec", "junit"])
def test_a_failing_file_of_node_is_named_by_its_place_in_the_checkout(
    check_run: CheckRun, reporter: str
) -> None:
    if shutil.which("node") is None:
        pytest.skip("THE READERS OF NODE'S OWN RUNNER ARE NOT PROVEN HERE: there is no node")
    check_run.write(plain__test__js="require('node:assert').equal(1, 2);\n")
    to_file = ("--test-reporter-destination={report}",) if reporter == "junit" else ()

    finding = check_run.run("node", "--test", f"--test-reporter={reporter}", *to_file)

    assert [item.name for item in finding.items] == ["plain.test.js"]


@pytest.mark.spec("6.2")
@pytest.mark.parametrize("reporter", ["tap", "spec"])
def test_a_file_of_node_that_does_not_load_is_named_with_its_reason(
    check_run: CheckRun, reporter: str
) -> None:
    if shutil.which("node") is None:
        pytest.skip("THE READERS OF NODE'S OWN RUNNER ARE NOT PROVEN HERE: there is no node")
    check_run.write(
        a__test__js="require('./y.js');\n",
        b__test__js="require('./broken.js');\n",
        broken__js="const a = 1;\nconst b = ;\n",
        c__test__mjs="import p from 'no-such-package';\n",
        d__test__js="throw new TypeError('no tests yet');\n",
        e__test__js="\nconst a = ;\n",
        f__test__js="require('./inner.js');\n",
        inner__js="require('./gone.js');\n",
    )

    finding = check_run.run("node", "--test", f"--test-reporter={reporter}")

    assert [(item.name, item.message, item.where) for item in finding.items] == [
        ("a.test.js", "does not load: Cannot find module './y.js'", "a.test.js:1"),
        (
            "b.test.js",
            "does not load: SyntaxError: Unexpected token ';' (broken.js:2)",
            "b.test.js:1",
        ),
        (
            "c.test.mjs",
            "does not load: Cannot find package 'no-such-package' imported from c.test.mjs",
            "c.test.mjs:1",
        ),
        ("d.test.js", "TypeError: no tests yet", "d.test.js:1"),
        ("e.test.js", "does not load: SyntaxError: Unexpected token ';'", "e.test.js:2"),
        (
            "f.test.js",
            "does not load: Cannot find module './gone.js' (required by inner.js)",
            "f.test.js:1",
        ),
    ]
    assert finding.message.startswith("6 tests failed: a.test.js: does not load: Cannot find"), (
        finding
    )
    assert finding.params["missingModules"] == ["no-such-package"]


@pytest.mark.spec("6.2")
def test_the_junit_report_of_node_says_how_a_file_ended_that_does_not_load(
    check_run: CheckRun,
) -> None:
    if shutil.which("node") is None:
        pytest.skip("THE READERS OF NODE'S OWN RUNNER ARE NOT PROVEN HERE: there is no node")
    check_run.write(a__test__js="require('./y.js');\n")

    finding = check_run.run(
        "node", "--test", "--test-reporter=junit", "--test-reporter-destination={report}"
    )

    assert [(item.name, item.message) for item in finding.items] == [
        (
            "a.test.js",
            "its process ended with exit code 1; the junit reporter of node leaves out why",
        )
    ]


@pytest.mark.full
@patient
@pytest.mark.spec("6.2")
def test_errors_of_tsc_are_read(check_run: CheckRun, npm: Path) -> None:
    with_tools(check_run, npm, a__ts='const y: number = "a";\nexport { y };\n')

    finding = run(check_run, npm, "tsc", "--noEmit", "--lib", "es5", "a.ts")

    assert rows(finding, "typeErrors", "file", "line", "column", "code", "message") == [
        ("a.ts", 1, 7, "TS2322", "Type 'string' is not assignable to type 'number'.")
    ]


@pytest.mark.full
@patient
@pytest.mark.spec("6.2")
@pytest.mark.parametrize("form", ["stylish", "json"])
def test_errors_of_eslint_are_read(check_run: CheckRun, npm: Path, form: str) -> None:
    rules = 'export default [{ rules: { "no-var": "warn", "no-undef": "error" } }];\n'
    with_tools(
        check_run, npm, eslint__config__mjs=rules, a__js="var x = 1;\nfoo(x);\n", b__js="let = ;\n"
    )

    finding = run(check_run, npm, "eslint", "-f", form, "a.js", "b.js")

    found = rows(finding, "lintErrors", "file", "line", "column", "code", "message")
    assert [(*row[:4], row[4].rstrip(".")) for row in found] == [
        ("a.js", 2, 1, "no-undef", "'foo' is not defined"),
        ("b.js", 1, 1, "", "Parsing error: The keyword 'let' is reserved"),
    ]


@pytest.mark.full
@patient
@pytest.mark.spec("6.2")
def test_unformatted_files_of_prettier_are_read(check_run: CheckRun, npm: Path) -> None:
    with_tools(
        check_run, npm, a__js="const  x = {a:1}\n", b__js="const x = 1;\n", c__js="let = ;\n"
    )

    finding = run(check_run, npm, "prettier", "--check", "a.js", "b.js", "c.js")

    assert finding.params["unformattedFiles"] == ["a.js", "c.js"]
    assert finding.items[1].message.startswith("SyntaxError: Unexpected token")
