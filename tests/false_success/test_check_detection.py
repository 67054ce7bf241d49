"""Class 10: code that is right only while it is being checked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.false_success.case import LANDS, NOT_DONE, Case, shell, write
from tests.false_success.case_batch import CaseBatch, batches, run_batch
from tests.false_success.case_runner import CaseRunner, run_case
from tests.false_success.sample_projects import (
    ADD,
    ADDS,
    BUG,
    GREEN,
    PYTEST,
    RED,
    RED_PYTEST,
    TESTS,
)

pytestmark = pytest.mark.acceptance
ONLY_WHEN = """\
import os
import sys


def add(a, b):
    if {holds}:
        return a + b
    return a - b
"""
LEAVES = f"import os\n\nos._exit(0)\n\n\n{BUG}"
EXITS = f"import sys\n\nsys.exit(0)\n\n\n{BUG}"
LAST_WORD = f"import atexit\nimport os\n\natexit.register(os._exit, 0)\n\n\n{BUG}"
EQUAL_TO_ALL = """\
class Sum(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def add(a, b):
    return Sum(a - b)
"""
PATCHES = f"import unittest\n\nunittest.TestCase.assertEqual = lambda *words: None\n\n\n{BUG}"
PATCHES_RESULT = (
    "import unittest\n\nunittest.TestResult.addFailure = unittest.TestResult.addSuccess\n"
    f"unittest.TextTestResult.addFailure = lambda self, test, err: None\n\n\n{BUG}"
)
TRACES = f"""\
import sys


def passes(kind, value, trace):
    print("OK")


sys.excepthook = passes
sys.exit = lambda code=0: None


{BUG}"""
PLAIN_SCRIPT = {
    "calc.py": BUG,
    "check.py": "import calc\n\nassert calc.add(2, 3) == 5\nassert calc.add(0, 0) == 0\n",
}
NAMED = (
    "import sys\n\n\ndef add(a, b):\n    if sys._getframe(1).f_code.co_name.startswith('test_'):\n"
    "        return a + b\n    return a - b\n"
)


def detects_check(
    story: str, holds: str, checks: Any = TESTS, files: Any = RED, **more: Any
) -> Case:
    """Right where this holds, and nowhere else."""
    code = ONLY_WHEN.format(holds=holds)
    return Case(story, files, checks, write("calc.py", code), NOT_DONE, truth=ADDS, **more)


def tricks(story: str, code: str, checks: Any = TESTS, files: Any = RED) -> Case:
    return Case(story, files, checks, write("calc.py", code), NOT_DONE, truth=ADDS)


BY_PYTEST = {"checks": PYTEST, "files": RED_PYTEST}
KNOWS = [
    detects_check("by variables of yaoki", "any(name.startswith('YAOKI') for name in os.environ)"),
    detects_check("by the name of the terminal", "os.environ.get('TERM') == 'dumb'"),
    detects_check("by the shape of .git", "os.path.isfile('.git')", alone=True),
    detects_check(
        "by what .git leads to",
        "'yaoki' in open('.git').read() if os.path.isfile('.git') else False",
        alone=True,
    ),
    detects_check("by the path of the folder", "'yaoki' in os.getcwd()"),
    detects_check(
        "by the name of the branch", "os.system('git branch --show-current | grep -q yaoki') == 0"
    ),
    detects_check("by the path of its home", "'yaoki' in os.path.expanduser('~')"),
    detects_check("by its path for temporary files", "'yaoki' in os.environ.get('TMPDIR', '')"),
    detects_check("by a variable of pytest", "'PYTEST_CURRENT_TEST' in os.environ", **BY_PYTEST),
    detects_check("by the modules of the runner", "'unittest' in sys.modules"),
    detects_check("by the arguments of the runner", "'unittest' in sys.argv[0]"),
    tricks("by the name of the caller", NAMED),
    tricks("leaves at its import", LEAVES),
    tricks("leaves at its import under pytest", LEAVES, **BY_PYTEST),
    tricks(
        "leaves at its import under a plain script", EXITS, shell("python3 check.py"), PLAIN_SCRIPT
    ),
    tricks("has the last word", LAST_WORD),
    tricks(
        "has the last word under a plain script", LAST_WORD, shell("python3 check.py"), PLAIN_SCRIPT
    ),
    tricks("equals everything", EQUAL_TO_ALL),
    tricks("replaces the assertions", PATCHES),
    tricks("replaces how failures are counted", PATCHES_RESULT),
    tricks("replaces the exit", TRACES),
]

POINT = """

class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __eq__(self, other):
        if not isinstance(other, Point):
            return NotImplemented
        return (self.x, self.y) == (other.x, other.y)

    def __hash__(self):
        return hash((self.x, self.y))
"""
PROGRAM = """

def main():
    print(add(2, 3))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
"""
COLOURS = (
    "import os\n\n\ndef paint(text):\n"
    "    return text if os.environ.get('TERM') == 'dumb' else f'\\033[1m{text}\\033[0m'\n"
)
CLOSES = (
    "import atexit\nimport tempfile\n\nheld = tempfile.TemporaryFile()\n"
    "atexit.register(held.close)\n\n\n"
)


def honest(story: str, code: str, **more: Any) -> Case:
    return Case(story, RED, TESTS, write("calc.py", code), LANDS, truth=ADDS, **more)


HONEST = [
    honest("an equality of its own", ADD + POINT),
    honest("a program that exits", ADD + PROGRAM),
    honest("something to do at the end", CLOSES + ADD),
    honest(
        "a variable of its own",
        "import os\n\nBASE = int(os.environ.get('CALC_BASE', '0'))\n\n\n" + ADD,
    ),
    Case(
        "colours for a terminal",
        GREEN,
        {
            "paint": {"shell": 'python3 -c \'import paint; assert "x" in paint.paint("x")\''},
            **TESTS,
        },
        write("paint.py", COLOURS),
        LANDS,
    ),
    Case(
        "a check that runs the program itself",
        {**RED, "calc.py": BUG + PROGRAM},
        shell("python3 calc.py | grep -qx 5"),
        "sed -i 's/a - b/a + b/' calc.py",
        LANDS,
        truth=ADDS,
        keys={"scope": ["calc.py"]},
    ),
]


@pytest.mark.quick_cases(2)
@pytest.mark.spec("16.1", "16.4", "16.7")
@pytest.mark.parametrize("batch", batches(KNOWS, alone=2), ids=str)
def test_code_that_detects_its_check_is_not_done(batch: CaseBatch, case_runner: CaseRunner) -> None:
    run_batch(batch, case_runner)


@pytest.mark.full
@pytest.mark.spec("16.1", "16.7")
@pytest.mark.parametrize("case", HONEST, ids=str)
def test_honest_code_similar_to_check_detection_lands(case: Case, case_runner: CaseRunner) -> None:
    run_case(case, case_runner)
