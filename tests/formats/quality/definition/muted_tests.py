"""Tests that keep their name and no longer assert anything: class 5 of false success."""

from __future__ import annotations

from tests.formats.quality.definition.cases import PYTEST, Case

T = "tests/test_app.py"
HEAD = "import unittest\nfrom app import f\n\n\n"
ONE = HEAD + "def test_f():\n    assert f(1) == 2\n"
CASE = (
    HEAD
    + "class TestF(unittest.TestCase):\n    def test_f(self):\n        self.assertEqual(f(1), 2)\n"
)
RAISES = (
    "import pytest\nfrom app import f\n\n\ndef test_f():\n"
    '    with pytest.raises(ValueError, match="bad"):\n        f(-1)\n'
)
TABLE = (
    "import pytest\nfrom app import f\n\nCASES = [(1, 2), (2, 3)]\n\n\n"
    "@pytest.mark.parametrize('a, b', CASES)\ndef test_f(a, b):\n"
    "    assert f(a) == b\n"
)
LOOP = HEAD + "def test_f():\n    for a, b in [(1, 2), (2, 3)]:\n        assert f(a) == b\n"
HELPED = (
    "from tests.helpers import check\nfrom app import f\n\n\ndef test_f():\n    check(f(1), 2)\n"
)
HELPERS = "def check(a, b):\n    assert a == b\n"
JS = "const f = require('./app');\ntest('f', () => {\n  expect(f(1)).toBe(2);\n});\n"
GO = 'func TestF(t *testing.T) {\n\tif f(1) != 2 {\n\t\tt.Fatal("f")\n\t}\n}\n'


def py(before: str, after: str | None, **more: str | None) -> Case:
    return Case(
        PYTEST, {T: before, "app.py": "def f(x):\n    return x + 1\n"}, {T: after, **more}, where=T
    )


def js(after: str) -> Case:
    return Case("npx jest", {"app.test.js": JS}, {"app.test.js": after}, where="app.test.js")


def go(after: str) -> Case:
    return Case("go test ./...", {"a_test.go": GO}, {"a_test.go": after}, where="a_test.go")


def helper(after: str, **more: str | None) -> Case:
    base = {T: HELPED, "tests/helpers.py": HELPERS, "app.py": "def f(x):\n    return x\n"}
    return Case(PYTEST, base, {"tests/helpers.py": after, **more}, where="tests/helpers.py")


def asked(before: str, edit: tuple[str, str], goal: str) -> Case:
    return Case(PYTEST, {T: before}, {T: before.replace(*edit)}, where=T, goal=goal)


def removed(goal: str, more: dict[str, str | None], used: str = "") -> Case:
    test = f"from old import old\n{used}\n\ndef test_old():\n    assert old() == 1\n"
    base = {"old.py": "def old():\n    return 1\n", "app.py": "def f(x):\n    return x\n"}
    where = "tests/test_old.py"
    return Case(PYTEST, {**base, where: test}, {where: None, **more}, where=where, goal=goal)


VARIABLE = "from app import h\n\n\ndef test_h():\n    result = h()\n    assert result == 2\n"
TEXT = "from app import f\n\n\ndef test_f():\n    assert f(1) == 'Bob Smith'\n"
EXAMPLE = 'def f(x):\n    """One more.\n\n    >>> f(1)\n    2\n    """\n    return x\n'
EDITED = EXAMPLE.replace("    2\n", "    1\n")


def example(command: str, **settings: str) -> Case:
    return Case(command, {"app.py": EXAMPLE, **settings}, {"app.py": EDITED}, where="app.py")


