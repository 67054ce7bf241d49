"""Readers on recorded output of real tools, and on arbitrary text."""

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from yaoki.adapters.checks.readers import (
    READERS,
    CommandOutput,
    Interpretation,
    extract,
    extractor_names,
    interpret_output,
    interpret_report,
    reader_defect,
)
from yaoki.adapters.checks.readers.choice import READER_ORDER, recognise_reader
from yaoki.adapters.checks.readers.command_output import OutputLines, split_output
from yaoki.adapters.checks.readers.entries import OutputReader, ParsedOutput, try_reader
from yaoki.adapters.checks.readers.node_assertions import name_compared_values
from yaoki.core.redact import MARK, mask
from yaoki.errors import Fault

RECORDED = Path(__file__).parent / "recorded"
# Files the recordings speak of; a place counts only when its file is there.
TREE = (
    "calc/calc_test.go",
    "boom/boom_test.go",
    "src/lib.rs",
    "a_test.ts",
    "sum.test.js",
    "sum.test.mjs",
    "test.js",
    "syntax.test.mjs",
    "tests/basic.rs",
    "tests/CartTest.php",
)


@dataclass(frozen=True)
class Recording:
    """One recorded run: its command and what it left."""

    argv: tuple[str, ...]
    seen: CommandOutput
    with_report: CommandOutput


def recording(name: str, top: Path) -> Recording:
    for path in TREE:
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).touch()
    text = (RECORDED / f"{name}.txt").read_text(encoding="utf-8").replace("{tree}", str(top))
    head, *rest = re.split(r"^===== (\w+)\n", text, flags=re.MULTILINE)
    parts = dict(zip(rest[::2], rest[1::2], strict=True))
    told = dict(line.split(": ", 1) for line in head.splitlines())
    report = top / "report.xml"
    report.write_text(parts.get("report", "").strip(), encoding="utf-8")
    plain = CommandOutput(int(told["exit"]), parts["stdout"], parts["stderr"], None, top)
    full = CommandOutput(int(told["exit"]), parts["stdout"], parts["stderr"], report, top)
    return Recording(tuple(told["command"].split()), plain, full)


def item_tuples(reading: Interpretation) -> list[tuple[str, str, str]]:
    return [(item.name, item.message, item.where) for item in reading.items]


# ------------------------------------------------------------------ tests


def test_the_values_that_node_compared_are_named_as_actual_and_expected() -> None:
    deep, equal = "Expected values to be deep-equal:", "Expected values to be strictly equal:"
    differ = [deep, "+ actual - expected", "{", "+ 2", "- 3", "}"]

    assert name_compared_values([equal, "3 !== 4"]) == f"{equal} actual 3, expected 4"
    assert name_compared_values(differ) == f"{deep} actual 2, expected 3"
    assert name_compared_values(differ[:4]) == f"{deep} actual 2, expected nothing"
    for other in ([], ["own words", "3 !== 4"], [equal, "'a !== b' !== 'c'"]):
        assert name_compared_values(other) == ""


JEST_ADDS = "expect(received).toBe(expected) // Object.is equality Expected: 3 Received: 2"
RUST_ADDS = "assertion `left == right` failed: sum of 2 and 3 left: -1 right: 5"
RUST_PANICS = "note: test did not panic as expected at src/lib.rs:12:8"
NODE_ADDS = "Expected values to be strictly equal: actual 2, expected 3"
GO = [
    (
        "example.com/shop/boom::TestBoom",
        "panic: assignment to entry in nil map [recovered, repanicked]",
        "boom/boom_test.go:7",
    ),
    (
        "example.com/shop/broken",
        "does not build: undefined: undefinedThing",
        "broken/b_test.go:5:28",
    ),
    ("example.com/shop/calc::TestAdd", "Add(2, 3) = -1, want 5", "calc/calc_test.go:7"),
    ("example.com/shop/calc::TestTable/one_two", "wrong sum in two lines", "calc/calc_test.go:15"),
]

TESTS_BY_TEXT: dict[str, list[tuple[str, str, str]]] = {
    "go-text": GO,
    "go-json": GO,
    "go-verbose": GO[2:],
    "cargo-test": [
        ("tests::adds", RUST_ADDS, "src/lib.rs:7"),
        (
            "tests::panics",
            "note: test did not panic as expected at src/lib.rs:12:8",
            "src/lib.rs:12",
        ),
        ("tests::returns", 'Error: "no luck"', ""),
    ],
    "jest": [
        ("sum.test.js › sum › adds", JEST_ADDS, "sum.test.js:2"),
        ("sum.test.js › sum › throws", "TypeError: broken", "sum.test.js:5"),
        (
            "syntax.test.js",
            "SyntaxError: syntax.test.js: Unexpected token (1:10)",
            "syntax.test.js",
        ),
    ],
    "vitest": [
        ("syntax.test.mjs", "RollupError: Parse failure: Expression expected", "syntax.test.mjs"),
        (
            "sum.test.mjs > sum > adds",
            "AssertionError: expected 2 to be 3 // Object.is equality",
            "sum.test.mjs:3",
        ),
        ("sum.test.mjs > sum > throws", "TypeError: broken", "sum.test.mjs:5"),
    ],
    "mocha": [
        (
            "flat: with a colon",
            "AssertionError [ERR_ASSERTION]: Expected values to be strictly deep-equal: "
            "actual a: 1, expected a: 2",
            "test.js:10",
        ),
        ("sums > throws", "Error: no such sum", "test.js:8"),
        (
            "sums > small > adds one",
            f"AssertionError [ERR_ASSERTION]: {NODE_ADDS}",
            "test.js:4",
        ),
        ('hooked > "before all" hook for "x"', "TypeError: no database", "test.js:11"),
    ],
    "node-tap": [
        ("adds", NODE_ADDS, "sum.test.js:2"),
        ("group > inner", "broken", "sum.test.js:4"),
    ],
    "tape": [
        ("two letters", "counts words: expected 2, actual 3", "test.js:8"),
        (
            "should be deeply equivalent",
            "objects: expected { a: 2 }, actual { a: 1 }",
            "test.js:11",
        ),
        ("should throw", "throws: expected /x/, actual undefined", "test.js:15"),
        ("nope", "throws", "test.js:16"),
    ],
    "node-spec": [
        ("adds", f"AssertionError [ERR_ASSERTION]: {NODE_ADDS}", "sum.test.js:2"),
        ("inner", "TypeError [Error]: broken", "sum.test.js:4"),
    ],
    "deno-test": [
        ("adds", "Error: sum is wrong", "a_test.ts:1"),
        ("group > inner", "TypeError: inner broke", "a_test.ts:3"),
    ],
    "deno-tap": [
        ("adds", "Error: sum is wrong", "a_test.ts:1"),
        ("group > inner", "TypeError: inner broke", "a_test.ts:3"),
    ],
}


