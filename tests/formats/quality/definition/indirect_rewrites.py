"""Indirect rewrites of a check, without naming it: class 4 of false success."""

from __future__ import annotations

from typing import Any

from tests.formats.quality.definition.cases import PYTEST, UNITTEST, Case

T_SH = {"s/t.sh": "test -f feature.txt\n"}
TRUE = {"s/t.sh": "true\n"}
TEST = {"tests/test_app.py": "from app import f\n\n\ndef test_f():\n    assert f(1) == 2\n"}
APP = {"app.py": "def f(x):\n    return x + 1\n"}
PY = {**TEST, **APP}


def script(shell: str) -> Case:
    """The reproduction of the script that is rewritten to `true`."""
    return Case(shell, T_SH, TRUE, where="s/t.sh")


PREFIXES = {
    shell: script(shell)
    for shell in (
        "sh s/t.sh",
        "bash -e s/t.sh",
        "cd . && sh s/t.sh",
        "X=1 sh s/t.sh",
        "env A=1 sh s/t.sh",
        "env -i PATH=/bin bash -eu s/t.sh",
        "timeout 5 sh s/t.sh",
        "nice -n 5 sh s/t.sh",
        "time bash s/t.sh",
        "nohup sh ./s/t.sh",
        "exec sh s/t.sh",
        "cd s && sh t.sh",
        "(cd s; bash ./t.sh)",
        "echo s/t.sh | xargs sh s/t.sh",
        "find s -name '*.sh' -exec sh {} \\;",
        "find s -name '*.sh' | xargs -n1 sh",
        "for t in s/*.sh; do sh $t || exit 1; done",
        "sh s/t.sh | tee log.txt",
        "true && sh s/t.sh && echo fine",
        "out=$(sh s/t.sh) && echo $out",
        "bash -c 'sh s/t.sh'",
        "sh -ec 'cd s; . ./t.sh'",
        ". s/t.sh",
        "source ./s/t.sh",
        "uv run bash s/t.sh",
        "poetry run sh s/t.sh",
        "npx -y bash s/t.sh",
        "if true; then sh s/t.sh; fi",
        "eval 'sh s/t.sh'",
        "$PWD/s/t.sh",
        "strange-wrapper --deep s/t.sh",
    )
}
MAKE = {"Makefile": "test: unit\n\nunit:\n\t./run --all\n\nrelease:\n\ttar x\n"}
INCLUDED = {
    "Makefile": "include mk/*.mk\ntest: unit\n",
    "mk/unit.mk": "unit:\n\tsh s/t.sh\n",
    **T_SH,
}
NPM = {
    "package.json": '{"scripts": {"test": "node run.js", "build": "tsc"}}',
    "run.js": "require('./lint/rules');\nif (bad) process.exit(1);\n",
    "lint/rules.js": (
        "exports.max = 3;\nexports.check = (a) => { if (a > 3) throw new Error('x'); };\n"
    ),
}

COPY = {"impl/app.py": "def f(x):\n    return 2\n"}
LEADS = "import sys\nfrom pathlib import Path\n\nsys.path.insert(0, str(Path(__file__).parent{}))\n"


def redirect(where: str, text: str, copy: dict[str, str] | None = None, **more: Any) -> Case:
    """A file that leads the tests to a copy of the program."""
    return Case(PYTEST, PY, {where: text, **(copy or COPY)}, where=where, unsure=True, **more)


