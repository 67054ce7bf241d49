"""Which folder of an attempt holds what a check wrote last."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.builders import a_check, a_spec, a_task
from yaoki.app.attempt_files import find_check_folders
from yaoki.core.model import Task


def ran(home: Path, *folders: str) -> Path:
    """Folders of checks, each a second younger than the one before."""
    for second, name in enumerate(folders, start=1):
        place = home / "checks" / name
        place.mkdir(parents=True)
        os.utime(place, (second, second))
    return home


def checked(*names: str) -> Task:
    return a_task(spec=a_spec("a", checks=tuple(a_check(name) for name in names)))


def shown(home: Path, task: Task) -> dict[str, str]:
    return {name: place.name for name, place in find_check_folders(home, task).items()}


@pytest.mark.spec("12.1")
def test_the_newest_run_of_a_check_is_shown(tmp_path: Path) -> None:
    """`yaoki logs --check tests` showed the first try, and offered `tests-again` and `tests-2`
    as checks of their own.
    """
    home = ran(tmp_path, "1-tests", "1-tests-again", "1-tests-2", "1-tests-2-again", "2-lint")

    assert shown(home, checked("tests", "lint")) == {"tests": "1-tests-2-again", "lint": "2-lint"}


@pytest.mark.spec("12.1", "6.4")
def test_a_check_run_on_the_base_does_not_belong_to_the_attempt(tmp_path: Path) -> None:
    home = ran(tmp_path, "1-tests", "1-tests-again", "1-tests-base", "1-tests-base-2")

    assert shown(home, checked("tests")) == {"tests": "1-tests-again"}


@pytest.mark.spec("12.1")
def test_a_check_whose_name_begins_like_another_is_kept_separate(tmp_path: Path) -> None:
    home = ran(
        tmp_path, "1-tests", "2-tests-again", "2-tests-again-2", "3-base", "aims-base-c0ffee"
    )

    assert shown(home, checked("tests", "tests-again", "base")) == {
        "tests": "1-tests",
        "tests-again": "2-tests-again-2",
        "base": "3-base",
    }