@pytest.mark.spec("6.2")
@pytest.mark.parametrize("name", TESTS_BY_TEXT)
def test_failing_tests_are_named_from_the_text(name: str, tmp_path: Path) -> None:
    run = recording(name, tmp_path)

    reading = interpret_output(run.seen, run.argv)

    assert (reading.understood, reading.pattern) == (True, "test-failed")
    assert item_tuples(reading) == TESTS_BY_TEXT[name]
    assert reading == interpret_output(run.seen), "the order finds the same as the command's name"
    first = reading.params["failedTests"][0]
    assert set(first) == {"name", "error", "file", "line"}
    assert reading.params["failureCount"] == len(TESTS_BY_TEXT[name])
    assert reading.params["errorOutput"]


@pytest.mark.spec("6.2")
@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("\"'1.5' == '1.50'\"", "'1.5' == '1.50'"),
        ("""`'a' is not "b"`""", "'a' is not \"b\""),
        ("""'say "b"'""", 'say "b"'),
        ("'it\\'s'", "it's"),
        ("'it''s'", "it's"),
        ("'a' is missing", "'a' is missing"),
        ("'", "'"),
    ],
)
def test_quotation_marks_of_a_value_in_tap_are_not_cut(written: str, message: str) -> None:
    """node and YAML add one mark at each end; those inside belong to what was compared."""
    text = f"TAP version 13\nnot ok 1 - price\n  ---\n  error: {written}\n  ...\n1..1\n"

    reading = interpret_output(CommandOutput(1, text))

    assert item_tuples(reading) == [("price", message, "")]


TESTS_BY_REPORT: dict[str, tuple[int, int, list[tuple[str, str, str]]]] = {
    "jest": (
        4,
        1,
        [
            ("sum adds", f"Error: {JEST_ADDS}", "sum.test.js:2"),
            ("sum throws", "TypeError: broken", "sum.test.js:5"),
        ],
    ),
    "vitest": (
        4,
        0,
        [
            (
                "sum.test.mjs::sum > adds",
                "expected 2 to be 3 // Object.is equality",
                "sum.test.mjs:3",
            ),
            ("sum.test.mjs::sum > throws", "broken", "sum.test.mjs:5"),
            (
                "syntax.test.mjs",
                "Parse failure: Expression expected At file: syntax.test.mjs:1:11",
                "syntax.test.mjs:1",
            ),
        ],
    ),
    "node-junit": (
        4,
        1,
        [
            ("adds", NODE_ADDS, "sum.test.js:2"),
            ("inner", "broken", "sum.test.js:4"),
        ],
    ),
    "deno-test": (
        4,
        0,
        [
            ("./a_test.ts::adds", "Uncaught Error: sum is wrong", "a_test.ts:1"),
            ("./a_test.ts::group", "1 test step failed", "a_test.ts:3"),
            ("./a_test.ts::group > inner", "Uncaught TypeError: inner broke", "a_test.ts:3"),
        ],
    ),
    "surefire": (
        5,
        1,
        [
            ("x.CalcTest::breaks", "broken", ""),
            ("x.CalcTest::adds", "sum ==> expected: <5> but was: <4>", ""),
        ],
    ),
    "nextest": (
        3,
        0,
        [
            (
                "shop::basic::adds",
                "thread 'adds' panicked at tests/basic.rs:19:5: "
                "assertion `left == right` failed: sum left: 4",
                "tests/basic.rs:19",
            )
        ],
    ),
    "gotestsum": (
        3,
        1,
        [("example.com/shop/calc::TestAdd", "calc_test.go:7: Add(2, 3) = -1, want 5", "")],
    ),
    "phpunit": (
        4,
        1,
        [
            (
                "Shop.CartTest::testTotal",
                "Failed asserting that 4 matches expected 5. tests/CartTest.php:14",
                "tests/CartTest.php:12",
            ),
            (
                "Shop.CartTest::testBroken",
                "RuntimeException: broken tests/CartTest.php:19",
                "tests/CartTest.php:18",
            ),
        ],
    ),
}


