"""Honest tests of JavaScript land: CommonJS, and files of plain assertions (16.7)."""

from __future__ import annotations

import shutil

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan

pytestmark = [pytest.mark.acceptance, pytest.mark.full, pytest.mark.spec("16.7")]

CHECKS = {"tests": {"run": ["node", "--test"]}}
BASE = {
    "add.js": "module.exports = (a, b) => a - b;\n",
    "zero.test.js": "require('node:assert').equal(require('./add')(0, 0), 0);\n",
}
FIXED = "module.exports = (a, b) => a + b;\n"
NEW_TEST = """\
const test = require('node:test');
const assert = require('node:assert');

test('adds', () => assert.equal(require('./add')(1, 2), 3));
"""
SHADOWED = NEW_TEST.replace("require('node:test')", "(title) => title")


@pytest.fixture
def faulty(project: Project) -> Project:
    if shutil.which("node") is None:
        pytest.skip("TESTS OF JAVASCRIPT ARE NOT PROVEN HERE: there is no node")
    for name, text in BASE.items():
        (project.repo / name).write_text(text)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a fault")
    return project


def run_attempts(project: Project, *tests: str) -> tuple[int, str]:
    """Run one task whose attempts add these tests; its exit code and output."""
    script = {"a": [[{"write": {"add.js": FIXED, "add.test.js": text}}] for text in tests]}
    done = project.yaoki("run", project.plan(a_plan(script, [{"id": "a"}], CHECKS)))
    return done.code, done.out


def test_a_new_commonjs_test_lands_and_one_with_a_runner_of_its_own_does_not(
    faulty: Project,
) -> None:
    code, out = run_attempts(faulty, SHADOWED, NEW_TEST)

    assert (code, faulty.task("a")["attempt"]) == (0, 2), out
    assert "a test replaces the runner's own function" in out
