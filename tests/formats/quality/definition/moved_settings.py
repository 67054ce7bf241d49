"""Settings of pytest that move to another file or follow a folder, and pretended moves."""

from __future__ import annotations

from tests.formats.quality.definition.cases import PYTEST, Case

APP = "def f(x):\n    return x\n"
TEST = "from app import f\n\n\ndef test_f():\n    assert f(1) == 1\n"
PROJECT = '[project]\nname = "app"\n'
INI = "[pytest]\ntestpaths = tests\npythonpath = .\naddopts = -ra --strict-markers\n"
MORE_INI = INI + "xfail_strict = True\nfilterwarnings = error\n"
TOML = (
    '[tool.pytest.ini_options]\ntestpaths = ["tests"]\npythonpath = ["."]\n'
    'addopts = "-ra --strict-markers"\n'
)
MORE_TOML = TOML + 'xfail_strict = true\nfilterwarnings = ["error"]\n'
NATIVE = MORE_TOML.replace(".ini_options", "").replace(
    '"-ra --strict-markers"', '["-ra", "--strict-markers"]'
)
CFG = "[metadata]\nname = app\n\n"
TOOL = INI.replace("[pytest]", "[tool:pytest]")
FLAKE = "[flake8]\nmax-line-length = 100\n\n"
BASE = {"app.py": APP, "tests/test_app.py": TEST}
PACKAGE = {"app/__init__.py": APP, "tests/test_app.py": TEST}
IN_SRC = {"app/__init__.py": None, "src/app/__init__.py": APP}
SINGULAR = {"app.py": APP, "test/test_app.py": TEST}
RENAMED = {"test/test_app.py": None, "tests/test_app.py": TEST}
OF_TEST = TOML.replace('"tests"', '"test"')


def a_move(before: dict[str, str], after: dict[str, str | None], where: str = "") -> Case:
    return Case(PYTEST, {**BASE, **before}, after, where=where)


MOVED: dict[str, Case] = {
    "pytest.ini becomes a section of pyproject.toml": a_move(
        {"pytest.ini": MORE_INI, "pyproject.toml": PROJECT},
        {"pytest.ini": None, "pyproject.toml": PROJECT + MORE_TOML},
    ),
    "pytest.ini becomes the own section of pytest 9": a_move(
        {"pytest.ini": MORE_INI, "pyproject.toml": PROJECT},
        {"pytest.ini": None, "pyproject.toml": PROJECT + NATIVE},
    ),
    "a section of setup.cfg becomes one of pyproject.toml": a_move(
        {"setup.cfg": CFG + TOOL, "pyproject.toml": PROJECT},
        {"setup.cfg": CFG, "pyproject.toml": PROJECT + TOML},
    ),
    "setup.cfg is replaced by pyproject.toml": a_move(
        {"setup.cfg": CFG + TOOL}, {"setup.cfg": None, "pyproject.toml": PROJECT + TOML}
    ),
    "a section of tox.ini becomes pytest.ini": a_move(
        {"tox.ini": FLAKE + INI}, {"tox.ini": FLAKE, "pytest.ini": INI}
    ),
    "a section of pyproject.toml becomes pytest.ini": a_move(
        {"pyproject.toml": PROJECT + MORE_TOML}, {"pyproject.toml": PROJECT, "pytest.ini": MORE_INI}
    ),
    "names of test files move with the rest": a_move(
        {"pytest.ini": INI + "python_files = test_*.py check_*.py\n"},
        {
            "pytest.ini": None,
            "pyproject.toml": TOML + 'python_files = ["test_*.py", "check_*.py"]\n',
        },
    ),
    "a package moves to src": Case(
        PYTEST,
        {**PACKAGE, "pyproject.toml": TOML},
        {**IN_SRC, "pyproject.toml": TOML.replace('["."]', '["src"]')},
    ),
    "a package moves to src, and the root is still searched": Case(
        PYTEST,
        {**PACKAGE, "pytest.ini": INI},
        {**IN_SRC, "pytest.ini": INI.replace("= .", "= . src")},
    ),
    "the folder of the tests gets another name": Case(
        PYTEST,
        {**SINGULAR, "pyproject.toml": OF_TEST},
        {**RENAMED, "pyproject.toml": TOML},
    ),
}

NOT_MOVED: dict[str, Case] = {
    "settings that lose a folder of tests on their way": a_move(
        {"pytest.ini": INI.replace("= tests", "= tests more"), "more/test_more.py": TEST},
        {"pytest.ini": None, "pyproject.toml": TOML},
        "pytest.ini",
    ),
    "settings that deselect a test on their way": a_move(
        {"pytest.ini": INI},
        {"pytest.ini": None, "pyproject.toml": TOML.replace("-ra", "-ra --deselect tests/x.py")},
        "pytest.ini",
    ),
    "settings that lose an option on their way": a_move(
        {"pytest.ini": MORE_INI},
        {"pytest.ini": None, "pyproject.toml": TOML},
        "pytest.ini",
    ),
    "settings that were hidden by those that go": a_move(
        {"pytest.ini": INI, "pyproject.toml": TOML.replace("-ra", "-k nothing")},
        {"pytest.ini": None},
        "pytest.ini",
    ),
    "a new file that hides the settings with weaker ones": a_move(
        {"pyproject.toml": TOML},
        {"pytest.ini": INI + "python_files = x_*.py\n"},
        "pytest.ini",
    ),
    "another tool loses its settings beside": a_move(
        {"setup.cfg": "[mypy]\nstrict = true\n" + TOOL},
        {"setup.cfg": None, "pyproject.toml": TOML},
        "setup.cfg",
    ),
    "a search path to a copy of the program": Case(
        PYTEST,
        {**PACKAGE, "pyproject.toml": TOML},
        {"src/app/__init__.py": APP, "pyproject.toml": TOML.replace('["."]', '["src"]')},
        where="pyproject.toml",
    ),
    "a search path to a moved package and to one more": Case(
        PYTEST,
        {**PACKAGE, "pyproject.toml": TOML},
        {**IN_SRC, "src/pytest.py": "", "pyproject.toml": TOML.replace('["."]', '["src"]')},
        where="pyproject.toml",
    ),
    "a new folder of tests while the old one stays": Case(
        PYTEST,
        {**SINGULAR, "pyproject.toml": OF_TEST},
        {"tests/test_app.py": TEST, "pyproject.toml": TOML},
        where="pyproject.toml",
    ),
    "a renamed folder of which a test is missing": Case(
        PYTEST,
        {**SINGULAR, "test/test_more.py": TEST, "pyproject.toml": OF_TEST},
        {**RENAMED, "test/test_more.py": None, "pyproject.toml": TOML},
        where="pyproject.toml",
    ),
}
