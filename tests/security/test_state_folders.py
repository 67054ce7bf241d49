"""Where yaoki keeps what is its own: closed to other users, and not chosen by a repository."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.acceptance.project import WHO, Place, a_plan, holds, writes

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.10")]


def a_simple_plan(place: Place) -> str:
    return place.plan(a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], {"ok": holds("a.txt")}))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.full
def test_other_users_cannot_read_store_journal_or_worktrees(place: Place) -> None:
    assert place.yaoki("run", a_simple_plan(place), "--quiet").code == 0

    assert mode(place.repo / ".yaoki") == 0o700
    assert {mode(root) for root in (place.home / "worktrees").iterdir()} == {0o700}


def test_a_readable_state_folder_is_made_private(place: Place) -> None:
    (place.repo / ".yaoki").mkdir(mode=0o755)

    assert place.yaoki("run", a_simple_plan(place), "--quiet").code == 0

    assert mode(place.repo / ".yaoki") == 0o700


def test_a_committed_link_does_not_redirect_the_store(place: Place) -> None:
    """A committed link led it to any folder of the user's."""
    elsewhere = place.folder / "elsewhere"
    elsewhere.mkdir()
    (place.repo / ".yaoki").symlink_to(elsewhere)
    place.git("add", "-f", ".yaoki")
    place.git(*WHO, "commit", "-qm", "a link")

    done = place.yaoki("run", a_simple_plan(place), "--quiet")

    assert done.code != 0
    assert ".yaoki is a symbolic link" in done.err
    assert list(elsewhere.iterdir()) == []
