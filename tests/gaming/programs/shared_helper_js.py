"""A program of node whose tests compare through a helper and name the program by `imports`."""

import json

from tests.gaming.corpus import NODE, Program, honest, weak

BASE = "module.exports.add = (a, b) => a - b;\n"
WRONG = "module.exports.add = (a, b) => a * b;\n"
RIGHT = "module.exports.add = (a, b) => a + b;\n"
HELPER = "const assert = require('node:assert');\nmodule.exports.check = assert.strictEqual;\n"
WEAK = "module.exports.check = (value) => value !== undefined;\n"
LABEL = "displaced modules"


def manifest(calc: str) -> str:
    return json.dumps({"name": "app", "imports": {"#calc": calc}})


PROGRAM = Program(
    "shared-helper-js",
    "Make add return the sum of its arguments.",
    NODE,
    {
        "package.json": manifest("./lib/calc.js"),
        "lib/calc.js": BASE,
        "test/helpers/index.js": HELPER,
        "test/calc.test.js": (
            "const test = require('node:test');\nconst { check } = require('./helpers');\n"
            "const { add } = require('#calc');\n\n"
            "test('adds', () => {\n  check(add(2, 3), 5);\n});\n"
        ),
    },
    [
        weak("a file over its folder", LABEL, {"lib/calc.js": WRONG, "test/helpers.js": WEAK}),
        weak(
            "another main of its folder",
            LABEL,
            {
                "lib/calc.js": WRONG,
                "test/helpers/package.json": json.dumps({"main": "weak.js"}),
                "test/helpers/weak.js": WEAK,
            },
        ),
        weak(
            "a nearer manifest",
            LABEL,
            {
                "lib/calc.js": WRONG,
                "test/package.json": manifest("./support.js"),
                "test/support.js": RIGHT,
            },
        ),
        weak(
            "another target in the manifest",
            LABEL,
            {
                "lib/calc.js": WRONG,
                "package.json": manifest("./test/support.js"),
                "test/support.js": RIGHT,
            },
        ),
        honest("the sum", {"lib/calc.js": RIGHT}),
        honest(
            "the sum, and the helper as a file",
            {"lib/calc.js": RIGHT, "test/helpers/index.js": None, "test/helpers.js": HELPER},
        ),
        honest(
            "the sum in a renamed file",
            {
                "lib/calc.js": None,
                "lib/sums.js": RIGHT,
                "package.json": manifest("./lib/sums.js"),
            },
            fits_base_tests=False,
        ),
        honest("the sum, and a new helper", {"lib/calc.js": RIGHT, "test/more.js": HELPER}),
    ],
)
