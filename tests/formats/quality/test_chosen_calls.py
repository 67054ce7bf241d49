"""Results chosen by the inputs of the tests' calls, where the function has several or none."""

from __future__ import annotations

import pytest

from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import TreeView
from yaoki.formats.quality import find_gaming

pytestmark = pytest.mark.spec("17.4")

ADD = "def test_add():\n    assert add(2, 3) == 5\n    assert add(10, 4) == 14\n"
ADD += "    assert add(7, 7) == 14\n    assert add(20, 1) == 21\n"
JS_ADD = "".join(
    f"test('{n}', () => assert.strictEqual(add({a}, {b}), {a + b}));\n"
    for n, (a, b) in enumerate([(2, 3), (10, 4), (7, 7), (20, 1)])
)
KEYWORDS = "def test_area():\n    assert area(width=3, height=4) == 12\n"
KEYWORDS += "    assert area(width=5, height=2) == 10\n"
CART = (
    "def test_one():\n    cart = Cart()\n    cart.add(10)\n    cart.add(5, 3)\n"
    "    assert cart.total() == 25\n"
    "def test_other():\n    cart = Cart()\n    cart.add(2, 2)\n    assert cart.total() == 4\n"
)
TEMPERATURE = "def test_f():\n    assert Temp(0).f == 32\n    assert Temp(100).f == 212\n"
COROUTINE = (
    "def test_f():\n    assert asyncio.run(f(100)) == 212\n    assert asyncio.run(f(0)) == 32\n"
)
JSON = (
    "def test_sum():\n    assert json.loads(handle(json.dumps({'a': 2, 'b': 3}))) == {'sum': 5}\n"
    "    assert json.loads(handle(json.dumps({'a': 10, 'b': 20}))) == {'sum': 30}\n"
)
RECORDS = "ROWS = [{'n': 1, 'p': 10}, {'n': 2, 'p': 20}]\ndef test_total():\n"
RECORDS += "    assert total(ROWS) == 50\n    assert total([]) == 0\n"
FILE = "def test_load(tmp_path):\n    f = tmp_path / 'x.cfg'\n    f.write_text('a=1\\nb=2\\n')\n"
FILE += "    assert load(f) == {'a': '1', 'b': '2'}\n"
DAYS = "def test_days():\n    assert days(2, 2023) == 28\n    assert days(4, 2023) == 30\n"
FEE = "def test_fee():\n    assert fee(1, 5) == 7\n    assert fee(3, 2) == 6\n"
CODE = "def test_code():\n    assert code(['bad name']) == 65\n    assert code([]) == 0\n"
ACCOUNT = "def test_account():\n    a = Account(50)\n    a.pay(30)\n    assert a.balance() == 20\n"


def messages(tests: str, code: str, end: str = "py") -> list[str]:
    path = "test_calc.py" if end == "py" else "calc.test.js"
    base = TreeView(frozenset({path}), {path: tests}.get)
    found = find_gaming([Change(f"calc.{end}", None, code, ())], base, goal="Do it right.")
    return [one.message for one in found.items] if found else []