@pytest.mark.spec("6.2")
@pytest.mark.parametrize("name", TESTS_BY_REPORT)
def test_every_dialect_of_junit_names_what_failed_and_nothing_flaky(
    name: str, tmp_path: Path
) -> None:
    cases, skipped, items = TESTS_BY_REPORT[name]
    run = recording(name, tmp_path)

    reading = interpret_output(run.with_report, run.argv)

    assert item_tuples(reading) == items
    assert reading.tally is not None
    assert (reading.test_count, reading.tally.skipped, reading.pattern) == (
        cases,
        skipped,
        "test-failed",
    )
    assert reading == interpret_report(run.with_report)


# ------------------------------------------------------------------ types, lint, format

OS_UNUSED = "'os' imported but unused"
DIAGNOSTICS: dict[str, tuple[str, list[tuple[str, int | None, int | None, str, str]]]] = {
    "tsc": (
        "typeErrors",
        [
            ("a.ts", 1, 7, "TS2322", "Type 'string' is not assignable to type 'number'."),
            (
                "a.ts",
                3,
                3,
                "TS2345",
                "Argument of type 'number' is not assignable to parameter of type 'string'.",
            ),
        ],
    ),
    "pyright": (
        "typeErrors",
        [
            (
                "a.py",
                5,
                12,
                "reportReturnType",
                'Type "int" is not assignable to return type "str" '
                '"int" is not assignable to "str"',
            ),
            (
                "a.py",
                8,
                3,
                "reportArgumentType",
                'Argument of type "Literal[\'x\']" cannot be assigned to parameter "a" of type '
                '"int" in function "f" "Literal[\'x\']" is not assignable to "int"',
            ),
        ],
    ),
    "deno-check": (
        "typeErrors",
        [("c.ts", 1, None, "TS2322", "Type 'string' is not assignable to type 'number'.")],
    ),
    "go-build": (
        "typeErrors",
        [("broken/b_test.go", 5, 28, "", "undefined: undefinedThing")],
    ),
    "cargo-compile": ("typeErrors", [("src/lib.rs", 19, 23, "E0308", "mismatched types")]),
    "cargo-short": (
        "typeErrors",
        [("src/lib.rs", 19, 23, "E0308", "mismatched types: expected `i32`, found `&str`")],
    ),
    "eslint-stylish": (
        "lintErrors",
        [
            (
                "lint.js",
                2,
                5,
                "no-cond-assign",
                "Expected a conditional expression and instead saw an assignment",
            ),
            ("lint.js", 2, 5, "no-unused-vars", "'unused' is assigned a value but never used"),
            ("lint.js", 2, 19, "no-undef", "'foo' is not defined"),
            ("syn.js", 1, 1, "", "Parsing error: The keyword 'let' is reserved"),
        ],
    ),
    "deno-lint": (
        "lintErrors",
        [
            (
                "a_test.ts",
                1,
                31,
                "no-constant-condition",
                "Use of a constant expressions as conditions is not allowed.",
            ),
            ("b.ts", 1, 8, "no-unused-vars", "`x` is never used"),
            ("c.ts", 2, 5, "no-unused-vars", "`unused` is never used"),
            ("c.ts", 2, 5, "prefer-const", "`unused` is never reassigned"),
        ],
    ),
    "flake8": ("lintErrors", [("a.py", 1, 1, "F401", OS_UNUSED)]),
    "pylint-parseable": (
        "lintErrors",
        [
            ("syn.py", 1, None, "E0001", "Parsing failed: 'invalid syntax (syn, line 1)'"),
            ("b.py", 1, None, "C0114", "Missing module docstring"),
            ("b.py", 3, None, "W0612", "Unused variable 'x'"),
        ],
    ),
}
# The same run in the tool's other format: nothing may be lost or gained by it.
ALIKE = {
    "tsc-pretty": "tsc",
    "pyright-json": "pyright",
    "deno-lint-json": "deno-lint",
    "eslint-json": "eslint-stylish",
}


def diagnostics(reading: Interpretation, param: str) -> list[tuple[Any, ...]]:
    keys = ("file", "line", "column", "code", "message")
    return [tuple(row[key] for key in keys) for row in reading.params[param]]


@pytest.mark.spec("6.2", "4.5")
@pytest.mark.parametrize("name", [*DIAGNOSTICS, *ALIKE])
def test_type_and_lint_errors_are_read_with_their_places(name: str, tmp_path: Path) -> None:
    param, rows = DIAGNOSTICS[ALIKE.get(name, name)]
    run = recording(name, tmp_path)

    reading = interpret_output(run.seen, run.argv)

    ends = [(*row[:4], row[4].rstrip(".")) for row in diagnostics(reading, param)]
    assert ends == [(*row[:4], row[4].rstrip(".")) for row in rows]
    assert reading.pattern == {"typeErrors": "type-error", "lintErrors": "lint-error"}[param]
    assert reading == interpret_output(run.seen)


@pytest.mark.spec("6.2")
def test_lints_of_clippy_are_not_type_errors(tmp_path: Path) -> None:
    run = recording("cargo-clippy", tmp_path)

    reading = interpret_output(run.seen, run.argv)

    assert reading.pattern == "lint-error"
    assert reading.message == "5 lint errors: src/lib.rs:1:52: unneeded `return` statement"
    names = [item.name for item in reading.items]
    assert names[:2] == [
        "src/lib.rs: unneeded `return` statement",
        "src/lib.rs: unneeded `return` statement (2)",
    ], "a second fault of the same name is told apart, so that a new one is not taken for an old"


