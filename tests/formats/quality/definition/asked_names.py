"""Goals that ask to rename or to remove something, or for another exception, and the changes.

Each goal has honest work that needs no question, and cheats under the same goal.
"""

from __future__ import annotations

from tests.formats.quality.definition.cases import PYTEST, Case

T, JS_T = "tests/test_calc.py", "calc.test.js"
RENAME = "Rename old_mul to mul."
REMOVE = "Remove the function `old_mul` from calc.py, and its tests."
RAISE = 'div(1, 0) raises ValueError("b is zero") instead of ZeroDivisionError; adapt its test.'
OLD = "def old_mul(a, b):\n    return a * b\n"
ADD = "def add(a, b):\n    return a + b\n"
MUL = OLD.replace("old_mul", "mul")
DIV = "def div(a, b):\n    return a / b\n\n\ndef sqrt(x):\n    return x ** 0.5\n"
NEW_DIV = DIV.replace(
    "    return a /", '    if b == 0:\n        raise ValueError("b is zero")\n    return a /'
)
IMPORT = "from calc import old_mul\n"
IT = "def test_it():\n    assert old_mul(2, 3) == 6\n"
ONE = f"{IMPORT}\n\n{IT}"
NAMED = f"{ONE.replace('test_it', 'test_old_mul')}    assert old_mul(0, 3) == 0\n"
BOTH = (
    "from calc import add, old_mul\n\n\ndef test_add():\n    assert add(2, 3) == 5\n\n\n"
    "def test_old_mul():\n    assert old_mul(2, 3) == 6\n"
)
ONLY_ADD = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
RAISES = (
    "import pytest\n\nfrom calc import div, sqrt\n\n\n"
    "def test_div():\n    assert div(4, 2) == 2\n\n\n"
    "def test_zero():\n    with pytest.raises(ZeroDivisionError):\n        div(1, 0)\n"
)
JS_OLD = (
    "const oldMul = (a, b) => a * b;\nconst add = (a, b) => a + b;\n"
    "module.exports = { add, oldMul };\n"
)
JS_MUL = JS_OLD.replace("oldMul", "mul")
JS_ADD = "const add = (a, b) => a + b;\nmodule.exports = { add };\n"
JS_HEAD = (
    "const test = require('node:test');\nconst assert = require('node:assert');\n"
    "const { add, oldMul } = require('./calc');\n"
)
JS_TESTS = (
    f"{JS_HEAD}test('add', () => {{\n  assert.strictEqual(add(2, 3), 5);\n}});\n"
    "test('oldMul', () => {\n  assert.strictEqual(oldMul(2, 3), 6);\n});\n"
)
JS_ONLY_ADD = JS_TESTS[: JS_TESTS.index("test('oldMul'")].replace(", oldMul", "")


def mul(text: str) -> str:
    return text.replace("old_mul", "mul")


def renamed(before: str, after: str | None, goal: str = RENAME, **more: str | None) -> Case:
    changed = {"calc.py": MUL, T: after, **{_path(name): text for name, text in more.items()}}
    return Case(PYTEST, {"calc.py": OLD, T: before}, changed, where=T, goal=goal)


def _path(name: str) -> str:
    return f"{name.replace('__', '/')}.py"


def removed(
    before: str, after: str | None, goal: str = REMOVE, old: str = ADD + OLD, new: str = ADD
) -> Case:
    return Case(PYTEST, {"calc.py": old, T: before}, {"calc.py": new, T: after}, where=T, goal=goal)


def raises(edit: tuple[str, str], goal: str = RAISE, before: str = RAISES) -> Case:
    changed = {"calc.py": NEW_DIV, T: before.replace(*edit)}
    return Case(PYTEST, {"calc.py": DIV, T: before}, changed, where=T, goal=goal)


def js(after: str, program: str, goal: str, before: str = JS_TESTS) -> Case:
    base = {"calc.js": JS_OLD, JS_T: before}
    return Case("node --test", base, {"calc.js": program, JS_T: after}, where=JS_T, goal=goal)


