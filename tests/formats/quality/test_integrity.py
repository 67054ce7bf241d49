"""Test integrity: a table of changes that weaken the tests, and of those that do not."""

from __future__ import annotations

import pytest

from tests.formats.quality.weakened_tests import weakening_finding
from yaoki.formats.quality import Change


def change(path: str, before: str | None, after: str | None) -> Change:
    old = set((before or "").splitlines())
    added = tuple(
        (n, line) for n, line in enumerate((after or "").splitlines(), start=1) if line not in old
    )
    return Change(path, before, after, added)


TWO = "def test_one():\n    assert 1\n\n\ndef test_two():\n    assert 2\n"
REAL = "def test_one():\n    assert f() == 1\n"
ONE = "def test_one():\n    assert 1\n"

WEAKER = {
    "a test function went": [change("tests/test_a.py", TWO, ONE)],
    "a test file went": [change("tests/test_a.py", ONE, None)],
    "a fixture of the tests went": [change("tests/data.json", "{}", None)],
    "pytest skip": [change("test_a.py", ONE, "import pytest\n@pytest.mark.skip\n" + ONE)],
    "pytest xfail": [change("test_a.py", ONE, "@pytest.mark.xfail\n" + ONE)],
    "unittest skip": [change("tests/t.py", "x\n", "@unittest.skip('later')\nx\n")],
    "jest skip": [change("a.test.js", "it('a', f)\n", "it.skip('a', f)\n")],
    "node skip": [change("a.test.js", "test('a', f)\n", "test('a', { skip: true }, f)\n")],
    "node alias": [change("a.test.js", "t('a', f)\n", "t.skip('a', f)\n")],
    "jest only": [change("a.test.js", "it('a', f)\n", "it.only('a', f)\n")],
    "go skip": [
        change("a_test.go", "func TestA(t *T) {\n}\n", "func TestA(t *T) {\n\tt.Skip()\n}\n")
    ],
    "rust ignore": [
        change("tests/a.rs", "#[test]\nfn a() {}\n", "#[test]\n#[ignore]\nfn a() {}\n")
    ],
    "java disabled": [
        change("src/test/ATest.java", "@Test\nvoid a() {}\n", "@Disabled\n@Test\nvoid a() {}\n")
    ],
    "js test went": [change("a.spec.ts", "test('x', f)\ntest('y', f)\n", "test('x', f)\n")],
    "pytest.ini loosened": [change("pytest.ini", "[pytest]\n", "[pytest]\naddopts = -k nothing\n")],
    "pyproject pytest section": [
        change(
            "pyproject.toml",
            "[tool.pytest.ini_options]\naddopts = '-q'\n",
            "[tool.pytest.ini_options]\naddopts = '-q --co'\n",
        )
    ],
    "a new pytest section that narrows": [
        change(
            "pyproject.toml",
            "[tool.x]\n",
            "[tool.x]\n[tool.pytest.ini_options]\naddopts = '-k nothing'\n",
        )
    ],
    "a new pyproject that narrows": [
        change("pyproject.toml", None, "[tool.pytest.ini_options]\naddopts = '-k nothing'\n")
    ],
    "a new pytest.ini that ignores": [
        change("pytest.ini", None, "[pytest]\naddopts = --ignore=test_a.py\n")
    ],
    "a mark imported by name": [
        change("test_a.py", ONE, "from pytest import mark\n@mark.skip\n" + ONE)
    ],
    "an alias of pytest": [change("test_a.py", ONE, "import pytest as p\n@p.mark.skip\n" + ONE)],
    "a condition that always holds": [
        change("test_a.py", ONE, "import pytest\n@pytest.mark.skipif(True, reason='x')\n" + ONE)
    ],
    "a skip on a test that stood": [
        change("test_a.py", ONE, "import pytest\n@pytest.mark.skipif(sys.x, reason='')\n" + ONE)
    ],
    "a module that may be missing": [
        change("test_a.py", ONE, "import pytest\npytest.importorskip('nosuch')\n" + ONE)
    ],
    "a mark on the whole module": [
        change("test_a.py", ONE, "import pytest\npytestmark = pytest.mark.skip\n" + ONE)
    ],
    "a skip inside the body": [
        change("test_a.py", ONE, "def test_one():\n    pytest.skip('x')\n    assert 1\n")
    ],
    "a hook that drops tests": [
        change(
            "conftest.py", None, "def pytest_collection_modifyitems(items):\n    del items[1:]\n"
        )
    ],
    "a hook that says how it ended": [
        change("conftest.py", "x = 1\n", "x = 1\ndef pytest_sessionfinish(s):\n    s.x = 0\n")
    ],
    "tests under if False": [
        change("test_a.py", ONE, "if False:\n    def test_one():\n        assert 1\n")
    ],
    "a test in a string": [change("test_a.py", ONE, f"'''\n{ONE}'''\n")],
    "a test commented out": [change("a.test.js", "it('a', f)\n", "/*\nit('a', f)\n*/\n")],
    "a body of pass": [change("test_a.py", REAL, "def test_one():\n    pass\n")],
    "a body of assert True": [change("test_a.py", REAL, "def test_one():\n    assert True\n")],
    "a body that returns first": [
        change("test_a.py", REAL, "def test_one():\n    return\n    assert f() == 1\n")
    ],
    "an assertion left out": [change("test_a.py", REAL, "def test_one():\n    f()\n")],
    "one of two tests with a name": [
        change(
            "test_a.py",
            "class TestA:\n    def test_x(self): f()\nclass TestB:\n    def test_x(self): f()\n",
            "class TestA:\n    def test_x(self): f()\n",
        )
    ],
    "a body of js emptied": [
        change("a.test.js", "it('a', () => { expect(f()).toBe(1); });\n", "it('a', () => {});\n")
    ],
    "a body of js that is always true": [
        change(
            "a.test.js",
            "it('a', () => { expect(f()).toBe(1); });\n",
            "it('a', () => { expect(true).toBe(true); });\n",
        )
    ],
    "a body of go emptied": [
        change("a_test.go", "func TestA(t *T) {\n\tf(t)\n}\n", "func TestA(t *T) {\n}\n")
    ],
    "an example of rspec went": [
        change(
            "spec/a_spec.rb",
            "it 'adds' do\n  expect(f).to eq 1\nend\nit 'takes' do\n  expect(g).to eq 1\nend\n",
            "it 'adds' do\n  expect(f).to eq 1\nend\n",
        )
    ],
    "an example of rspec left pending": [
        change("spec/a_spec.rb", "it 'adds' do\n  f\nend\n", "xit 'adds' do\n  f\nend\n")
    ],
    "a rust test beside the code": [
        change("src/lib.rs", "#[test]\nfn a() { f() }\nfn b() {}\n", "fn b() {}\n")
    ],
    "a script of package.json": [
        change("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "true"}}')
    ],
    "a section of package.json": [
        change("package.json", '{"jest": {}}', '{"jest": {"testPathIgnorePatterns": ["a"]}}')
    ],
    "tsconfig less strict": [
        change(
            "tsconfig.json",
            '{"compilerOptions": {"strict": true}} // x\n',
            '{"compilerOptions": {"strict": false}}\n',
        )
    ],
    "tsconfig leaves a source out": [
        change("tsconfig.json", '{"exclude": []}', '{"exclude": ["src/hard.ts"]}')
    ],
    "a makefile that lets failures pass": [
        change("Makefile", "test:\n\tpytest\n", "test:\n\tpytest || true\n")
    ],
    "a makefile with another shell": [
        change("Makefile", "test:\n\t./t\n", "SHELL = /bin/true\ntest:\n\t./t\n")
    ],
    "scripts of npm run by another shell": [change(".npmrc", None, "script-shell=/bin/true\n")],
    "new settings by which no test runs": [
        change("pytest.ini", None, "[pytest]\naddopts = --setup-plan\n")
    ],
    "new settings that only collect": [
        change("pytest.ini", None, "[pytest]\naddopts = --collect-only\n")
    ],
    "the same in short": [change("pytest.ini", None, "[pytest]\naddopts = --co\n")],
    "settings of yaoki in pyproject": [
        change(
            "pyproject.toml",
            "[tool.yaoki.checks.tests]\nrun = ['pytest']\n",
            "[tool.yaoki.checks.tests]\nrun = ['true']\n",
        )
    ],
    "a second rule of the same name": [
        change("Makefile", "test:\n\t./t\n", "test:\n\t./t\ntest: # x\n\ttrue\n")
    ],
    "package.json test script": [
        change("package.json", '"test": "jest"\n', '"test": "true"\n'),
    ],
    "eslint rules": [change(".eslintrc.json", "{}", '{"rules": {}}')],
    "the script that checks": [change("check.sh", "exit 1\n", "exit 0\n")],
    "conftest ignores": [change("conftest.py", "x = 1\n", "x = 1\ncollect_ignore = ['a']\n")],
}

SAME = {
    "new settings that measure": [
        change("pytest.ini", None, "[pytest]\naddopts = --cov=src --color=yes\n")
    ],
    "a test was added": [change("tests/test_a.py", ONE, TWO)],
    "a test moved to another file": [
        change("tests/test_a.py", TWO, ONE),
        change("tests/test_b.py", None, "def test_two():\n    assert 2\n"),
    ],
    "a test file was renamed": [
        change("tests/test_a.py", ONE, None),
        change("tests/test_z.py", None, ONE),
    ],
    "a skip that stood before": [
        change("test_a.py", "@pytest.mark.skip\n" + ONE, "@pytest.mark.skip\n" + TWO)
    ],
    "skip in ordinary code": [change("src/player.py", "x\n", "def t():\n    self.skipTest('a')\n")],
    "a dependency in pyproject": [
        change("pyproject.toml", "dependencies = []\n", 'dependencies = ["httpx"]\n')
    ],
    "a new configuration": [change("pytest.ini", None, "[pytest]\n")],
    "ordinary code": [change("src/a.py", "x = 1\n", "x = 2\n")],
    "a function called test in ordinary code": [
        change("src/a.py", "def testing():\n    pass\n", "x = 1\n")
    ],
    "a data file a check looks at": [change("a.txt", "bad\n", "good\n")],
    "nothing": [],
    "mypy among the dependencies": [
        change(
            "pyproject.toml",
            "[dependency-groups]\ndev = ['ruff']\n[tool.mypy]\nstrict = true\n",
            "[dependency-groups]\ndev = ['ruff', 'mypy', 'pytest']\n[tool.mypy]\nstrict = true\n",
        )
    ],
    "eslint and types among the dependencies": [
        change(
            "package.json",
            '{"scripts": {"test": "jest"}, "devDependencies": {}}',
            '{"scripts": {"test": "jest"}, "devDependencies": {"eslint": "9", "@types/jest": "1"}}',
        )
    ],
    "a script that was not there": [
        change("package.json", '{"scripts": {}}', '{"scripts": {"test:e2e": "playwright test"}}')
    ],
    "a folder of built files left out": [
        change("tsconfig.json", '{"exclude": ["dist"]}', '{"exclude": ["dist", "out", ".next/**"]}')
    ],
    "an archive in the makefile": [
        change("Makefile", "test:\n\tpytest\n", "test:\n\tpytest\np:\n\ttar --exclude x\n")
    ],
    "another rule of the makefile": [
        change("Makefile", "test:\n\tpytest\n", "test:\n\tpytest\nlint:\n\truff check\n")
    ],
    "a new test that cannot run everywhere": [
        change(
            "test_a.py",
            ONE,
            ONE + "\n\n@pytest.mark.skipif(sys.platform == 'win32', reason='x')\n"
            "def test_new():\n    assert f()\n",
        )
    ],
    "a new test that looks where it runs": [
        change(
            "a_test.go",
            "func TestA(t *T) {\n\tf(t)\n}\n",
            "func TestA(t *T) {\n\tf(t)\n}\n"
            "func TestB(t *T) {\n\tif short() {\n\t\tt.Skip()\n\t}\n}\n",
        )
    ],
    "a new file that needs a module": [
        change("test_b.py", None, "import pytest\nnp = pytest.importorskip('numpy')\n" + ONE)
    ],
    "a file with skips was renamed": [
        change("test_a.py", "@pytest.mark.skip\n" + ONE, None),
        change("test_z.py", None, "@pytest.mark.skip\n" + ONE),
    ],
    "assertions moved to a function": [
        change("test_a.py", REAL, "def test_one():\n    same(f(), 1)\n")
    ],
    "a test given parameters": [
        change(
            "test_a.py",
            "def test_one():\n    assert f(1)\n",
            "@pytest.mark.parametrize('x', [1, 2])\ndef test_one(x):\n    assert f(x)\n",
        )
    ],
    "a test in js with an expression for a body": [
        change("a.test.js", "it('a', f)\n", "it('a', () => expect(f()).toBe(1));\nconst x = {};\n")
    ],
    "a new pytest section": [
        change(
            "pyproject.toml",
            "[project]\nname = 'x'\n",
            "[project]\nname = 'x'\n[tool.pytest.ini_options]\ntestpaths = ['tests']\n",
        )
    ],
    "a skip method of some other thing": [
        change("test_a.py", REAL, "def test_one():\n    reader.skip(2)\n    assert f() == 1\n")
    ],
    "ordinary code in rust": [change("src/lib.rs", "fn b() {}\n", None)],
}


@pytest.mark.spec("6.6")
@pytest.mark.parametrize("name", WEAKER)
def test_a_change_that_weakens_tests_is_reported(name: str) -> None:
    found = weakening_finding(WEAKER[name], ["check.sh", "python3"])

    assert found is not None
    assert found.pattern == "test-weakened"
    assert found.params["weakenedTests"]
    assert {item.where for item in found.items} <= {one.path for one in WEAKER[name]}


@pytest.mark.spec("6.6")
def test_tests_in_a_file_that_became_unparsable_count_as_deleted() -> None:
    found = weakening_finding([change("test_a.py", REAL, REAL + "def (:\n")])

    assert found is not None
    assert found.items[0].message == "the test was deleted, or is never run"


@pytest.mark.spec("6.6", "16.7")
def test_the_agent_gets_the_file_of_a_weakened_test() -> None:
    found = weakening_finding([change("tests/test_a.py", TWO, ONE)])

    assert found is not None
    assert "test_two in tests/test_a.py (the test was deleted" in found.message
    assert found.params["weakenedTests"][0]["file"] == "tests/test_a.py"


@pytest.mark.spec("6.6")
@pytest.mark.parametrize("name", SAME)
def test_a_change_that_does_not_weaken_tests_is_no_finding(name: str) -> None:
    assert weakening_finding(SAME[name], ["check.sh", "a.sh"]) is None
