"""Settings that leave code out of the coverage that a check asks for."""

from __future__ import annotations

import pytest

from yaoki.core.model import CheckSpec
from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import TreeView
from yaoki.formats.quality import find_gaming

pytestmark = pytest.mark.spec("17.4")

COVERED = "pytest --cov=calc --cov-fail-under=100"
RC, PROJECT, PACKAGE = ".coveragerc", "pyproject.toml", "package.json"


def is_found(
    path: str,
    after: str,
    before: str | None = None,
    shell: str = COVERED,
    goal: str = "Test calc.py completely.",
) -> bool:
    base = TreeView(frozenset({"calc.py"}), {"calc.py": "X = 1\n"}.get)
    change = Change(path, before, after, ())
    return find_gaming([change], base, goal=goal, checks=[CheckSpec("c", shell=shell)]) is not None


@pytest.mark.parametrize(
    ("path", "after", "before"),
    [
        (RC, "[report]\nexclude_also =\n    def mul\n", None),
        (RC, "[report]\nexclude_lines =\n    pragma: no cover\n    if a == 0\n", None),
        (RC, "[run]\nomit = calc.py\n", None),
        (RC, "[run]\nomit = tests/*\n    calc.py\n", "[run]\nomit = tests/*\n"),
        ("setup.cfg", "[coverage:run]\nomit = src/calc.py\n", None),
        ("tox.ini", "[tox]\n[coverage:report]\nexclude_also = return\n", "[tox]\n"),
        (PROJECT, '[tool.coverage.report]\nexclude_also = ["def .*"]\n', None),
        (PROJECT, '[tool.coverage.run]\nomit = ["calc.py"]\n', '[project]\nname = "x"\n'),
        (PACKAGE, '{"nyc": {"exclude": ["src/calc.js"]}}', "{}"),
        (".c8rc.json", '{"exclude": ["lib/**"]}', None),
    ],
)
def test_settings_that_leave_code_out_are_found(path: str, after: str, before: str | None) -> None:
    assert is_found(path, after, before)


@pytest.mark.parametrize(
    ("path", "after", "before"),
    [
        (RC, "[run]\nbranch = true\nsource = calc\n", None),
        (RC, "[run]\nomit = tests/*\n", None),
        (
            RC,
            "[report]\nexclude_also =\n    pragma: no cover\n    if TYPE_CHECKING:\n"
            "    def __repr__\n    raise NotImplementedError\n    @abstractmethod\n",
            None,
        ),
        (PROJECT, '[tool.coverage.run]\nomit = ["*/migrations/*", "setup.py"]\n', None),
        (PROJECT, "[tool.coverage.report]\nfail_under = 100\nshow_missing = true\n", None),
        (PACKAGE, '{"nyc": {"exclude": ["**/*.test.js", "node_modules"]}}', "{}"),
        (PACKAGE, '{"files": ["lib"], "exclude": ["lib/x"]}', "{}"),
        (PROJECT, "not toml [", None),
    ],
)
def test_usual_settings_are_free(path: str, after: str, before: str | None) -> None:
    assert not is_found(path, after, before)


def test_settings_are_free_where_no_check_asks_for_coverage_or_the_goal_asks_for_them() -> None:
    after = "[run]\nomit = legacy/*\n"

    assert is_found(RC, after)
    assert not is_found(RC, after, shell="pytest -q")
    assert not is_found(RC, after, goal="Omit legacy/ from the coverage.")