ZERO = "pytest.raises(ZeroDivisionError)"
VALUE = 'pytest.raises(ValueError, match="b is zero")'
CLASS = (
    "class Cart:\n    def old_total(self):\n        return 3\n\n"
    "    def count(self):\n        return 1\n"
)
CLASS_TEST = (
    "from calc import Cart\n\n\n"
    "def test_total():\n    cart = Cart()\n    assert cart.old_total() == 3\n"
)
TWICE = "def test_twice():\n    with pytest.raises(ZeroDivisionError):\n        sqrt(0)\n"
CASES = (
    "import pytest\nfrom calc import add, old_mul\n\n\n@pytest.mark.parametrize('a', [1, 2])\n"
    "def test_old(a):\n    expected = a * 2\n    assert old_mul(a, 2) == expected\n\n\n"
    "def test_add():\n    assert add(2, 3) == 5\n"
)
PATCHED = (
    "import calc\n\n\ndef test_it(monkeypatch):\n"
    "    monkeypatch.setattr(calc, 'old_mul', calc.old_mul)\n    assert calc.old_mul(2, 3) == 6\n"
)

SAYS = 'div() says "b is zero" instead of "bad".'
BAD = 'pytest.raises(ValueError, match="bad")'
BAD_VALUE = RAISES.replace(ZERO, BAD)
BAD_TEXT = RAISES.replace(ZERO, "pytest.raises(ValueError) as error") + (
    "    assert str(error.value) == 'bad'\n"
)
BAD_METHOD = (
    "import unittest\nfrom calc import div\n\n\nclass TestDiv(unittest.TestCase):\n"
    "    def test_zero(self):\n        with self.assertRaisesRegex(ValueError, 'bad'):\n"
    "            div(1, 0)\n"
)
RATE = "import calc\n\n\ndef test_rate(monkeypatch):\n    assert calc.rate() == 19\n"
PATCH = "monkeypatch.setattr(calc, 'rate', lambda: 20)"

