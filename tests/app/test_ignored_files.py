"""Files that git ignores, found by the words of a check that misses them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from tests.builders import a_check, a_finding
from tests.repositories import commit, git
from yaoki.adapters.git.repository import open_repository
from yaoki.app.ignored_files import IGNORED_FILES, explain_ignored_files
from yaoki.app.remedies import REMEDY
from yaoki.core.model import Outcome


@pytest.mark.spec("12.3", "15")
@pytest.mark.parametrize(
    ("ignored", "words", "pattern"),
    [
        ("local.json", "No such file or directory: 'local.json'", "/local.json"),
        ("conf/a b.json", "No such file or directory: 'conf/a b.json'", "'conf/a b.json'"),
        ("gen/__init__.py", "No module named 'gen'", "/gen/"),
        ("gen/api.py", "cannot import name 'api' from 'gen' (unknown location)", "gen/api.py"),
        ("gen/api.py", "No module named 'gen'", "/gen/"),
        (
            "src/pkg/extra.py",
            "cannot import name 'extra' from 'pkg' (src/pkg/__init__.py)",
            "src/pkg/extra.py",
        ),
    ],
)
def test_each_kind_of_missing_file_is_found_by_the_words_of_its_error(
    tmp_path: Path, ignored: str, words: str, pattern: str
) -> None:
    """The room has what git has, so it lacks the file."""
    top, room = tmp_path / "repo", tmp_path / "room"
    git(tmp_path, "init", "-q", "-b", "main", str(top))
    (top / ".gitignore").write_text(f"{ignored.replace(' ', '?')}\n")
    commit(top)
    (top / ignored).parent.mkdir(parents=True, exist_ok=True)
    (top / ignored).write_text("")
    room.mkdir()
    failed = a_finding(Outcome.BROKEN, message=f"cannot run: {words}")

    explained = explain_ignored_files(failed, a_check(), open_repository(top), room)

    include = shlex.quote(os.path.relpath(top / ".worktreeinclude"))
    assert explained.params[REMEDY] == f"echo {pattern} >> {include}"
    (named,) = explained.params[IGNORED_FILES]
    assert f"{named} is ignored by git, so worktrees lack it: {words}" in explained.message
