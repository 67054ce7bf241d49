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


def node(after: str, *, unsure: bool = False) -> Case:
    base = {**OWN, "app.test.js": NODE}
    return Case("node --test", base, {"app.test.js": after}, where="app.test.js", unsure=unsure)


def fixed(before: str, after: str) -> Case:
    return Case(PYTEST, {**F, T: before}, {**FIXED, T: after})


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