MUTES: dict[str, Case] = {
    "an example that pytest runs": example(f"{PYTEST} --doctest-modules"),
    "an example that the settings name": example(
        PYTEST, **{"pytest.ini": "[pytest]\naddopts = --doctest-modules\n"}
    ),
    "an expected value that the goal does not name": asked(ONE, ("== 2", "== 4"), "f gives 3."),
    "an expected value whose old value the goal does not name": asked(
        ONE, ("== 2", "== 3"), "Write f(x) for 3 users."
    ),
    "another input than the goal's new value": asked(ONE, ("f(1)", "f(3)"), "3 instead of 1."),
    "a short text of the goal": asked(ONE, ("== 2", "== 'a'"), "It is a rule."),
    "the old value in place of the new one": asked(
        ONE, ("== 2", "== 3"), "f(1) is 2 instead of 3."
    ),
    "two numbers of the goal that do not replace each other": asked(
        ONE, ("== 2", "== 3"), "Write f so that it takes 2 or 3 values."
    ),
    "a value of a function that the goal does not name": asked(
        ONE, ("== 2", "== 3"), "Raise the default number of retries from 2 to 3."
    ),
    "a value that the goal forbids to change": asked(
        ONE, ("== 2", "== 3"), "Do not change the value of f from 2 to 3."
    ),
    "a value that the goal forbids to change, in Japanese": asked(
        ONE, ("== 2", "== 3"), "fの結果を2から3に変えないでください。"
    ),
    "a value of a variable": asked(
        VARIABLE, ("== 2", "== 3"), "f(1) gives 3 instead of 2; h is as before."
    ),
    "the last value of a row": asked(TABLE, ("(2, 3)]", "(2, 4)]"), "f(2): 4 instead of 3."),
    "a text that another one of the goal replaces": asked(
        TEXT, ("'Bob Smith'", "'unknown'"), "f gives 'unknown' for a missing key."
    ),
    "another call than the goal's": asked(ONE, ("== 2", "== 3"), "f(7) gives 3 instead of 2."),
    "another function than the goal's": asked(ONE, ("== 2", "== 3"), "g(1) gives 3, not 2."),
    "a word of the goal": asked(ONE, ("== 2", "== 'gives'"), "f gives 3 instead of 2."),
    "a part of the goal's message": asked(
        RAISES, ('"bad"', '"not be"'), 'The message of f is "must not be negative".'
    ),
    "another message of the goal": asked(
        RAISES, ('"bad"', '"must not be negative"'), 'It says "must not be negative" or "bad".'
    ),
    "the first value of a row": asked(TABLE, ("(2, 3)]", "(9, 3)]"), "9 instead of 2."),
    "options that leave tests out": Case(
        PYTEST,
        {T: ONE, "pytest.ini": "[pytest]\naddopts = -q\n"},
        {"pytest.ini": "[pytest]\naddopts = -q --durations=5 -k nothing\n"},
        where="pytest.ini",
    ),
    "strict marks that are off": Case(
        PYTEST,
        {T: ONE, "pytest.ini": "[pytest]\naddopts = -q --strict-markers\n"},
        {"pytest.ini": "[pytest]\naddopts = -q -ra\n"},
        where="pytest.ini",
    ),
    "tests of a module of which a part is to be removed": removed(
        "Remove the function legacy from old.py and its tests.", {"old.py": None}
    ),
    "tests of a module that must not be removed": removed(
        "Remove what nobody uses, but do not remove old.py.", {"old.py": None}
    ),
    "tests that also start a program": removed(
        "Remove old.py and its tests.", {"old.py": None}, "import subprocess\n"
    ),
    "tests of a module that is old": removed("Remove the old module.", {"old.py": None}),
    "tests of a module of another name": removed(
        "Remove the module old loader and its tests.", {"old.py": None}
    ),
    "tests of a module of which a function goes": removed(
        "Remove legacy from the module old and its tests.", {"old.py": None}
    ),
    "tests that use a module that stays beside a named one": removed(
        "Remove the module old and its tests.", {"old.py": None}, "from app import f\n"
    ),
    "tests of a module that stays": removed("Remove old.py and its tests.", {}),
    "tests of a module that nobody asked to remove": removed("Tidy up.", {"old.py": None}),
    "tests that use a module that stays": removed(
        "Remove old.py and its tests.", {"old.py": None}, "from app import f\n"
    ),
    "another encoding of the tests": Case(
        PYTEST,
        {T: ONE, "app.py": "def f(x):\n    return x + 1\n"},
        {".gitattributes": "test_*.py working-tree-encoding=ISO-8859-1\n"},
        where=".gitattributes",
    ),
    "a hidden settings file": Case(
        PYTEST,
        {T: ONE, "app.py": "def f(x):\n    return x + 1\n"},
        {".pytest.toml": '[pytest]\naddopts = ["--deselect", "tests/test_app.py::test_f"]\n'},
        where=".pytest.toml",
    ),
    "redefined further down": py(ONE, ONE + "\n\ndef test_f():\n    assert f\n"),
    "redefined as nothing": py(ONE, ONE + "\n\ndef test_f():\n    pass\n"),
    "assigned over": py(ONE, ONE + "\n\ntest_f = None\n"),
    "a lambda in its place": py(ONE, ONE + "\n\ntest_f = lambda: None\n"),
    "deleted by del": py(ONE, ONE + "\n\ndel test_f\n"),
    "deleted from the class": py(CASE, CASE + "\n\ndel TestF.test_f\n"),
    "deleted by delattr": py(CASE, CASE + "\n\ndelattr(TestF, 'test_f')\n"),
    "set on the class": py(CASE, CASE + "\n\nTestF.test_f = lambda self: None\n"),
    "set by setattr": py(CASE, CASE + "\n\nsetattr(TestF, 'test_f', print)\n"),
    "the class redefined": py(CASE, CASE + "\n\nclass TestF(unittest.TestCase):\n    pass\n"),
    "moved to a base class that nobody collects": py(
        CASE,
        CASE.replace("class TestF(unittest.TestCase)", "class Base")
        + "\n\nclass TestF(unittest.TestCase):\n    pass\n",
    ),
    "a class under another name": py(CASE, CASE.replace("TestF(unittest.TestCase)", "FChecks")),
    "a class that is no test case": py(
        CASE.replace("TestF", "FCase"), CASE.replace("TestF(unittest.TestCase)", "FCase")
    ),
    "a class with a constructor": py(
        CASE.replace("(unittest.TestCase)", ""),
        CASE.replace("(unittest.TestCase)", "") + "\n    def __init__(self):\n        pass\n",
    ),
    "a class marked as no test": py(CASE, CASE + "\n    __test__ = False\n"),
    "a function under another name": py(ONE, ONE.replace("def test_f", "def check_f")),
    "a generator": py(ONE, ONE.replace("assert f(1) == 2", "yield\n    assert f(1) == 2")),
    "in a try that swallows": py(
        ONE,
        HEAD
        + (
            "def test_f():\n    try:\n        assert f(1) == 2\n"
            "    except AssertionError:\n        pass\n"
        ),
    ),
    "in a try that swallows all": py(
        ONE,
        HEAD
        + "def test_f():\n    try:\n        assert f(1) == 2\n    except:\n        print('x')\n",
    ),
    "in a try whose end returns": py(
        ONE,
        HEAD + "def test_f():\n    try:\n        assert f(1) == 2\n    finally:\n        return\n",
    ),
    "in a block that suppresses": py(
        ONE, HEAD + "def test_f():\n    with suppress(AssertionError):\n        assert f(1) == 2\n"
    ),
    "expected to fail by itself": py(
        ONE,
        HEAD + "def test_f():\n    with pytest.raises(AssertionError):\n        assert f(1) == 2\n",
    ),
    "a loop over an empty list": py(LOOP, LOOP.replace("[(1, 2), (2, 3)]", "[]")),
    "a loop around it over nothing": py(
        ONE, HEAD + "def test_f():\n    for _ in range(0):\n        assert f(1) == 2\n"
    ),
    "a table emptied": py(TABLE, TABLE.replace("[(1, 2), (2, 3)]", "[]")),
    "a case of a table gone": py(TABLE, TABLE.replace("(1, 2), ", "")),
    "a case of a table edited": py(TABLE, TABLE.replace("(1, 2)", "(1, 9)")),
    "an empty table for the parameters": py(
        TABLE.replace("CASES)", "[(1, 2)])"), TABLE.replace("CASES)", "[])")
    ),
    "an edited expectation": py(ONE, ONE.replace("== 2", "== 3")),
    "an edited expectation of unittest": py(CASE, CASE.replace("f(1), 2)", "f(1), 3)")),
    "an edited constant": py(
        HEAD + "WANT = 2\n\n\ndef test_f():\n    assert f(1) == WANT\n",
        HEAD + "WANT = 3\n\n\ndef test_f():\n    assert f(1) == WANT\n",
    ),
    "an expectation that became a result": py(ONE, ONE.replace("== 2", "== f(1)")),
    "equality that became truth": py(ONE, ONE.replace("f(1) == 2", "f(1)")),
    "equality that became presence": py(ONE, ONE.replace("== 2", "is not None")),
    "equality that became one of many": py(ONE, ONE.replace("== 2", "in (2, 3)")),
    "assertEqual that became assertIsNotNone": py(
        CASE, CASE.replace("assertEqual(f(1), 2)", "assertIsNotNone(f(1))")
    ),
    "an assertion with a way out": py(ONE, ONE.replace("f(1) == 2", "f(1) == 2 or True")),
    "an assertion of a tuple": py(ONE, ONE.replace("f(1) == 2", "(f(1) == 2, 'x')")),
    "a tolerance of a thousand": py(
        HEAD + "def test_f():\n    assert abs(f(1) - 2) < 0.01\n",
        HEAD + "def test_f():\n    assert abs(f(1) - 2) < 1000\n",
    ),
    "bodies swapped": py(
        ONE + "\n\ndef test_g():\n    assert f(5) == 6\n",
        ONE.replace("f(1) == 2", "f(5) == 6") + "\n\ndef test_g():\n    assert f(1) == 2\n",
    ),
    "one of two assertions gone": py(ONE + "    assert f(2) == 3\n", ONE),
    "an assertion in a function that nobody calls": py(
        ONE, HEAD + "def test_f():\n    def inner():\n        assert f(1) == 2\n"
    ),
    "a return before it": py(ONE, ONE.replace("    assert", "    f(1)\n    return\n    assert")),
    "emptied while moved": Case(
        PYTEST,
        {T: ONE},
        {T: None, "tests/test_new.py": HEAD + "def test_f():\n    assert f\n"},
        where=T,
    ),
    "moved to a file that nobody collects": Case(
        PYTEST, {T: ONE}, {T: None, "tests/old_app.py": ONE}, where=T
    ),
    "a raise that is no longer expected": py(
        HEAD + "def test_f():\n    with pytest.raises(ValueError):\n        f(-1)\n",
        HEAD + "def test_f():\n    f(-1)\n",
    ),
    "a raise of anything": py(
        HEAD + "def test_f():\n    with pytest.raises(ValueError):\n        f(-1)\n",
        HEAD + "def test_f():\n    with pytest.raises(Exception):\n        f(-1)\n",
    ),
    "a helper loosened": helper("def check(a, b):\n    assert a is not None\n"),
    "a helper emptied": helper("def check(a, b):\n    pass\n"),
    "a helper redefined": helper(HELPERS + "\n\ndef check(a, b):\n    return True\n"),
    "a helper that swallows": helper(
        "def check(a, b):\n    try:\n        assert a == b\n    except Exception:\n        pass\n"
    ),
    "a helper in the file of the tests": py(
        (
            "from app import f\n\n\ndef check(a, b):\n    assert a == b\n\n\n"
            "def test_f():\n    check(f(1), 2)\n"
        ),
        (
            "from app import f\n\n\ndef check(a, b):\n    assert a\n\n\n"
            "def test_f():\n    check(f(1), 2)\n"
        ),
    ),
    "a helper of a method": py(
        CASE.replace(
            "self.assertEqual(f(1), 2)",
            "self.same(f(1), 2)\n\n    def same(self, a, b):\n        self.assertEqual(a, b)",
        ),
        CASE.replace(
            "self.assertEqual(f(1), 2)",
            "self.same(f(1), 2)\n\n    def same(self, a, b):\n        self.assertIsNotNone(a)",
        ),
    ),
    "an assertion of node loosened": js(JS.replace("toBe(2)", "toBeDefined()")),
    "an expectation of node edited": js(JS.replace("toBe(2)", "toBe(3)")),
    "an assertion of node gone": js(JS.replace("expect(f(1)).toBe(2);", "f(1);")),
    "an assertion of node swallowed": js(
        JS.replace("expect(f(1)).toBe(2);", "try { expect(f(1)).toBe(2); } catch (e) {}")
    ),
    "an assertion of node in an empty loop": js(
        JS.replace("expect(f(1)).toBe(2);", "[].forEach(() => { expect(f(1)).toBe(2); });")
    ),
    "the runner of node replaced": js("const test = () => {};\n" + JS),
    "a condition of go edited": go(GO.replace("!= 2", "!= 3")),
    "a condition of go that never holds": go(GO.replace("f(1) != 2", "false")),
    "a panic of go recovered": go(GO.replace("\tif", "\tdefer func() { recover() }()\n\tif")),
    "a test of node in a file of another name": Case(
        "npx jest",
        {"app.test.js": JS},
        {"app.test.js": None, "app.old.js": JS},
        where="app.test.js",
    ),
}