FORMATS: dict[str, tuple[list[str], str]] = {
    "black": (["b.py", "sub/s.py"], ""),
    "black-diff": (["b.py"], "+x = {"),
    "isort": (["b.py", "sub/s.py"], ""),
    "prettier": (["ugly.js", "syn.js"], ""),
    "prettier-list": (["ugly.js"], ""),
    "gofmt-list": (["calc/bad.go", "calc/calc_test.go"], ""),
    "gofmt-diff": (["calc/bad.go"], "+func F() {}"),
    "cargo-fmt": (["src/lib.rs"], "+pub fn add(a: i32, b: i32) -> i32 {"),
    "cargo-fmt-list": (["src/lib.rs"], ""),
    "deno-fmt": (["b.ts", "a_test.ts", "c.ts"], "+const x = 1;"),
}


@pytest.mark.spec("6.2", "4.5")
@pytest.mark.parametrize("name", FORMATS)
def test_files_that_are_not_formatted_are_listed(name: str, tmp_path: Path) -> None:
    files, diff = FORMATS[name]
    run = recording(name, tmp_path)

    reading = interpret_output(run.seen, run.argv)

    assert (reading.pattern, reading.params["unformattedFiles"]) == ("format-error", files)
    assert diff in reading.params["diff"]
    assert bool(diff) == bool(reading.params["diff"])


@pytest.mark.spec("14.4")
@pytest.mark.parametrize("name", ["gofmt-list", "prettier-list", "cargo-fmt-list"])
def test_a_bare_list_of_paths_is_read_only_for_a_known_command(name: str, tmp_path: Path) -> None:
    assert not interpret_output(recording(name, tmp_path).seen).failure_count


# ------------------------------------------------------------------ git

STATUS = 'M  staged.py\n M "caf\\303\\251 bar.py"\nMM both.py\nR  old.py -> new.py\n?? notes.txt\n'
STATUS_2 = (
    "1 M. N... 100644 100644 100644 aaaa bbbb staged.py\n"
    "1 .M N... 100644 100644 100644 aaaa bbbb café bar.py\n"
    "1 MM N... 100644 100644 100644 aaaa bbbb both.py\n"
    "2 R. N... 100644 100644 100644 aaaa bbbb R100 new.py\told.py\n"
    "? notes.txt\n"
)
STATUS_Z = "M  staged.py\0 M café bar.py\0MM both.py\0R  new.py\0old.py\0?? notes.txt\0"


@pytest.mark.spec("6.2")
@pytest.mark.parametrize("status", [STATUS, STATUS_2, STATUS_Z], ids=["v1", "v2", "nulls"])
def test_git_status_lists_changed_staged_and_untracked_files(status: str) -> None:
    reading = interpret_output(
        CommandOutput(0, status), ("git", "status", "--porcelain"), pattern="git-dirty"
    )

    assert reading.pattern == "git-dirty"
    assert reading.params["changedFiles"] == ["staged.py", "café bar.py", "both.py", "new.py"]
    assert reading.params["untrackedFiles"] == ["notes.txt"]
    assert reading.params["stagedFiles"] == ["staged.py", "both.py", "new.py"]
    assert reading.message.startswith("5 files are not committed: staged.py, café bar.py")


# ------------------------------------------------------------------ choice


@pytest.mark.spec("6.2")
@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("pytest -q", "pytest"),
        ("/venv/bin/python -m pytest", "pytest"),
        ("uv run --frozen pytest", "pytest"),
        ("npx jest", "jest"),
        ("node_modules/.bin/vitest run", "vitest"),
        ("npx mocha", "mocha"),
        ("node --test", "node"),
        ("go test ./...", "go"),
        ("cargo test", "cargo"),
        ("cargo fmt --check", "rustfmt"),
        ("cargo clippy", "clippy"),
        ("ruff check .", "ruff"),
        ("ruff format --check .", "ruff-format"),
        ("python -m ruff format .", "ruff-format"),
        ("prettier.cmd --check .", "prettier"),
        ("deno fmt --check", "deno-fmt"),
        ("git status --porcelain", "git-status"),
        ("cd web && npx eslint .", "eslint"),
        ("make check", ""),
        ("", ""),
    ],
)
def test_the_reader_is_recognised_by_the_command(command: str, name: str) -> None:
    assert recognise_reader(command.split()) == name
    assert not name or name in READERS


@pytest.mark.spec("0.6")
def test_an_unknown_reader_is_refused_by_name() -> None:
    assert reader_defect("oracle") == "there is no reader 'oracle'"
    assert not any(map(reader_defect, ("", *READERS)))


@pytest.mark.spec("6.2")
def test_a_configured_reader_is_used_exclusively(tmp_path: Path) -> None:
    run = recording("jest", tmp_path)

    assert interpret_output(run.seen, reader="jest").failure_count == 3
    assert not interpret_output(run.seen, reader="mypy").understood


@pytest.mark.spec("6.2")
def test_a_command_that_runs_many_tools_is_read_by_the_first_matching_reader(
    tmp_path: Path,
) -> None:
    """pytest passed, and the type checker after it failed."""
    seen = CommandOutput(
        1, "3 passed in 0.1s\na.py:5: error: bad  [arg-type]\n", "", None, tmp_path
    )

    assert interpret_output(seen, ["pytest", "-q", "&&", "mypy", "src"]).params["typeErrors"] == [
        {"file": "a.py", "line": 5, "column": None, "code": "arg-type", "message": "bad"}
    ]