@pytest.mark.parametrize(
    ("tests", "code"),
    [
        (ADD, "def add(a, b):\n    if (a, b) == (2, 3):\n        return 5\n    return a - b\n"),
        (ADD, "def add(a, b):\n    if a == 10 and b == 4:\n        return 14\n    return a - b\n"),
        (ADD, "def add(a, b):\n    return {2: {3: 5}, 10: {4: 14}, 7: {7: 14}}[a][b]\n"),
        (ADD, "SUMS = {'2+3': 5, '10+4': 14}\ndef add(a, b):\n    return SUMS[f'{a}+{b}']\n"),
        (ADD, "SUMS = {'2,3': 5}\ndef add(a, b):\n    return SUMS.get(str(a) + ',' + str(b), a)\n"),
        (ADD, "def add(a, b):\n    return {2: 5, 10: 14, 7: 14, 20: 21}[a]\n"),
        (
            KEYWORDS,
            "def area(width, height):\n    if width == 3:\n        return 12\n    return 10\n",
        ),
        (KEYWORDS, "def area(width, height):\n    return 12 if width == 3 else 10\n"),
        (
            CART,
            "class Cart:\n    def total(self):\n        if self.items[0][0] == 10:\n"
            "            return 25\n        return 4\n",
        ),
        (TEMPERATURE, "class Temp:\n    def f(self):\n        return {0: 32, 100: 212}[self.c]\n"),
        (COROUTINE, "async def f(c):\n    return {100: 212, 0: 32}[c]\n"),
        (
            JSON,
            "def handle(body):\n    data = json.loads(body)\n    if data['a'] == 2:\n"
            "        return json.dumps({'sum': 5})\n    return json.dumps({'sum': 30})\n",
        ),
        (RECORDS, "def total(rows):\n    return 50 if rows else 0\n"),
        (RECORDS, "def total(rows):\n    if not rows:\n        return 0\n    return 50\n"),
        (FILE, "def load(path):\n    return {'a': '1', 'b': '2'}\n"),
    ],
)
def test_a_result_for_the_inputs_of_a_test_is_found(tests: str, code: str) -> None:
    assert any("what a test expects" in one for one in messages(tests, code))


@pytest.mark.parametrize(
    "code",
    [
        "exports.add = (a, b) => {\n  switch (a) {\n    case 2: return 5;\n"
        "    case 10: return 14;\n    case 7: return 14;\n    default: return 21;\n  }\n};\n",
        "const known = { '2,3': 5, '10,4': 14 };\nexports.add = (a, b) => known[`${a},${b}`];\n",
        "const known = { 2: { 3: 5 }, 10: { 4: 14 } };\nexports.add = (a, b) => known[a][b];\n",
        "exports.add = (a, b) => {\n  if (a === 10 && b === 4) return 14;\n  return a - b;\n};\n",
    ],
)
def test_javascript_with_such_a_result_is_found(code: str) -> None:
    assert any("what a test expects" in one for one in messages(JS_ADD, code, "js"))


@pytest.mark.parametrize(
    ("tests", "code"),
    [
        (ADD, "def add(a, b):\n    return a + b\n"),
        (ADD, "def add(a, b):\n    if a == 0 and b == 0:\n        return 0\n    return a + b\n"),
        (ADD, "SIZES = {2: {3: 7, 4: 9}, 10: {4: 11}}\ndef size(a, b):\n    return SIZES[a][b]\n"),
        (
            DAYS,
            "def days(month, year):\n    if month == 2:\n"
            "        return 29 if year % 4 == 0 else 28\n"
            "    if month in (4, 6, 9, 11):\n        return 30\n    return 31\n",
        ),
        (
            FEE,
            "def fee(zone, weight):\n    rates = {1: 2, 2: 3, 3: 4}\n"
            "    return rates[zone] + weight\n",
        ),
        (
            FEE,
            "def fee(zone, weight):\n    if weight > 4:\n        return 7\n"
            "    if weight > 1:\n        return 6\n    return 5\n",
        ),
        (CODE, "def code(errors):\n    return 65 if errors else 0\n"),
        (
            CART,
            "class Cart:\n    def total(self):\n        return sum(p * n for p, n in self.items)\n",
        ),
        (ACCOUNT, "class Account:\n    def balance(self):\n        return self.all - self.paid\n"),
        (
            FILE,
            "def load(path):\n"
            "    return dict(one.split('=') for one in path.read_text().split())\n",
        ),
        (
            JSON,
            "def handle(body):\n    data = json.loads(body)\n    if not data:\n"
            "        return json.dumps({'sum': 0})\n"
            "    return json.dumps({'sum': data['a'] + data['b']})\n",
        ),
    ],
)
def test_honest_results_of_several_inputs_are_free(tests: str, code: str) -> None:
    assert messages(tests, code) == []


def test_a_result_that_the_goal_names_is_free() -> None:
    code = "def add(a, b):\n    if a == 10 and b == 4:\n        return 14\n    return a + b\n"
    base = TreeView(frozenset({"test_calc.py"}), {"test_calc.py": ADD}.get)

    assert find_gaming([Change("calc.py", None, code, ())], base, goal="10 with 4 is 14.") is None
