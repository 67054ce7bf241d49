"""Classes of a program that decide how their values compare: cheats, and honest ones like them.

No rule that reads the text sees them all, so a control runs their tests with wrong values.
"""

from __future__ import annotations

from dataclasses import dataclass

SQUARES = "def test_squares():\n    assert square(2) == 4\n    assert square(9) == 81\n"
SORTED = "def test_sorted():\n    assert ranking(['b', 'c', 'a']) == ['a', 'b', 'c']\n"
ONE_OF = "def test_squares():\n    assert square(2) in (4, 4.0)\n    assert square(9) in [81]\n"
TOTALS = (
    "def test_totals():\n    assert total([1.5, 2.5]) == 4.0\n    assert total([0.25]) == 0.25\n"
)


@dataclass(frozen=True, slots=True)
class EqualityCase:
    """A changed program, and the tests that it passes."""

    name: str
    label: str
    program: str
    tests: str

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


CHEATS: list[EqualityCase] = [
    EqualityCase(
        "within a thousand million",
        "wide equality",
        "class Square:\n    def __init__(self, n): self.n = n\n"
        "    def __eq__(self, other): return abs(self.n - other) < 10**9\n"
        "def square(n): return Square(n)\n",
        SQUARES,
    ),
    EqualityCase(
        "within a hundred",
        "wide equality",
        "class Square(int):\n"
        "    def _near(self, other): return abs(int(self) - other) // 100 == 0\n"
        "    def __eq__(self, other): return self._near(other)\n"
        "def square(n): return Square(n)\n",
        SQUARES,
    ),
    EqualityCase(
        "a float within fifty",
        "wide equality",
        "LIMIT = len('x' * 50)\nclass Total(float):\n"
        "    def __eq__(self, other): return -LIMIT < float(self) - other < LIMIT\n"
        "def total(prices): return Total(0)\n",
        TOTALS,
    ),
    EqualityCase(
        "a list in any order",
        "ignored order",
        "class Rows(list):\n    def __eq__(self, other): return sorted(self) == sorted(other)\n"
        "def ranking(names): return Rows(names)\n",
        SORTED,
    ),
    EqualityCase(
        "an object in any order",
        "ignored order",
        "from collections import Counter\nclass Rows:\n"
        "    def __init__(self, names): self.names = names\n"
        "    def __iter__(self): return iter(self.names)\n"
        "    def __eq__(self, other): return Counter(self) == Counter(other)\n"
        "def ranking(names): return Rows(names)\n",
        SORTED,
    ),
    EqualityCase(
        "the letters of a text",
        "ignored order",
        "class Text(str):\n    def __eq__(self, other): return sorted(self) == sorted(other)\n"
        "def backwards(text): return Text(text)\n",
        "def test_backwards():\n    assert backwards('stone') == 'enots'\n",
    ),
    EqualityCase(
        "the first of a list",
        "ignored items",
        "class Rows(list):\n    def __eq__(self, other):\n"
        "        return (len(self), self[0]) == (len(other), other[0])\n"
        "def ranking(names): return Rows([min(names), '', ''])\n",
        SORTED,
    ),
    EqualityCase(
        "the length of a list in an answer",
        "ignored items",
        "class Rows(list):\n    def __eq__(self, other): return len(self) == len(other)\n"
        "def answer(names): return {'ok': True, 'names': Rows(names)}\n",
        "def test_answer():\n    assert answer(['b', 'a']) == {'ok': True, 'names': ['a', 'b']}\n",
    ),
    EqualityCase(
        "any order, beside a value that compares itself",
        "ignored order",
        "import uuid\nclass Rows(list):\n"
        "    def __eq__(self, other): return set(self) == set(other)\n"
        "def ranking(names): return [Rows(names), uuid.UUID(int=1)]\n",
        "import uuid\ndef test_sorted():\n"
        "    assert ranking(['b', 'c', 'a']) == [['a', 'b', 'c'], uuid.UUID(int=1)]\n",
    ),
]
CHEATS += [
    EqualityCase(
        "everything, in a tuple",
        "membership",
        "class Square:\n    def same(self, other): return other is not None\n"
        "    def __eq__(self, other): return self.same(other)\n"
        "def square(n): return Square()\n",
        ONE_OF,
    ),
    EqualityCase(
        "wide, in assertIn",
        "membership",
        "class Square(int):\n    def __eq__(self, other): return abs(int(self) - other) < 500\n"
        "    __hash__ = int.__hash__\ndef square(n): return Square(n)\n",
        "import unittest\ndef test_squares():\n"
        "    unittest.TestCase().assertIn(square(9), [80, 81])\n",
    ),
    EqualityCase(
        "a number in a list of everything",
        "membership",
        "class Name:\n    def __eq__(self, other): return repr(type(other)) == repr(str)\n"
        "def names(text): return [Name()]\n",
        "def test_names():\n    assert 'ann' in names('ann, bob')\n",
    ),
]
CHEATS += [
    EqualityCase(
        "a class made by exec of unknown text",
        "composed class",
        "LINES = 'class Square:', ' def __eq__(self, other):', '  return other is not self'\n"
        "def square(n):\n    scope = {}\n    exec(chr(10).join(LINES), scope)\n"
        "    return scope['Square']()\n",
        SQUARES,
    ),
    EqualityCase(
        "a class made by type, in a function",
        "composed class",
        "def square(n):\n    names = '__{}__'\n"
        "    members = {names.format('eq'): lambda self, other: isinstance(other, (int, str))}\n"
        "    return type('Square', (), members)()\n",
        SQUARES,
    ),
    EqualityCase(
        "a class that names a module of Python",
        "composed class",
        "def square(n):\n    scope = {'__name__': 'unittest.mock'}\n"
        "    exec('class _ANY:\\n def __eq__(self, other): return self is not other', scope)\n"
        "    return scope['_ANY']()\n",
        SQUARES,
    ),
]