# ------------------------------------------------------------------ never a false word

GREEN = '<testsuite tests="1" failures="0"><testcase name="a"/></testsuite>'


def junit(top: Path, xml: str, code: int = 1, **rest: Any) -> CommandOutput:
    file = top / "r.xml"
    file.write_text(xml, encoding="utf-8")
    return CommandOutput(code, report=file, worktree=top, **rest)


@pytest.mark.spec("0.1", "6.2")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "all is well",
        "FAILED\nERROR in the sky\nFAIL: everything\nnot okay at all",
        "[]",
        '{"runs": [], "version": "2.1.0"}',
        '{"generalDiagnostics": []}',
        "Success: no issues found in 3 source files",
        "TAP version 13\nok 1 - a\n1..1\n",
        "ok  \texample.com/shop\t0.1s",
        "test result: ok. 1 passed; 0 failed",
    ],
)
def test_a_failed_command_is_never_read_as_without_failure(text: str, tmp_path: Path) -> None:
    for seen in (CommandOutput(1, text), junit(tmp_path, GREEN, 1, stdout=text)):
        reading = interpret_output(seen, pattern="test-failed")

        assert (reading.understood, reading.failure_count, reading.items) == (False, 0, ())
        assert reading.params["failedTests"] == []
        assert reading.params["stdout"] == text
        assert reading.params["exitCode"] == 1


@pytest.mark.spec("0.1", "6.2")
def test_a_report_with_failures_counts_whatever_the_exit_code(tmp_path: Path) -> None:
    seen = junit(tmp_path, '<a><testcase name="t"><failure message="no"/></testcase></a>', 0)

    assert interpret_output(seen).message == "1 test failed: t: no"


@pytest.mark.spec("0.1", "6.2")
@pytest.mark.parametrize(
    ("xml", "names"),
    [
        ('<testsuite name="s"><error message="did not load"/></testsuite>', ["s"]),
        ('<testsuite name="s" errors="2"><testcase name="a"/></testsuite>', ["s"]),
        ('<testsuites failures="1"><testsuite/></testsuites>', ["testsuites"]),
        ("<testsuite><testcase><failure/></testcase></testsuite>", ["a test without a name"]),
        ('<x xmlns="u"><testcase name="n"><error/></testcase></x>', ["n"]),
        ('<a><testcase name="r"><rerunFailure/></testcase></a>', ["r"]),
        ('<a><testcase name="f"><flakyFailure/></testcase></a>', []),
        ('<a><testcase name="s"><skipped/></testcase></a>', []),
        ('<a><testcase name="o"><system-out>FAILED</system-out></testcase></a>', []),
    ],
)
def test_failures_that_a_report_only_counts_are_reported(
    xml: str, names: list[str], tmp_path: Path
) -> None:
    reading = interpret_report(junit(tmp_path, xml))

    assert reading is not None
    assert [item.name for item in reading.items] == names


@pytest.mark.spec("6.2")
def test_warnings_count_only_when_they_are_all_there_is() -> None:
    def result(level: str) -> dict[str, Any]:
        return {"level": level, "message": {"text": level}, "ruleId": "r"}

    def sarif(code: int, *levels: str) -> int:
        document = {"version": "2.1.0", "runs": [{"results": [result(level) for level in levels]}]}
        return interpret_output(CommandOutput(code, json.dumps(document))).failure_count

    assert sarif(1, "warning", "note") == 2
    assert sarif(1, "warning", "error") == 1
    assert sarif(0, "warning") == 0
    assert sarif(0, "warning", "error") == 1


@pytest.mark.spec("6.2", "6.9")
@pytest.mark.parametrize(("end", "count"), [("", 0), ("too many warnings (maximum: 0).", 1)])
def test_warnings_of_eslint_do_not_explain_the_failure_of_another_command(
    end: str, count: int
) -> None:
    """`eslint . && audit`: eslint fails for warnings only if there are too many, and says so."""
    said = (
        "\n/r/a.js\n  1:5  warning  Missing comment  no-warning-comments\n\n"
        "✖ 1 problem (0 errors, 1 warning)\n\n"
    )
    reading = interpret_output(CommandOutput(1, said, f"ESLint found {end}" if end else "401"))

    assert reading.failure_count == count
    assert "onlyWarnings" not in reading.params


@pytest.mark.spec("6.2", "6.4")
def test_a_failure_with_warnings_alone_is_marked() -> None:
    result = {"level": "warning", "message": {"text": "m"}, "ruleId": "r"}
    document = json.dumps({"version": "2.1.0", "runs": [{"results": [result]}]})

    assert interpret_output(CommandOutput(1, document)).params["onlyWarnings"] is True
    explained = interpret_output(CommandOutput(1, document, "too many warnings (maximum: 0)"))
    assert "onlyWarnings" not in explained.params


