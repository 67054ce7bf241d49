"""What yaoki refuses to take from an agent's own repository, without asking any git of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from yaoki.adapters.system.folders import iter_paths_below, remove_tree, walk_folders
from yaoki.adapters.workspace.worktrees.agent_git_folder import find_unsafe_file, read_refs

pytestmark = pytest.mark.spec("16.10", "16.13")


@pytest.fixture
def objects(tmp_path: Path) -> Path:
    (tmp_path / "objects" / "info").mkdir(parents=True)
    (tmp_path / "objects" / "info" / "alternates").touch()
    (tmp_path / "objects" / "12").mkdir()
    (tmp_path / "objects" / "12" / "34").write_bytes(b"x")
    return tmp_path / "objects"


def test_an_object_folder_with_regular_files_is_safe(objects: Path) -> None:
    assert find_unsafe_file(objects) == ""


def test_a_pipe_a_link_or_alternates_in_an_object_folder_are_unsafe(objects: Path) -> None:
    (objects / "12" / "35").symlink_to("/dev/zero")
    assert find_unsafe_file(objects) == "35 is not a regular file"
    (objects / "12" / "35").unlink()
    os.mkfifo(objects / "12" / "36")
    assert find_unsafe_file(objects) == "36 is not a regular file"
    (objects / "info" / "alternates").write_text("/elsewhere\n")
    assert find_unsafe_file(objects) == "its objects have alternates"


def test_a_refs_folder_that_is_a_symbolic_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "refs").symlink_to("/")

    assert list(read_refs(tmp_path)) == []


def test_folders_of_any_depth_are_walked_and_removed(tmp_path: Path) -> None:
    top, here = tmp_path / "top", os.open(".", os.O_RDONLY)
    top.mkdir()
    try:
        os.chdir(top)
        for _ in range(3000):
            Path("d").mkdir()
            os.chdir("d")
    finally:
        os.fchdir(here)
        os.close(here)

    assert len(list(walk_folders(top))) > 1000
    assert len(list(iter_paths_below(top))) > 1000
    remove_tree(top)
    assert not top.exists()
