"""Sample projects for cases: one that passes its tests, one with a bug."""

from __future__ import annotations

from typing import Any

ADD = "def add(a, b):\n    return a + b\n"
BUG = "def add(a, b):\n    return a - b\n"
MUL = "\n\ndef mul(a, b):\n    return a * b\n"
UNIT = """\
import unittest

import calc


class TestCalc(unittest.TestCase):
    def test_add(self):
        self.assertEqual(calc.add(2, 3), 5)

    def test_zero(self):
        self.assertEqual(calc.add(0, 0), 0)
"""
PLAIN = """\
import calc


def test_add():
    assert calc.add(2, 3) == 5


def test_zero():
    assert calc.add(0, 0) == 0
"""
GREEN = {"calc.py": ADD, "test_calc.py": UNIT}
RED = {"calc.py": BUG, "test_calc.py": UNIT}
# The same for pytest.
RED_PYTEST = {"calc.py": BUG, "test_calc.py": PLAIN}
GREEN_PYTEST = {"calc.py": ADD, "test_calc.py": PLAIN}

# pytest starts in a third of the time without plugins and with what was compiled before.
QUICK = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPYCACHEPREFIX": "{pycache}"}
TESTS: dict[str, Any] = {"tests": {"run": ["python3", "-m", "unittest", "-q"]}}
PYTEST: dict[str, Any] = {"tests": {"run": ["python3", "-m", "pytest", "-q"], "env": QUICK}}

# True if the work was done, regardless of the checks.  Printed, not an exit code: code
# that leaves at its import says nothing, and an object that equals everything says its own name.
_SAYS = """test "$(python3 -c 'import calc; print({0}, {1})' | tail -n 1)" = "{2}\""""
ADDS = (_SAYS.format("calc.add(2, 3)", "calc.add(10, 4)", "5 14"),)
MULTIPLIES = (_SAYS.format("calc.mul(3, 4)", "calc.mul(5, 5)", "12 25"),)
