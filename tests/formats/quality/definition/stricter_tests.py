"""Honest changes of tests that ask for as much as before, or more."""

from __future__ import annotations

from tests.formats.quality.definition.cases import PYTEST, Case

T = "tests/test_app.py"
F = {"app.py": "def f(x):\n    return x\n"}
FIXED = {"app.py": "def f(x):\n    return x + 1\n"}
HEAD = "from app import f\n\n\n"
XFAIL = "@pytest.mark.xfail(reason='bug', strict=True)\n"
ADDS = "def test_f():\n    assert f(1) == 2\n"
OTHER = "\n\ndef test_other():\n    assert len('ab') == 2\n"
IMPORT = "import pytest\n"
CASES = "@pytest.mark.parametrize(('a', 'b'), [{}, (3, 4)])\n"
FITS = "def test_f(a, b):\n    assert f(a) == b\n"
MARKED = "pytest.param(1, 2, marks=pytest.mark.xfail(strict=True, reason='bug'))"
UNITTEST_CASE = (
    "import unittest\nfrom app import f\n\n\nclass TestF(unittest.TestCase):\n"
    "    @unittest.expectedFailure\n    def test_f(self):\n        self.assertEqual(f(1), 2)\n"
)
JEST = "const f = require('./app');\n{}('f', () => {{\n  expect(f(1)).toBe(2);\n}});\n"

NODE = (
    "const test = require('node:test');\nconst assert = require('node:assert');\n"
    "const { f, g: h } = require('./app');\n"
    "test('f', () => assert.strictEqual(f(1), 2));\n"
)
GROUPED = NODE.replace("const test =", "const { test, describe } =").replace(
    "test('f', () => assert.strictEqual(f(1), 2));",
    "describe('f', () => {\n  test('f', () => assert.strictEqual(f(1), 2));\n});",
)
MODULE = (
    "import test from 'node:test';\nimport assert from 'node:assert/strict';\n"
    "import {\n  f,\n  g as h,\n} from './app.js';\n"
    "test('f', () => assert.strictEqual(f(1), 2));\n"
).replace("node:assert/strict", "assert")
OWN = {"app.js": "exports.f = (n) => n + 1;\n", "app.mjs": "export const f = (n) => 2;\n"}

BOTH_WAYS = (
    "from app import g\n\n\ndef check_both_ways(a, b, total):\n"
    "    assert g(a, b) == total\n    assert g(b, a) == total\n"
)
G_TEST = "from app import g\n\n\ndef test_g():\n    assert g(2, 3) == 5\n    assert g(3, 2) == 5\n"
CALLS = "from tests.helpers import check_both_ways\n\n\ndef test_g():\n    {}(2, 3, 5)\n"
RAISES = (
    "import pytest\nfrom app import f\n\n\ndef test_f():\n"
    "    with pytest.raises(ValueError):\n        f(-1)\n"
)
REFUSED = (
    "import pytest\nfrom app import f\n\n\ndef assert_refused(value):\n"
    "    with pytest.raises(ValueError):\n        f(value)\n\n\n"
    "def test_f():\n    assert_refused(-1)\n"
)
NEXT = (
    f"{BOTH_WAYS}\n\ndef check_twice(a, b, total):\n    check_both_ways(a, b, total)\n"
    "    check_both_ways(b, a, total)\n"
)
DOUBLE = (
    f"{HEAD}{ADDS}\n\ndef test_zero():\n    assert f(0) == 1\n\n\n"
    "def test_zero():\n    assert f(2) == 3\n"
)


SAME = "def test_same():\n    assert f(1) == f(1)\n    assert f(1) == 2\n"
TAPE = (
    "const test = require('tape');\nconst f = require('./app');\n"
    "test('f', (t) => {\n  t.test('inner', (st) => {\n    const x = f(1);\n"
    "    st.deepEqual(x, { a: y });\n    st.end();\n  });\n});\n"
)
TRUTHS = ("ok", "pass", "truthy", "assert", "true")
DEEP = "st.deepEqual(x, { a: y });"


