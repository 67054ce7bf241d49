"""Code under test cannot replace the assertions of node, however it reaches them."""

from __future__ import annotations

import os
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from yaoki.adapters.checks import CheckDispatcher
from yaoki.adapters.checks.environment import protect_node_assertions
from yaoki.adapters.processes.process_trees import ShimProcesses
from yaoki.core.model import CheckSpec, Finding, Outcome
from yaoki.ports import commit_facts

pytestmark = pytest.mark.spec("17.4")
CHECKS = CheckDispatcher(ShimProcesses(), timedelta(seconds=30), {"PATH": os.environ["PATH"]})
TESTS = """\
const test = require('node:test');
const assert = require('node:assert');
const strict = require('node:assert/strict');
const { sum } = require('./sum.js');
test('loose', () => { assert.strictEqual(sum(1, 2), 3); });
test('strict', () => { strict.equal(sum(2, 2), 4); });
"""
WRONG = "exports.sum = () => 0;\n"
REPLACING = [
    "Object.assign(require('assert'), { strictEqual() {} });"
    " Object.assign(require('assert').strict, { equal() {} });\n",
    "for (const lib of [require('assert'), require('assert').strict]) {"
    " for (const name of Object.keys(lib)) { lib[name] = () => {}; } }\n",
    "const lib = module.constructor._load(['as', 'sert'].join(''));"
    " Reflect.set(lib, 'strictEqual', () => {}); Reflect.set(lib.strict, 'equal', () => {});\n",
    "const put = (lib, key) => Object.defineProperty(lib, key, { value() {} });"
    " put(module.require('assert'), 'strictEqual'); put(modu"
    "le.require('assert').strict, 'equal');\n",
    "const lib = process.getBuiltinModule?.('assert') ?? require('assert'); delete lib.strictEqual;"
    " lib.strictEqual = () => {}; lib.strict.equal = () => {};\n",
]
HELPERS = """\
const test = require('node:test');
const assert = require('node:assert');
const { sum } = require('./sum.js');
assert.isThree = (value) => assert.equal(value, 3);
test('a mock of another object', (t) => {
  const clock = { now: () => 1 };
  t.mock.method(clock, 'now', () => 3);
  assert.isThree(clock.now());
});
test('sum', () => { assert.isThree(sum(1, 2)); });
"""


def run_tests(folder: Path, program: str, tests: str = TESTS, **env: str) -> Finding:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    tree = folder / "a folder"
    tree.mkdir()
    (tree / "sum.js").write_text(program)
    (tree / "sum.test.js").write_text(tests)
    spec = CheckSpec("tests", argv=("node", "--test", "sum.test.js"), env=env)
    return CHECKS.check(spec, tree, folder / "logs", facts=commit_facts(""), stop=lambda: False)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("replacing", REPLACING)
@pytest.mark.parametrize("mode", ["'use strict';\n", ""], ids=["strict", "sloppy"])
def test_replaced_assertions_do_not_pass(tmp_path: Path, replacing: str, mode: str) -> None:
    assert run_tests(tmp_path, mode + replacing + WRONG).outcome is Outcome.FAILED


def test_the_plan_can_switch_it_off(tmp_path: Path) -> None:
    """It also shows that nothing else refuses these replacements."""
    finding = run_tests(tmp_path, REPLACING[0] + WRONG, NODE_OPTIONS="")

    assert finding.outcome is Outcome.PASSED


def test_tests_may_add_assertions_and_mock_other_objects(tmp_path: Path) -> None:
    finding = run_tests(tmp_path, "exports.sum = (a, b) => a + b;\n", HELPERS)

    assert finding.outcome is Outcome.PASSED, finding.message


def test_code_under_test_sees_no_trace_of_it(tmp_path: Path) -> None:
    program = (
        "const own = JSON.stringify([process.env.NODE_OPTIONS, Object.keys(require.cache)]);\n"
        "exports.sum = (a, b) => (/preload/.test(own) ? 0 : a + b);\n"
    )

    assert run_tests(tmp_path, program).outcome is Outcome.PASSED


def test_only_checks_that_may_start_node_get_it(tmp_path: Path) -> None:
    def options(own: dict[str, str], *words: str) -> str | None:
        return protect_node_assertions(own, own, words, [tmp_path]).get("NODE_OPTIONS")

    assert options({}, "python3", "-m", "pytest") is None
    assert "--require" in (options({}, "/usr/bin/node", "--test") or "")
    own = options({"NODE_OPTIONS": "--enable-source-maps"}, "npm", "test") or ""
    assert own.startswith('--enable-source-maps --require "')
    (tmp_path / "package.json").write_text("{}")
    assert "--require" in (options({}, "make", "test") or "")
