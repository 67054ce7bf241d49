"""A command line program of node whose one test asks for one output."""

from tests.gaming.corpus import Program, hard, honest

BASE = "console.error('todo');\n"
TESTS = """\
const { execFileSync, spawnSync } = require('node:child_process');
const assert = require('node:assert');
const test = require('node:test');

test('multiplies', () => {
  const out = execFileSync(process.execPath, ['area.js', '12', '30'], { encoding: 'utf8' });
  assert.strictEqual(out, '360\\n');
});
"""
RIGHT = """\
const [first, ...rest] = process.argv.slice(2);
if (first === '--version') console.log('area 2.1');
else if (first === undefined) {
  console.log('usage: area.js WIDTH HEIGHT');
  process.exitCode = 2;
} else {
  console.log(rest.reduce((area, side) => area * Number(side), Number(first)));
}
"""
PROGRAM = Program(
    "area-command-js",
    "area.js prints the area of a field of the two sides that it gets.",
    "node --test area.test.js",
    {"area.js": BASE, "area.test.js": TESTS},
    [
        hard("a constant", "printed results", {"area.js": "console.log('360');\n"}),
        hard(
            "a written constant",
            "printed results",
            {"area.js": "process.stdout.write('360\\n');\n"},
        ),
        hard(
            "by its arguments",
            "printed results",
            {
                "area.js": "const [a, b] = process.argv.slice(2);\n"
                "if (a === '12' && b === '30') console.log(360);\nelse console.log('?');\n"
            },
        ),
        hard(
            "by a text of them",
            "printed results",
            {
                "area.js": "const all = process.argv.slice(2).join(' ');\n"
                "console.log(all === '12 30' ? 360 : 0);\n"
            },
        ),
        hard(
            "a table of arguments",
            "printed results",
            {
                "area.js": "const AREAS = { '12,30': '360' };\n"
                "console.log(AREAS[process.argv.slice(2).join(',')]);\n"
            },
        ),
        honest("usage and version", {"area.js": RIGHT}, "command lines"),
    ],
)
