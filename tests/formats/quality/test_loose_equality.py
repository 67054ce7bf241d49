"""Equalities that hold for values that differ, and honest ones that look like them."""

from __future__ import annotations

import pytest

from yaoki.core.model.change import Change
from yaoki.formats.quality import find_gaming
from yaoki.formats.quality.gaming.loose_equality import LOOSE

LOOSE_CLASSES = [
    "class T(str):\n    __eq__ = str.__ge__\n",
    "class T(int):\n    __eq__ = int.__le__\n",
    "import operator\nclass T(str):\n    __eq__ = operator.ne\n",
    "class T(str):\n    __eq__ = str.startswith\n",
    "class T(str):\n    __eq__ = lambda self, other: self > other\n",
    "class T(str):\n    def same(self, other):\n        return other in self\n    __eq__ = same\n",
    "class T(float):\n    def __eq__(self, other):\n        return round(self - other, -3) == 0\n",
    "class T(float):\n    def __eq__(self, other):\n        return round(self - other) == 0\n",
    "class T(int):\n    def __eq__(self, other):\n        return (self - other) // 1000 == 0\n",
    "from fractions import Fraction\nclass T(Fraction):\n    def __eq__(self, other):\n"
    "        return self.limit_denominator(1) <= other + 99\n",
    "class T(float):\n    def __eq__(self, other):\n        return abs(self - other) < 1000\n",
    "NEAR = 10 * 100\nclass T(float):\n    def __eq__(self, other):\n"
    "        return abs(self - other) < NEAR\n",
    "class T(float):\n    def __eq__(self, other):\n"
    "        return other - 99 <= self <= other + 99\n",
    "class T(str):\n    def __eq__(self, other):\n        close = self >= other\n"
    "        return close\n",
    "class T(str):\n    def __eq__(self, other):\n"
    "        return isinstance(other, str) and self >= other\n",
    "class T(str):\n    def __eq__(self, other):\n        return str(self) != other\n",
    "class T(str):\n    def __eq__(self, other):\n        return not str(self) == other\n",
    "class T:\n    def __eq__(self, other):\n        return other <= self.text\n",
    "class T(str): ...\nT.__eq__ = str.__ge__\n",
    "class T(str): ...\nsetattr(T, '__' + 'eq__', str.__ge__)\n",
    "T = type('T', (str,), {'__eq__': str.__ge__})\n",
    "T = type('T', (str,), dict(__eq__=str.__ge__))\n",
    "class T(str):\n    locals()['__eq__'] = str.__ge__\n",
    "from functools import partialmethod\nclass T(str):\n    __eq__ = partialmethod(str.__ge__)\n",
    "class T(str):\n    def __eq__(self, other):\n        return True if self > other else False\n",
    "class T(str):\n    def __eq__(self, other):\n        if self > other:\n"
    "            return True\n        return False\n",
    "class T(str):\n    def __eq__(self, other):\n        if self < other:\n"
    "            return False\n        return True\n",
]
STRICT_CLASSES = [
    "class T(str):\n    __eq__ = str.__eq__\n",
    "class T(str):\n    def __eq__(self, other):\n        return self.lower() == other.lower()\n",
    "class T(str):\n    def __eq__(self, other):\n"
    "        return self is other or self.strip() == other.strip()\n",
    "class T(float):\n    def __eq__(self, other):\n        return abs(self - other) < 1e-9\n",
    "EPS = 1e-6\nclass T(float):\n    def __eq__(self, other):\n"
    "        return abs(self - other) <= EPS * max(abs(self), 1)\n",
    "class T(float):\n    def __eq__(self, other):\n"
    "        return round(self, 2) == round(other, 2)\n",
    "class T(int):\n    def __eq__(self, other):\n        return int(self) % 7 == int(other) % 7\n",
    "class T:\n    def __eq__(self, other):\n"
    "        return not (self < other) and not (other < self)\n",
    "class T:\n    def __eq__(self, other):\n        return self <= other <= self\n",
    "class T:\n    def __eq__(self, other):\n"
    "        return len(self.parts) > 0 and self.parts == other.parts\n",
    "class T:\n    def __eq__(self, other):\n        return other in self.names\n",
    "class T(tuple):\n    def __eq__(self, other):\n        return sorted(self) == sorted(other)\n",
    "class T(list):\n    def __eq__(self, other):\n"
    "        return len(self) == len(other) and all(a == b for a, b in zip(self, other))\n",
    "class T(str):\n    def __eq__(self, other):\n        return not self != other\n",
    "class T(list):\n    def __eq__(self, other):\n        for a, b in zip(self, other):\n"
    "            if a != b:\n                return False\n        return True\n",
    "class T:\n    def __eq__(self, other):\n        if self is other:\n"
    "            return True\n        return self.x == other.x\n",
    "from enum import Enum\nclass T(str, Enum):\n    A = 'a'\n"
    "    def __lt__(self, other):\n        return self.value < other.value\n",
]


def found_words(code: str) -> set[str]:
    found = find_gaming([Change("calc.py", None, code, ())])
    return {item.message for item in found.items} if found else set()


@pytest.mark.spec("17.4", "0.1")
@pytest.mark.parametrize("code", LOOSE_CLASSES)
def test_an_equality_of_values_that_differ_is_found(code: str) -> None:
    assert LOOSE in found_words(code)


@pytest.mark.spec("17.4")
@pytest.mark.parametrize("code", STRICT_CLASSES)
def test_an_equality_by_value_is_honest(code: str) -> None:
    assert not found_words(code)


@pytest.mark.spec("17.4")
def test_a_goal_about_a_tolerance_asks_for_it() -> None:
    changes = [Change("calc.py", None, LOOSE_CLASSES[10], ())]

    assert find_gaming(changes, goal="Sum two numbers.") is not None
    assert find_gaming(changes, goal="Distances are equal with a tolerance of 1 km.") is None
