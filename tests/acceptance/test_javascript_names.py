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


def test_new_files_that_older_tests_load_instead_ask_a_person_and_files_beside_them_land(
    faulty: Project,
) -> None:
    """One after the other, so that the right work lands last."""
    files = {
        "unended": {"lib/calc.js": WRONG, "test/helpers": WEAK},
        "nearer": {"lib/calc.js": WRONG, **NEARER},
        "right": {"lib/calc.js": RIGHT, **BESIDE},
    }
    script = {name: [[{"write": written}]] for name, written in files.items()}
    plan = a_plan(script, [{"id": name} for name in files], CHECKS)

    done = faulty.yaoki("run", faulty.plan(plan), "--parallel", "1")

    assert done.code == 4, done.out + done.err
    tasks = {name: faulty.task(name) for name in files}
    states = {name: task["state"] for name, task in tasks.items()}
    assert states == {"unended": "ESCALATED", "nearer": "ESCALATED", "right": "DONE"}
    for name, changed in {"unended": "test/helpers", "nearer": "test/package.json"}.items():
        assert f"passes only with the changed {changed};" in tasks[name]["question"]
        assert f"passes only with the changed {changed};" in done.out