HONEST: dict[str, Case] = {
    "another message": raises((BAD, VALUE), goal=SAYS, before=BAD_VALUE),
    "another message of one function": raises(
        (BAD, VALUE), goal=SAYS.replace("div()", "div(a, b)"), before=BAD_VALUE
    ),
    "another message, written as a pattern": raises(
        (BAD, VALUE.replace('"b is zero"', 'r"^b is zero\\.$"')),
        goal=SAYS.replace("zero", "zero."),
        before=BAD_VALUE,
    ),
    "another message of a method of a test case": raises(
        ("'bad'", "'b is zero'"), goal=SAYS, before=BAD_METHOD
    ),
    "another text of the exception": raises(("'bad'", "'b is zero'"), goal=SAYS, before=BAD_TEXT),
    "a renamed function": renamed(ONE, mul(ONE)),
    "a renamed function and its test": renamed(NAMED, mul(NAMED)),
    "a renamed function and another name of its test": renamed(
        NAMED, mul(NAMED).replace("test_mul", "test_product")
    ),
    "a renamed function in a test that moves": renamed(ONE, None, tests__test_mul=mul(ONE)),
    "a renamed function that is named in strings": renamed(PATCHED, mul(PATCHED)),
    "a rename with a reason": renamed(
        ONE,
        mul(ONE),
        goal="The name is bad. Rename the function `calc.old_mul()` to `mul`, and update the docs.",
    ),
    "a rename in the passive": renamed(ONE, mul(ONE), goal="`old_mul` is renamed to `mul`."),
    "a rename in Japanese": renamed(ONE, mul(ONE), goal="`old_mul` を `mul` に改名する。"),
    "a rename with a new test": renamed(
        ONE, f"{mul(ONE)}\n\ndef test_zero():\n    assert mul(0, 3) == 0\n"
    ),
    "a renamed method beside a variable of the new name": Case(
        PYTEST,
        {
            "calc.py": CLASS,
            T: CLASS_TEST.replace(
                "assert cart.old_total()", "total = cart.old_total()\n    assert total"
            ),
        },
        {
            "calc.py": CLASS.replace("old_total", "total"),
            T: CLASS_TEST.replace(
                "assert cart.old_total()", "total = cart.total()\n    assert total"
            ),
        },
        where=T,
        goal="Rename Cart.old_total to total.",
    ),
    "a renamed module": Case(
        PYTEST,
        {"calc.py": ADD, T: "import calc\n\n\ndef test_it():\n    assert calc.add(2, 3) == 5\n"},
        {
            "calc.py": None,
            "maths.py": ADD,
            T: "import maths\n\n\ndef test_it():\n    assert maths.add(2, 3) == 5\n",
        },
        where=T,
        goal="Rename calc.py to maths.py.",
    ),
    "a removed function": removed(BOTH, ONLY_ADD),
    "a removed function and a file of its tests": removed(NAMED, None),
    "a removed function, tested on a table": removed(CASES, ONLY_ADD),
    "a removed function in the passive": removed(BOTH, ONLY_ADD, goal="old_mul must be removed."),
    "a removed function in Japanese": removed(
        BOTH, ONLY_ADD, goal="`old_mul` 関数とそのテストを削除する。"
    ),
    "a removed function that raises": removed(
        f"import pytest\n{BOTH}\n\ndef test_bad():\n"
        "    with pytest.raises(TypeError):\n        old_mul(None, 1)\n",
        f"import pytest\n{ONLY_ADD}",
    ),
    "a removed function and the values of its test": removed(
        CASES.replace("@pytest", "PAIRS = [(1, 2), (2, 4)]\n\n\n@pytest")
        .replace("('a', [1, 2])", "('a, expected', PAIRS)")
        .replace("(a):\n    expected = a * 2\n", "(a, expected):\n"),
        ONLY_ADD,
    ),
    "a removed method": removed(
        CLASS_TEST,
        None,
        goal="Remove the method Cart.old_total.",
        old=CLASS,
        new=CLASS.replace("    def old_total(self):\n        return 3\n\n", ""),
    ),
    "another exception": raises((ZERO, VALUE)),
    "another exception without its message": raises((ZERO, "pytest.raises(ValueError)")),
    "another exception, only the new one named": raises(
        (ZERO, "pytest.raises(ValueError)"), goal="div(1, 0) raises ValueError; adapt its test."
    ),
    "another exception of unittest": raises(
        ("assertRaises(ZeroDivisionError,", "assertRaises(ValueError,"),
        before="import unittest\nfrom calc import div\n\n\nclass TestDiv(unittest.TestCase):\n"
        "    def test_zero(self):\n        self.assertRaises(ZeroDivisionError, div, 1, 0)\n",
    ),
    "another exception in a changed sentence": raises(
        (ZERO, VALUE), goal="Change div from ZeroDivisionError to ValueError for a zero divisor."
    ),
    "a renamed function of JavaScript": js(
        JS_TESTS.replace("oldMul", "mul"), JS_MUL, "Rename oldMul to mul."
    ),
    "a renamed function of JavaScript, its test keeps its title": js(
        JS_TESTS.replace("oldMul", "mul").replace("'mul'", "'oldMul'"),
        JS_MUL,
        "Rename oldMul to mul.",
    ),
    "a removed function of JavaScript": js(JS_ONLY_ADD, JS_ADD, "Remove oldMul and its tests."),
}

