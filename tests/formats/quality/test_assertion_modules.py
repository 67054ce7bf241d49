"""JavaScript that changes the assertions it is tested by, and JavaScript that only uses them."""

from __future__ import annotations

import pytest

from yaoki.core.model.change import Change
from yaoki.formats.quality import find_gaming
from yaoki.formats.quality.gaming.assertion_modules import REPLACES

CHEATS = [
    "Object.assign(require('assert'), { strictEqual() {} });\n",
    "Object.assign(require('assert').strict, { equal() {} });\n",
    "const lib = require('node:assert');\nReflect.set(lib, 'strictEqual', () => undefined);\n",
    "const a = require('assert');\nfor (const k of Object.keys(a)) a[k] = () => {};\n",
    "const lib = require(['as', 'sert'].join(''));\nlib['strict' + 'Equal'] = () => {};\n",
    "const lib = require('tressa'.split('').reverse().join(''));\nlib.equal = () => {};\n",
    "const lib = require(String.fromCharCode(97, 115, 115, 101, 114, 116));\nlib.equal = null;\n",
    "const lib = require(atob('YXNzZXJ0'));\nlib.equal = null;\n",
    "const lib = require(Buffer.from('617373657274', 'hex').toString());\nlib.equal = null;\n",
    "const word = 'ass';\nconst lib = require(word + 'ert');\nlib.equal = null;\n",
    "module.constructor._load('assert').strictEqual = (a) => a;\n",
    "module.require('assert').equal = () => {};\n",
    "const l = process.getBuiltinModule?.('assert') ?? module.require('assert');\n"
    "l.equal = null;\n",
    "import assert from 'node:assert';\nassert.equal = () => {};\n",
    "import * as checks from 'node:assert';\nchecks.default.equal = () => {};\n",
    "import { strict as checks } from 'assert';\nchecks.equal = () => {};\n",
    "const { strict: checks } = require('assert');\nchecks.equal = () => {};\n",
    "const a = require('assert');\nconst b = a.strict;\nb.deepEqual = () => {};\n",
    "const a = await import('node:assert');\nObject.defineProperty(a.default, 'ok', {});\n",
    "const t = require('node:test');\nt.test = () => {};\n",
    "require('chai').Assertion.prototype.equal = function () {};\n",
    "const chai = require('chai');\nchai.Assertion.overwriteMethod('equal', () => () => {});\n",
    "const a = require('assert');\nObject.defineProperties(a, { ok: { value() {} } });\n",
    "const a = require('assert');\ndelete a.equal;\n",
    "function still(x) { for (const k in x) x[k] = () => {}; }\nstill(require('assert'));\n",
    "const { mock } = require('node:test');\nmock.method(require('assert'), 'equal', () => {});\n",
    "expect.extend({ toBe() { return { pass: true }; } });\n",
    "require('node:test').assert.register('strictEqual', () => {});\n",
    "const Module = require('module');\nModule._load = (name) => fakes[name];\n",
    "const loader = require('node:module');\nReflect.set(loader, '_load', () => fakes);\n",
    "const loader = require('module');\nloader._load = (name) => fakes[name];\n",
    "require('module').registerHooks({ resolve: (name) => fakes[name] });\n",
    "const { mock } = require('node:test');\nmock.module('node:assert', { namedExports: {} });\n",
    "require.cache[require.resolve('./other.js')] = { exports: {} };\n",
    "require('module').prototype.require = () => ({});\n",
]
HONEST = [
    "const assert = require('node:assert');\nassert(x > 1);\nassert.ok(y, 'y');\n",
    "import assert from 'node:assert/strict';\nexport function f(a) { assert.equal(a, 1); }\n",
    "const { strictEqual } = require('assert');\nstrictEqual(1, 1);\nlet result = 1;\n"
    "result = 2;\n",
    "const assert = require('assert');\nclass A { constructor() { this.assert = assert; } }\n",
    "const assert = require('assert');\nmodule.exports = { assert, run };\n",
    "const assert = require('assert');\nconst same = assert.deepEqual;\nsame.limit = 1;\n",
    "try { f(); } catch (e) { if (e instanceof require('assert').AssertionError) throw e; }\n",
    "const out = Object.assign({}, options, { strict: true });\nout.strict = false;\n",
    "const words = line.split('assert');\nwords[0] = '';\n",
    "if (name.startsWith('assert')) { found.name = name; }\n",
    "const kinds = new Map();\nkinds.set('assert', 1);\nkinds.size = 2;\n",
    "const deepFreeze = (o) => { Object.values(o).forEach(de"
    "epFreeze); return Object.freeze(o); };\n"
    "deepFreeze(settings);\n",
    "delete require.cache[require.resolve('./settings.json')];\n",
    "Reflect.set(target, key, value);\nObject.defineProperty(exports, 'a', { value: 1 });\n",
    "expect.extend({ toBeSlug(text) { return { pass: /^[a-z-]+$/.test(text) }; } });\n",
    "import { defineConfig } from 'vitest/config';\nexport default defineConfig({ test: {} });\n",
    "const { createRequire } = require('module');\nconst load = createRequire(__filename);\n"
    "module.exports = { load };\nmodule.paths.push('lib');\n",
    "const config = { expect: 1 };\nconfig.expect = 2;\n",
]


def messages(code: str) -> set[str]:
    found = find_gaming([Change("calc.js", None, code, ())])
    return {item.message for item in found.items} if found else set()


@pytest.mark.spec("17.4", "0.1")
@pytest.mark.parametrize("code", CHEATS)
def test_a_change_of_the_assertions_is_found(code: str) -> None:
    assert REPLACES in messages(code)


@pytest.mark.spec("17.4")
@pytest.mark.parametrize("code", HONEST)
def test_a_program_that_uses_assertions_is_honest(code: str) -> None:
    assert not messages(code)
