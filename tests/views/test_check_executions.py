"""Which execution of a check is shown, and the words for the others."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.builders import NOW
from yaoki.core.model import CheckRunPurpose
from yaoki.ports import JournalEntry
from yaoki.views.check_executions import (
    choose_execution,
    list_executions,
    read_execution,
    verdict_folders,
)
from yaoki.views.history.entry_values import read_check_result

pytestmark = pytest.mark.spec("12.1")


def finished(seq: int, attempt: int, check: str, folder: str) -> JournalEntry:
    log = f"/moved/.yaoki/runs/r/r-1/{attempt}/checks/{folder}/out.log" if folder else ""
    data = {"check": check, "outcome": "FAILED", "commit": "c" * 40, "log": log}
    return JournalEntry(seq, NOW, "r", "r-1", attempt, "CHECK_FINISHED", data)


def shown(folders: list[str], *checks: str, **verdicts: str) -> Mapping[str, str]:
    """By check the folder whose output is shown first."""
    executions = list(list_executions(folders, checks, verdicts))
    chosen = (choose_execution([one for one in executions if one.check == c]) for c in checks)
    return {one.check: one.name for one in chosen if one is not None}


def test_the_execution_of_the_verdict_is_shown_and_not_a_later_one_on_the_base() -> None:
    """`yaoki logs --check suite` showed `1 passed` for a suite that had failed."""
    folders = ["1-suite", "1-suite-again-1", "1-suite-onto-1", "1-suite-onto-2"]

    assert shown(folders, "suite", suite="1-suite") == {"suite": "1-suite"}


def test_before_a_verdict_the_newest_execution_on_the_candidate_is_shown() -> None:
    folders = ["1-tests", "1-tests-again-1", "1-tests-2", "1-tests-2-again-1", "2-lint-base"]

    assert shown(folders, "tests", "lint") == {"tests": "1-tests-2", "lint": "2-lint-base"}


def test_a_check_whose_name_begins_like_another_is_kept_separate() -> None:
    folders = ["1-tests", "2-tests-again", "2-tests-again-2", "3-base", "aims-base-c0ffee"]

    assert shown(folders, "tests", "tests-again", "base") == {
        "tests": "1-tests",
        "tests-again": "2-tests-again-2",
        "base": "3-base",
    }


def test_the_newest_verdict_of_a_check_counts() -> None:
    entries = [
        finished(1, 1, "tests", "1-tests"),
        finished(2, 1, "tests", "1-tests-2"),
        finished(3, 1, "scope", ""),
    ]

    assert verdict_folders(map(read_check_result, entries)) == {"tests": "1-tests-2"}


def test_an_execution_of_another_verification_is_told_from_that_of_the_verdict() -> None:
    folders = ["1-tests", "1-tests-onto-1", "1-tests-2"]
    executions = list_executions(folders, ["tests"], {"tests": "1-tests-2"})

    assert [(one.name, one.words, one.is_verdict) for one in executions] == [
        ("1-tests", "in another verification", False),
        ("1-tests-onto-1", "on the base", False),
        ("1-tests-2", "", True),
    ]


@pytest.mark.parametrize(
    ("folder", "purpose"),
    [
        ("1-tests", CheckRunPurpose.CANDIDATE),
        ("1-tests-match-2", CheckRunPurpose.CANDIDATE),
        ("1-tests-again-1-2", CheckRunPurpose.AGAIN),
        ("1-tests-landed-c0ffee-base", CheckRunPurpose.BASE),
        ("1-tests-negative-control", CheckRunPurpose.COMPARISON),
        ("1-tests-own-tests", CheckRunPurpose.MUTANT),
        ("mutant-12-tests", CheckRunPurpose.MUTANT),
    ],
)
def test_the_folder_of_an_execution_names_its_purpose(
    folder: str, purpose: CheckRunPurpose
) -> None:
    execution = read_execution(folder, ["tests"])

    assert execution is not None
    assert execution.purpose is purpose


@pytest.mark.parametrize("folder", ["agent", "3-unknown", "1-tests-slow", "room-c0ffee"])
def test_a_folder_of_something_else_is_no_execution(folder: str) -> None:
    assert read_execution(folder, ["tests"]) is None