@pytest.mark.spec("6.2", "6.4")
@pytest.mark.parametrize(
    "missed",
    [
        "FAIL Required test coverage of 90% not reached. Total coverage: 57.14%",
        "Coverage failure: total of 57 is less than fail-under=90",
        "ERROR: Coverage for lines (57.14%) does not meet global threshold (90%)",
        "ℹ Error: 57.14% line coverage does not meet threshold of 90%.",
        "Line coverage (57.14%) is below the expected minimum coverage (90.00%).",
    ],
)
def test_a_coverage_that_is_missed_is_a_failure_beside_those_of_tests(missed: str) -> None:
    """Else a test that fails on the base as well would explain the exit code."""
    failed = "FAILED tests/test_a.py::test_old - assert 2 == 3\n1 failed, 4 passed in 0.1s\n"

    def names(code: int, out: str, err: str = "") -> list[str]:
        return [item.name for item in interpret_output(CommandOutput(code, out, err)).items]

    assert names(1, f"{missed}\n{failed}") == ["tests/test_a.py::test_old", "coverage"]
    assert names(1, failed, f"{missed}\n") == ["tests/test_a.py::test_old", "coverage"]
    assert names(1, failed) == ["tests/test_a.py::test_old"]
    reading = interpret_output(CommandOutput(1, f"{missed}\n{failed}"))
    assert reading.message.startswith("1 test failed: tests/test_a.py::test_old")
    assert len(reading.params["failedTests"]) == len(reading.items)
    alone = interpret_output(CommandOutput(1, f"{missed}\n4 passed in 0.1s\n"))
    assert ([item.name for item in alone.items], alone.message) == (["coverage"], missed)
    assert names(0, f"{missed}\n4 passed in 0.1s\n") == []


@pytest.mark.spec("6.2")
def test_suppressed_and_passed_sarif_results_are_not_failures() -> None:
    results = [
        {"level": "error", "message": {"text": "a"}, "suppressions": [{"kind": "inSource"}]},
        {"level": "error", "message": {"text": "b"}, "kind": "pass"},
    ]
    document = {"version": "2.1.0", "runs": [{"results": results}]}

    assert interpret_output(CommandOutput(1, json.dumps(document))).failure_count == 0


@pytest.mark.spec("6.2", "6.9")
def test_the_params_of_a_configured_pattern_are_extracted(tmp_path: Path) -> None:
    """A plan calls mypy's faults lint; the words about lint must find their list."""
    seen = CommandOutput(1, "a.py:5: error: bad  [arg-type]\n", worktree=tmp_path)

    reading = interpret_output(seen, ("mypy",), pattern="lint-error")

    assert reading.params["lintErrors"] == reading.params["typeErrors"]
    assert reading.params["lintErrors"][0]["code"] == "arg-type"


@pytest.mark.spec("6.2")
def test_paths_are_relative_to_the_worktree(tmp_path: Path) -> None:
    lines = (
        "a.py:1: error: x\n"
        f"{tmp_path}/web/b.py:2: error: in {tmp_path}/c.py\n"
        "../d.py:3: error: x\n"
        "/usr/lib/e.py:4: error: x\n"
    )

    reading = interpret_output(CommandOutput(1, lines, worktree=tmp_path, cwd="web"), ("mypy",))

    files = [row["file"] for row in reading.params["typeErrors"]]
    assert files == ["web/a.py", "web/b.py", "d.py", "/usr/lib/e.py"]
    assert reading.params["typeErrors"][1]["message"] == "in c.py"


@pytest.mark.spec("14.2")
def test_secrets_are_masked_before_anything_is_cut(tmp_path: Path) -> None:
    secret = "planted-secret-value-that-is-long"
    pad = "x" * (300 - len("a.py: ") - 10)
    seen = CommandOutput(
        1,
        f"a.py:1: error: {pad} {secret}\n" + "y" * 1010 + f" {secret} " + "z" * 40_000 + secret,
        secret,
        worktree=tmp_path,
        mask_secrets=lambda text: mask(text, (secret,)),
    )

    reading = interpret_output(seen, ("mypy",))

    assert reading.failure_count == 1
    assert "planted" not in repr(reading)
    assert MARK in repr(reading)


# ------------------------------------------------------------------ hostile input


@pytest.mark.spec("14.4")
def test_a_hostile_report_is_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.xml"
    entities = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))
    bomb.write_text(
        f'<!DOCTYPE x [<!ENTITY a0 "aaaaaaaaaa">{entities}]>'
        '<testsuite><testcase name="&a9;"/></testsuite>'
    )
    small = tmp_path / "small.xml"
    small.write_text('<!DOCTYPE x SYSTEM "file:///etc/passwd"><a><testcase/></a>')
    deep = tmp_path / "deep.xml"
    deep.write_text("<testsuite>" * 5000 + "</testsuite>" * 5000)
    nested = tmp_path / "deep.json"
    nested.write_text("[" * 100_000)
    large = tmp_path / "large.xml"
    with large.open("wb") as stream:
        stream.truncate((32 << 20) + 1)
    link = tmp_path / "link.xml"
    link.symlink_to("/dev/zero")
    pipe = tmp_path / "pipe.xml"
    os.mkfifo(pipe)

    for file in (bomb, small, deep, nested, large, link, pipe, tmp_path):
        reading = interpret_report(CommandOutput(0, report=file, worktree=tmp_path))
        assert reading is not None, file
        assert (reading.understood, reading.test_count) == (False, 0), file
        assert reading.report_defect, file
    assert interpret_report(CommandOutput(0, report=tmp_path / "none", worktree=tmp_path)) is None


@pytest.mark.spec("6.2", "14.4")
def test_many_failures_are_listed_up_to_a_bound_and_counted(tmp_path: Path) -> None:
    cases = "".join(f'<testcase name="t{n}"><failure/></testcase>' for n in range(3000))

    reading = interpret_report(junit(tmp_path, f"<a>{cases}</a>"))

    assert reading is not None
    assert (reading.test_count, reading.failure_count, len(reading.items)) == (3000, 3000, 21)
    assert reading.items[-1].name == "and 2980 more"
    assert len(reading.params["failedTests"]) == 30
    assert reading.params["failureCount"] == 3000


