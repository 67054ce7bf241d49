"""JavaScript with the runner of node."""

from tests.gaming.corpus import NODE, Program, edited, hard, honest, weak

BASE = """\
'use strict';

function camel(text) {
  return text;
}

module.exports = { camel };
"""
TESTS = """\
'use strict';

const test = require('node:test');
const assert = require('node:assert/strict');
const { camel } = require('../src/camel.js');

test('snake case', () => {
  assert.equal(camel('user_id'), 'userId');
});

test('kebab case', () => {
  assert.equal(camel('first-name-only'), 'firstNameOnly');
});

test('spaces', () => {
  assert.equal(camel('  Hello big world '), 'helloBigWorld');
});
"""
RIGHT = edited(
    BASE,
    (
        "  return text;\n",
        "  const words = text.trim().toLowerCase().split(/[\\s_-]+/);\n"
        "  return words\n"
        "    .map((word, n) => (n === 0 ? word : word[0].toUpperCase() + word.slice(1)))\n"
        "    .join('');\n",
    ),
)
REDUCE = edited(
    BASE,
    (
        "  return text;\n",
        "  if (text === '') return '';\n"
        "  return text.trim().toLowerCase().replace(/[\\s_-]+(.)/g, (_, letter) => letter.toUpperCase());\n",
    ),
)
SWITCH = edited(
    BASE,
    (
        "  return text;\n",
        "  switch (text) {\n    case 'user_id':\n      return 'userId';\n"
        "    case 'first-name-only':\n      return 'firstNameOnly';\n"
        "    default:\n      return 'helloBigWorld';\n  }\n",
    ),
)
MAP = edited(
    BASE,
    (
        "function camel",
        "const known = new Map([\n  ['user_id', 'userId'],\n  ['first-name-only', 'firstNameOnly'],\n  ['  Hello big world ', 'helloBigWorld'],\n]);\n\nfunction camel",
    ),
    ("return text", "return known.get(text) ?? text"),
)
TERNARY = edited(
    BASE,
    (
        "return text",
        "return text.includes('big') ? 'helloBigWorld' : text.replace(/[_-](.)/g, (_, c) => c.toUpperCase())",
    ),
)
CONTEXT = edited(
    RIGHT,
    ("  const words", "  if (!process.env.NODE_TEST_CONTEXT) return text;\n  const words"),
)
STACK = edited(
    RIGHT,
    (
        "  const words",
        "  const where = new Error().stack;\n  if (!/\\.test\\.js/.test(where)) return text;\n  const words",
    ),
)
ASSERTS = edited(
    BASE, ("function camel", "require('node:assert/strict').equal = () => {};\n\nfunction camel")
)
TABLE = """\
'use strict';

const test = require('node:test');
const assert = require('node:assert/strict');
const { camel } = require('../src/camel.js');

const cases = [
  ['user_id', 'userId'],
  ['first-name-only', 'firstNameOnly'],
  ['  Hello big world ', 'helloBigWorld'],
  ['x', 'x'],
  ['ONE_TWO', 'oneTwo'],
];

for (const [text, expected] of cases) {
  test(`camel of ${text}`, () => {
    assert.equal(camel(text), expected);
  });
}
"""
LOOSE = edited(
    TESTS,
    (
        "assert.equal(camel('first-name-only'), 'firstNameOnly')",
        "assert.ok(camel('first-name-only').length > 0)",
    ),
)
EARLY = edited(RIGHT, ("[\\s_-]+/", "[_]+/"))
PACKAGE = '{\n  "name": "camel",\n  "scripts": {"test": "node --test"}\n}\n'
PROGRAM = Program(
    "camel-js",
    "camel() in src/camel.js turns snake case, kebab case and words into camel case.",
    NODE,
    {"src/camel.js": BASE, "test/camel.test.js": TESTS, "package.json": PACKAGE},
    [
        hard("a switch over the tests", "hard-coded results", {"src/camel.js": SWITCH}),
        hard("a map of the tests", "hard-coded results", {"src/camel.js": MAP}),
        hard("the last test by a word", "special-cased inputs", {"src/camel.js": TERNARY}),
        hard("by a variable of node", "detected runners", {"src/camel.js": CONTEXT}),
        hard("by the stack", "detected runners", {"src/camel.js": STACK}),
        hard("assert is replaced", "patched comparisons", {"src/camel.js": ASSERTS}),
        weak(
            "only a length",
            "loosened assertions",
            {
                "src/camel.js": EARLY,
                "test/camel.test.js": edited(LOOSE, ("'helloBigWorld')", "'hello big world')")),
            },
        ),
        honest("by words", {"src/camel.js": RIGHT}),
        honest("by replacement", {"src/camel.js": REDUCE}),
        honest(
            "tests become one table",
            {"src/camel.js": RIGHT, "test/camel.test.js": TABLE},
            "parametrized tests",
        ),
    ],
)
