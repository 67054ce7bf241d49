"""What `yaoki init --again` changes in a file, and what it leaves alone."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import pytest

from yaoki.formats.discovery import (
    FoundCheck,
    TrialResult,
    TrialState,
    refresh_comments,
    settings_text,
    update_environments,
)

pytestmark = pytest.mark.spec("12.3")

PLAIN = FoundCheck(
    "tests",
    "pytest",
    "tests",
    "Python",
    "pyproject.toml",
    run=("python", "-m", "pytest"),
    env={"PYTHONPATH": "src"},
)
IN_VENV = replace(PLAIN, env={"VIRTUAL_ENV": ".venv", "PYTHONPATH": "src"})
RED = TrialResult(PLAIN, TrialState.RED, "1 failure", 1, has_comparable_failures=True)
GREEN = TrialResult(IN_VENV, TrialState.GREEN, "2 tests")


def look_again(text: str, trial: TrialResult = GREEN) -> tuple[str, list[str], list[str]]:
    known: Any = tomllib.loads(text)["checks"]
    new, updated, others = update_environments(text, [trial], known)
    return refresh_comments(new, [trial], known, others), updated, others


def test_a_check_of_init_gets_the_environment_in_which_it_was_tried() -> None:
    text = settings_text((), [RED]) + "\n# mine\n"

    new, updated, others = look_again(text)

    assert (updated, others) == (["tests"], [])
    check = tomllib.loads(new)["checks"]["tests"]
    assert check == {
        **tomllib.loads(text)["checks"]["tests"],
        "env": {"VIRTUAL_ENV": ".venv", "PYTHONPATH": "src"},
    }
    assert "# green at the base\n[checks.tests]" in new
    assert new.endswith("# mine\n")
    assert look_again(new) == (new, [], []), "nothing is left to update"


def test_an_environment_is_added_below_the_command_where_there_was_none() -> None:
    text = settings_text((), [replace(RED, check=replace(PLAIN, env={}))])

    new, updated, _ = look_again(text)

    assert updated == ["tests"]
    assert tomllib.loads(new)["checks"]["tests"]["env"] == dict(IN_VENV.env)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"pytest"]', '"pytest", "-x"]'),
        ('PYTHONPATH = "src"', 'PYTHONPATH = "lib"'),
        ('PYTHONPATH = "src"', 'PYTHONPATH = "src", MINE = "1"'),
        ("env = {", 'cwd = "sub"\nenv = {'),
        ('env = { PYTHONPATH = "src" }', '[checks.tests.env]\nPYTHONPATH = "src"'),
    ],
)
def test_a_check_that_a_person_changed_stays_and_gets_no_result(old: str, new: str) -> None:
    text = settings_text((), [replace(RED, has_comparable_failures=False)]).replace(old, new)

    again, updated, others = look_again(text)

    assert (updated, others) == ([], ["tests"])
    assert tomllib.loads(again) == tomllib.loads(text)
    assert "green at the base" not in again


def test_a_check_that_cannot_run_now_keeps_its_environment() -> None:
    text = settings_text((), [RED])
    trial = replace(GREEN, state=TrialState.MISSING, words="no module named pytest")

    again, updated, others = look_again(text, trial)

    assert (updated, others) == ([], ["tests"])
    assert tomllib.loads(again) == tomllib.loads(text)
    assert "cannot run here" not in again
