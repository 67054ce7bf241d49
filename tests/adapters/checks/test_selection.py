"""A check narrowed to the tests that failed."""

from __future__ import annotations

import pytest

from yaoki.adapters.checks.selection import narrow_to_failures
from yaoki.core.model import CheckSpec, Finding, FindingItem, Outcome

pytestmark = pytest.mark.spec("6.5")
NODE = "tests/test_a.py::test_x[1-2]"


def failing(*names: str, **params: object) -> Finding:
    return Finding("tests", Outcome.FAILED, items=tuple(map(FindingItem, names)), params=params)


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("pytest", "pytest"),
        ("python -m pytest -q", "python -m pytest -q"),
        ("python -m pytest -q tests", "python -m pytest -q"),
        ("pytest -k fast tests/unit -n 2", "pytest -k fast -n 2"),
        ("uv run pytest --maxfail=1 tests", "uv run pytest --maxfail=1"),
        ("pytest --strict-markers tests", "pytest --strict-markers"),
    ],
)
def test_paths_are_replaced_by_the_names_of_the_failing_tests(argv: str, expected: str) -> None:
    made = narrow_to_failures(CheckSpec("tests", argv=tuple(argv.split())), failing(NODE))

    assert made is not None
    assert made.argv == (*expected.split(), NODE)


@pytest.mark.parametrize(
    "argv", ["make test", "tox", "pytest --unknown value", "pytest --junit-xml x"]
)
def test_a_command_that_is_not_understood_runs_completely(argv: str) -> None:
    assert narrow_to_failures(CheckSpec("tests", argv=tuple(argv.split())), failing(NODE)) is None


def test_failures_without_names_run_the_whole_check() -> None:
    spec = CheckSpec("tests", argv=("pytest",))

    assert narrow_to_failures(spec, failing()) is None
    assert narrow_to_failures(spec, failing("collection failure")) is None
    assert narrow_to_failures(spec, failing(NODE, failureCount=70)) is None
    assert narrow_to_failures(CheckSpec("t", shell="pytest"), failing(NODE)) is None
