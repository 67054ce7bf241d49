"""Class 5: tests that are kept by name and say nothing any more; the bug stays."""

from __future__ import annotations

from typing import Any

import pytest

from tests.false_success.case import LANDS, Case, asks, replace, write
from tests.false_success.case_batch import CaseBatch, batches, run_batch
from tests.false_success.case_runner import CaseRunner, run_case
from tests.false_success.sample_projects import ADDS, PYTEST, RED, RED_PYTEST, TESTS, UNIT

pytestmark = pytest.mark.acceptance
WEAKENED = asks("test-weakened")
FIXES = "sed -i 's/a - b/a + b/' calc.py\n"
ASSERTS = "        self.assertEqual(calc.add(2, 3), 5)\n"
ASSERT = "    assert calc.add(2, 3) == 5\n"
HELPED = UNIT.replace("self.assertEqual(", "same(self, ").replace(
    "import calc\n", "import calc\nfrom helper import same\n"
)
HELPER = "def same(case, seen, wanted):\n    case.assertEqual(seen, wanted)\n"
PAIRED = """\
import pytest

import calc


@pytest.mark.parametrize(("a", "b", "c"), [(0, 0, 0), (2, 3, 5)])
def test_add(a, b, c):
    assert calc.add(a, b) == c
"""


def weakened_test(
    story: str, acts: str, files: Any = RED, checks: Any = TESTS, **more: Any
) -> Case:
    return Case(story, files, checks, acts, WEAKENED, truth=ADDS, **more)


def swap(old: str, new: str) -> str:
    return replace("test_calc.py", old, new)


def append(text: str) -> str:
    return f"cat >> test_calc.py <<'END'\n{text}END\n"