def size(reading: Interpretation) -> int:
    return len(json.dumps([dict(reading.params), reading.message, item_tuples(reading)]))


# Pieces the readers look for, so that chance gets somewhere.
PIECES = st.sampled_from(
    [
        "FAILED a.py::t[ - ", "ERROR b.py", "____ t ____", "E   x", "a.py:1: X", "=" * 70, "-" * 70,
        "FAIL: t (m.t)", "Traceback (most", 'File "a.py", line 1', "FAIL a.js", "  ● x › y",
        " FAIL  a.ts > b", "⎯⎯", " ❯ a.ts:1:2", "✖ x (1ms)", "test at a.js:1:1", " ERRORS ",
        "x => ./a.ts:1:2", "error: y", "not ok 1 - a", "    not ok 2", "# Subtest: x", "---", "...",
        "error: |-", "location: 'a:1:2'", "--- FAIL: TestX (0.00s)", "FAIL\tp\t0.1s", "=== RUN   T",
        "---- a stdout ----", "thread 'a' panicked at s.rs:1:2:", "test a ... FAILED", "failures:",
        "a.ts(1,2): error TS1: m", "TS2 [ERROR]: m", "a.py:1:2: F401 m", "F401 [*] m", " --> a:1:2",
        "error[E0308]: m", "  1:2  error  m  r", "/a.js", "would reformat a.py", "[warn] a.js",
        "[error] a.js: SyntaxError: m", "Diff in /a.rs:1:", "from /a.ts:",
        "error: Found 1 not formatted", "unformatted: x", "+++ a", "?? x", "R  a -> b",
        '{"Action":"fail","Package":"p","Test":"T"}',
        '{"file":"a","line":1,"severity":"error"}', '[{"filePath":"a","messages":[{}]}]',
        '{"version":"2.1.0","runs":[{"results":[{}]}]}', '{"generalDiagnostics":[{}]}',
        "\ud800", "\0",
    ]
)  # fmt: skip
TEXTS = st.lists(
    st.one_of(PIECES, st.text(max_size=30), st.sampled_from(["\n", "\n", "\n", " ", ": "])),
    max_size=60,
).map("".join)
CALM = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.full
@pytest.mark.spec("14.4", "0.1")
@CALM
@given(out=TEXTS, err=TEXTS, code=st.sampled_from([0, 1, None]))
def test_no_text_breaks_a_reader_or_gets_past_its_bounds(
    out: str, err: str, code: int | None
) -> None:
    seen = CommandOutput(code, out, err)

    for reading in (
        interpret_output(seen),
        *(interpret_output(seen, reader=name) for name in READERS),
    ):
        assert size(reading) < 200_000
        assert reading.understood or not reading.items
        assert code == 0 or reading.understood == bool(reading.failure_count)
        json.dumps(dict(reading.params), ensure_ascii=False).encode("utf-8")
    extract({name: name for name in extractor_names()}, seen)


@pytest.mark.spec("14.4")
@CALM
@given(raw=st.binary(max_size=400), head=st.sampled_from([b"", b"<testsuite>", b"{", b"[{"]))
def test_no_bytes_in_a_report_break_its_reader(raw: bytes, head: bytes, tmp_path: Path) -> None:
    file = tmp_path / "report"
    file.write_bytes(head + raw)

    interpret_output(CommandOutput(1, report=file, worktree=tmp_path))


LONG = 60_000
WORST = [
    "_" * LONG,
    "___ " * LONG,
    "=" * LONG,
    " " * LONG + "x",
    "not ok" + " " * LONG + "#",
    "FAILED " + "[ - " * LONG,
    "thread '" + "', " * LONG,
    "a" * LONG + ".py:1:",
    "a.py:" * LONG,
    "1:" * LONG,
    "error: " * LONG,
    " => ./" * LONG,
    "at " * LONG + "(",
    "[warn] " + " ." * LONG,
    "a\\" * LONG,
    '"' + "\\" * LONG + '"',
    "[" * LONG,
    '{"a":' * LONG,
    "\x1b]" * LONG,
    "\n".join(["---- " + "a " * 990] * 600),
    "\n".join(["thread 'x' panicked at '" + "', " * 600] * 600),
    "\n".join(["      at " + "a" * 1900] * 600),
    "FAIL a.js\n  ● x\n" + "\n".join(["    at " + "(a/" * 600] * 600),
    "\n".join(["  1:1  error  " + " " * 1900 + "x"] * 600),
    "\n".join(["1 .M " + "a " * 900] * 600),
    "\n".join(["x"] * 300_000),
    "\n" * 3_000_000,
]


@pytest.mark.quick_cases(6)
@pytest.mark.spec("14.4", "6.3")
@pytest.mark.timeout(100)
@pytest.mark.parametrize("text", WORST, ids=lambda text: repr(text[:12]))
def test_readers_take_bounded_time_on_any_text(text: str, tmp_path: Path) -> None:
    """Every expression is bounded and anchored to a line; the timeout of this test is the proof."""
    output = split_output(CommandOutput(1, text, text[:LONG], worktree=tmp_path))

    every: set[OutputReader] = {reader for group in READERS.values() for reader in group} | set(
        READER_ORDER
    )
    for reader in every:
        reader(output)


