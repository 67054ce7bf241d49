"""New files that older tests load in place of untouched ones, and honest files beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tests.formats.quality.definition.cases import PYTEST, UNITTEST, Case

NODE_TEST = "node --test"
NOTHING: Mapping[str, str | None] = MappingProxyType({})
HELPER = "def check(value, expected):\n    assert value == expected\n"
WEAK = "def check(value, expected):\n    return value is not None\n"
WORK = "def add(a, b):\n    return a + b\n"
BODY = "\n\n\ndef test_add():\n    check(add(2, 3), 5)\n"
PY = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "tests/__init__.py": "",
    "tests/helpers.py": HELPER,
    "tests/test_calc.py": f"from calc import add\nfrom tests.helpers import check{BODY}",
}
FLAT = {
    "calc.py": PY["calc.py"],
    "tests/helpers.py": HELPER,
    "tests/test_calc.py": f"from calc import add\nfrom helpers import check{BODY}",
}
ATTRIBUTE = {
    **PY,
    "tests/test_calc.py": (
        "from calc import add\nfrom tests import helpers\n\n\ndef test_add():\n"
        "    helpers.check(add(2, 3), 5)\n"
    ),
}
NAMESPACE = {
    "calc.py": PY["calc.py"],
    "tests/helpers/checks.py": HELPER,
    "tests/test_calc.py": f"from calc import add\nfrom helpers.checks import check{BODY}",
}
FAKE = "class helpers:\n    @staticmethod\n    def check(value, expected):\n        return True\n"
JS_HELPER = "const assert = require('node:assert');\nexports.check = assert.strictEqual;\n"
JS_WEAK = "exports.check = (a) => a !== undefined;\n"
JS_TEST = (
    "const test = require('node:test');\nconst { check } = require('%s');\n"
    "const { add } = require('../lib/calc');\n\n"
    "test('adds', () => {\n  check(add(2, 3), 5);\n});\n"
)
JS = {
    "lib/calc.js": "exports.add = (a, b) => a - b;\n",
    "test/calc.test.js": JS_TEST % "./helpers",
    "test/helpers.js": JS_HELPER,
}
JS_FOLDER = {
    "lib/calc.js": JS["lib/calc.js"],
    "test/calc.test.js": JS["test/calc.test.js"],
    "test/helpers/index.js": JS_HELPER,
}
JS_BASE = {path: text for path, text in JS.items() if path != "test/helpers.js"}


Also = Mapping[str, str | None]


def python(
    base: Mapping[str, str], where: str, text: str, also: Also = NOTHING, **more: Any
) -> Case:
    return Case(PYTEST, base, {where: text, **also}, where=where, unsure=True, **more)


def node(base: Mapping[str, str], where: str, text: str, also: Also = NOTHING, **more: Any) -> Case:
    return Case(NODE_TEST, base, {where: text, **also}, where=where, unsure=True, **more)


def manifest(**values: Any) -> str:
    return json.dumps(values)


DISPLACED_PYTHON: dict[str, Case] = {
    "a package over a module": python(PY, "tests/helpers/__init__.py", WEAK),
    "a package over a module of a folder that is no package": python(
        FLAT, "tests/helpers/__init__.py", WEAK
    ),
    "a package over a module that is deleted": python(
        PY, "tests/helpers/__init__.py", WEAK, {"tests/helpers.py": None}
    ),
    "a compiled package over a module": python(PY, "tests/helpers/__init__.pyc", "\0"),
    "an extension over a module": python(PY, "tests/helpers.so", "\0"),
    "an extension with a tag over a module": python(
        PY, "tests/helpers.cpython-312-x86_64-linux-gnu.so", "\0"
    ),
    "a link to a package over a module": python(
        PY,
        "tests/helpers",
        "more",
        {"tests/more/__init__.py": WEAK},
        links=("tests/helpers",),
    ),
    "a module over a plain folder": python(NAMESPACE, "tests/helpers.py", WEAK),
    "a package over the tests themselves": Case(
        f"{UNITTEST} tests.test_calc",
        PY,
        {"tests/test_calc/__init__.py": "import unittest\n"},
        where="tests/test_calc/__init__.py",
        unsure=True,
    ),
    "a package over the program, which stays": python(PY, "calc/__init__.py", WORK),
    "a package over a helper outside of the tests": python(
        {
            "calc.py": PY["calc.py"],
            "support/checks.py": HELPER,
            "tests/test_calc.py": f"from calc import add\nfrom support.checks import check{BODY}",
        },
        "support/checks/__init__.py",
        WEAK,
    ),
    "a compiled copy of the helper that is found first": Case(
        PYTEST,
        {**FLAT, "pytest.ini": "[pytest]\npythonpath = impl\n"},
        {"impl/calc.so": "\0"},
        where="impl/calc.so",
        unsure=True,
    ),
    "tests that become a package, with a copy above": python(
        FLAT, "tests/__init__.py", "", {"helpers.py": WEAK}
    ),
    "a package that extends its path": python(
        PY,
        "tests/__init__.py",
        "from pathlib import Path\n\n__path__.insert(0, str(Path(__file__).with_name('more')))\n",
        {"tests/more/helpers.py": WEAK},
    ),
    "a package with a class for a module": python(ATTRIBUTE, "tests/__init__.py", FAKE),
    "a package with another module by that name": python(
        ATTRIBUTE,
        "tests/__init__.py",
        "from tests import more as helpers\n",
        {"tests/more.py": WEAK},
    ),
    "a package with all names of another": python(
        ATTRIBUTE, "tests/__init__.py", "from .more import *\n", {"tests/more.py": FAKE}
    ),
    "a package that makes its names": python(
        ATTRIBUTE,
        "tests/__init__.py",
        "from . import more\n\n\ndef __getattr__(name):\n    return more\n",
        {"tests/more.py": WEAK},
    ),
    "a package that writes its names": python(
        ATTRIBUTE,
        "tests/__init__.py",
        "from . import more\n\nglobals()['help' + 'ers'] = more\n",
        {"tests/more.py": WEAK},
    ),
    "a package that fills the table of modules": python(
        PY,
        "tests/__init__.py",
        "import sys as s\nfrom tests import more\n\ns.modules.update({'tests.helpers': more})\n",
        {"tests/more.py": WEAK},
    ),
    "a file that a package loads fills the table of modules": python(
        PY,
        "tests/boot.py",
        "import sys\n\n\ndef go(more):\n    sys.modules['tests.helpers'] = more\n",
        {"tests/__init__.py": "from tests import boot\n\nboot.go(boot)\n"},
    ),
    "a conftest that finds modules itself": python(
        PY,
        "conftest.py",
        "import sys\n\n\nclass Finder:\n    def find_spec(self, *words):\n        return None\n\n\n"
        "sys.meta_path.insert(0, Finder())\n",
    ),
    "a conftest that takes the table of modules by its name": python(
        PY, "tests/conftest.py", "from sys import path, modules as known\n\nknown.clear()\n"
    ),
    "a fixture of every test that fills the table of modules": python(
        PY,
        "tests/conftest.py",
        "import sys\nimport pytest\n\n\n@pytest.fixture(autouse=True)\ndef _fill():\n"
        "    sys.modules.update(calc=1)\n",
    ),
}
DISPLACED_NODE: dict[str, Case] = {
    "a file without an ending": node(JS, "test/helpers", JS_WEAK),
    "a link without an ending": node(
        JS, "test/helpers", "weak.js", {"test/weak.js": JS_WEAK}, links=("test/helpers",)
    ),
    "a file over a folder": node(JS_FOLDER, "test/helpers.js", JS_WEAK),
    "data over a folder": node(JS_FOLDER, "test/helpers.json", "{}"),
    "a file over a folder that is deleted": node(
        JS_FOLDER, "test/helpers.js", JS_WEAK, {"test/helpers/index.js": None}
    ),
    "a manifest over an index": node(
        JS_FOLDER,
        "test/helpers/package.json",
        manifest(main="./weak.js"),
        {"test/helpers/weak.js": JS_WEAK},
    ),
    "another main of a helper": node(
        {**JS_FOLDER, "test/helpers/package.json": manifest(main="index.js")},
        "test/helpers/package.json",
        manifest(main="weak.js"),
        {"test/helpers/weak.js": JS_WEAK},
    ),
    "a file over data": node({**JS_BASE, "test/helpers.json": "{}"}, "test/helpers.js", JS_WEAK),
    "an index of code over an index of data": node(
        {**JS_BASE, "test/helpers/index.json": "{}"}, "test/helpers/index.js", JS_WEAK
    ),
    "a file over a folder with a slash at its end": node(
        {**JS_FOLDER, "test/calc.test.js": JS_TEST % "./helpers/"},
        "test/helpers/package.json",
        manifest(main="./weak"),
        {"test/helpers/weak.js": JS_WEAK},
    ),
    "a module for a bundler": node(
        {**JS, "package.json": manifest(devDependencies={"vitest": "1"})},
        "test/helpers.mjs",
        JS_WEAK,
    ),
    "a file that TypeScript would make": node(
        {
            "lib/calc.ts": "export const add = 1;\n",
            "test/helpers.ts": JS_HELPER,
            "test/calc.test.ts": "import { check } from './helpers.js';\n",
        },
        "test/helpers.js",
        JS_WEAK,
    ),
    "a copy of the program without an ending": node(JS, "lib/calc", "exports.add = 1;\n"),
    "a helper of a helper": node(
        {**JS, "test/helpers.js": "exports.check = require('./deep').check;\n"}
        | {"test/deep/index.js": JS_HELPER},
        "test/deep.js",
        JS_WEAK,
    ),
    "a package in a nearer folder": node(
        {**JS, "test/calc.test.js": JS_TEST % "chai"},
        "test/node_modules/chai/index.js",
        JS_WEAK,
    ),
    "a mock of a package": node(
        {**JS, "test/calc.test.js": JS_TEST % "chai"}, "__mocks__/chai.js", JS_WEAK
    ),
}
DISPLACED = {**DISPLACED_PYTHON, **DISPLACED_NODE}

NOT_DISPLACED: dict[str, Case] = {
    "a new helper": python(PY, "tests/more_helpers.py", HELPER),
    "a new package of helpers": python(PY, "tests/more/__init__.py", HELPER),
    "a helper that becomes a package": python(
        PY, "tests/helpers/__init__.py", HELPER, {"tests/helpers.py": None}
    ),
    "a program that becomes a package": python(PY, "calc/__init__.py", WORK, {"calc.py": None}),
    "a module of the program that no test imports becomes a package": python(
        {**PY, "pkg/core.py": "x = 1\n"}, "pkg/core/__init__.py", "x = 2\n"
    ),
    "stubs beside a helper": python(PY, "tests/helpers.pyi", "def check(a, b): ...\n"),
    "data in a folder with the name of a helper": python(PY, "tests/helpers/data.csv", "1\n"),
    "a module beside a folder of data": python(
        {**PY, "tests/samples/a.csv": "1\n"}, "tests/samples.py", "x = 1\n"
    ),
    "a module in a folder with the name of a helper": python(PY, "tests/helpers/more.py", HELPER),
    "a package of tests with names of its own": python(
        PY,
        "tests/__init__.py",
        "from pathlib import Path\n\nDATA = Path(__file__).parent / 'data'\n",
    ),
    "a package of tests that loads its helpers": python(
        PY, "tests/__init__.py", "from . import helpers\nfrom tests.helpers import check\n"
    ),
    "tests that become a package, without a copy": python(FLAT, "tests/__init__.py", ""),
    "a conftest that only speaks of modules": python(
        PY, "tests/conftest.py", '"""Settings of all modules."""\n\nMODULES = ["modules"]\n'
    ),
    "a fixture that a test asks for": python(
        PY,
        "tests/conftest.py",
        "import sys\nimport pytest\n\n\n@pytest.fixture\ndef no_yaml(monkeypatch):\n"
        "    monkeypatch.setitem(sys.modules, 'yaml', None)\n",
    ),
    "a new helper of JavaScript": node(JS, "test/more.js", JS_HELPER),
    "a helper of JavaScript that becomes a folder": node(
        JS, "test/helpers/index.js", JS_HELPER, {"test/helpers.js": None}
    ),
    "a folder beside a helper of JavaScript": node(JS, "test/helpers/more.js", JS_HELPER),
    "an index beside a helper of JavaScript": node(JS, "test/helpers/index.js", JS_HELPER),
    "types beside a helper of JavaScript": node(JS, "test/helpers.d.ts", "export {};\n"),
    "data beside a helper of JavaScript": node(JS, "test/helpers.json", "{}\n"),
    "a program of JavaScript in two forms": node(JS, "lib/calc.mjs", "export const add = 1;\n"),
    "a program of JavaScript that moves to TypeScript": node(
        JS, "lib/calc.ts", "export const add = 1;\n", {"lib/calc.js": None}
    ),
    "a manifest for the program": node(
        JS, "package.json", manifest(name="app", main="lib/calc.js")
    ),
    "a manifest that names the same file": node(
        JS_FOLDER, "test/helpers/package.json", manifest(main="index.js")
    ),
}
