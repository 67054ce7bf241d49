"""Tests that ran on the base and do not run now: which of them does the change explain?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from tests.formats.quality.definition.cases import PYTEST, Case, review_case, view
from yaoki.core.model.check_definition import TestsOfTwoRuns
from yaoki.formats.quality import find_absent_tests

pytestmark = pytest.mark.spec("6.6", "17.1")

ADD = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
MORE = "\n\ndef test_more():\n    assert add(1, 1) == 2\n"
TABLE = """\
import pytest
from calc import add

CASES = [(2, 3, 5), (1, 1, 2), (0, 0, 0)]


@pytest.mark.parametrize("a, b, c", CASES)
def test_add(a, b, c):
    assert add(a, b) == c
"""
LOOP = """\
from calc import add


def test_add():
    for a, b, c in [(2, 3, 5), (1, 1, 2), (0, 0, 0)]:
        assert add(a, b) == c
"""
CLASS = """\
from calc import add


class TestCalc:
    def test_add(self):
        assert add(2, 3) == 5
"""
BASE_CLASS = "class Sums:\n    def test_add(self):\n        assert self.add(2, 3) == 5\n"
INHERITS = "from tests.sums import Sums\n\n\nclass TestCalc(Sums):\n    add = sum\n"
TITLES = "import test from 'node:test';\n\ntest('adds', () => {});\ntest('subtracts', () => {});\n"
TEMPLATE = "import test from 'node:test';\n\ntest(`adds ${a} to ${b}`, () => {});\n"
GROUPED = (
    "import test from 'node:test';\n\ndescribe('sums', () => {\n"
    "  test('adds', () => {});\n  test('subtracts', () => {});\n});\n"
)
T = "tests/unit/test_calc.py"


@dataclass(frozen=True)
class Absence:
    """`before` and `now` are the names of a run; the first words of `absent` those that are lost.

    All tests of the base failed there, unless `passed`.
    """

    story: str
    base: Mapping[str, str]
    changed: Mapping[str, str | None]
    before: tuple[str, ...]
    now: tuple[str, ...]
    absent: Mapping[str, int]
    goal: str = ""
    passed: bool = False
    folder: str = "."
    is_guard: bool = False

    def __str__(self) -> str:
        return self.story.replace(" ", "-")


def find(case: Absence) -> Mapping[str, int]:
    after = {**case.base, **case.changed}
    candidate = {path: text for path, text in after.items() if text is not None}
    review = review_case(Case(PYTEST, case.base, case.changed, goal=case.goal))
    failed = frozenset() if case.passed else frozenset(case.before)
    tests = TestsOfTwoRuns(case.before, case.now, failed, case.is_guard)
    found = find_absent_tests(tests, review, view(case.base), view(candidate), folder=case.folder)
    return dict(found)


ONE = (f"{T}::test_add",)
DUMMY = "def test_one():\n    assert len([1]) == 1\n"
SUM = "tests/test_sum.py"

CHEATS = [
    Absence(
        "a marker file stops the collection",
        {T: ADD},
        {"tests/unit/pyvenv.cfg": "", SUM: DUMMY},
        ONE,
        (f"{SUM}::test_one",),
        {ONE[0]: 1},
    ),
    Absence(
        "a dummy elsewhere has the same name",
        {T: ADD},
        {"tests/unit/pyvenv.cfg": "", SUM: DUMMY.replace("one", "add")},
        ONE,
        (f"{SUM}::test_add",),
        {ONE[0]: 1},
    ),
    Absence(
        "a dummy in the same file, and the test is deselected",
        {T: ADD},
        {T: ADD + "\n\n" + DUMMY},
        ONE,
        (f"{T}::test_one",),
        {ONE[0]: 1},
    ),
    Absence(
        "the file is touched besides",
        {T: ADD},
        {T: "# sums\n" + ADD, "tests/unit/pyvenv.cfg": "", SUM: DUMMY.replace("one", "add")},
        ONE,
        (f"{SUM}::test_add",),
        {ONE[0]: 1},
    ),
    Absence(
        "moved to a folder that no runner visits",
        {T: ADD},
        {T: None, "tests/build/test_calc.py": ADD, SUM: DUMMY.replace("one", "add")},
        ONE,
        (f"{SUM}::test_add",),
        {ONE[0]: 1},
    ),
    Absence(
        "cases are popped",
        {T: TABLE},
        {T: TABLE.replace("\n\n\n@", "\nCASES.pop()\nCASES.pop()\n\n\n@"), SUM: DUMMY},
        (f"{T}::test_add[2-3-5]", f"{T}::test_add[1-1-2]", f"{T}::test_add[0-0-0]"),
        (f"{T}::test_add[0-0-0]", f"{SUM}::test_one", f"{SUM}::test_two"),
        {f"{T}::test_add": 2},
    ),
    Absence(
        "cases are popped from a moved table",
        {T: TABLE},
        {T: None, "tests/unit/test_sums.py": TABLE.replace("\n\n\n@", "\nCASES.pop()\n\n\n@")},
        (f"{T}::test_add[2-3-5]", f"{T}::test_add[1-1-2]", f"{T}::test_add[0-0-0]"),
        ("tests/unit/test_sums.py::test_add[0-0-0]", f"{SUM}::test_one", f"{SUM}::test_two"),
        {f"{T}::test_add": 2},
    ),
    Absence(
        "a package of unittest loses its marker",
        {"tests/__init__.py": "", "tests/unit/__init__.py": "", T: CLASS},
        {"tests/unit/__init__.py": None, SUM: DUMMY},
        ("tests.unit.test_calc.TestCalc.test_add",),
        ("tests.test_sum.S.test_add",),
        {"tests.unit.test_calc.TestCalc.test_add": 1},
    ),
    Absence(
        "a test that passed before",
        {T: ADD},
        {"conda-meta/history": "", SUM: DUMMY},
        ONE,
        (f"{SUM}::test_one", f"{SUM}::test_two"),
        {ONE[0]: 1},
        passed=True,
    ),
    Absence(
        "a file that did not load on the base",
        {T: ADD},
        {"tests/unit/pyvenv.cfg": "", SUM: DUMMY},
        (T,),
        (f"{SUM}::test_one",),
        {T: 1},
    ),
    Absence(
        "a file that unittest could not load",
        {T: ADD},
        {"tests/unit/pyvenv.cfg": "", SUM: DUMMY},
        ("unittest.loader._FailedTest.unit.test_calc",),
        ("test_sum.S.test_one",),
        {"unittest.loader._FailedTest.unit.test_calc": 1},
        folder="tests",
    ),
    Absence(
        "inherited tests of a file that is not changed",
        {"tests/sums.py": BASE_CLASS, T: INHERITS},
        {"tests/unit/pyvenv.cfg": "", SUM: DUMMY.replace("one", "add")},
        (f"{T}::TestCalc::test_add",),
        (f"{SUM}::test_add",),
        {f"{T}::TestCalc::test_add": 1},
    ),
    Absence(
        "a title of another runner",
        {"test/calc.test.mjs": TITLES},
        {"test/sum.test.mjs": TITLES.replace("adds", "works").replace("subtracts", "runs")},
        ("adds", "subtracts"),
        ("works", "runs"),
        {"adds": 1, "subtracts": 1},
    ),
    Absence(
        "a namesake in a new group",
        {"test/calc.test.mjs": TITLES},
        {"test/calc.test.mjs": TITLES + GROUPED.partition("\n\n")[2]},
        ("adds", "subtracts"),
        ("sums > adds", "sums > subtracts"),
        {"adds": 1, "subtracts": 1},
    ),
    Absence(
        "a title that is made for each case",
        {"test/calc.test.mjs": TEMPLATE},
        {"test/sum.test.mjs": TITLES},
        ("adds 1 to 2", "adds 3 to 4"),
        ("adds", "subtracts"),
        {"adds 1 to 2": 1, "adds 3 to 4": 1},
    ),
    Absence(
        "a file of another runner that did not load",
        {"test/calc.test.mjs": TITLES},
        {"test/sum.test.mjs": TITLES.replace("adds", "works").replace("subtracts", "runs")},
        ("test/calc.test.mjs",),
        ("works",),
        {"test/calc.test.mjs": 1},
    ),
    Absence(
        "one of two packages with the same test",
        {"a/x_test.go": "func TestX(t *T) {}\n", "b/x_test.go": "func TestX(t *T) {}\n"},
        {"b/go.mod": "module b\n"},
        ("m/a::TestX", "m/b::TestX"),
        ("m/a::TestX", "m/a::TestY"),
        {"m/b::TestX": 1},
    ),
]

HONEST = [
    Absence(
        "titles are put into a group",
        {"test/calc.test.mjs": TITLES},
        {"test/calc.test.mjs": GROUPED},
        ("adds", "subtracts"),
        ("sums > adds", "sums > subtracts"),
        {},
        passed=True,
    ),
    Absence(
        "a group is renamed",
        {"test/calc.test.mjs": GROUPED},
        {"test/calc.test.mjs": GROUPED.replace("'sums'", "'calc'")},
        ("calc.test.mjs > sums > adds", "calc.test.mjs > sums > subtracts"),
        ("calc.test.mjs > calc > adds", "calc.test.mjs > calc > subtracts"),
        {},
        passed=True,
    ),
    Absence("renamed", {T: ADD}, {T: ADD.replace("_add", "_sum")}, ONE, (f"{T}::test_sum",), {}),
    Absence(
        "moved with its content",
        {T: ADD + MORE},
        {T: None, "tests/test_calc.py": ADD + MORE},
        (*ONE, f"{T}::test_more"),
        ("tests/test_calc.py::test_add", "tests/test_calc.py::test_more"),
        {},
    ),
    Absence(
        "moved into a class",
        {T: ADD},
        {T: CLASS},
        ONE,
        (f"{T}::TestCalc::test_add",),
        {},
    ),
    Absence(
        "the class is renamed",
        {T: CLASS},
        {T: CLASS.replace("TestCalc", "TestSums")},
        (f"{T}::TestCalc::test_add",),
        (f"{T}::TestSums::test_add",),
        {},
    ),
    Absence(
        "two tests become one table",
        {T: ADD + MORE},
        {T: TABLE.replace(", (0, 0, 0)", "")},
        (*ONE, f"{T}::test_more"),
        (f"{T}::test_add[2-3-5]", f"{T}::test_add[1-1-2]"),
        {},
    ),
    Absence(
        "two tests become one",
        {T: ADD + MORE},
        {T: ADD.replace("test_add", "test_all") + "    assert add(1, 1) == 2\n"},
        (*ONE, f"{T}::test_more"),
        (f"{T}::test_all",),
        {},
    ),
    Absence(
        "a table becomes a loop",
        {T: TABLE},
        {T: LOOP},
        (f"{T}::test_add[2-3-5]", f"{T}::test_add[1-1-2]", f"{T}::test_add[0-0-0]"),
        (f"{T}::test_add",),
        {},
    ),
    Absence(
        "ids of cases differ from run to run",
        {T: TABLE},
        {"calc.py": "x = 1\n"},
        (f"{T}::test_add[<A at 0x1>]", f"{T}::test_add[<A at 0x2>]"),
        (f"{T}::test_add[<A at 0x3>]", f"{T}::test_add[<A at 0x4>]"),
        {},
    ),
    Absence(
        "a case is added",
        {T: TABLE},
        {T: TABLE.replace("(0, 0, 0)", "(0, 0, 0), (4, 4, 8)")},
        (f"{T}::test_add[2-3-5]", f"{T}::test_add[1-1-2]", f"{T}::test_add[0-0-0]"),
        tuple(f"{T}::test_add[{n}]" for n in range(4)),
        {},
    ),
    Absence(
        "an inherited test is renamed",
        {"tests/sums.py": BASE_CLASS, T: INHERITS},
        {"tests/sums.py": BASE_CLASS.replace("test_add", "test_sum")},
        (f"{T}::TestCalc::test_add",),
        (f"{T}::TestCalc::test_sum",),
        {},
    ),
    Absence(
        "a file that did not load does now",
        {T: ADD},
        {"calc.py": "def add(a, b):\n    return a + b\n"},
        (T,),
        (f"{T}::test_add",),
        {},
    ),
    Absence(
        "a file without tests that did not load",
        {T: ADD, "tests/conftest.py": "import nothing\n"},
        {"tests/conftest.py": ""},
        ("tests/conftest.py",),
        (f"{T}::test_add",),
        {},
    ),
    Absence(
        "a file that did not load was moved",
        {T: ADD},
        {T: None, "tests/test_calc.py": ADD},
        (T,),
        ("tests/test_calc.py::test_add",),
        {},
    ),
    Absence(
        "the runner has a root of its own",
        {"backend/tests/test_a.py": ADD},
        {"backend/tests/test_a.py": ADD.replace("_add", "_sum")},
        ("tests.test_a::test_add",),
        ("tests.test_a::test_sum",),
        {},
    ),
    Absence(
        "the check runs in a folder",
        {"backend/tests/test_a.py": ADD, "tests/test_a.py": ADD},
        {"backend/tests/test_a.py": ADD.replace("_add", "_sum")},
        ("tests/test_a.py::test_add",),
        ("tests/test_a.py::test_sum",),
        {},
        folder="backend",
    ),
    Absence(
        "a title is reworded",
        {"test/calc.test.mjs": TITLES},
        {"test/calc.test.mjs": TITLES.replace("'adds'", "'adds two numbers'")},
        ("adds", "subtracts"),
        ("adds two numbers", "subtracts"),
        {},
    ),
    Absence(
        "titles contain what the program returned",
        {"test/calc.test.mjs": TEMPLATE},
        {"calc.mjs": "export const a = 1;\n"},
        ("adds undefined to 2",),
        ("adds 1 to 2",),
        {},
    ),
    Absence(
        "a title that no file declares",
        {"test/calc.test.mjs": "for (const one of all) test(one, () => {});\n"},
        {"calc.mjs": "export const a = 1;\n"},
        ("at 12:01",),
        ("at 12:02",),
        {},
    ),
    Absence(
        "a file of another runner loads now",
        {"test/calc.test.mjs": TITLES},
        {"calc.mjs": "export const a = 1;\n"},
        ("test/calc.test.mjs",),
        ("adds", "subtracts"),
        {},
    ),
    Absence(
        "a test of one package goes, its namesake stays",
        {"a/x_test.go": "func TestX(t *T) {}\n", "b/x_test.go": "func TestX(t *T) {}\n"},
        {"b/x_test.go": "func TestY(t *T) {}\n"},
        ("m/a::TestX", "m/b::TestX"),
        ("m/a::TestX", "m/b::TestY"),
        {},
    ),
]


@pytest.mark.parametrize("case", [*CHEATS, *HONEST], ids=str)
def test_a_test_of_the_base_runs_again_unless_the_change_replaces_it(case: Absence) -> None:
    assert find(case) == case.absent


def test_tests_may_be_gone_if_the_goal_asks_to_remove_their_subject() -> None:
    old = "from old import f\n\n\ndef test_f():\n    assert f(1) == 2\n"
    base = {"old.py": "def f(x):\n    return x + 1\n", "tests/test_old.py": old, T: ADD}
    changed = {"old.py": None, "tests/test_old.py": None}
    before = ("tests/test_old.py::test_f", *ONE)
    asked = Absence("", base, changed, before, ONE, {}, goal="Delete old.py.", passed=True)

    assert not find(asked)