def tape(after: str, *, unsure: bool = False) -> Case:
    base = {"app.js": "", "app.test.js": TAPE}
    changed = {"app.test.js": TAPE.replace(DEEP, after)}
    return Case("npx tape", base, changed, where="app.test.js", unsure=unsure)


# The file has a row of each value already.
ROWS = (
    "const f = require('./app');\nconst rows = [['q', { a: 2, b: 3 }], ['0=foo', 0, 'foo']];\n"
    "test('f', (t) => {\n  LINE\n});\n"
)


def matcher(before: str, after: str, *, unsure: bool = False) -> Case:
    base, changed = ({"app.test.js": ROWS.replace("LINE", line)} for line in (before, after))
    return Case("npx jest", base, changed, where="app.test.js", unsure=unsure)


def helped(before: str, after: str, helpers: str = "") -> Case:
    changed = {T: after, **({"tests/helpers.py": helpers} if helpers else {})}
    return Case(PYTEST, {**F, T: before}, changed, where=T, unsure=True)


def node(after: str, *, unsure: bool = False) -> Case:
    base = {**OWN, "app.test.js": NODE}
    return Case("node --test", base, {"app.test.js": after}, where="app.test.js", unsure=unsure)


def fixed(before: str, after: str) -> Case:
    return Case(PYTEST, {**F, T: before}, {**FIXED, T: after}, where=T)


STRICTER: dict[str, Case] = {
    "a fixed bug whose test is no longer expected to fail": fixed(
        IMPORT + HEAD + XFAIL + ADDS + OTHER, HEAD + ADDS + OTHER
    ),
    "all tests of a file expected to fail no longer": fixed(
        IMPORT + HEAD + "pytestmark = pytest.mark.xfail(strict=True)\n\n\n" + ADDS, HEAD + ADDS
    ),
    "a case that is no longer expected to fail": fixed(
        IMPORT + HEAD + CASES.format(MARKED) + FITS, IMPORT + HEAD + CASES.format("(1, 2)") + FITS
    ),
    "a named case that is no longer expected to fail": fixed(
        IMPORT + HEAD + CASES.format(MARKED.replace(", marks", ", id='one', marks")) + FITS,
        IMPORT + HEAD + CASES.format("pytest.param(1, 2, id='one')") + FITS,
    ),
    "a method that is no longer expected to fail": fixed(
        UNITTEST_CASE, UNITTEST_CASE.replace("    @unittest.expectedFailure\n", "")
    ),
    "a test of Jest that is no longer expected to fail": Case(
        "npx jest",
        {"app.test.js": JEST.format("test.failing")},
        {"app.test.js": JEST.format("test")},
    ),
    "assertions in a new helper": helped(G_TEST, CALLS.format("check_both_ways"), BOTH_WAYS),
    "assertions in a helper of a new helper": helped(G_TEST, CALLS.format("check_twice"), NEXT),
    "an expected exception in a new helper": helped(RAISES, REFUSED),
    "the second of two tests with one name gets its own": fixed(
        DOUBLE, "test_two".join(DOUBLE.rsplit("test_zero", 1))
    ),
    "two results of one call in another form": helped(
        HEAD + SAME, HEAD + SAME.replace("== f(1)", "== f(1) == 2")
    ),
    "a comparison of Tape in another form": tape("st.ok(x.a === y);", unsure=True),
    "one more assertion of Tape": tape(f"{DEEP}\n    st.ok(x);"),
    "a step of a test that asserts nothing": Case(
        "npx jest",
        {"app.test.js": TAPE.replace("st.deep", "st.click('#a');\n    st.deep")},
        {"app.test.js": TAPE.replace("st.deep", "st.click('#b');\n    st.deep")},
        unsure=True,
    ),
    "a value in another form": matcher(
        "expect(f(1)).toEqual({ a: 2 });", "expect(f(1)).toStrictEqual({ a: 2 });", unsure=True
    ),
    "an error with its message": matcher(
        "expect(() => f(1)).toThrow(TypeError);",
        "expect(() => f(1)).toThrow(new TypeError('no'));",
        unsure=True,
    ),
    "values that become new rows of a table": matcher(
        "expect(f(1)).toEqual({ a: 2 });",
        "for (const [n, a] of [[1, 2], [2, 4]]) expect(f(n)).toEqual({ a });",
        unsure=True,
    ),
    "tests of Node in a group": node(GROUPED),
    "a test of Node that becomes a module": node(MODULE),
    "a module beside the program": node(MODULE.replace("./app.js", "./app.mjs"), unsure=True),
    "a package that may be the project itself": node(
        MODULE.replace("./app.js", "app"), unsure=True
    ),
    "a test of Node that is no longer to be done": Case(
        "node --test",
        {"app.test.js": JEST.format("test").replace("'f', ", "'f', { todo: true }, ")},
        {"app.test.js": JEST.format("test")},
    ),
}

