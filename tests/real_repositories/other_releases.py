"""Releases of JavaScript and Rust packages, one for each test runner."""

from __future__ import annotations

from tests.real_repositories.repository import Registry, Repository, added

JAVASCRIPT = (
    Repository(
        "string-hash",
        "1.1.3",
        "npm, mocha",
        "npm run --silent test",
        added("index.js", "function hash(", "function seed() {\n  return 5381;\n}\n\n"),
        (("index.js", "hash * 33", "hash * 31"),),
        registry=Registry.NPM,
    ),
    Repository(
        "concat-map",
        "0.0.1",
        "npm, tape",
        "npm run --silent test",
        added("index.js", "var isArray =", "var none = [];\n\n"),
        (("index.js", "res.push.apply(res, x)", "res.push(x)"),),
        registry=Registry.NPM,
        is_further=True,
    ),
    Repository(
        "glob-to-regexp",
        "0.4.1",
        "npm, node alone",
        "npm run --silent test",
        added("index.js", "  // The regexp we are", "  var parts = [];\n"),
        (("index.js", 'reStr += "\\\\" + c;', "reStr += c;"),),
        registry=Registry.NPM,
        is_further=True,
    ),
    Repository(
        "@fastify/forwarded",
        "3.1.2",
        "npm, node's own runner",
        "npm run --silent test",
        added("index.js", "  let end = ", "  const none = 0\n"),
        (("index.js", "? [socketAddr, remote]", "? [remote, socketAddr]"),),
        registry=Registry.NPM,
        # Its own script also measures coverage and compiles types with tools of a later node.
        manifest={"scripts": {"test": "node --test"}, "devDependencies": {}},
    ),
    Repository(
        "array-flatten",
        "3.0.0",
        "npm, jest",
        "npm run --silent test",
        added("dist/index.js", "function $flatten(", "var nothing = [];\n"),
        (("dist/index.js", "$flatten(value, result);", "result.push(value[0]);"),),
        registry=Registry.NPM,
        is_further=True,
        # The release has the compiled tests and not the sources that its scripts compile.
        manifest={
            "scripts": {"test": "jest"},
            "devDependencies": {"jest": "^29.0.0", "ts-expect": "^1.1.0"},
            "jest": {"roots": ["<rootDir>/dist/"]},
        },
    ),
    Repository(
        "devalue",
        "6.0.3",
        "npm, vitest",
        "npx --no-install vitest run",
        added("src/utils.js", "export class DevalueError", "export const no_keys = [];\n\n"),
        (("src/utils.js", "keys.length = array_index_cut(keys);", "keys.length -= 1;"),),
        registry=Registry.NPM,
        # The release lacks the configuration that its script names.
        manifest={"scripts": {}, "devDependencies": {"vitest": "^3.0.0"}},
    ),
)

RUST = (
    Repository(
        "librust-itoa-dev",
        "",
        "cargo",
        "cargo test",
        added(
            "src/lib.rs",
            "/// An integer that can be",
            "/// Ten.\npub const BASE: u8 = 10;\n",
        ),
        (("src/lib.rs", "let is_nonnegative = self >= 0;", "let is_nonnegative = self > 0;"),),
        registry=Registry.DEBIAN,
    ),
)