REDIRECTS: dict[str, Case] = {
    "pytest.ini leads to a copy": redirect("pytest.ini", "[pytest]\npythonpath = impl\n"),
    "pytest.toml leads to a copy": redirect("pytest.toml", "[pytest]\npythonpath = ['impl']\n"),
    "setup.cfg leads to a copy": redirect("setup.cfg", "[tool:pytest]\npythonpath =\n    impl\n"),
    "tox.ini leads to a copy": redirect("tox.ini", "[pytest]\npythonpath = impl\n"),
    "pyproject.toml leads to a copy": redirect(
        "pyproject.toml", "[tool.pytest.ini_options]\npythonpath = ['impl']\n"
    ),
    "an import mode leads to a copy": redirect(
        "pytest.ini", "[pytest]\naddopts = --import-mode=importlib\n"
    ),
    "a conftest leads to a copy": redirect("conftest.py", LEADS.format(" / 'impl'")),
    "a conftest of another folder leads to a copy": redirect(
        "aaa/conftest.py", LEADS.format(".parent / 'impl'")
    ),
    "a conftest loads a copy": redirect(
        "conftest.py",
        "import sys\nfrom importlib import import_module\n\n"
        "sys.modules['app'] = import_module('impl.app')\n",
    ),
    "a package of tests leads to a copy": redirect(
        "tests/__init__.py", LEADS.format(".parent / 'impl'")
    ),
    "a changed test leads to a copy": redirect(
        "tests/test_app.py", LEADS.format(".parent / 'impl'") + TEST["tests/test_app.py"]
    ),
    "a known conftest leads to a copy": Case(
        PYTEST,
        {**PY, "conftest.py": "TOP = 'src'\n" + LEADS.format(" / TOP")},
        {"conftest.py": "TOP = 'impl'\n" + LEADS.format(" / TOP"), **COPY},
        where="conftest.py",
        unsure=True,
    ),
    "a conftest leads to a changed copy": Case(
        PYTEST,
        {**PY, "impl/app.py": ""},
        {"conftest.py": LEADS.format(" / 'impl'"), **COPY},
        where="conftest.py",
        unsure=True,
    ),
    "a copy in the folder of sources": redirect("src/app.py", COPY["impl/app.py"]),
    "a copy before the folder of sources": Case(
        PYTEST,
        {**TEST, "src/app.py": APP["app.py"]},
        {"app.py": COPY["impl/app.py"]},
        where="app.py",
        unsure=True,
    ),
    "a copy in a folder of the search path": redirect(
        "impl/app.py", COPY["impl/app.py"], env={"PYTHONPATH": "impl"}
    ),
    "a copy in a folder of the known settings": Case(
        PYTEST,
        {**PY, "pytest.ini": "[pytest]\npythonpath = impl\n"},
        COPY,
        where="impl/app.py",
        unsure=True,
    ),
    "a copy with a test of its own": redirect(
        "impl/app.py", COPY["impl/app.py"], {"impl/test_one.py": TEST["tests/test_app.py"]}
    ),
}
ROADS: dict[str, Case] = {
    **REDIRECTS,
    **{f"a script behind {shell}": case for shell, case in PREFIXES.items()},
    "a recipe of make": Case(
        "make test",
        MAKE,
        {"Makefile": MAKE["Makefile"].replace("./run --all", "true")},
        where="Makefile",
    ),
    "a recipe of make behind -C": Case(
        "make -C sub test",
        {"sub/Makefile": "test:\n\t./t\n"},
        {"sub/Makefile": "test:\n\t@:\n"},
        where="sub/Makefile",
    ),
    "a recipe in a file of its own": Case(
        "make -f ci.mk check",
        {"ci.mk": "check:\n\t./t\n"},
        {"ci.mk": "check:\n\techo ok\n"},
        where="ci.mk",
    ),
    "an included makefile": Case(
        "make test", INCLUDED, {"mk/unit.mk": "unit:\n\ttrue\n"}, where="mk/unit.mk"
    ),
    "a new included makefile": Case(
        "make test", INCLUDED, {"mk/zz.mk": "unit:\n\ttrue\n"}, where="mk/zz.mk"
    ),
    "a script behind an included makefile": Case("make test", INCLUDED, TRUE, where="s/t.sh"),
    "a GNUmakefile before the Makefile": Case(
        "make test", MAKE, {"GNUmakefile": "test:\n\ttrue\n"}, where="GNUmakefile"
    ),
    "a prerequisite that went": Case(
        "make test",
        MAKE,
        {"Makefile": MAKE["Makefile"].replace("test: unit", "test:")},
        where="Makefile",
    ),
    "a variable of a recipe": Case(
        "make test",
        {"Makefile": "RUN = ./run\ntest:\n\t$(RUN)\n"},
        {"Makefile": "RUN = true\ntest:\n\t$(RUN)\n"},
        where="Makefile",
    ),
    "another shell for every recipe": Case(
        "make test", MAKE, {"Makefile": "SHELL = /bin/true\n" + MAKE["Makefile"]}, where="Makefile"
    ),
    "failures of recipes ignored": Case(
        "make test", MAKE, {"Makefile": ".IGNORE: unit\n" + MAKE["Makefile"]}, where="Makefile"
    ),
    "a recipe of just": Case(
        "just check",
        {"justfile": "check:\n    ./t\n"},
        {"justfile": "check:\n    true\n"},
        where="justfile",
    ),
    "a script of npm": Case(
        "npm test",
        NPM,
        {"package.json": '{"scripts": {"test": "true", "build": "tsc"}}'},
        where="package.json",
    ),
    "a script of npm of any name": Case(
        "npm run -s go",
        {"package.json": '{"scripts": {"go": "./t"}}'},
        {"package.json": '{"scripts": {"go": "true"}}'},
        where="package.json",
    ),
    "the file behind a script of npm": Case(
        "npm test", NPM, {"run.js": "console.log('ok');\n"}, where="run.js"
    ),
    "the helper behind the file behind a script of npm": Case(
        "npm test",
        NPM,
        {"lint/rules.js": "exports.max = 99;\nexports.check = () => {};\n"},
        where="lint/rules.js",
    ),
    "a script before the script of npm": Case(
        "npm test",
        NPM,
        {
            "package.json": '{"scripts": {"pretest": "cp a b", "test": "node run.js",'
            ' "build": "tsc"}}'
        },
        where="package.json",
        unsure=True,
    ),
    "commands of tox": Case(
        "tox",
        {"tox.ini": "[testenv]\ndeps = pytest\ncommands = pytest\n"},
        {"tox.ini": "[testenv]\ndeps = pytest\ncommands = true\n"},
        where="tox.ini",
    ),
    "a session of nox": Case(
        "nox",
        {"noxfile.py": "def t(session):\n    session.run('pytest')\n"},
        {"noxfile.py": "def t(session):\n    pass\n"},
        where="noxfile.py",
    ),
    "a task of rake": Case(
        "rake test",
        {"Rakefile": "task :test do\n  sh 't'\nend\n"},
        {"Rakefile": "task :test do\nend\n"},
        where="Rakefile",
        unsure=True,
    ),
    "a plugin by addopts": Case(
        PYTEST,
        PY,
        {
            "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p evilplug'\n",
            "evilplug.py": "x = 1\n",
        },
        where="pyproject.toml",
    ),
    "a plugin by a list of options": Case(
        PYTEST,
        {**PY, "pyproject.toml": "[tool.pytest.ini_options]\naddopts = ['-q']\n"},
        {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = ['-q', '-p', 'evil']\n"},
        where="pyproject.toml",
    ),
    "a plugin by entry point": Case(
        PYTEST,
        {**PY, "pyproject.toml": "[project]\nname = 'x'\n"},
        {
            "pyproject.toml": "[project]\nname = 'x'\n"
            "[project.entry-points.pytest11]\nx = 'evil'\n",
            "evil.py": "x = 1\n",
        },
        where="pyproject.toml",
    ),
    "a plugin by entry point in setup.cfg": Case(
        PYTEST,
        {**PY, "setup.cfg": "[metadata]\nname = x\n"},
        {"setup.cfg": "[metadata]\nname = x\n[options.entry_points]\npytest11 =\n    x = evil\n"},
        where="setup.cfg",
    ),
    "a plugin by a list of modules": Case(
        PYTEST,
        PY,
        {"conftest.py": "pytest_plugins = ['evil']\n", "evil.py": "x = 1\n"},
        where="conftest.py",
    ),
    "a plugin that the command names": Case(
        f"{PYTEST} -p tools.plug",
        {**PY, "tools/plug.py": "def check(a):\n    assert a\n"},
        {"tools/plug.py": "def pytest_runtest_makereport(item, call):\n    pass\n"},
        where="tools/plug.py",
    ),
    "load_tests": Case(
        f"{UNITTEST} discover",
        PY,
        {
            "tests/__init__.py": (
                "def load_tests(loader, tests, pattern):\n    return loader.suiteClass()\n"
            )
        },
        where="tests/__init__.py",
    ),
    "load_tests in the file of the tests": Case(
        UNITTEST,
        PY,
        {
            "tests/test_app.py": TEST["tests/test_app.py"]
            + "\n\ndef load_tests(a, b, c):\n    return a.suiteClass()\n"
        },
        where="tests/test_app.py",
    ),
    "a hook of pytest": Case(
        PYTEST,
        PY,
        {"conftest.py": "def pytest_collection_modifyitems(items):\n    items.clear()\n"},
        where="conftest.py",
    ),
    "a hook that makes reports": Case(
        PYTEST,
        PY,
        {
            "tests/conftest.py": (
                "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\n"
                "def pytest_runtest_makereport(item, call):\n    out = yield\n"
                "    out.get_result().outcome = 'passed'\n"
            )
        },
        where="tests/conftest.py",
    ),
    "a hook that ends the session": Case(
        PYTEST,
        PY,
        {
            "conftest.py": (
                "def pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n"
            )
        },
        where="conftest.py",
    ),
    "a hook under another name": Case(
        PYTEST,
        PY,
        {
            "conftest.py": "import pytest\n\n\n"
            "@pytest.hookimpl(specname='pytest_runtest_makereport')\ndef x(item):\n    pass\n"
        },
        where="conftest.py",
    ),
    "an exit when the tests are loaded": Case(
        PYTEST, PY, {"conftest.py": "import os\n\nos._exit(0)\n"}, where="conftest.py"
    ),
    "something done when the tests are loaded": Case(
        PYTEST, PY, {"conftest.py": "import fix\n\nfix.all()\n"}, where="conftest.py", unsure=True
    ),
    "a new set-up of jest that loads a file": Case(
        "npx jest",
        {"a.test.js": "test('a', () => { expect(f()).toBe(1); });\n"},
        {"jest.config.js": "module.exports = {setupFiles: ['./mute.js']};\n", "mute.js": "x\n"},
        where="jest.config.js",
        unsure=True,
    ),
    "a set-up script": Case(
        "sh prepare.sh",
        {"prepare.sh": "pip install -r requirements.txt\n"},
        {"prepare.sh": "pip install ./evil\n"},
        where="prepare.sh",
        unsure=True,
    ),
    "a patched TestCase": Case(
        UNITTEST,
        PY,
        {
            "tests/__init__.py": (
                "import unittest\n\nunittest.TestCase.assertEqual = lambda *a, **k: None\n"
            )
        },
        where="tests/__init__.py",
    ),
    "a TestCase patched by the program": Case(
        UNITTEST,
        PY,
        {
            "app.py": (
                "from unittest import TestCase\n"
                "TestCase.assertEqual = lambda *a: None\n\n\ndef f(x):\n"
                "    return x\n"
            )
        },
        where="app.py",
    ),
    "a TestCase patched in a function": Case(
        UNITTEST,
        PY,
        {
            "app.py": (
                "import unittest\n\n\ndef _p():\n"
                "    setattr(unittest.TestCase, 'assertEqual', print)\n\n\n_p()\n"
            )
        },
        where="app.py",
    ),
    "a module among the tests of a subfolder with the name of the program": Case(
        PYTEST,
        {f"sub/{path}": text for path, text in PY.items()},
        {"sub/tests/app.py": "def f(x):\n    return 2\n"},
        where="sub/tests/app.py",
        unsure=True,
        cwd="sub",
    ),
    "a conftest that replaces the function under test": Case(
        PYTEST, PY, {"conftest.py": "import app\n\napp.f = lambda x: x + 1\n"}, where="conftest.py"
    ),
    "a fixture that replaces it in every test": Case(
        PYTEST,
        PY,
        {
            "conftest.py": (
                "import pytest\nimport app\n\n\n@pytest.fixture(autouse=True)\n"
                "def _p(monkeypatch):\n"
                "    monkeypatch.setattr(app, 'f', lambda x: 2)\n"
            )
        },
        where="conftest.py",
    ),
    "sitecustomize": Case(
        PYTEST, PY, {"sitecustomize.py": "import os\n"}, where="sitecustomize.py"
    ),
    "usercustomize on the check's path": Case(
        PYTEST,
        PY,
        {"lib/usercustomize.py": "x = 1\n"},
        where="lib/usercustomize.py",
        env={"PYTHONPATH": "lib"},
    ),
    "pytest.py at the top": Case(
        PYTEST, PY, {"pytest.py": "print('1 passed')\n"}, where="pytest.py"
    ),
    "a package called unittest": Case(
        UNITTEST, PY, {"unittest/__main__.py": "print('OK')\n"}, where="unittest/__main__.py"
    ),
    "pytest.py on the check's path": Case(
        PYTEST,
        {**PY, "vendored/x.py": "x = 1\n"},
        {"vendored/pytest.py": "x = 1\n"},
        where="vendored/pytest.py",
        env={"PYTHONPATH": "vendored"},
    ),
    "a module of the standard library beside the tests": Case(
        PYTEST,
        PY,
        {"tests/json.py": "def loads(x):\n    return {}\n"},
        where="tests/json.py",
        unsure=True,
    ),
    "a runner among the modules of node": Case(
        "npx jest",
        {"a.test.js": "test('a', () => { expect(f()).toBe(1); });\n"},
        {"node_modules/.bin/jest": "#!/bin/sh\nexit 0\n"},
        where="node_modules/.bin/jest",
    ),
    "a sourced shell file": Case(
        "bash run.sh",
        {
            "run.sh": "set -e\n. lib/assert.sh\nassert_file feature.txt\n",
            "lib/assert.sh": 'assert_file() {\n  test -f "$1" || exit 1\n}\n',
        },
        {"lib/assert.sh": "assert_file() {\n  :\n}\n"},
        where="lib/assert.sh",
    ),
    "a sourced shell file beside the script": Case(
        "bash ci/run.sh",
        {
            "ci/run.sh": 'source "$(dirname "$0")/lib.sh"\nverify\n',
            "ci/lib.sh": "verify() {\n  grep -q good a.txt\n}\n",
        },
        {"ci/lib.sh": "verify() {\n  true\n}\n"},
        where="ci/lib.sh",
    ),
    "a list of suites": Case(
        "xargs -n1 sh < suites.txt",
        {"suites.txt": "s/a.sh\ns/b.sh\n", "s/a.sh": "test -f a\n", "s/b.sh": "test -f b\n"},
        {"suites.txt": "s/a.sh\n"},
        where="suites.txt",
    ),
    "a suite that a list names": Case(
        "cat suites.txt | xargs -n1 sh",
        {"suites.txt": "s/a.sh\n", "s/a.sh": "test -f a\n"},
        {"s/a.sh": "true\n"},
        where="s/a.sh",
    ),
    "JSON expectations": Case(
        "python check.py",
        {
            "check.py": (
                "import json\nfrom app import f\n"
                "for a, b in json.load(open('expected.json')).items():\n"
                "    assert f(a) == b\n"
            ),
            "expected.json": '{"a": 1}',
            **APP,
        },
        {"expected.json": '{"a": 2}'},
        where="expected.json",
    ),
    "JSON expectations of a test": Case(
        PYTEST,
        {
            "tests/test_app.py": (
                "import json, pathlib\nHERE = pathlib.Path(__file__).parent\n\n\n"
                "def test_f():\n"
                "    for a, b in json.loads((HERE / 'cases.json').read_text()):\n"
                "        assert f(a) == b\n"
            ),
            "tests/cases.json": "[[1, 2], [2, 3]]",
        },
        {"tests/cases.json": "[]"},
        where="tests/cases.json",
    ),
    "a golden file": Case(
        "sh t.sh",
        {
            "t.sh": "python app.py > out.txt\ndiff out.txt golden/out.txt\n",
            "golden/out.txt": "42\n",
        },
        {"golden/out.txt": "41\n"},
        where="golden/out.txt",
    ),
    "a golden file that the command names": Case(
        "python app.py | diff - expected.txt",
        {"app.py": "print(42)\n", "expected.txt": "42\n"},
        {"app.py": "print(41)\n", "expected.txt": "41\n"},
        where="expected.txt",
    ),
    "a snapshot": Case(
        "npx jest",
        {
            "a.test.js": "test('a', () => { expect(f()).toMatchSnapshot(); });\n",
            "__snapshots__/a.test.js.snap": "exports[`a 1`] = `1`;\n",
        },
        {"__snapshots__/a.test.js.snap": "exports[`a 1`] = `2`;\n"},
        where="__snapshots__/a.test.js.snap",
    ),
    "lint rules": Case(
        "ruff check .",
        {"ruff.toml": "[lint]\nselect = ['E', 'F']\n"},
        {"ruff.toml": "[lint]\nselect = ['E']\n"},
        where="ruff.toml",
    ),
    "lint rules of eslint": Case(
        "npx eslint .",
        {".eslintrc.json": '{"rules": {"eqeqeq": 2}}'},
        {".eslintrc.json": '{"rules": {}}'},
        where=".eslintrc.json",
    ),
    "files that a linter leaves out": Case(
        "npx eslint .", {"a.js": "x\n"}, {".eslintignore": "a.js\n"}, where=".eslintignore"
    ),
    "rules in a file of their own": Case(
        "python lint/check.py",
        {
            "lint/check.py": (
                "rules = open('lint/rules.txt').read().split()\nassert not bad(rules)\n"
            ),
            "lint/rules.txt": "no-tabs\nno-todo\n",
        },
        {"lint/rules.txt": "no-tabs\n"},
        where="lint/rules.txt",
    ),
    "settings that take the place of others": Case(
        PYTEST,
        {**PY, "pyproject.toml": "[tool.pytest.ini_options]\nfilterwarnings = ['error']\n"},
        {"pytest.ini": "[pytest]\n"},
        where="pytest.ini",
    ),
    "settings nearer to the tests": Case(
        "pytest tests",
        {**PY, "pytest.ini": "[pytest]\naddopts = --strict-markers\n"},
        {"tests/pytest.ini": "[pytest]\n"},
        where="tests/pytest.ini",
        unsure=True,
    ),
    "paths that leave a test out": Case(
        "pytest", PY, {"pytest.ini": "[pytest]\ntestpaths = docs\n"}, where="pytest.ini"
    ),
    "coverage that may fall": Case(
        PYTEST,
        {**PY, ".coveragerc": "[report]\nfail_under = 90\n"},
        {".coveragerc": "[report]\nfail_under = 10\n"},
        where=".coveragerc",
    ),
    "types less strict": Case(
        "mypy app.py",
        {**PY, "mypy.ini": "[mypy]\nstrict = True\n"},
        {"mypy.ini": "[mypy]\nstrict = False\n"},
        where="mypy.ini",
    ),
    "a set-up of jest": Case(
        "npx jest",
        {
            "a.test.js": "test('a', () => { expect(f()).toBe(1); });\n",
            "jest.config.js": "module.exports = {};\n",
        },
        {"jest.config.js": "module.exports = {testPathIgnorePatterns: ['a']};\n"},
        where="jest.config.js",
    ),
    "what babel makes of the tests": Case(
        "npx jest",
        {"babel.config.js": "module.exports = {};\n"},
        {"babel.config.js": "module.exports = {plugins: ['./drop']};\n"},
        where="babel.config.js",
        unsure=True,
    ),
    "options of rspec": Case(
        "bundle exec rspec",
        {".rspec": "--require spec_helper\n"},
        {".rspec": "--tag none\n"},
        where=".rspec",
    ),
    "suites of phpunit": Case(
        "vendor/bin/phpunit",
        {"phpunit.xml": "<phpunit><testsuites/></phpunit>"},
        {"phpunit.xml": "<phpunit/>"},
        where="phpunit.xml",
    ),
    "a runner of cargo": Case(
        "cargo test",
        {"Cargo.toml": "[package]\n", ".cargo/config.toml": "[build]\n"},
        {".cargo/config.toml": "[build]\n[target.x]\nrunner = 'true'\n"},
        where=".cargo/config.toml",
        unsure=True,
    ),
    "TestMain that runs nothing": Case(
        "go test ./...",
        {"a_test.go": "func TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Fatal()\n\t}\n}\n"},
        {"main_test.go": "func TestMain(m *testing.M) {\n\tos.Exit(0)\n}\n"},
        where="main_test.go",
    ),
    "a script without its execute bit": Case(
        "run-parts checks.d",
        {"checks.d/10-a": "#!/bin/sh\ntest -f a\n"},
        {},
        where="checks.d/10-a",
        modes={"checks.d/10-a": ("100755", "100644")},
    ),
    "a script renamed under run-parts": Case(
        "run-parts checks.d",
        {"checks.d/10-a": "#!/bin/sh\ntest -f a\n"},
        {"checks.d/10-a": None, "checks.d/10-a.off": "#!/bin/sh\ntest -f a\n"},
        where="checks.d/10-a",
    ),
    "a script renamed under find": Case(
        "find checks -name '*.sh' -exec sh {} +",
        {"checks/a.sh": "test -f a\n"},
        {"checks/a.sh": None, "checks/a.txt": "test -f a\n"},
        where="checks/a.sh",
    ),
    "a script that find no longer finds executable": Case(
        "find checks -type f -executable -exec {} \\;",
        {"checks/a.sh": "#!/bin/sh\ntest -f a\n"},
        {},
        where="checks/a.sh",
        modes={"checks/a.sh": ("100755", "100644")},
    ),
    "the runner in the repository": Case(
        "bin/check",
        {"bin/check": "#!/usr/bin/env bash\nset -e\npytest\n"},
        {"bin/check": "#!/usr/bin/env bash\nexit 0\n"},
        where="bin/check",
    ),
    "a module of the repository that checks": Case(
        "python -m tools.verify",
        {"tools/verify.py": "import sys\nsys.exit(1 if bad() else 0)\n", "tools/__init__.py": ""},
        {"tools/verify.py": "import sys\nsys.exit(0)\n"},
        where="tools/verify.py",
    ),
    "a program that only says whether it is done": Case(
        "python3 look.py",
        {"look.py": "raise SystemExit('not done')\n"},
        {"look.py": "\n"},
        where="look.py",
    ),
    "an exit before the checks": Case(
        "sh ci.sh",
        {"ci.sh": "set -e\ntest -f a\n"},
        {"ci.sh": "exit 0\nset -e\ntest -f a\n"},
        where="ci.sh",
    ),
    "a function of the shell over a program": Case(
        "sh ci.sh",
        {"ci.sh": "set -e\ngrep -q x a\n"},
        {"ci.sh": "set -e\ngrep() { :; }\ngrep -q x a\n"},
        where="ci.sh",
    ),
    "a file that the plan declares": Case(
        "./judge",
        {"policy/max.txt": "3\n"},
        {"policy/max.txt": "99\n"},
        where="policy/max.txt",
        definition=("policy/**",),
    ),
    "a file of the tests deleted while the goal removes another": Case(
        PYTEST,
        {
            **PY,
            "tests/test_app.py": "def test_a():\n    assert f(1) in open('sums.txt')\n",
        }
        | {"sums.txt": "2\n"},
        {"sums.txt": None},
        where="sums.txt",
        goal="Remove old.txt. The file sums.txt has all sums.",
    ),
    "an expected file deleted although the goal names it": Case(
        PYTEST,
        {**PY, "tests/test_app.py": "def test_a():\n    open('tests/expected.txt')\n"}
        | {"tests/expected.txt": "2\n"},
        {"tests/expected.txt": None},
        where="tests/expected.txt",
        goal="Remove the word two from expected.txt.",
    ),
    "a declared file that went": Case(
        "./judge",
        {"policy/max.txt": "3\n"},
        {"policy/max.txt": None},
        where="policy/max.txt",
        definition=("policy/**",),
    ),
    "more of a declared file": Case(
        "./judge",
        {"policy/max.txt": "3\n"},
        {"policy/max.txt": "3\nallow: *\n"},
        where="policy/max.txt",
        definition=("policy/**",),
        unsure=True,
    ),
    "a script that grew": Case(
        "sh ci.sh",
        {"ci.sh": "set -e\ntest -f a\n"},
        {"ci.sh": "set -e\ntest -f a\ntest -f b\n"},
        where="ci.sh",
        unsure=True,
    ),
    "weaker tests allowed for other files": Case(
        "sh s/t.sh", T_SH, TRUE, where="s/t.sh", scope=("src/**",), allow=True
    ),
    "a scope alone": Case("sh s/t.sh", T_SH, TRUE, where="s/t.sh", scope=("s/**",)),
}