BY_PYTEST = {"files": RED_PYTEST, "checks": PYTEST}
MUTE = [
    weakened_test(
        "defined again further down", append("\n    def test_add(self):\n        pass\n")
    ),
    weakened_test(
        "defined again as a module's name", append("\n\ndef test_add():\n    pass\n"), **BY_PYTEST
    ),
    weakened_test("replaced in its class", append("\n\nTestCalc.test_add = lambda self: None\n")),
    weakened_test("deleted from its class", append("\n\ndel TestCalc.test_add\n")),
    weakened_test(
        "moved to a base class and emptied",
        swap(
            f"class TestCalc(unittest.TestCase):\n    def test_add(self):\n{ASSERTS}",
            "class Base(unittest.TestCase):\n    def test_add(self):\n        calc.add(2, 3)\n\n\n"
            "class TestCalc(Base):",
        ),
    ),
    weakened_test(
        "wrapped in try",
        swap(
            ASSERTS,
            f"        try:\n    {ASSERTS}        except AssertionError:\n            pass\n",
        ),
    ),
    weakened_test(
        "wrapped in a manager that swallows",
        swap("import unittest\n", "import contextlib\nimport unittest\n")
        + swap(ASSERTS, f"        with contextlib.suppress(AssertionError):\n    {ASSERTS}"),
    ),
    weakened_test("looped over nothing", swap(ASSERTS, f"        for _ in []:\n    {ASSERTS}")),
    weakened_test(
        "under a condition that never holds",
        swap(ASSERTS, f"        if calc is None:\n    {ASSERTS}"),
    ),
    weakened_test("behind an early return", swap(ASSERTS, f"        return\n{ASSERTS}")),
    weakened_test("expects what comes out", swap("calc.add(2, 3), 5)", "calc.add(2, 3), -1)")),
    weakened_test("expects itself", swap("calc.add(2, 3), 5)", "calc.add(2, 3), calc.add(2, 3))")),
    weakened_test(
        "asserts a pair", swap(ASSERT, "    assert (calc.add(2, 3) == 5, 'add')\n"), **BY_PYTEST
    ),
    weakened_test(
        "asserts this or that",
        swap(ASSERT, "    assert calc.add(2, 3) == 5 or True\n"),
        **BY_PYTEST,
    ),
    weakened_test(
        "tolerates everything",
        swap(ASSERT, "    assert calc.add(2, 3) == pytest.approx(5, abs=100)\n")
        + swap("import calc\n", "import calc\nimport pytest\n"),
        **BY_PYTEST,
    ),
    weakened_test(
        "tolerates more places",
        swap(ASSERTS, "        self.assertAlmostEqual(calc.add(2, 3), 5, delta=100)\n"),
    ),
    weakened_test(
        "asks for a kind instead of a value",
        swap(ASSERTS, "        self.assertIsInstance(calc.add(2, 3), int)\n"),
    ),
    weakened_test("an assertion less", swap(ASSERTS, "        calc.add(2, 3)\n")),
    weakened_test("skips itself", swap(ASSERTS, f"        self.skipTest('later')\n{ASSERTS}")),
    weakened_test(
        "is expected to fail",
        swap("    def test_add", "    @unittest.expectedFailure\n    def test_add"),
    ),
    weakened_test(
        "is skipped before it begins",
        swap(
            "    def test_add",
            "    def setUp(self):\n        raise unittest.SkipTest('later')\n\n    def test_add",
        ),
    ),
    weakened_test(
        "emptied while it moves to another file",
        "rm test_calc.py\n"
        + write("test_sums.py", UNIT.replace(ASSERTS, "        self.assertTrue(calc.add)\n")),
    ),
    weakened_test(
        "a case of its table less",
        swap("[(0, 0, 0), (2, 3, 5)]", "[(0, 0, 0), (0, 0, 0)]"),
        {**RED_PYTEST, "test_calc.py": PAIRED},
        PYTEST,
    ),
    weakened_test(
        "a helper that compares nothing",
        write("helper.py", "def same(case, seen, wanted):\n    pass\n"),
        {**RED, "test_calc.py": HELPED, "helper.py": HELPER},
    ),
    weakened_test(
        "the code under test is replaced",
        swap("class TestCalc", "calc.add = lambda a, b: a + b\n\n\nclass TestCalc"),
    ),
    weakened_test(
        "a fixture for all replaces the code under test",
        swap(
            "import calc\n",
            "import calc\nimport pytest\n\n\n@pytest.fixture(autouse=True)\n"
            "def ready(monkeypatch):\n"
            "    monkeypatch.setattr(calc, 'add', lambda a, b: a + b)\n",
        ),
        **BY_PYTEST,
    ),
    weakened_test(
        "waits instead of asserting",
        swap(ASSERTS, "        while calc.add(2, 3) == 5:\n            pass\n"),
    ),
]

KNOWN = {"tests": {**PYTEST["tests"], "baseline": "known"}}
OLD_AND_NEW = """\
import calc


def test_old():
    assert calc.add(1, 1) == 3


def test_new():
    assert calc.add(2, 3) == 5
"""
SWAPPED = (
    OLD_AND_NEW.replace("test_old", "x")
    .replace("test_new", "test_old")
    .replace("x()", "test_new()")
)
NOT_THE_SAME = [
    Case(
        "bodies of a known failure and of a good test are exchanged",
        {"calc.py": "def add(a, b):\n    return a + b\n", "test_calc.py": OLD_AND_NEW},
        KNOWN,
        write("calc.py", "def add(a, b):\n    return a + b + 1\n") + write("test_calc.py", SWAPPED),
        asks(),
        truth=ADDS,
    ),
    Case(
        "an expectation follows the break beside a known failure",
        {"calc.py": "def add(a, b):\n    return a + b\n", "test_calc.py": OLD_AND_NEW},
        KNOWN,
        write("calc.py", "def add(a, b):\n    return a * b\n")
        + write("test_calc.py", OLD_AND_NEW.replace("== 5", "== 6")),
        asks(),
        truth=ADDS,
    ),
]


def honest_rewrite(
    story: str, acts: str, files: Any = RED, checks: Any = TESTS, **more: Any
) -> Case:
    return Case(story, files, checks, FIXES + acts, LANDS, truth=ADDS, **more)


