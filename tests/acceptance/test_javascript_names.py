"""New files of node in the place of others: wrong work does not land, honest files do (16.7)."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan

pytestmark = [pytest.mark.acceptance, pytest.mark.full, pytest.mark.spec("16.7")]

CHECKS = {"tests": {"run": ["node", "--test", "test/calc.test.js"]}}
WRONG = "module.exports.add = (a, b) => a * b;\n"
RIGHT = "module.exports.add = (a, b) => a + b;\n"
WEAK = "module.exports.check = (value) => value !== undefined;\n"
BASE = {
    "lib/calc.js": "module.exports.add = (a, b) => a - b;\n",
    "package.json": json.dumps({"name": "app", "imports": {"#calc": "./lib/calc.js"}}),
    "test/helpers.js": (
        "const assert = require('node:assert');\nmodule.exports.check = assert.strictEqual;\n"
    ),
    "test/calc.test.js": (
        "const test = require('node:test');\nconst { check } = require('./helpers');\n"
        "const { add } = require('#calc');\n\ntest('adds', () => {\n  check(add(2, 3), 5);\n});\n"
    ),
}
NEARER = {
    "test/package.json": json.dumps({"imports": {"#calc": "./support.js"}}),
    "test/support.js": RIGHT,
}
BESIDE = {
    "test/new/package.json": json.dumps({"type": "module"}),
    "test/new/sum.test.js": (
        "import test from 'node:test';\nimport assert from 'node:assert';\n"
        "import calc from '../../lib/calc.js';\n\n"
        "test('sums', () => assert.strictEqual(calc.add(1, 2), 3));\n"
    ),
    "test/more.js": WEAK,
}


@pytest.fixture
def faulty(project: Project) -> Project:
    if shutil.which("node") is None:
        pytest.skip("TESTS OF JAVASCRIPT ARE NOT PROVEN HERE: there is no node")
    for path, text in BASE.items():
        file = project.repo / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a fault")
    return project


def run_attempt(project: Project, files: dict[str, str]) -> tuple[int, str]:
    """Run one task whose agent writes these files; its exit code and output."""
    done = project.yaoki(
        "run", project.plan(a_plan({"a": [[{"write": files}]]}, [{"id": "a"}], CHECKS))
    )
    return done.code, done.out


@pytest.mark.parametrize(
    ("files", "named"),
    [({"test/helpers": WEAK}, "test/helpers"), (NEARER, "test/package.json")],
    ids=["a-file-without-an-ending", "a-nearer-manifest"],
)
def test_a_new_file_that_an_older_test_loads_instead_asks_a_person(
    faulty: Project, files: dict[str, str], named: str
) -> None:
    code, out = run_attempt(faulty, {"lib/calc.js": WRONG, **files})

    assert code == 4, out
    assert f"passes only with the changed {named};" in out


def test_new_files_beside_older_tests_land(faulty: Project) -> None:
    code, out = run_attempt(faulty, {"lib/calc.js": RIGHT, **BESIDE})

    assert code == 0, out
