"""Listings of commits that are made from another listing and the difference."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repositories import a_repository, commit, git, write
from yaoki.adapters.git.command import Git
from yaoki.adapters.git.tree_paths import TreePaths

pytestmark = pytest.mark.spec("13.1")


def read_with_git(top: Path, revision: str) -> dict[str, str]:
    rows = git(top, "ls-tree", "-r", "-z", "--full-tree", revision).split("\0")
    parts = (row.partition("\t") for row in rows if row)
    return {path: " ".join(head.split()[::2]) for head, _, path in parts}


def test_a_derived_listing_equals_that_of_git(tmp_path: Path) -> None:
    """Added, changed, deleted and renamed files, modes, links, submodules, a file that becomes a
    folder, and odd names.
    """
    top = a_repository(tmp_path)
    commits = [git(top, "rev-parse", "HEAD")]
    write(top, a__txt="other\n")
    (top / "two\nlines ü").write_text("x")
    (top / "link").symlink_to("a.txt")
    commits.append(commit(top))
    (top / "b.txt").unlink()
    (top / "b.txt").mkdir()
    write(top / "b.txt", inner="x")
    (top / "a.txt").chmod(0o755)
    (top / "src" / "one.py").rename(top / "moved.py")
    git(top, "update-index", "--add", "--cacheinfo", f"160000,{commits[0]},vendor")
    git(top, "add", "-A", ":!vendor")
    git(top, "commit", "-qm", "more")
    commits.append(git(top, "rev-parse", "HEAD"))
    expected = {one: read_with_git(top, one) for one in commits}
    assert "160000" in expected[commits[2]].get("vendor", "")

    listings = TreePaths(Git(top / ".git"))

    # Forwards and backwards; only the first one is read as a whole.
    for one in (*commits, *reversed(commits)):
        assert listings.list_paths(one) == expected[one]


def test_the_listing_of_a_name_follows_the_name(tmp_path: Path) -> None:
    top = a_repository(tmp_path)
    listings = TreePaths(Git(top / ".git"))
    before = listings.list_paths("main")
    write(top, new="x")
    commit(top)

    assert listings.list_paths("main").keys() - before.keys() == {"new"}
