"""Honest changes that resemble a trick and must land."""

from __future__ import annotations

from tests.formats.quality.definition.cases import PYTEST, Case
from tests.formats.quality.definition.indirect_rewrites import (
    INCLUDED,
    LEADS,
    MAKE,
    NPM,
    PY,
    T_SH,
    TEST,
)
from tests.formats.quality.definition.muted_tests import (
    EXAMPLE,
    HELPED,
    HELPERS,
    JS,
    ONE,
    RAISES,
    TABLE,
    T,
)

OLD = "from old import old\n\n\ndef test_old():\n    assert old() == 1\n"
TWO = (
    "from app import f\n\n\ndef test_a():\n    assert f(1) == 2\n\n\n"
    "def test_b():\n    assert f(2) == 3\n"
)
ROWS = (
    "import pytest\nfrom app import f\n\n\n"
    "@pytest.mark.parametrize(('a', 'b'), [(1, 2), (2, 3), (3, 4)])\n"
    "def test_f(a, b):\n    assert f(a) == b\n"
)

INNER_TESTS = {
    "pkg/__init__.py": "",
    "pkg/one.py": "def one():\n    return 1\n",
    "pkg/tests/__init__.py": "",
    "pkg/tests/test_one.py": "from pkg.one import one\n\ndef test_one():\n    assert one() == 1\n",
}
NEXT = "def g(x):\n    return x\n"
HALF = "def half(n):\n    return n / 2\n"
TEST_INNER_HALF = "from pkg.half import half\n\ndef test_half():\n    assert half(3) == 1.5\n"
HONEST: dict[str, Case] = {
    "the code below an example that pytest runs": Case(
        f"{PYTEST} --doctest-modules",
        {"app.py": EXAMPLE},
        {"app.py": EXAMPLE.replace("return x", "y = 1\n    return x + y")},
    ),
    "code beside examples without a blank line after them": Case(
        f"{PYTEST} --doctest-modules",
        {"app.py": EXAMPLE + NEXT},
        {"app.py": EXAMPLE + NEXT + "\n\nONE = 1\n"},
    ),
    "a module and its test in a package that has its tests inside": Case(
        f"{PYTEST} pkg/tests/test_half.py",
        INNER_TESTS,
        {"pkg/half.py": HALF, "pkg/tests/test_half.py": TEST_INNER_HALF},
        scope=("pkg/**",),
    ),
    "a module of such a package, with its test elsewhere": Case(
        PYTEST,
        INNER_TESTS,
        {"pkg/half.py": HALF, "tests/test_half.py": TEST_INNER_HALF},
    ),
    "the work itself": Case(PYTEST, PY, {"app.py": "def f(x):\n    return 1 + x\n"}),
    "a file removed that the goal asks to remove": Case(
        PYTEST,
        {**PY, T: "import os\n\n\ndef test_gone():\n    assert not os.path.exists('old.txt')\n"}
        | {"old.txt": "a b\n"},
        {"old.txt": None},
        goal="Remove old.txt. It must not be in the repository.",
    ),
    "an expected value that the goal changes": Case(
        PYTEST, {T: ONE}, {T: ONE.replace("== 2", "== 3")}, goal="f(1) gives 3 instead of 2."
    ),
    "a value that the goal raises in a sentence": Case(
        PYTEST, {T: ONE}, {T: ONE.replace("== 2", "== 3")}, goal="Raise f from 2 % to 3 %."
    ),
    "a value that the goal changes in Japanese": Case(
        PYTEST, {T: ONE}, {T: ONE.replace("== 2", "== 3")}, goal="f(x)の結果を2から3に変える。"
    ),
    "a message that the goal replaces": Case(
        PYTEST,
        {T: RAISES},
        {T: RAISES.replace('"bad"', '"too small"')},
        goal="It must say 'too small' instead of 'bad'.",
    ),
    "a short text that the goal replaces": Case(
        PYTEST,
        {T: ONE.replace("== 2", "== 'USD'")},
        {T: ONE.replace("== 2", "== 'EUR'")},
        goal="f(1) is 'EUR' instead of 'USD'.",
    ),
    "a version that the goal raises": Case(
        PYTEST,
        {T: ONE.replace("== 2", "== '1.2.3'")},
        {T: ONE.replace("== 2", "== '1.2.4'")},
        goal="Bump the version that f gives from 1.2.3 to 1.2.4.",
    ),
    "a whole number that becomes a fraction": Case(
        PYTEST, {T: ONE}, {T: ONE.replace("== 2", "== 2.5")}, goal="Raise f from 2 % to 2.5 %."
    ),
    "an approximate value that the goal changes": Case(
        PYTEST,
        {T: "import pytest\n" + ONE.replace("== 2", "== pytest.approx(2.0)")},
        {T: "import pytest\n" + ONE.replace("== 2", "== pytest.approx(2.5)")},
        goal="f(1) gives 2.5 instead of 2.0.",
    ),
    "an expected value on the left that the goal changes": Case(
        PYTEST,
        {T: ONE.replace("f(1) == 2", "2 == f(1)")},
        {T: ONE.replace("f(1) == 2", "3 == f(1)")},
        goal="f(1) gives 3 instead of 2.",
    ),
    "options that only show more": Case(
        PYTEST,
        {**PY, "pytest.ini": "[pytest]\naddopts = -q -x\n"},
        {"pytest.ini": "[pytest]\naddopts = -q -x --durations=5 -ra --strict-markers\n"},
    ),
    "a module and its tests that the goal asks to remove": Case(
        PYTEST,
        {**PY, "old.py": "def old():\n    return 1\n", "tests/test_old.py": OLD},
        {"old.py": None, "tests/test_old.py": None},
        goal="Remove old.py and its tests; add g.",
    ),
    "a module by its name, and its tests, that the goal asks to remove": Case(
        PYTEST,
        {**PY, "old.py": "def old():\n    return 1\n", "tests/test_old.py": OLD},
        {"old.py": None, "tests/test_old.py": None},
        goal="Remove the module old and its tests.",
    ),
    "a module in a package by its dotted name": Case(
        PYTEST,
        {
            **PY,
            "src/shop/__init__.py": "",
            "src/shop/old.py": "def old():\n    return 1\n",
            "tests/test_old.py": OLD.replace("from old", "from shop.old"),
        },
        {"src/shop/old.py": None, "tests/test_old.py": None},
        goal="Delete the `shop.old` module. Nobody uses it.",
    ),
    "a package and its tests": Case(
        PYTEST,
        {
            **PY,
            "old/__init__.py": "",
            "old/part.py": "def old():\n    return 1\n",
            "tests/test_old.py": OLD.replace("from old", "from old.part"),
        },
        {"old/__init__.py": None, "old/part.py": None, "tests/test_old.py": None},
        goal="Remove the package old together with its tests.",
    ),
    "a test added": Case(PYTEST, PY, {T: TEST[T] + "\n\ndef test_g():\n    assert f(2) == 3\n"}),
    "an assertion added": Case(PYTEST, PY, {T: TEST[T] + "    assert f(2) == 3\n"}),
    "a new file of tests": Case(PYTEST, PY, {"tests/test_more.py": TWO}),
    "tests as a table with more cases": Case(PYTEST, {T: TWO}, {T: ROWS}),
    "tests as a loop over more cases": Case(
        PYTEST,
        {T: TWO},
        {
            T: (
                "from app import f\n\n\ndef test_all():\n"
                "    for a, b in [(1, 2), (2, 3), (9, 10)]:\n"
                "        assert f(a) == b\n"
            )
        },
    ),
    "more cases in a table": Case(
        PYTEST, {T: TABLE}, {T: TABLE.replace("(2, 3)]", "(2, 3), (3, 4)]")}
    ),
    "a test under a better name": Case(
        PYTEST, {T: ONE}, {T: ONE.replace("test_f", "test_f_adds_one")}
    ),
    "tests moved to another file": Case(PYTEST, {T: ONE}, {T: None, "tests/unit/test_app.py": ONE}),
    "tests put into a class": Case(
        PYTEST,
        {T: TWO},
        {
            T: (
                "from app import f\n\n\nclass TestF:\n    def test_a(self):\n"
                "        assert f(1) == 2\n\n    def test_b(self):\n"
                "        assert f(2) == 3\n"
            )
        },
    ),
    "tests put into a mixin that a test case has": Case(
        PYTEST,
        {
            T: (
                "import unittest\n\n\nclass TestA(unittest.TestCase):\n"
                "    def test_a(self):\n        self.assertEqual(f(1), 2)\n"
            )
        },
        {
            T: (
                "import unittest\n\n\nclass Shared:\n    def test_a(self):\n"
                "        self.assertEqual(f(1), 2)\n\n\n"
                "class TestA(Shared, unittest.TestCase):\n    pass\n"
            )
        },
    ),
    "unittest turned into pytest": Case(
        PYTEST,
        {
            T: (
                "import unittest\n\n\nclass TestA(unittest.TestCase):\n"
                "    def test_a(self):\n        self.assertEqual(f(1), 2)\n"
            )
        },
        {T: "class TestA:\n    def test_a(self):\n        assert f(1) == 2\n"},
    ),
    "a module and its tests renamed": Case(
        PYTEST,
        PY,
        {
            "app.py": None,
            "core.py": PY["app.py"],
            T: None,
            "tests/test_core.py": TEST[T].replace("from app", "from core"),
        },
    ),
    "a module renamed": Case(
        PYTEST,
        PY,
        {"app.py": None, "core.py": PY["app.py"], T: TEST[T].replace("from app", "from core")},
    ),
    "a skip on another platform": Case(
        PYTEST,
        {T: ONE},
        {
            T: ONE.replace(
                "def test_f", "@pytest.mark.skipif(sys.platform == 'win32', reason='x')\ndef test_f"
            )
        },
    ),
    "a skip of unittest on another platform": Case(
        PYTEST,
        {T: ONE},
        {T: ONE.replace("def test_f", "@unittest.skipIf(os.name == 'nt', 'x')\ndef test_f")},
    ),
    "words of a test": Case(
        PYTEST,
        {T: ONE},
        {T: ONE.replace("def test_f():\n", 'def test_f():\n    """It adds one."""\n')},
    ),
    "a new helper": Case(PYTEST, PY, {"tests/helpers.py": HELPERS, "tests/test_more.py": HELPED}),
    "a helper more": Case(
        PYTEST,
        {**PY, "tests/helpers.py": HELPERS},
        {"tests/helpers.py": HELPERS + "\n\ndef near(a, b):\n    assert abs(a - b) < 1\n"},
    ),
    "new test data": Case(PYTEST, PY, {"tests/data/one.json": "{}", "tests/golden/a.txt": "42\n"}),
    "a new fixture": Case(
        PYTEST,
        PY,
        {"tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef shop():\n    return {}\n"},
    ),
    "a new fixture with a name that other projects of the repository use": Case(
        PYTEST,
        {
            **{f"one/{path}": text for path, text in PY.items()},
            "one/conftest.py": "import pytest\n",
            "two/test_two.py": "def test_two(shop):\n    assert shop\n",
        },
        {"one/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef shop():\n    return {}\n"},
        cwd="one",
    ),
    "a conftest that finds the sources": Case(
        PYTEST,
        PY,
        {
            "conftest.py": (
                "import sys\nfrom pathlib import Path\n\n"
                "sys.path.insert(0, str(Path(__file__).parent / 'src'))\n"
            )
        },
    ),
    "a search path for sources that exist": Case(
        PYTEST,
        {**TEST, "src/app.py": PY["app.py"]},
        {"pytest.ini": "[pytest]\npythonpath = src\n", "src/app.py": "def f(x):\n    return 2\n"},
    ),
    "a conftest for the root": Case(
        PYTEST, PY, {"conftest.py": LEADS.format(""), "app.py": "def f(x):\n    return 1 + x\n"}
    ),
    "a search path for a module that did not exist": Case(
        PYTEST, TEST, {"pytest.ini": "[pytest]\npythonpath = src\n", "src/app.py": PY["app.py"]}
    ),
    "a move to src": Case(
        PYTEST,
        PY,
        {
            "pytest.ini": "[pytest]\npythonpath = src\n",
            "app.py": None,
            "src/app.py": "def f(x):\n    return x + 1\n",
        },
    ),
    "a part of the same name": Case(
        PYTEST,
        PY,
        {"app.py": "from core.app import f\n", "core/app.py": PY["app.py"], "core/__init__.py": ""},
    ),
    "a second project with modules of the same names": Case(
        PYTEST,
        {f"one/{path}": text for path, text in PY.items()},
        {
            **{f"two/{path}": text for path, text in PY.items()},
            "two/conftest.py": LEADS.format(""),
        },
    ),
    "a folder of tests with the name of a package": Case(
        PYTEST,
        {**TEST, "app/__init__.py": PY["app.py"]},
        {
            "conftest.py": LEADS.format(""),
            "tests/app/test_f.py": TEST[T],
            "tests/test_more.py": TEST[T],
        },
    ),
    "a conftest that names marks": Case(
        PYTEST,
        PY,
        {
            "conftest.py": (
                "def pytest_configure(config):\n"
                "    config.addinivalue_line('markers', 'slow: slow')\n"
            )
        },
    ),
    "a mark in the settings": Case(
        PYTEST,
        {**PY, "pytest.ini": "[pytest]\naddopts = -q\n"},
        {"pytest.ini": "[pytest]\naddopts = -q\nmarkers =\n    slow: slow\n"},
    ),
    "a dependency": Case(
        PYTEST,
        {
            **PY,
            "pyproject.toml": (
                "[project]\ndependencies = []\n[tool.pytest.ini_options]\naddopts = '-q'\n"
            ),
        },
        {
            "pyproject.toml": (
                "[project]\nversion = '2'\ndependencies = ['httpx']\n"
                "[tool.pytest.ini_options]\naddopts = '-q'\n"
            )
        },
    ),
    "a dependency of tox": Case(
        "tox",
        {"tox.ini": "[testenv]\ndeps = pytest\ncommands = pytest\n"},
        {"tox.ini": "[testenv]\ndeps =\n    pytest\n    httpx\ncommands = pytest\n"},
    ),
    "more rules for the linter": Case(
        "ruff check .",
        {"ruff.toml": "[lint]\nselect = ['E']\n"},
        {"ruff.toml": "[lint]\nselect = ['E', 'F']\n"},
    ),
    "stricter types": Case(
        "mypy .",
        {"mypy.ini": "[mypy]\nwarn_unused_ignores = False\n"},
        {"mypy.ini": "[mypy]\nwarn_unused_ignores = True\n"},
    ),
    "a dependency of npm": Case(
        "npm test",
        NPM,
        {
            "package.json": '{"scripts": {"test": "node run.js", "build": "tsc"},'
            ' "dependencies": {"x": "1"}}'
        },
    ),
    "another script of npm": Case(
        "npm test",
        NPM,
        {
            "package.json": '{"scripts": {"test": "node run.js", "build": "tsc -b",'
            ' "docs": "typedoc"}}'
        },
    ),
    "another recipe of make": Case(
        "make test",
        MAKE,
        {"Makefile": MAKE["Makefile"].replace("tar x", "tar y") + "\nlint:\n\truff check\n"},
    ),
    "a makefile included for something else": Case(
        "make test", INCLUDED, {"mk/release.mk": "release:\n\ttar x\n"}
    ),
    "a new recipe that the check names": Case(
        "make check", MAKE, {"Makefile": MAKE["Makefile"] + "\ncheck:\n\t./run\n"}
    ),
    "a new script that the check names": Case("sh t.sh", {"a.txt": "a\n"}, {"t.sh": "test -f b\n"}),
    "a program that the check looks at": Case(
        'test "$(python app.py)" = 42', {"app.py": "print(41)\n"}, {"app.py": "print(42)\n"}
    ),
    "a program whose output is searched": Case(
        "./app.sh | grep -q 42",
        {"app.sh": "#!/bin/sh\necho 41\n"},
        {"app.sh": "#!/bin/sh\necho 42\n"},
    ),
    "a program that must say something": Case(
        "python use.py", {"use.py": "print(41)\n"}, {"use.py": "print(42)\n"}, success="contains:42"
    ),
    "a program that the scope names": Case(
        "python use.py",
        {"use.py": "import sys\nsys.exit(1)\n"},
        {"use.py": "import sys\nsys.exit(0)\n"},
        scope=("use.py",),
    ),
    "a program that the goal names": Case(
        "python use.py",
        {"use.py": "boom()\n"},
        {"use.py": "print(1)\n"},
        goal="Repair use.py so that it runs.",
    ),
    "a program that the tests import": Case(
        "python app.py && pytest",
        {
            **PY,
            "app.py": (
                "import sys\n\n\ndef f(x):\n    return x\n\n\n"
                "if __name__ == '__main__':\n    sys.exit(1)\n"
            ),
        },
        {"app.py": "def f(x):\n    return x + 1\n"},
    ),
    "a file that the check looks at": Case(
        "grep -q good a.txt", {"a.txt": "bad\n"}, {"a.txt": "good\n"}
    ),
    "sources that a linter looks at": Case(
        "uv run ruff check app.py", {"app.py": "import os\n"}, {"app.py": "x = 1\n"}
    ),
    "a table that is the task": Case(
        PYTEST,
        {
            T: (
                "import json\n\n\ndef test_t():\n"
                "    assert json.load(open('rates.json'))['a'] == 2\n"
            ),
            "rates.json": '{"a": 1}',
            "app.py": "RATES = open('rates.json')\n",
        },
        {"rates.json": '{"a": 2}'},
    ),
    "a file that is all a test looks at": Case(
        PYTEST,
        {T: "def test_t():\n    assert open('rates.csv').read() == 'a'\n", "rates.csv": "b\n"},
        {"rates.csv": "a\n"},
    ),
    "a file that is all a script looks at": Case(
        "sh t.sh",
        {"t.sh": "set -e\ngrep -q good notes.txt\n", "notes.txt": "bad\n"},
        {"notes.txt": "good\n"},
    ),
    "a table in the scope": Case(
        PYTEST,
        {T: "def test_t():\n    assert open('rates.csv').read() == 'a'\n", "rates.csv": "b\n"},
        {"rates.csv": "a\n"},
        scope=("rates.csv",),
    ),
    "dead code deleted": Case(
        PYTEST,
        {
            **PY,
            "old.py": "def g():\n    pass\n",
            "tests/helpers.py": HELPERS + "\n\ndef unused(a):\n    assert a\n",
        },
        {"old.py": None, "tests/helpers.py": HELPERS},
    ),
    "an own equality": Case(
        PYTEST,
        PY,
        {
            "app.py": (
                "class P:\n    def __eq__(self, other):\n"
                "        return self.x == other.x\n\n\ndef f(x):\n    return x + 1\n"
            )
        },
    ),
    "a program that exits": Case(
        PYTEST,
        PY,
        {"cli.py": "import sys\n\n\ndef main():\n    sys.exit(0)\n", "app.py": PY["app.py"]},
    ),
    "a module of a package called like one of the standard library": Case(
        PYTEST,
        {**PY, "src/shop/__init__.py": ""},
        {"src/shop/types.py": "x = 1\n", "src/shop/logging.py": "x = 1\n"},
    ),
    "a module that the scope calls like one of the standard library": Case(
        PYTEST, PY, {"calendar.py": "x = 1\n"}, scope=("calendar.py", "app.py")
    ),
    "a comment in a script": Case(
        "sh s/t.sh", T_SH, {"s/t.sh": "# looks for the feature\ntest -f feature.txt\n"}
    ),
    "an execute bit gained": Case("sh s/t.sh", T_SH, {}, modes={"s/t.sh": ("100644", "100755")}),
    "weaker tests where the plan allows them": Case(
        "sh s/t.sh", T_SH, {"s/t.sh": "true\n"}, scope=("s/**",), allow=True
    ),
    "a test of node added": Case(
        "npx jest",
        {"app.test.js": JS},
        {"app.test.js": JS + "test('g', () => {\n  expect(f(2)).toBe(3);\n});\n"},
    ),
    "a test of node in other lines": Case(
        "npx jest",
        {"app.test.js": JS},
        {"app.test.js": JS.replace("expect(f(1)).toBe(2)", "expect(\n    f(1),\n  ).toBe(2)")},
        unsure=True,
    ),
    "files of no check": Case(
        "test -f a",
        {"README.md": "x\n", "docs/a.md": "x\n"},
        {"README.md": "y\n", "docs/a.md": None},
    ),
    "a whole new project": Case(
        PYTEST,
        {},
        {
            "pyproject.toml": (
                "[project]\nname = 'x'\n[tool.pytest.ini_options]\n"
                "testpaths = ['tests']\naddopts = '-q'\n"
            ),
            **PY,
            "Makefile": "test:\n\tpytest\n",
        },
    ),
}