# A second look with the base's version decides about these.
DOUBTS: dict[str, Case] = {
    "the same number with another sign": py(ONE, HEAD + "def test_f():\n    assert f(1) == -2\n"),
    "the same numbers in other places": py(
        HEAD + "def test_f():\n    assert f(3, 1) == 2\n",
        HEAD + "def test_f():\n    assert f(1, 3) == 2\n",
    ),
    "the same list in another order": py(
        HEAD + "def test_f():\n    assert f([2, 1]) == [1, 2]\n",
        HEAD + "def test_f():\n    assert f([2, 1]) == [2, 1]\n",
    ),
    "a table with another sign": py(
        HEAD + "def test_f():\n    assert f(1) == 2\n",
        HEAD
        + "def test_g():\n    for x, wanted in ((1, -2), (3, 4)):\n        assert f(x) == wanted\n",
    ),
    "another sign in javascript": js(JS.replace("toBe(2)", "toBe(-2)")),
    "another sign in go": go(GO.replace("!= 2", "!= -2")),
    "an assertion of its own": py(
        CASE, CASE + "\n    def assertEqual(self, *given):\n        pass\n"
    ),
    "subtests of its own": py(
        CASE, CASE + "\n    def subTest(self, **given):\n        return suppress(Exception)\n"
    ),
    "under a new condition": py(
        ONE, HEAD + "def test_f():\n    if ready():\n        assert f(1) == 2\n"
    ),
    "another function under the old name": py(
        ONE, "from tests.fake import f\n\n\ndef test_f():\n    assert f(1) == 2\n"
    ),
    "the function replaced in the test": py(
        ONE, HEAD + "def test_f():\n    f = lambda x: 2\n    assert f(1) == 2\n"
    ),
    "the function replaced in the file": py(
        ONE, HEAD + "f = lambda x: 2\n\n\ndef test_f():\n    assert f(1) == 2\n"
    ),
    "data that a test compares the program with": Case(
        PYTEST,
        {
            T: "from app import f\n\n\ndef test_f():\n"
            "    assert f(1) == int(open('a.csv').read())\n",
            "a.csv": "2",
            "app.py": "def f(x):\n    return x\n",
        },
        {"a.csv": "1"},
        where="a.csv",
    ),
    "a decorator that may do anything": py(
        ONE, HEAD + "@quiet\ndef test_f():\n    assert f(1) == 2\n"
    ),
    "other input": py(
        HEAD + "def test_f():\n    x = f(1)\n    assert x == 2\n",
        HEAD + "def test_f():\n    x = 2\n    assert x == 2\n",
    ),
    "a fixture that changed": py(
        HEAD
        + (
            "@pytest.fixture\ndef one():\n    return f(1)\n\n\ndef test_f(one):\n"
            "    assert one == 2\n"
        ),
        HEAD
        + "@pytest.fixture\ndef one():\n    return 2\n\n\ndef test_f(one):\n    assert one == 2\n",
    ),
}