WEAKER: dict[str, Case] = {
    "the comparison of two results of one call": fixed(
        HEAD + SAME, HEAD + SAME.replace("    assert f(1) == f(1)\n", "")
    ),
    "any result instead of the same one": fixed(
        HEAD + SAME, HEAD + SAME.replace("== f(1)", "is not None")
    ),
    "the same result instead of a value": fixed(
        HEAD + ADDS.replace("2", "1"), HEAD + ADDS.replace("2", "f(1)")
    ),
    "the same result of a method instead of a value": fixed(
        UNITTEST_CASE, UNITTEST_CASE.replace("(f(1), 2)", "(f(1), f(1))")
    ),
    "a part of a value": matcher(
        "expect(f(1)).toEqual({ a: 2 });", "expect(f(1)).toMatchObject({});"
    ),
    "a part of a value with all its members": matcher(
        "expect(f(1)).toEqual({ a: 2 });", "expect(f(1)).toMatchObject({ a: 2 });"
    ),
    "a list that contains the value": matcher(
        "expect(f(1)).toEqual([2]);", "expect(f(1)).toContain(2);"
    ),
    "any error": matcher("expect(() => f(1)).toThrow(TypeError);", "expect(() => f(1)).toThrow();"),
    "any error of Node": matcher(
        "assert.throws(() => f(1), TypeError);", "assert.throws(() => f(1));"
    ),
    "any error of Chai": matcher(
        "expect(() => f(1)).to.throw(TypeError);", "expect(() => f(1)).to.throw();"
    ),
    "a type of Chai instead of a value": matcher(
        "expect(f(1)).to.deep.equal({ a: 3 });", "expect(f(1)).to.be.an('object');"
    ),
    "a part of Chai instead of a value": matcher(
        "expect(f(1)).to.deep.equal({ a: 3 });", "expect(f(1)).to.include({});"
    ),
    "truth instead of a value that a row has": matcher(
        "t.deepEqual(f('0=foo'), { 0: 'foo' });", "t.ok(f('0=foo'));"
    ),
    **{f"{word} of Tape instead of a value": tape(f"st.{word}(x);") for word in TRUTHS},
    "a value of Tape that is gone": tape(""),
    "pass of Tape with the values": tape("st.pass({ a: y });"),
    "a new helper that asserts less": helped(
        G_TEST,
        CALLS.format("check_both_ways"),
        "def check_both_ways(a, b, total):\n    assert a\n",
    ),
    "a new helper of another function": helped(
        G_TEST, CALLS.format("check_both_ways"), BOTH_WAYS.replace("g(", "h(")
    ),
    "a new helper that asserts nothing": helped(
        G_TEST, CALLS.format("check_both_ways"), "def check_both_ways(a, b, total):\n    pass\n"
    ),
    "a new helper without the values": helped(
        G_TEST, CALLS.format("check_both_ways").replace("5", "6"), BOTH_WAYS
    ),
    "a renamed test of another value": fixed(
        DOUBLE, "test_two".join(DOUBLE.rsplit("test_zero", 1)).replace("== 3", "== 2")
    ),
}
