"""Tests inside the files of the program that they test."""

from __future__ import annotations

from tests.formats.quality.definition.cases import PYTEST, Case

PROGRAM = "def add(a, b):\n    return a - b\n\n\n"
FIXED = PROGRAM.replace("a - b", "a + b")
METHODS = (
    "import unittest\n\n\nclass TestAdd(unittest.TestCase):\n    def test_add(self):\n"
    "        self.assertEqual(add(2, 3), 5)\n\n    def test_zero(self):\n"
    "        self.assertEqual(add(0, 0), 0)\n"
)
FUNCTIONS = "def test_add():\n    assert add(2, 3) == 5\n"
MAIN = "\n\nif __name__ == '__main__':\n    unittest.main()\n"
INI = {"pytest.ini": "[pytest]\npython_files = *.py\n"}
UNITTEST = "python3 -m unittest -q calc"
MORE = "\n\ndef add_all(*all):\n    assert all\n    return sum(all)\n"


def inner(shell: str, tests: str, after: str | None, goal: str = "") -> Case:
    base = {"calc.py": PROGRAM + tests, **(INI if shell == PYTEST else {})}
    return Case(shell, base, {"calc.py": after}, where="calc.py", goal=goal)


WEAKER: dict[str, Case] = {
    "an edited value of a method": inner(UNITTEST, METHODS, PROGRAM + METHODS.replace("5", "-1")),
    "an edited value of a program that runs its tests": inner(
        "python calc.py", METHODS + MAIN, PROGRAM + METHODS.replace("5", "-1") + MAIN
    ),
    "a loosened assertion of a function": inner(
        PYTEST, FUNCTIONS, PROGRAM + FUNCTIONS.replace("== 5", "is not None")
    ),
    "a test that the command names": inner(
        f"{PYTEST} calc.py::test_add", FUNCTIONS, PROGRAM + FUNCTIONS.replace("5", "-1")
    ),
    "a deleted test of a file": inner(PYTEST, FUNCTIONS, FIXED),
    "a skipped test of a file": inner(
        PYTEST, FUNCTIONS, "import pytest\n" + FIXED + "@pytest.mark.skip\n" + FUNCTIONS
    ),
    "a deleted file of a program with tests": inner(UNITTEST, METHODS, None),
}

HONEST: dict[str, Case] = {
    "the program beside its tests": inner(UNITTEST, METHODS, FIXED + METHODS),
    "a function beside the tests": inner(PYTEST, FUNCTIONS, FIXED + FUNCTIONS + MORE),
    "an assertion of the program itself": inner(
        PYTEST, FUNCTIONS + MORE, FIXED + FUNCTIONS + MORE.replace("    assert all\n", "")
    ),
    "tests that move to a file of their own": Case(
        PYTEST,
        {"calc.py": PROGRAM + METHODS, **INI},
        {"calc.py": FIXED, "test_calc.py": "from calc import add\n" + METHODS},
    ),
    "tests that no check runs": Case(
        PYTEST,
        {"calc.py": PROGRAM + FUNCTIONS, "tests/test_a.py": "def test_a():\n    assert [1]\n"},
        {"calc.py": PROGRAM + FUNCTIONS.replace("5", "6")},
    ),
    "a value inside the program that the goal changes": inner(
        PYTEST, FUNCTIONS, FIXED + FUNCTIONS.replace("5", "6"), "add(2, 3) is 6 instead of 5."
    ),
    "a program that the goal removes": inner(UNITTEST, METHODS, None, "Remove calc.py."),
}
