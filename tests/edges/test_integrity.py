"""Test integrity: a table of changes that weaken the tests, and of those that do not."""

from __future__ import annotations

import pytest

from yaoki.quality import Change, weakened


def change(path: str, before: str | None, after: str | None) -> Change:
    old = set((before or "").splitlines())
    added = tuple(
        (n, line) for n, line in enumerate((after or "").splitlines(), start=1) if line not in old
    )
    return Change(path, before, after, added)


TWO = "def test_one():\n    assert 1\n\n\ndef test_two():\n    assert 2\n"
ONE = "def test_one():\n    assert 1\n"

WEAKER = {
    "a test function went": [change("tests/test_a.py", TWO, ONE)],
    "a test file went": [change("tests/test_a.py", ONE, None)],
    "a fixture of the tests went": [change("tests/data.json", "{}", None)],
    "pytest skip": [change("test_a.py", ONE, "import pytest\n@pytest.mark.skip\n" + ONE)],
    "pytest xfail": [change("test_a.py", ONE, "@pytest.mark.xfail\n" + ONE)],
    "unittest skip": [change("tests/t.py", "x\n", "@unittest.skip('later')\nx\n")],
    "jest skip": [change("a.test.js", "it('a', f)\n", "it.skip('a', f)\n")],
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
        change("pyproject.toml", "[tool.x]\n", "[tool.x]\n[tool.pytest.ini_options]\n")
    ],
    "package.json test script": [
        change("package.json", '"test": "jest"\n', '"test": "true"\n'),
    ],
    "eslint rules": [change(".eslintrc.json", "{}", '{"rules": {}}')],
    "the script that checks": [change("check.sh", "exit 1\n", "exit 0\n")],
    "conftest ignores": [change("conftest.py", "x = 1\n", "x = 1\ncollect_ignore = ['a']\n")],
}

SAME = {
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
}


@pytest.mark.spec("6.6")
@pytest.mark.parametrize("name", WEAKER)
def test_what_weakens_the_tests_is_named(name: str) -> None:
    found = weakened(WEAKER[name], ["check.sh", "python3"])

    assert found is not None
    assert found.pattern == "test-weakened"
    assert found.params["weakenedTests"]


@pytest.mark.spec("6.6")
@pytest.mark.parametrize("name", SAME)
def test_what_leaves_the_tests_as_strong_is_no_finding(name: str) -> None:
    assert weakened(SAME[name], ["check.sh", "a.sh"]) is None
