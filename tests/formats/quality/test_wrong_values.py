"""Comparisons with wrong values: values that equal them are noticed, honest classes are not."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from yaoki.formats.quality import Change, compare_with_wrong_values, find_own_equality

pytestmark = pytest.mark.spec("17.9")

PROGRAM = "shop/values.py"
IMPORT = "from values import *\n"


@pytest.fixture
def notices(tmp_path: Path) -> Iterator[object]:
    """Runs the rewritten tests; returns the names of the errors of those that fail."""

    def run(program: str, tests: str, path: str = PROGRAM, changed: str = PROGRAM) -> list[str]:
        made = compare_with_wrong_values("test_values.py", IMPORT + dedent(tests), [changed])
        assert made is not None
        module = types.ModuleType("values")
        module.__file__ = str(tmp_path / path)
        sys.modules["values"] = module
        exec(compile(dedent(program), module.__file__, "exec"), module.__dict__)  # noqa: S102
        scope = {"__name__": "test_values"}
        exec(compile(made, "test_values.py", "exec"), scope)  # noqa: S102
        return list(_errors([one for name, one in scope.items() if name.startswith("test_")]))

    yield run
    sys.modules.pop("values", None)


def _errors(functions: list[object]) -> Iterator[str]:
    for one in functions:
        assert callable(one)
        try:
            one()
        except Exception as error:  # noqa: BLE001 - its name is the result
            yield type(error).__name__


POINT = """
class Point:
    def __init__(self, x, y, label=""):
        self.x, self.y, self.label = x, y, label

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    def __eq__(self, other):
        {}
"""
SUM = "def test_sum():\n    assert Point(1, 2) + Point(3, 4) == Point(4, 6)\n"
CONSTANT = "def test_total():\n    assert total([1.5, 2.5]) == 4.0\n"


@pytest.mark.parametrize(
    ("program", "tests"),
    [
        (POINT.format("return isinstance(other, Point)"), SUM),
        (POINT.format("return repr(type(self)) == repr(type(other))"), SUM),
        (
            "class Point:\n    def __init__(self, x, y): pass\n"
            "    def __add__(self, other): return self\n"
            "    def __eq__(self, other): return vars(self) == vars(other)\n",
            SUM,
        ),
        (
            "from dataclasses import dataclass, field\n@dataclass\nclass Point:\n"
            "    x: int = field(compare=False)\n    y: int = field(compare=False)\n"
            "    def __add__(self, other): return self\n",
            SUM,
        ),
        (
            "class Money:\n    def same(self): return True\n"
            "    def __eq__(self, other): return self.same()\ndef total(prices): return Money()\n",
            CONSTANT,
        ),
        (
            "class Money:\n    pass\n"
            'setattr(Money, "__{}__".format("eq"), lambda a, b: a is not b)\n'
            "def total(prices): return Money()\n",
            CONSTANT,
        ),
        (
            "from fractions import Fraction\nclass Money(Fraction):\n"
            "    def __rsub__(self, other): return Fraction(0)\n"
            "def total(prices): return Money(1)\n",
            "import pytest\ndef test_total():\n    assert total([1]) == pytest.approx(4.125)\n",
        ),
        (
            "class Rows(list):\n    def __eq__(self, other): return len(self) == len(other)\n"
            "def rows(): return Rows([0, 0])\n",
            "def test_rows():\n    assert rows() == [1, 2]\n",
        ),
        (
            "class Rows(list):\n"
            "    def __eq__(self, other): return all(a == b for a, b in zip(self, other))\n"
            "def rows(): return Rows()\n",
            "def test_rows():\n    assert rows() == [1, 2]\n",
        ),
        (
            "class All:\n    def __eq__(self, other): return True\n"
            "def rows(): return {'a': All()}\n",
            "def test_rows():\n    for want in ({'a': 1}, {'a': 'b'}):\n"
            "        assert rows() == want\n",
        ),
        (
            "class All:\n    def __eq__(self, other): return True\ndef total(): return All()\n",
            "def test_reversed():\n    assert 5 == total()\n",
        ),
        (
            "class All:\n    __module__ = 'unittest.mock'\n"
            "    def __eq__(self, other): return True\ndef total(): return All()\n",
            "def test_false_name():\n    assert total() == 5 and total() == 6\n",
        ),
        (
            "class Text:\n    def __init__(self, text): self.text = text\n"
            "    def __eq__(self, other): return len(self.text) == len(other)\n",
            "def test_length():\n    assert Text('abc') == 'cba'\n",
        ),
        (
            "class Text:\n    def __init__(self, text): self.text = text\n"
            "    def __eq__(self, other): return len(self.text) == len(other.text)\n",
            "def test_length():\n    assert [Text('q-7')] == [Text('b-2')]\n",
        ),
        (
            "class Length:\n    def __sub__(self, other): return 0.0\n"
            "def area(): return Length()\n",
            "def test_distance():\n    assert abs(area() - 6.0) < 1e-9\n",
        ),
        (
            "class Length:\n    def __sub__(self, other): return 0.0\n"
            "def area(): return Length()\n",
            "import unittest\ndef test_distance():\n"
            "    unittest.TestCase().assertTrue(abs(area() - 6.0) <= 1e-9)\n",
        ),
        (
            "class All:\n    def __eq__(self, other): return True\n",
            "import unittest\ndef test_truth():\n"
            "    unittest.TestCase().assertTrue(All() == 6, 'the same')\n",
        ),
        (
            "class Name(str):\n    def __eq__(self, other): return isinstance(other, Name)\n"
            "def name(): return Name('a')\ndef other(): return Name('b')\n",
            "def test_names():\n    assert name() == other()\n",
        ),
    ],
)
def test_a_value_that_equals_wrong_values_is_noticed(
    notices: object, program: str, tests: str
) -> None:
    assert callable(notices)
    assert notices(program, tests) == ["HoldsForWrongValue"]


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        ("OrderedDict(a=All())", "{'a': 2}"),
        ("OrderedDict(a=All())", "OrderedDict(a=2)"),
        ("defaultdict(int, a=All())", "defaultdict(int, a=2)"),
        ("deque([All()])", "deque([2])"),
        ("Counter(a=All())", "Counter(a=2)"),
        ("UserList([All()])", "[2]"),
        ("Pair(All(), All())", "Pair(1, 2)"),
    ],
)
def test_containers_of_the_standard_library_are_entered(
    notices: object, made: str, wanted: str
) -> None:
    assert callable(notices)
    imports = "from collections import *\nPair = namedtuple('Pair', 'x y')\n"
    program = "class All:\n    def __eq__(self, other): return True\n" + imports
    found = notices(program, f"def test_it():\n    assert {made} == {wanted}\n")
    assert found == ["HoldsForWrongValue"]


UNIT_TESTS = """
import unittest