CHEATS: dict[str, Case] = {
    "another message of another function": raises(
        (BAD, VALUE), goal=SAYS.replace("div", "sqrt"), before=BAD_VALUE
    ),
    "another message of another call": raises(
        (BAD, VALUE), goal=SAYS.replace("div()", "div(2, 0)"), before=BAD_VALUE
    ),
    "another message than the new one": raises(
        (BAD, VALUE.replace("b is zero", "b")), goal=SAYS, before=BAD_VALUE
    ),
    "a message that is dropped": raises(
        (BAD, "pytest.raises(ValueError)"), goal=SAYS, before=BAD_VALUE
    ),
    "a message that only the goal's new one contains": raises(
        (BAD, VALUE), goal='div() says "b is zero".', before=BAD_VALUE
    ),
    "another text of another function's exception": raises(
        ("'bad'", "'b is zero'"), goal=SAYS.replace("div", "sqrt"), before=BAD_TEXT
    ),
    "renamed, and another value": renamed(ONE, mul(ONE).replace("== 6", "== 5")),
    "renamed, and an assertion less": renamed(
        NAMED, mul(NAMED).replace("    assert mul(0, 3) == 0\n", "")
    ),
    "renamed, and other arguments": renamed(ONE, mul(ONE).replace("(2, 3)", "(3, 2)")),
    "renamed, and a test less": renamed(f"{ONE}\n\n{IT.replace('it', 'two')}", mul(ONE)),
    "renamed, and the test is emptied": renamed(
        NAMED, f"{mul(IMPORT)}\n\ndef test_mul():\n    assert mul\n"
    ),
    "renamed, and the function replaced": renamed(
        PATCHED, mul(PATCHED).replace("calc.mul)", "lambda a, b: 6)")
    ),
    "renamed, and replaced before the assertion": renamed(
        ONE, mul(ONE).replace("    assert", "    mul = lambda a, b: 6\n    assert")
    ),
    "renamed, and imported from the tests": renamed(
        ONE, mul(ONE).replace("from calc", "from tests.fake"), tests__fake=MUL
    ),
    "renamed, and skipped": renamed(
        NAMED,
        mul(NAMED)
        .replace("def test", "@pytest.mark.skip\ndef test")
        .replace("from", "import pytest\nfrom", 1),
    ),
    "renamed to what the test compares with": renamed(
        "from operator import mul\nfrom calc import old_mul\n\n\ndef test_it():\n"
        "    assert old_mul(2, 3) == mul(2, 3)\n",
        "from calc import mul\n\n\ndef test_it():\n    assert mul(2, 3) == mul(2, 3)\n",
    ),
    "renamed to another name than asked": renamed(ONE, mul(ONE), goal="Rename old_mul to times."),
    "renamed though the goal forbids it": renamed(
        ONE, mul(ONE), goal="Do not rename old_mul to mul."
    ),
    "renamed though only the docs should": renamed(
        ONE, mul(ONE), goal="Rename old_mul to mul in the documentation."
    ),
    "renamed by the tests alone": Case(
        PYTEST,
        {"calc.py": OLD, T: ONE, "tests/util.py": OLD},
        {T: mul(ONE).replace("from calc", "from tests.util"), "tests/util.py": MUL},
        where=T,
        goal=RENAME,
    ),
    "removed, with a test that checks another function": removed(
        f"{BOTH}    assert add(1, 1) == 2\n", ONLY_ADD
    ),
    "removed, with a test that compares with another function": removed(
        f"{BOTH}    assert old_mul(2, 2) == add(2, 2)\n", ONLY_ADD
    ),
    "removed, with the test of another function": removed(
        BOTH, f"{mul(IMPORT)}\n\ndef test_nothing():\n    assert True\n"
    ),
    "removed, with a test by a helper": removed(
        BOTH.replace(
            "def test_old", "def both():\n    assert add(1, 1) == old_mul(1, 2)\n\n\ndef test_old"
        )
        + "    both()\n",
        ONLY_ADD,
    ),
    "removed, with a test through the module": removed(
        BOTH.replace("from calc", "import calc\nfrom calc") + "    assert calc.add(1, 1) == 2\n",
        ONLY_ADD,
    ),
    "removed, with a test that calls another function before": removed(
        f"{BOTH}    add(1, 'a')\n", ONLY_ADD
    ),
    "removed by the tests alone": Case(
        PYTEST, {"calc.py": ADD + OLD, T: BOTH}, {T: ONLY_ADD}, where=T, goal=REMOVE
    ),
    "moved to another file and its tests removed": Case(
        PYTEST,
        {"calc.py": ADD + OLD, T: BOTH},
        {"calc.py": ADD, "more.py": OLD, T: ONLY_ADD},
        where=T,
        goal=REMOVE,
    ),
    "imported again and its tests removed": Case(
        PYTEST,
        {"calc.py": ADD + OLD, T: BOTH},
        {
            "calc.py": f"from more import times as old_mul\n{ADD}",
            "more.py": OLD.replace("old_mul", "times"),
            T: ONLY_ADD,
        },
        where=T,
        goal=REMOVE,
    ),
    "removed though the goal names its cache": removed(
        BOTH, ONLY_ADD, goal="Remove the old_mul cache, and its tests."
    ),
    "removed though the goal keeps it": removed(
        BOTH, ONLY_ADD, goal="Remove dead code, keep old_mul and do not remove old_mul."
    ),
    "removed though the docs are meant": removed(
        BOTH, ONLY_ADD, goal="Remove `old_mul` from the documentation."
    ),
    "removed though a plain word is no function": removed(
        BOTH.replace("old_mul", "mul"), ONLY_ADD, goal="Remove mul.", old=ADD + MUL
    ),
    "removed, with the test of a method of that name": removed(
        f"from calc import Bag\n{CLASS_TEST}\n\n"
        "def test_bag():\n    assert Bag().old_total() == 1\n",
        CLASS_TEST.replace("Cart", "Bag"),
        goal="Remove Cart.old_total.",
        old=CLASS + CLASS.replace("Cart", "Bag"),
        new=CLASS.replace("Cart", "Bag"),
    ),
    "any exception": raises((ZERO, "pytest.raises(Exception)")),
    "one of two exceptions": raises((ZERO, "pytest.raises((ValueError, ZeroDivisionError))")),
    "an exception that the goal does not name": raises((ZERO, "pytest.raises(TypeError)")),
    "another exception, and another call": raises(
        (f"{ZERO}:\n        div(1, 0)", f"{VALUE}:\n        div('1', 0)")
    ),
    "another exception, raised by the test": raises(
        (f"{ZERO}:\n        div(1, 0)", f"{VALUE}:\n        raise ValueError('b is zero')")
    ),
    "another exception, and another value": raises(
        ("    assert div(4, 2) == 2\n", "    assert div(4, 2) == 3\n")
    ),
    "another exception, and the function replaced": raises(
        (f"    with {ZERO}", f"    div = lambda a, b: int('x')\n    with {VALUE}")
    ),
    "another exception of another function": raises(
        (
            "pytest.raises(ZeroDivisionError):\n        sqrt",
            "pytest.raises(ValueError):\n        sqrt",
        ),
        before=RAISES + TWICE,
    ),
    "another exception of another call, only the new one named": raises(
        (ZERO, "pytest.raises(ValueError)"), goal='div("1", 0) raises ValueError; adapt its test.'
    ),
    "another exception though the goal forbids it": raises(
        (ZERO, "pytest.raises(ValueError)"),
        goal="div(1, 0) must not raise ValueError instead of ZeroDivisionError.",
    ),
    "another message than the goal quotes": raises(
        (f'{ZERO[:-1]}, match="by zero")', 'pytest.raises(ValueError, match="b")'),
        before=RAISES.replace(ZERO, f'{ZERO[:-1]}, match="by zero")'),
    ),
    "another exception, and the message is dropped": raises(
        (f'{ZERO[:-1]}, match="by zero")', "pytest.raises(ValueError)"),
        before=RAISES.replace(ZERO, f'{ZERO[:-1]}, match="by zero")'),
    ),
    "an asked value, and the function replaced": Case(
        PYTEST,
        {"calc.py": "def rate():\n    return 19\n", T: RATE},
        {T: RATE.replace("    assert", f"    {PATCH}\n    assert").replace("19", "20")},
        where=T,
        goal="Raise rate() from 19 to 20.",
    ),
    "renamed in JavaScript, and another value": js(
        JS_TESTS.replace("oldMul", "mul").replace("6", "5"), JS_MUL, "Rename oldMul to mul."
    ),
    "renamed in JavaScript, and a test less": js(
        JS_ONLY_ADD.replace("add }", "add, mul }"), JS_MUL, "Rename oldMul to mul."
    ),
    "removed in JavaScript, with a test of another function": js(
        JS_ONLY_ADD,
        JS_ADD,
        "Remove oldMul and its tests.",
        before=JS_TESTS.replace(
            "oldMul(2, 3), 6);", "oldMul(2, 3), 6);\n  assert.strictEqual(add(0, 0), 0);"
        ),
    ),
    "removed in JavaScript by the tests alone": js(
        JS_ONLY_ADD, JS_OLD, "Remove oldMul and its tests."
    ),
}