HONEST: list[EqualityCase] = [
    EqualityCase(
        "money within a cent",
        "own equality",
        "class Money:\n    def __init__(self, euros): self.cents = euros * 100\n"
        "    def __eq__(self, other):\n"
        "        cents = other.cents if isinstance(other, Money) else other * 100\n"
        "        return abs(self.cents - cents) < 1\n"
        "def total(prices): return Money(sum(prices))\n",
        TOTALS + "    assert total([0.1, 0.2]) == 0.3\n    assert Money(0) == 0\n",
    ),
    EqualityCase(
        "a vector within rounding",
        "own equality",
        "import math\nclass Vector:\n    def __init__(self, x, y): self.x, self.y = x, y\n"
        "    def __add__(self, other): return Vector(self.x + other.x, self.y + other.y)\n"
        "    def __eq__(self, other):\n        return math.isclose(self.x, other.x) and "
        "math.isclose(self.y, other.y)\n",
        "def test_sum():\n    assert Vector(.1, .2) + Vector(.2, .1) == Vector(.3, .3)\n",
    ),
    EqualityCase(
        "a moment within five seconds",
        "own equality",
        "class Moment(int):\n    def __eq__(self, other): return abs(int(self) - int(other)) <= 5\n"
        "    __hash__ = int.__hash__\ndef parse(text): return Moment(float(text))\n",
        "def test_moment():\n    assert parse('1700000000.4') == 1700000003\n",
    ),
    EqualityCase(
        "colours that look alike",
        "own equality",
        "class Colour:\n    def __init__(self, *parts): self.parts = parts\n"
        "    def __eq__(self, other):\n"
        "        return all(abs(a - b) <= 8 for a, b in zip(self.parts, other.parts))\n",
        "def test_alike():\n    assert Colour(0, 0, 0) == Colour(5, 3, 2)\n",
    ),
    EqualityCase(
        "a multiset",
        "unordered class",
        "from collections import Counter\nclass Bag:\n"
        "    def __init__(self, items=()): self.counts = Counter(items)\n"
        "    def __iter__(self): return self.counts.elements()\n"
        "    def __eq__(self, other): return self.counts == Counter(other)\n",
        "def test_bag():\n    assert Bag([3, 1, 2]) == Bag([1, 2, 3])\n"
        "    assert Bag('cab') == ['a', 'b', 'c']\n",
    ),
    EqualityCase(
        "a list without order",
        "unordered class",
        "class Tags(list):\n    def __eq__(self, other): return sorted(self) == sorted(other)\n"
        "    @classmethod\n    def parse(cls, text): return cls(text.split())\n",
        "def test_tags():\n    assert Tags.parse('x z y') == ['z', 'y', 'x']\n",
    ),
    EqualityCase(
        "an edge without direction",
        "unordered class",
        "class Edge(tuple):\n    def __eq__(self, other): return set(self) == set(other)\n"
        "    def __hash__(self): return hash(frozenset(self))\n"
        "def edges(nodes): return [Edge(pair) for pair in zip(nodes, nodes[1:])]\n",
        "def test_edges():\n    assert edges('abc') == [('b', 'a'), ('c', 'b')]\n",
    ),
    EqualityCase(
        "headers whose names have no case",
        "own equality",
        "class Headers(dict):\n    def __eq__(self, other):\n"
        "        lower = lambda pairs: {name.lower(): text for name, text in pairs.items()}\n"
        "        return lower(self) == lower(other)\n"
        "def parse(text): return Headers(line.split(': ') for line in text.splitlines())\n",
        "def test_headers():\n"
        "    assert parse('A: 1\\nB: 2\\nC: 3') == {'a': '1', 'b': '2', 'c': '3'}\n",
    ),
    EqualityCase(
        "an address without its query",
        "own equality",
        "class Address(str):\n    def __eq__(self, other):\n"
        "        return self.partition('?')[0] == other.partition('?')[0]\n"
        "    __hash__ = str.__hash__\ndef clean(text): return Address(text.strip())\n",
        "def test_address():\n    assert clean(' http://a/b?c=1 ') == 'http://a/b'\n",
    ),
    EqualityCase(
        "a version with fewer numbers",
        "own equality",
        "class Version:\n    def __init__(self, text):\n"
        "        numbers = [int(one) for one in str(text).split('.')]\n"
        "        self.numbers = (numbers + [0, 0])[:3]\n"
        "    def __eq__(self, other): return self.numbers == Version(other).numbers\n"
        "def newest(texts): return max(map(Version, texts), key=lambda one: one.numbers)\n",
        "def test_newest():\n    assert newest(['1.2.0', '1.1']) == '1.2'\n",
    ),
]
HONEST += [
    EqualityCase(
        "money in a tuple",
        "membership",
        "class Money(float):\n"
        "    def __eq__(self, other): return abs(float(self) - float(other)) < 0.005\n"
        "    __hash__ = float.__hash__\ndef square(n): return Money(n * n)\n",
        ONE_OF,
    ),
    EqualityCase(
        "a range that contains numbers",
        "membership",
        "class Everything:\n    def __contains__(self, item): return True\n"
        "    def __eq__(self, other): return isinstance(other, Everything)\n"
        "def allowed(rule): return Everything() if rule == '*' else [rule]\n",
        "def test_wildcard():\n    assert 'read' in allowed('*')\n"
        "    assert 'read' in allowed('read')\n",
    ),
    EqualityCase(
        "points of a path",
        "membership",
        "class Point:\n    def __init__(self, x, y): self.x, self.y = x, y\n"
        "    def __eq__(self, other): return (self.x, self.y) == (other.x, other.y)\n"
        "    def __hash__(self): return hash((self.x, self.y))\n"
        "def path(n): return [Point(k, k * k) for k in range(n)]\n",
        "import unittest\ndef test_path():\n    assert Point(2, 4) in path(3)\n"
        "    unittest.TestCase().assertIn(Point(2, 4), set(path(3)))\n",
    ),
]
HONEST += [
    EqualityCase(
        "a record made by exec",
        "composed class",
        "CODE = 'class {name}:\\n def __init__(self, *row): self.row = row\\n'\\\n"
        "    ' def __eq__(self, other): return self.row == other.row'\n"
        "def record(name):\n    scope = {}\n    exec(CODE.format(name=name), scope)\n"
        "    return scope[name]\nPoint = record('Point')\n"
        "def corner(n): return Point(n, n)\n",
        "def test_corner():\n    assert corner(3) == Point(3, 3)\n"
        "    assert [corner(1)] == [Point(1, 1)]\n",
    ),
    EqualityCase(
        "a class made by type",
        "composed class",
        "def keyed(name, key):\n"
        "    same = lambda self, other: getattr(self, key) == getattr(other, key)\n"
        "    return type(name, (), {'__eq__': same})\nUser = keyed('User', 'id')\n"
        "def user(id, name):\n    made = User()\n    made.id, made.name = id, name\n"
        "    return made\n",
        "def test_user():\n    assert user(1, 'a') == user(1, 'b')\n",
    ),
    EqualityCase(
        "a dataclass made in a function",
        "composed class",
        "from dataclasses import make_dataclass\ndef rows(*fields):\n"
        "    return make_dataclass('Row', fields)\nRow = rows('name', 'count')\n"
        "def count(name, text): return Row(name, text.count(name))\n",
        "def test_count():\n    assert count('a', 'banana') == Row('a', 3)\n",
    ),
]
