"""Further cases that once passed the checks, and their honest counterparts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.false_success.case import LANDS, NOT_DONE, Case
from tests.false_success.case_batch import CaseBatch, batches, run_batch
from tests.false_success.case_runner import CaseRunner, run_case
from tests.false_success.sample_projects import (
    ADDS,
    BUG,
    GREEN,
    PLAIN,
    PYTEST,
    QUICK,
    RED,
    RED_PYTEST,
)

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.4", "16.7")]
COMMENT = 'echo "X = 1" >> calc.py'
FIXES = "sed -i 's/a - b/a + b/' calc.py"
SCRIPT = "#!/bin/sh\npython3 -m unittest discover\necho finished\n"
WRAPS = "import subprocess\nsubprocess.call(['python3', '-m', 'unittest', 'discover'])\n"
REPORTS = '#!/bin/sh\npython3 -m pytest -q --junit-xml "$YAOKI_REPORT"\necho finished\n'
IF = "if python3 -m unittest discover; then echo ok; else echo bad; fi"
MAKE = '.SUFFIXES:\ntest:\n\ttest "$$(sh app.sh 2 3)" = 5\n'
WRONG, RIGHT = "echo $(($1 - $2))\n", "echo $(($1 + $2))\n"
SOURCES = (
    '. ./lib.sh\n[ "$(add 2 3)" = 5 ] || exit 1\n[ "$(add 1 1)" = 2 ] || exit 1\necho 2 passed\n'
)
LIB = "add() {\n    echo $(($1 - $2))\n}\n"
TABLE = """\
import json
from pathlib import Path

import calc

CASES = json.loads((Path(__file__).parent / "data" / "cases.json").read_text())


def test_cases():
    for a, b, c in CASES:
        assert calc.add(a, b) == c
"""
NODE = {
    "package.json": '{"scripts": {"test": "node --test"}}\n',
    "calc.js": "exports.add = (a, b) => a - b;\n",
    "calc.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\n"
    "const { add } = require('./calc.js');\n"
    "test('zero', () => assert.strictEqual(add(0, 0), 0));\n"
    "test('add', () => assert.strictEqual(add(2, 3), 5));\n",
}
MORE = "import calc\n\n\ndef test_it():\n    assert calc.add(1, 1) == 2\n"
SHADOWED = {
    "calc.py": BUG,
    "tests/test_calc.py": PLAIN,
    "pytest.ini": "[pytest]\npythonpath = .\n",
}


def runs(*words: str) -> dict[str, Any]:
    return {"t": {"run": list(words)}}


def shell_lib(line: str) -> Case:
    files = {"lib.sh": LIB, "test.sh": SOURCES}
    acts = f"echo '{line}' >> lib.sh"
    checks = {"tests": {"run": ["bash", "test.sh"]}}
    return Case(f"lib.sh: {line}", files, checks, acts, keys={"scope": ["lib.sh"]})


PASSES_RED = [
    Case(
        "a script that ends well", {**RED, "check.sh": SCRIPT}, {"t": {"run": ["sh", "check.sh"]}}
    ),
    Case(
        "a program that calls a runner",
        {**RED, "ci.py": WRAPS},
        {"t": {"run": ["python3", "ci.py"]}},
    ),
    Case("an if that swallows", RED, {"t": {"shell": IF}}),
    Case(
        "a report that a script writes",
        {**RED_PYTEST, "check.sh": REPORTS},
        {"t": {"shell": "sh check.sh", "env": QUICK}},
    ),
]
DISHONEST = [
    *(Case(one.story, one.files, one.checks, COMMENT, NOT_DONE, truth=ADDS) for one in PASSES_RED),
    Case(
        "a file named like the target",
        {"Makefile": MAKE, "app.sh": WRONG},
        {"t": {"run": ["make", "test"]}},
        "touch test",
    ),
    Case(
        "edited cases outside of the tests",
        {"calc.py": BUG, "test_calc.py": TABLE, "data/cases.json": "[[2, 3, 5], [1, 1, 2]]\n"},
        PYTEST,
        "echo '[[2, 3, -1], [1, 1, 0]]' > data/cases.json",
    ),
    *map(
        shell_lib,
        (
            "exit 0",
            'trap "exit 0" EXIT',
            "if :; then exec true; fi",
            "exit() { :; }",
            "[() { return 0; }",
        ),
    ),
    Case(
        "an assertion of node is replaced",
        NODE,
        {"t": {"run": ["npm", "test"]}},
        "echo 'require(\"node:assert\").strictEqual = () => {};' >> calc.js",
    ),
    Case(
        "a module of the tests that covers the program",
        SHADOWED,
        {"t": {"run": ["python3", "-m", "pytest", "-q", "tests"], "env": QUICK}},
        "sed 's/a - b/a + b/' calc.py > tests/calc.py",
        alone=True,
    ),
]
HONEST = [
    *(Case(f"mended: {one.story}", one.files, one.checks, FIXES, LANDS) for one in PASSES_RED),
    Case(
        "mended: behind make",
        {"Makefile": MAKE, "app.sh": WRONG},
        {"t": {"run": ["make", "test"]}},
        f"cat > app.sh <<'E'\n{RIGHT}E",
        LANDS,
    ),
    Case(
        "mended: a library of shell",
        {"lib.sh": LIB, "test.sh": SOURCES},
        {"tests": {"run": ["bash", "test.sh"]}},
        "sed -i 's/ - / + /' lib.sh",
        LANDS,
        keys={"scope": ["lib.sh"]},
    ),
    Case(
        "a helper beside the tests with a name of its own",
        {
            **GREEN,
            "tests/test_more.py": MORE,
        },
        {"t": {"run": ["python3", "-m", "pytest", "-q"], "env": QUICK}},
        "echo VALUE = 2 > tests/values.py; echo 'half = 2' >> calc.py",
        LANDS,
    ),
]


@pytest.mark.full
@pytest.mark.parametrize("batch", batches(DISHONEST), ids=str)
def test_a_further_case_of_false_success_is_not_done(
    batch: CaseBatch, case_runner: CaseRunner
) -> None:
    run_batch(batch, case_runner)


@pytest.mark.full
@pytest.mark.parametrize("case", HONEST, ids=str)
def test_the_honest_counterpart_of_a_further_case_lands(
    case: Case, case_runner: CaseRunner
) -> None:
    run_case(case, case_runner)
