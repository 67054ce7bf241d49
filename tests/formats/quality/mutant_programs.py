"""Small programs with tests that notice faults in them, and with tests that hardly do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """A program of one file; its tests are statements that raise if they fail."""

    path: str
    text: str
    strong: str
    weak: str


DISCOUNT = Program(
    "discount.py",
    '''\
"""Prices with discounts."""


def discount(total, member, coupons=0):
    if total < 0:
        raise ValueError("a negative total")
    rate = 0
    if member and total >= 100:
        rate = 10
    rate += 5 * coupons
    if rate > 50:
        rate = 50
    return total - total * rate // 100
''',
    """\
assert discount(100, True) == 90
assert discount(99, True) == 99
assert discount(200, False) == 200
assert discount(200, True, 2) == 160
assert discount(200, False, 1) == 190
assert discount(200, False, 10) == 100
assert discount(200, False, 11) == 100
assert discount(0, False) == 0
try:
    discount(-1, False)
except ValueError:
    pass
else:
    raise AssertionError
""",
    "assert discount(50, False) == 50\n",
)
INTERVALS = Program(
    "intervals.py",
    '''\
def merge(intervals):
    """Join intervals that touch each other."""
    merged = []
    for start, end in sorted(intervals):
        if end < start:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
''',
    """\
assert merge([]) == []
assert merge([(3, 4), (1, 2)]) == [(1, 2), (3, 4)]
assert merge([(1, 3), (2, 5)]) == [(1, 5)]
assert merge([(1, 3), (3, 5)]) == [(1, 5)]
assert merge([(1, 9), (2, 3)]) == [(1, 9)]
assert merge([(1, 2), (4, 3), (5, 6)]) == [(1, 2), (5, 6)]
assert merge([(1, 1)]) == [(1, 1)]
assert merge([(1, 2), (4, 6), (5, 7)]) == [(1, 2), (4, 7)]
""",
    "assert merge([]) == []\n",
)
SLUG = Program(
    "slug.py",
    """\
SEPARATOR = "-"


def slug(title, limit=20):
    words = [word.lower() for word in title.split() if word.isalnum()]
    text = ""
    for word in words:
        joined = text + SEPARATOR + word if text else word
        if len(joined) > limit:
            break
        text = joined
    return text or "untitled"
""",
    """\
assert slug("Hello World") == "hello-world"
assert slug("a ! b") == "a-b"
assert slug("") == "untitled"
assert slug("a" * 20) == "a" * 20
assert slug("a" * 21) == "untitled"
assert slug("abc def", 7) == "abc-def"
assert slug("abc def ghi", 6) == "abc"
assert slug("abcdefgh i jklmnopqrstuvw x") == "abcdefgh-i"
""",
    "assert slug('Hello') == 'hello'\n",
)
STOCK = Program(
    "stock.py",
    '''\
class Stock:
    """Goods by name."""

    def __init__(self):
        self.counts = {}

    def add(self, name, count=1):
        self.counts[name] = self.counts.get(name, 0) + count

    def take(self, name, count=1):
        left = self.counts.get(name, 0) - count
        if left < 0:
            return False
        self.counts[name] = left
        return True

    def is_low(self, name):
        return self.counts.get(name, 0) < 3
''',
    """\
stock = Stock()
stock.add("a")
assert stock.counts == {"a": 1}
stock.add("a", 3)
assert stock.counts == {"a": 4}
assert stock.take("a") is True
assert stock.counts == {"a": 3}
assert not stock.is_low("a")
assert stock.take("a", 2) is True
assert stock.is_low("a")
assert stock.take("a", 2) is False
assert stock.take("a") is True
assert stock.take("b") is False
assert stock.counts == {"a": 0}
assert stock.is_low("b")
stock.add("c", 2)
assert stock.is_low("c")
""",
    "stock = Stock()\nstock.add('a')\nassert stock.take('b') is False\n",
)
RANGE = Program(
    "range.js",
    """\
function clampAll(values, low, high) {
  const out = [];
  for (const value of values) {
    if (value === null) {
      continue;
    }
    if (value < low) out.push(low);
    else if (value > high) out.push(high);
    else out.push(value);
  }
  return out;
}

function isWithin(value, low, high) {
  return value >= low && value <= high;
}
""",
    """\
same(clampAll([1, 5, 9], 2, 8), [2, 5, 8]);
same(clampAll([null, 3], 2, 8), [3]);
same(clampAll([], 2, 8), []);
same([1, 2, 5, 8, 9].map((one) => isWithin(one, 2, 8)), [false, true, true, true, false]);
""",
    "same(clampAll([], 2, 8), []);\n",
)
CART = Program(
    "cart.ts",
    """\
function total(items, member) {
  let sum = 0;
  for (const item of items) {
    if (!item.count) throw new Error('nothing of ' + item.name);
    sum += item.price * item.count;
  }
  const free = member || sum >= 50;
  return free ? sum : sum + 5;
}
""",
    """\
const one = { name: 'a', price: 10, count: 2 };
same(total([one], false), 25);
same(total([one], true), 20);
same(total([{ ...one, count: 5 }], false), 50);
same(total([{ ...one, count: 4 }, { ...one, price: 9, count: 1 }], false), 54);
let failed = false;
try { total([{ ...one, count: 0 }], false); } catch (error) { failed = true; }
same(failed, true);
""",
    "if (typeof total([], true) !== 'number') throw new Error();\n",
)
PROGRAMS = (DISCOUNT, INTERVALS, SLUG, STOCK, RANGE, CART)
