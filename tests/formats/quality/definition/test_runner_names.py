"""Names of a JavaScript runner may be bound to a test library, and not be replaced (16.7)."""

from __future__ import annotations

import pytest

from tests.formats.quality.definition.cases import Case, review_case

pytestmark = pytest.mark.spec("16.7")

BASE = {
    "package.json": '{"scripts": {"test": "node --test"}}\n',
    "add.js": "module.exports = (a, b) => a + b;\n",
    "test/helpers.js": "module.exports = require('node:test');\n",
    "test/support/index.js": "module.exports = require('node:assert');\n",
}
ASSERT = "const assert = require('node:assert');\n"
BODY = "test('adds', () => { assert.equal(require('../add')(1, 2), 3); });\n"

BINDINGS = (
    "const test = require('node:test');",
    "var test = require('node:test')",
    "let test = require('test').test;",
    "const { test } = require('node:test');",
    "const { describe, it } = require('node:test');",
    "const { it: test } = require('mocha');",
    "const t = require('node:test');",
    "var test = require('tape');",
    'var test = require("tape").test',
    "var test = require('tape'), assert = require('assert');",
    "const test = require('tape'),\n  assert = require('assert').strict;",
    "const test = require('ava').default;",
    "const {test, expect} = require('@jest/globals');",
    "const expect = require('@jest/globals').expect;",
    "const describe = require('mocha').describe;\nconst it = require('mocha').it;",
    "const test = require('uvu').test;",
    "const { suite } = require('uvu');\nconst test = suite('add');",
    "const test = require('baretest')('add');",
    "const test = require('tap').test\nconst assert = require('power-assert')",
    "const test = require('zora').test;",
    "const jasmine = require('jasmine');\nconst it = jasmine.it;",
    "const chai = require('chai');\nconst expect = chai.expect;\nconst assert = chai.assert;",
    "const chai = require('chai')\nglobal.expect = chai.expect",
    "const assert = require('node:assert/strict');",
    "const assert = require('assert').strict;",
    "const expect = require('expect');",
    "const test = require('./helpers');",
    "const test = require('./helpers.js').test;",
    "const helpers = require('./helpers');\nconst test = helpers.test;",
    "const assert = require('./support');",
    "let test;\ntry {\n  test = require('node:test');\n} catch {\n  test = require('tape');\n}",
    "import test from 'node:test';\nimport assert from 'node:assert';",
    "import assert = require('assert');",
    "import { createRequire } from 'node:module';\n"
    "const require = createRequire(import.meta.url);\nconst test = require('tape');",
    "import { test as base } from '@playwright/test';\n"
    "export const test = base.extend({\n  page: async ({ page }, use) => { use(page); },\n});",
    "import { test as base } from 'vitest'\nconst it = base.extend<{ n: number }>({ n: 1 })",
    "const url = '/search?test=1&it=2';",
    'const page = `<button data-test="save"></button>`;',
    "const $test = 1;",
)

REPLACEMENTS = (
    "test = () => {};",
    "const test = () => {};",
    "const it = () => {};",
    "const it = function () {};",
    "var describe = (name, body) => body;",
    "global.it = () => {};",
    "globalThis.test = (name) => name;",
    "function test(name) {}",
    "const expect = () => new Proxy({}, {});",
    "const assert = { equal() {} };",
    "assert.equal = () => {};",
    "const test = require('node:test') && (() => {});",
    "const test = require('node:test')\n  && (() => {});",
    "const test = require('node:test').skip;",
    "const test = require('node:test').bind(null, () => {});",
    "const nothing = require('node:test');\nconst test = nothing.skip;",
    "const { skip } = require('node:test');\nconst test = skip;",
    "import { skip } from 'node:test';\nconst test = skip;",
    "let base = require('node:test');\nbase = () => {};\nconst test = base;",
    "const assert = require('node:test');",
    "const test = require('noop');",
    "const test = require('./fake');",
    "const fake = require('./fake');\nconst test = fake.test;",
    "const test = require('../../elsewhere/helpers');",
    "const base = require('node:test');\nconst test = base.extend({}) && (() => {});",
    "const base = () => {};\nconst test = base.extend({});",
    "const require = () => () => {};\nconst test = require('node:test');",
    "function require() { return () => {}; }\nconst test = require('node:test');",
    "eval('test = () => {}');",
)


@pytest.mark.parametrize("head", BINDINGS)
def test_a_new_file_may_bind_the_names_of_a_test_library(head: str) -> None:
    path = "test/add.test.ts" if "<{" in head or "import assert =" in head else "test/add.test.js"
    text = head + "\n" + ("" if "assert" in head else ASSERT) + BODY

    assert review_case(Case("node --test", BASE, {path: text})).weakened == ()


@pytest.mark.parametrize("head", REPLACEMENTS)
def test_a_new_file_may_not_replace_a_function_of_the_runner(head: str) -> None:
    new = {"test/add.test.js": f"{head}\n{BODY}", "test/fake.js": "module.exports = () => {};\n"}

    found = review_case(Case("node --test", BASE, new))

    assert "a test replaces the runner's own function" in {item.message for item in found.weakened}


def test_a_file_that_now_loads_its_runner_is_not_weakened() -> None:
    before = "import test from 'node:test';\nimport assert from 'node:assert';\n" + BODY
    after = "const test = require('node:test');\n" + ASSERT + BODY
    path = "test/add.test.js"

    found = review_case(Case("node --test", {**BASE, path: before}, {path: after}))

    assert found.weakened == ()


@pytest.mark.parametrize("head", REPLACEMENTS)
def test_a_file_that_now_replaces_its_runner_is_weakened(head: str) -> None:
    path, before = "test/add.test.js", "const test = require('node:test');\n" + ASSERT + BODY
    new = {path: f"{before}{head}\n", "test/fake.js": "module.exports = () => {};\n"}

    found = review_case(Case("node --test", {**BASE, path: before}, new))

    assert "a test replaces the runner's own function" in {item.message for item in found.weakened}