class Case(unittest.TestCase):
    def runTest(self):
        self.assertEqual(total(), 5, "the total")
        self.assertAlmostEqual(total(), 5.0, delta=0.1)

def test_case():
    result = unittest.TestResult()
    Case().run(result)
    assert not result.failures, result.failures
    assert not result.errors
"""


def test_assertions_of_unittest_compare_with_wrong_values(notices: object) -> None:
    assert callable(notices)
    honest = (
        "class Money(float):\n    def __eq__(self, other): return float(self) == float(other)\n"
        "def total(): return Money(5)\n"
    )
    loose = honest.replace("float(self) == float(other)", "bool(self) == bool(other)")
    assert notices(honest, UNIT_TESTS) == []
    assert notices(loose, UNIT_TESTS) == ["AssertionError"]


@pytest.mark.parametrize(
    ("program", "tests"),
    [
        (POINT.format("return (self.x, self.y) == (other.x, other.y)"), SUM),
        (
            "class Level:\n    def __init__(self, n): self.n = min(max(n, 0), 255)\n"
            "    def __eq__(self, other): return self.n == other.n\n",
            "def test_clipped():\n    assert Level(300) == Level(255)\n"
            "def test_below():\n    assert Level(-5) == Level(0)\n",
        ),
        (
            "class Name(str):\n    def __eq__(self, other):\n"
            "        keep = lambda text: ''.join(filter(str.isalnum, text.lower()))\n"
            "        return keep(self) == keep(other)\n    __hash__ = str.__hash__\n",
            "def test_spelling():\n    assert Name('Hello, World!') == 'hello world'\n",
        ),
        (
            "class Money:\n    def __init__(self, cents): self.cents = cents\n"
            "    def __eq__(self, other): return abs(self.cents - float(other)) < 0.01\n",
            "import pytest\ndef test_tolerance():\n    assert Money(5) == 5.001\n",
        ),
        (
            "class Nothing:\n    def __eq__(self, other): return isinstance(other, Nothing)\n",
            "def test_singletons():\n    assert Nothing() == Nothing()\n"
            "    assert Nothing() != 0\n",
        ),
        (
            "import enum\nclass Colour(enum.Enum):\n    RED = 'red'\n    BLUE = 'blue'\n",
            "def test_members():\n    assert Colour('red') == Colour.RED\n",
        ),
        (
            "class Node:\n    def __init__(self, name, up=None):\n"
            "        self.name, self.up, self.down = name, up, []\n        self.me = self\n"
            "    def __eq__(self, other): return self.name == other.name\n",
            "def test_cycles():\n    assert Node('a') == Node('a', Node('b'))\n",
        ),
        (
            "class Version:\n    def __init__(self, text):\n"
            "        self.parts = [int(one) for one in text.split('.')]\n"
            "    def __eq__(self, other): return self.parts == other.parts\n",
            "def test_versions():\n    assert Version('1.02') == Version('1.2')\n",
        ),
        (
            "from dataclasses import dataclass, field\n@dataclass(frozen=True)\nclass User:\n"
            "    id: int\n    name: str = field(default='', compare=False)\n",
            "def test_users():\n    assert User(1, name='a') == User(1, name='b')\n",
        ),
        (
            "class Money:\n    def __init__(self, n): self.n = n\n    def __eq__(self, other):\n"
            "        return self.n == other.n if isinstance(other, Money) else NotImplemented\n",
            "from unittest.mock import ANY\ndef test_any():\n    assert [Money(1), 2] == [ANY, 2]\n"
            "    assert {'a': Money(1)} == {'a': ANY}\n",
        ),
        (
            "class Money:\n    def __init__(self, n): self.n = n\n"
            "    def __eq__(self, other): return self.n == other\n",
            "def test_own_matcher():\n    class Positive:\n"
            "        def __eq__(self, other): return other > 0\n    assert 5 == Positive()\n",
        ),
        (
            "class Bit:\n    def __init__(self, value): self.value = value % 2\n"
            "    def __add__(self, other): return Bit(self.value + other.value)\n"
            "    def __eq__(self, other): return self.value == other.value\n",
            "def test_bits():\n    assert Bit(1) + Bit(0) == Bit(1)\n"
            "    assert Bit(1) + Bit(1) == Bit(0)\n",
        ),
        (
            "class Bit:\n    def __init__(self, value): self.value = value\n"
            "    def __eq__(self, other): return (self.value - other.value) % 2 == 0\n",
            "def test_bits():\n    assert Bit(3) == Bit(1)\n",
        ),
        (
            "class Bit(int):\n    def __new__(cls, value):\n"
            "        return super().__new__(cls, value % 2)\n",
            "def test_bits():\n    assert Bit(3) == Bit(1)\n",
        ),
        (
            "from dataclasses import dataclass\n@dataclass\nclass Answer:\n    text: str\n"
            "    def __post_init__(self):\n"
            "        self.text = 'yes' if self.text.lower() in ('yes', 'y') else 'no'\n",
            "def test_answers():\n    assert Answer('yes') == Answer('Y')\n"
            "    assert Answer('no') == Answer('n')\n    assert not Answer('no') == Answer('y')\n",
        ),
        (
            "class Level:\n    def __init__(self, name):\n"
            "        self.name = name if name in ('error', 'info') else ''\n"
            "    def __eq__(self, other): return self.name == other.name\n"
            "def parse(line): return Level(line.partition(':')[0])\n",
            "def test_levels():\n    assert parse('error: x') == Level('error')\n"
            "    assert parse('hello') == Level('other')\n",
        ),
        (
            "class Answer(str):\n    def __new__(cls, text):\n"
            "        return super().__new__(cls, 'yes' if text in ('yes', 'y') else 'no')\n",
            "def test_answers():\n    assert Answer('no') == Answer('n')\n",
        ),
        (
            "class Rows(list):\n    def __init__(self, items, name):\n"
            "        super().__init__(items)\n        self.name = name\n",
            "def test_rows():\n    assert Rows([1], 'a') == [1]\n    assert Rows([], 'a') == []\n",
        ),
        (
            "import datetime\nclass Day(datetime.date):\n"
            "    def __new__(cls, *args):\n        made = super().__new__(cls, *args)\n"
            "        made.label = 'x'\n        return made\n",
            "def test_days():\n    assert Day(2020, 1, 2) == datetime.date(2020, 1, 2)\n",
        ),
        (
            "class User:\n    def __init__(self, name, active):\n"
            "        self.name, self.active = name, active\n"
            "    def __eq__(self, other): return self.name == other.name\n",
            "def test_no_name():\n    assert User('', True) == User('', False)\n",
        ),
        (
            "class Small:\n    def __init__(self, n): self.n = n\n"
            "    def __eq__(self, other):\n"
            "        if other > 100: raise SystemExit('too large')\n"
            "        return self.n == other\n",
            "def test_an_exit_does_not_end_the_control():\n    assert Small(6) == 6\n",
        ),
        (
            "class Money:\n    def __init__(self, n): self.n = n\n"
            "    def __sub__(self, other): return self.n - other\n",
            "import unittest\ndef test_distance():\n    assert abs(Money(5.0) - 5.001) < 0.01\n"
            "    assert abs(Money(5.0) - 9) <= 4\n"
            "    unittest.TestCase().assertTrue(abs(Money(5.0) - 5) < 0.01)\n",
        ),
    ],
)
def test_an_honest_class_is_not_accused(notices: object, program: str, tests: str) -> None:
    assert callable(notices)
    assert notices(program, tests) == []


def test_a_class_that_the_change_does_not_touch_is_not_accused(notices: object) -> None:
    """A double of the tests, or a library, may be equal to everything."""
    assert callable(notices)
    program = POINT.format("return isinstance(other, Point)")
    assert notices(program, SUM, path="libs/values.py") == []


def test_a_copy_that_set_up_made_is_recognised(notices: object) -> None:
    assert callable(notices)
    program = POINT.format("return isinstance(other, Point)")
    found = notices(program, SUM, path="site-packages/shop/values.py", changed=f"src/{PROGRAM}")
    assert found == ["HoldsForWrongValue"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("test_a.py", "def test_a():\n    assert True\n"),
        ("test_a.py", "def test_a(:\n"),
        ("test_a.js", "assert a == b\n"),
        ("test_a.py", "def test_a():\n    x = a == b\n"),
    ],
)
def test_a_file_without_comparisons_stays_as_it_is(path: str, text: str) -> None:
    assert compare_with_wrong_values(path, text, [PROGRAM]) is None


def test_the_docstring_and_imports_from_the_future_stay_first() -> None:
    text = '"""Tests."""\nfrom __future__ import annotations\nassert 1 == 1\n'
    made = compare_with_wrong_values("test_a.py", text, [PROGRAM])
    assert made is not None
    assert made.startswith('"""Tests."""\nfrom __future__ import annotations\n')
    compile(made, "test_a.py", "exec")


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("a.py", "class A:\n    def __eq__(self, other): ...\n", "defines __eq__"),
        ("a.py", "class A(int):\n    def __rsub__(self, other): ...\n", "defines __rsub__"),
        ("a.py", "A.__eq__ = same\n", "defines __eq__"),
        ("a.py", "x = field(compare=False)\n", "sets compare"),
        ("a.py", "setattr(A, name, same)\n", "uses setattr"),
        ("a.py", "A = type('A', (int,), members)\n", "uses type"),
        ("a.py", "class A(metaclass=Meta): ...\n", "sets metaclass"),
        ("a.py", "class A:\n    def __init__(self): ...\n", ""),
        ("a.py", "def add(a, b): return a + b\n", ""),
        ("a.py", "kind = type(a)\n", ""),
        ("tests/test_a.py", "class A:\n    def __eq__(self, other): ...\n", ""),
        ("a.js", "class A { __eq__() {} }\n", ""),
    ],
)
def test_only_code_that_decides_how_values_compare_gets_a_control(
    path: str, text: str, words: str
) -> None:
    added = tuple(enumerate(text.splitlines(), start=1))
    found = find_own_equality([Change(path, None, text, added)])
    assert [one.message for one in found] == ([words] if words else [])


def test_lines_that_the_change_does_not_add_get_no_control() -> None:
    text = "class A:\n    def __eq__(self, other): ...\nx = 1\n"
    assert find_own_equality([Change("a.py", "", text, ((3, "x = 1"),))]) == ()
