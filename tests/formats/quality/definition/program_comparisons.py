"""Comparisons of the program by which its tests judge other functions."""

from __future__ import annotations

from tests.formats.quality.definition.cases import PYTEST, Case

NEARLY = "def nearly(a, b):\n    return abs(a - b) < 1e-9\n"
MORE = "def total(a):\n    return sum(a)\n"
TEST = (
    "from calc import add\nfrom calc.numbers import nearly\n\n\n"
    "def test_add():\n    assert nearly(add(2, 3), 5)\n"
)
OWN_TEST = "from calc.numbers import nearly\n\n\ndef test_nearly():\n    assert nearly(1, 1)\n"
RIGHTS = "def may_read(user, file):\n    return user.name == file\n"
RIGHTS_TEST = (
    "from calc.numbers import may_read\nfrom calc import User\n\n\n"
    "def test_rights():\n    assert may_read(User('a'), 'a')\n"
)
PATH = "calc/numbers.py"


def compared(
    after: str, goal: str = "", test: str = TEST, before: str = NEARLY, *, more: str = ""
) -> Case:
    base = {
        "calc/__init__.py": "def add(a, b):\n    return a - b\n",
        PATH: before + more,
        "test_calc.py": test,
    }
    return Case(PYTEST, base, {PATH: after}, where=PATH, goal=goal)


LOOSENED: dict[str, Case] = {
    "a comparison that is always true": compared("def nearly(a, b):\n    return True\n"),
    "a comparison of one value": compared("def nearly(x, y):\n    return x is not None\n"),
    "a comparison of a method that is always true": compared(
        "def nearly(a, b):\n    return True\n",
        test="import unittest\n"
        + TEST.replace("assert nearly(add(2, 3), 5)", "pass")
        + "\n\nclass TestAdd(unittest.TestCase):\n    def test_sum(self):\n"
        "        self.assertTrue(nearly(add(2, 3), 5))\n",
    ),
}

UNCLEAR: dict[str, Case] = {
    "a comparison with another tolerance": compared(NEARLY.replace("1e-9", "100")),
}

HONEST: dict[str, Case] = {
    "a comparison that the goal names": compared(
        NEARLY.replace("1e-9", "1e-6"), "nearly() allows 1e-6."
    ),
    "a comparison that tests only test": compared(NEARLY.replace("1e-9", "1e-6"), test=OWN_TEST),
    "a comparison with a description": compared(
        NEARLY, before=NEARLY.replace("    ", "    # x\n    ")
    ),
    "a function beside a comparison": compared(
        NEARLY + MORE.replace("(a)\n", "(a) + 0\n"), more=MORE
    ),
    "another predicate": compared(
        "def may_read(user, file):\n    return True\n", test=RIGHTS_TEST, before=RIGHTS
    ),
}