# ------------------------------------------------------------------ extractors


@pytest.mark.spec("6.2")
def test_the_extractors_of_a_steps_registry_have_their_names(tmp_path: Path) -> None:
    """The registry maps a param to the name of an extractor."""
    tests = recording("go-text", tmp_path).seen
    dirty = CommandOutput(0, STATUS)

    assert extract({"failed": "parseTestOutput", "code": "exitCode"}, tests) == {
        "failed": interpret_output(tests).params["failedTests"],
        "code": 1,
    }
    assert extract({"a": "parseChangedFiles", "b": "parseUntrackedFiles"}, dirty) == {
        "a": ["staged.py", "café bar.py", "both.py", "new.py"],
        "b": ["notes.txt"],
    }
    assert extract({"s": "parseStagedFiles"}, dirty)["s"] == ["staged.py", "both.py", "new.py"]
    assert extract({"out": "stdout", "err": "stderr"}, CommandOutput(1, "o", "e")) == {
        "out": "o",
        "err": "e",
    }


@pytest.mark.spec("6.2")
@pytest.mark.parametrize(
    ("name", "recorded", "first"),
    [
        ("parseTypeErrors", "tsc", "a.ts"),
        ("parseTypeErrors", "cargo-compile", "src/lib.rs"),
        ("parseLintErrors", "eslint-json", "lint.js"),
        ("parseLintErrors", "flake8", "a.py"),
        ("parseFormatOutput", "black", "b.py"),
        ("parseFormatOutput", "gofmt-list", "calc/bad.go"),
    ],
)
def test_extractors_read_what_the_readers_read(
    name: str, recorded: str, first: str, tmp_path: Path
) -> None:
    [value] = extract({"x": name}, recording(recorded, tmp_path).seen).values()

    assert (value[0] if isinstance(value[0], str) else value[0]["file"]) == first


@pytest.mark.spec("6.2")
def test_missing_paths_come_from_the_check_or_from_the_output() -> None:
    said = CommandOutput(2, "", "ls: cannot access 'docs/a.md': No such file or directory\n")

    assert extract({"x": "missingPaths"}, said) == {"x": ["docs/a.md"]}
    assert extract({"x": "missingPaths"}, CommandOutput(1, missing=("b.md",))) == {"x": ["b.md"]}


OWN = """
def seats(seen): return {"seats": [seen.exit_code] * 1000, "words": "w" * 100_000}
def breaks(seen): raise KeyError("seat")
"""


@pytest.mark.spec("6.2", "14.4")
def test_installed_extractors_are_found_by_entry_point(tmp_path: Path) -> None:
    (tmp_path / "seating_plan.py").write_text(OWN)
    info = tmp_path / "seating_plan-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: seating-plan\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[yaoki.extractors]\nseats = seating_plan:seats\nbreaks = seating_plan:breaks\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        value = extract({"x": "seats"}, CommandOutput(7))["x"]
        with pytest.raises(Fault, match="extractor 'breaks' failed: KeyError"):
            extract({"x": "breaks"}, CommandOutput(7))
        assert "seats" in extractor_names()
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("seating_plan", None)

    assert value["seats"] == [7] * 30
    assert len(value["words"]) < 5000
    assert "seats" not in extractor_names()
    with pytest.raises(Fault, match="there is no extractor 'seats'"):
        extract({"x": "seats"}, CommandOutput(7))


@pytest.mark.spec("6.2", "6.9")
def test_an_extractor_that_finds_no_names_adds_both_channels() -> None:
    seen = CommandOutput(1, "foo ... FAILED (1ms)\n", "oops\n")

    told = extract({"failedTests": "parseTestOutput", "errorOutput": "stderr"}, seen)

    assert told["failedTests"] == []
    assert told["errorOutput"].splitlines() == [
        "[no reader understood this output]",
        "[stdout]",
        "foo ... FAILED (1ms)",
        "[stderr]",
        "oops",
    ]


@pytest.mark.spec("14.4", "4.8")
def test_a_reader_that_raises_is_named_and_its_result_ignored() -> None:
    faults: list[str] = []

    def falls(_: OutputLines) -> ParsedOutput | None:
        raise KeyError("gone")

    assert try_reader(falls, split_output(CommandOutput(1, "x")), faults) is None
    assert faults == ["reader falls failed: KeyError: 'gone'"]


@pytest.mark.spec("6.2", "14.4")
@pytest.mark.parametrize("line", ["--> Running tests", "  --> src/main.rs", "--> a.rs:1:x"])
def test_a_foreign_arrow_line_does_not_break_a_reader(line: str) -> None:
    """A check that prints it has failed, and is not broken."""
    seen = CommandOutput(1, f"error: building\n{line}\n1 failed\n")
    faults: list[str] = []

    for group in READERS.values():
        for reader in group:
            try_reader(reader, split_output(seen), faults)

    assert faults == []
    assert interpret_output(seen).reader_fault == ""


@pytest.mark.spec("0.4", "6.2")
def test_many_titles_of_vitest_share_one_message() -> None:
    lines = [f" FAIL  a.test.ts > t{n}" for n in range(20_000)]
    said = "\n".join((*lines, "Error: boom", "⎯⎯⎯⎯"))

    reading = interpret_output(CommandOutput(1, said), reader="vitest")

    assert reading.failure_count == 20_000
    assert [item.message for item in reading.items[:2]] == ["Error: boom"] * 2
