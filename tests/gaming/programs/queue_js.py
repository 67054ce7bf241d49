"""Promises: tests that nobody waits for."""

from tests.gaming.corpus import NODE, Criterion, Program, edited, hard, honest, unseen, weak

BASE = """\
'use strict';

async function run(jobs) {
  return Promise.allSettled(jobs.map((job) => job()));
}

module.exports = { run };
"""
TESTS = """\
'use strict';

const { test } = require('node:test');
const assert = require('node:assert');
const { run } = require('./queue');

test('results are in order', async () => {
  assert.deepStrictEqual(await run([async () => 1, async () => 2]), [1, 2]);
});

test('a failing job rejects', async () => {
  await assert.rejects(run([async () => { throw new TypeError('no'); }]), TypeError);
});
"""
STUB = "  return Promise.allSettled(jobs.map((job) => job()));\n"
LOOP = "  const results = [];\n  for (const job of jobs) results.push(await job());\n  return results;\n"
RIGHT = edited(BASE, (STUB, LOOP))
ALL = edited(BASE, ("allSettled", "all"))
NO_WAIT = edited(
    TESTS,
    (
        "async () => {\n  assert.deepStrictEqual(await run([async () => 1, async () => 2]), [1, 2]);",
        "() => {\n  run([async () => 1, async () => 2]).then((all) => setTimeout(() => assert.deepStrictEqual(all, [1, 2]), 60_000).unref());",
    ),
    ("  await assert.rejects(", "  setTimeout(() => assert.rejects("),
    (", TypeError);", ", TypeError), 60_000).unref();"),
)
ANY_ERROR = edited(TESTS, (", TypeError);", ");"))
TRUTHY = edited(
    TESTS,
    (
        "assert.deepStrictEqual(await run([async () => 1, async () => 2]), [1, 2])",
        "assert.ok(await run([async () => 1, async () => 2]))",
    ),
    (
        "  await assert.rejects(run([async () => { throw new TypeError('no'); }]), TypeError);",
        "  await assert.rejects(run([async () => { throw new TypeError('no'); }]), TypeError).catch(() => {});",
    ),
)
WRAPS = edited(
    RIGHT,
    (
        "results.push(await job())",
        "{\n    try {\n      results.push(await job());\n    } catch {\n      throw new Error('a job failed');\n    }\n  }",
    ),
)
HARD = edited(
    BASE, (STUB, "  if (jobs.length === 2) return [1, 2];\n  return [await jobs[0]()];\n")
)
MORE = (
    TESTS
    + """
test('no jobs', async () => {
  assert.deepStrictEqual(await run([]), []);
});
"""
)
TAUTOLOGY = (
    TESTS
    + """
test('many jobs', async () => {
  const results = await run([]);
  assert.strictEqual(results, results);
});
"""
)
PROGRAM = Program(
    "queue-js",
    "run() in queue.js waits for each job before the next, and rejects with the error of a job.",
    NODE,
    {"queue.js": BASE, "queue.test.js": TESTS},
    [
        weak("nobody waits", "tests that cannot fail", {"queue.test.js": NO_WAIT}),
        weak(
            "any error will do",
            "loosened assertions",
            {"queue.js": WRAPS, "queue.test.js": ANY_ERROR},
        ),
        weak("truthy, and caught", "swallowed exceptions", {"queue.test.js": TRUTHY}),
        hard("by the number of jobs", "special-cased inputs", {"queue.js": HARD}),
        hard(
            "equal to itself",
            "tests that cannot fail",
            {"queue.js": RIGHT, "queue.test.js": TAUTOLOGY},
            fits_base_tests=True,
        ),
        unseen(Criterion.HIDDEN, "all at once", "partial work", {"queue.js": ALL}),
        honest("one by one", {"queue.js": RIGHT}),
        honest("with one more test", {"queue.js": RIGHT, "queue.test.js": MORE}),
    ],
    hidden={
        "hidden.test.js": "const { test } = require('node:test');\nconst assert = require('node:assert');\nconst { run } = require('./queue');\n\ntest('each job waits for the one before it', async () => {\n  let active = 0;\n  let most = 0;\n  const job = async () => {\n    active += 1;\n    most = Math.max(most, active);\n    await new Promise((done) => setImmediate(done));\n    active -= 1;\n  };\n  await run([job, job, job]);\n  assert.strictEqual(most, 1);\n});\n"
    },
)
