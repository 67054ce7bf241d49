"""The words for a check that runs now."""

from __future__ import annotations

from pathlib import Path

import pytest

from yaoki.app.running_commands import describe_check_folder, describe_setup_place


@pytest.mark.spec("12.4")
@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("1-tests", "check tests"),
        ("1-tests-2", "check tests"),
        ("1-tests-base", "check tests on the base"),
        ("1-tests-base-2", "check tests on the base"),
        ("1-tests-onto-1", "check tests on the base"),
        ("aims-tests-0123456789ab-base", "check tests on the base"),
        ("1-tests-again-1", "check tests again, after its failure"),
        ("1-tests-without-change", "check tests without the change"),
        ("mutant-7-tests", "check tests on a mutant"),
        ("2-tests-slow", "check tests-slow"),
        ("2-tests-slow-base", "check tests-slow on the base"),
        ("agent", ""),
        ("3-unknown", ""),
    ],
)
def test_a_running_check_is_named_with_the_reason_why_it_runs_again(
    folder: str, words: str
) -> None:
    assert describe_check_folder(folder, ["tests", "tests-slow"]) == words


@pytest.mark.spec("12.2")
@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("2/setup-1", "for its new worktree"),
        ("2/room-1a2b3c4d/setup-1", "for proof room 1a2b3c4d: first use"),
        ("2/checks/room-own-1a2b3c4d/setup-1-2", "for proof room 1a2b3c4d: its set-up differs"),
    ],
)
def test_set_up_names_its_folder_and_its_cause(folder: str, words: str) -> None:
    assert describe_setup_place(Path("/runs/r/r-1", folder)).startswith(words)


@pytest.mark.spec("12.2")
def test_set_up_of_one_commit_names_the_file_that_is_the_cause(tmp_path: Path) -> None:
    place = tmp_path / "2" / "checks" / "room-own-1a2b3c4d"
    place.mkdir(parents=True)
    (place / "reason.txt").write_text("set-up reads package-lock.json, which changed")

    words = describe_setup_place(place / "setup-1")

    assert words == "for proof room 1a2b3c4d: set-up reads package-lock.json, which changed"