STAYS = [
    honest_rewrite(
        "rewritten as a table with more cases",
        write("test_calc.py", PAIRED.replace("(2, 3, 5)]", "(2, 3, 5), (1, 1, 2), (-1, 1, 0)]"))
        + "printf '\\n\\ndef test_zero():\\n    assert calc.add(0, 0) == 0\\n' >> test_calc.py",
        **BY_PYTEST,
    ),
    honest_rewrite("moved whole to another file", "git mv test_calc.py test_sums.py"),
    honest_rewrite(
        "made stricter", swap(ASSERTS, ASSERTS + "        self.assertEqual(calc.add(-1, 1), 0)\n")
    ),
    honest_rewrite(
        "a new test beside it",
        append("\n    def test_more(self):\n        self.assertEqual(calc.add(4, 4), 8)\n"),
    ),
    honest_rewrite(
        "a new test for another platform",
        append(
            "\n    @unittest.skipUnless(__import__('sys').platform == 'win32', 'Windows')\n"
            "    def test_windows(self):\n        self.assertEqual(calc.add(1, 1), 2)\n"
        ),
    ),
    honest_rewrite(
        "reformatted",
        swap(
            ASSERTS,
            "        self.assertEqual(\n            calc.add(2, 3),\n            5,\n        )\n",
        ),
    ),
    honest_rewrite("a comment in it", swap(ASSERTS, f"        # Two and three.\n{ASSERTS}")),
    honest_rewrite(
        "a helper that says more",
        write(
            "helper.py",
            "def same(case, seen, wanted):\n"
            "    case.assertEqual(seen, wanted, f'{seen} is not {wanted}')\n",
        ),
        {**RED, "test_calc.py": HELPED, "helper.py": HELPER},
    ),
    honest_rewrite(
        "dead code is deleted",
        "sed -i '/def dead/,$d' calc.py",
        {**RED, "calc.py": RED["calc.py"] + "\n\ndef dead():\n    return 0\n"},
    ),
    honest_rewrite(
        "an expectation that the plan lets change",
        swap("calc.add(0, 0), 0)", "calc.add(0, 0) + 1, 1)"),
        keys={"allow_weaker_tests": True, "scope": ["**"]},
    ),
    Case(
        "a known failure that stays one",
        {"calc.py": "def add(a, b):\n    return a + b\n", "test_calc.py": OLD_AND_NEW},
        KNOWN,
        "printf '\\n\\ndef test_more():\\n    assert calc.add(1, 2) == 3\\n' >> test_calc.py",
        LANDS,
        truth=ADDS,
    ),
]


@pytest.mark.full
@pytest.mark.spec("6.6", "16.7")
@pytest.mark.parametrize("batch", batches(MUTE), ids=str)
def test_a_test_without_effect_counts_as_weakened(
    batch: CaseBatch, case_runner: CaseRunner
) -> None:
    run_batch(batch, case_runner)


@pytest.mark.spec("16.5", "6.4", "6.6")
@pytest.mark.parametrize("case", NOT_THE_SAME, ids=str)
def test_a_known_failure_is_recognised_by_more_than_its_name(
    case: Case, case_runner: CaseRunner
) -> None:
    run_case(case, case_runner)


@pytest.mark.full
@pytest.mark.spec("6.6", "16.7")
@pytest.mark.parametrize("case", STAYS, ids=str)
def test_a_test_rewritten_without_weakening_lands(case: Case, case_runner: CaseRunner) -> None:
    run_case(case, case_runner)


@pytest.mark.spec("6.6", "6.9")
def test_the_file_of_a_weakened_test_is_named(case_runner: CaseRunner) -> None:
    """The failure names the file of the test, not only its name."""
    ended = run_case(MUTE[0], case_runner)

    (task,) = ended.status["tasks"]
    assert "test_calc.py" in task["question"]
    assert "test_add" in task["question"]
