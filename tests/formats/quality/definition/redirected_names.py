"""Manifests that lead older tests to other files, and honest manifests."""

from __future__ import annotations

import json

from tests.formats.quality.definition.cases import Case
from tests.formats.quality.definition.displaced_modules import JS, JS_TEST, WORK, manifest, node

NAMED_TEST = (
    "const test = require('node:test');\nconst assert = require('node:assert');\n"
    "const { add } = require('%s');\n\n"
    "test('adds', () => {\n  assert.strictEqual(add(2, 3), 5);\n});\n"
)
IMPORTS = {
    "lib/calc.js": JS["lib/calc.js"],
    "test/calc.test.js": NAMED_TEST % "#calc",
    "package.json": json.dumps({"name": "app", "imports": {"#calc": "./lib/calc.js"}}),
}
OWN_NAME = {
    "lib/calc.js": JS["lib/calc.js"],
    "test/calc.test.js": NAMED_TEST % "app",
    "package.json": json.dumps({"name": "app", "exports": "./lib/calc.js"}),
}
ALIAS = {
    "lib/calc.ts": "export const add = (a: number, b: number) => a - b;\n",
    "test/calc.test.ts": "import { test, expect } from 'vitest';\nimport { add } from '@/calc';\n"
    "test('adds', () => {\n  expect(add(2, 3)).toBe(5);\n});\n",
    "tsconfig.json": '{\n  // names\n  "compilerOptions": {"paths": {"@/*": ["./lib/*"]},}\n}\n',
    "package.json": '{"devDependencies": {"vitest": "1"}}',
}
RIGHT = {"test/support.js": "exports.add = (a, b) => a + b;\n"}
REDIRECTED: dict[str, Case] = {
    "a nearer manifest with imports": node(
        IMPORTS, "test/package.json", manifest(imports={"#calc": "./support.js"}), RIGHT
    ),
    "a nearer manifest with imports by condition": node(
        IMPORTS,
        "test/package.json",
        manifest(imports={"#calc": {"node": "./support.js"}}),
        RIGHT,
    ),
    "a nearer manifest with a pattern": node(
        IMPORTS, "test/package.json", manifest(imports={"#*": "./*.js"}), {"test/calc.js": WORK}
    ),
    "other imports of the manifest": node(
        IMPORTS,
        "package.json",
        manifest(name="app", imports={"#calc": "./test/support.js"}),
        RIGHT,
    ),
    "a nearer manifest that is deleted": node(
        {**IMPORTS, "test/package.json": manifest(imports={"#calc": "../lib/calc.js"})},
        "test/package.json",
        "",
        {"test/package.json": None},
    ),
    "a nearer manifest with the name of the package": node(
        OWN_NAME, "test/package.json", manifest(name="app", exports="./support.js"), RIGHT
    ),
    "a nearer manifest with the name of a path of the package": node(
        {
            **OWN_NAME,
            "test/calc.test.js": NAMED_TEST % "app/calc",
            "package.json": manifest(name="app", exports={"./calc": "./lib/calc.js"}),
        },
        "test/package.json",
        manifest(name="app", exports={"./*": "./support.js"}),
        RIGHT,
    ),
    "a nearer manifest with the name of a dependency": node(
        {**JS, "test/calc.test.js": JS_TEST % "chai"},
        "test/package.json",
        manifest(name="chai", exports="./support.js"),
        RIGHT,
    ),
    "exports that lead into the tests": node(
        OWN_NAME, "package.json", manifest(name="app", exports="./test/support.js"), RIGHT
    ),
    "a nearer manifest of another type": node(JS, "test/package.json", manifest(type="module")),
    "nearer paths of TypeScript": node(
        ALIAS,
        "test/tsconfig.json",
        '{"extends": "../tsconfig.json", "compilerOptions": {"paths": {"@/*": ["./*"]}}}',
        {"test/calc.ts": "export const add = 5;\n"},
    ),
    "other paths of TypeScript": node(
        ALIAS,
        "tsconfig.json",
        '{"compilerOptions": {"paths": {"@/*": ["./test/*"]}}}',
        {"test/calc.ts": "export const add = 5;\n"},
    ),
}
NOT_REDIRECTED: dict[str, Case] = {
    "a manifest with a dependency": node(
        IMPORTS,
        "package.json",
        manifest(name="app", imports={"#calc": "./lib/calc.js"}, dependencies={"a": "1"}),
    ),
    "another import that no older test uses": node(
        IMPORTS,
        "package.json",
        manifest(name="app", imports={"#calc": "./lib/calc.js", "#sum": "./lib/sum.js"}),
        {"lib/sum.js": "exports.sum = 1;\n"},
    ),
    "an import that follows a renamed module": node(
        IMPORTS,
        "package.json",
        manifest(name="app", imports={"#calc": "./lib/sums.js"}),
        {"lib/calc.js": None, "lib/sums.js": "exports.add = (a, b) => a + b;\n"},
    ),
    "exports of a built file": node(
        OWN_NAME, "package.json", manifest(name="app", exports="./lib/main.js")
    ),
    "a manifest beside tests that use only files": node(
        JS, "test/package.json", manifest(private=True)
    ),
    "a manifest in an example": node(
        IMPORTS, "examples/package.json", manifest(imports={"#calc": "./calc.js"})
    ),
    "more paths of TypeScript": node(
        ALIAS,
        "tsconfig.json",
        '{"compilerOptions": {"paths": {"@/*": ["lib/*"], "~/*": ["./app/*"]}}}',
    ),
    "nearer settings of TypeScript that extend the others": node(
        ALIAS, "test/tsconfig.json", '{"extends": "../tsconfig.json"}'
    ),
}
