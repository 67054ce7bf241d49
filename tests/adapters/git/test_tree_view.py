"""A commit read from its objects, and the modes of files that changed between two commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repositories import World, a_world, commit, write

pytestmark = pytest.mark.spec("16.7")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return a_world(tmp_path)


def test_a_tree_is_read_from_objects_and_not_from_the_checkout(world: World) -> None:
    write(world.repo, s__sh="exit 1\n", blob__bin="a\0b")
    (world.repo / "ü name").symlink_to("s.sh")
    made = commit(world.repo)
    write(world.repo, s__sh="exit 0\n")

    view = world.workspace.contents.tree_view(made)

    assert {"s.sh", "blob.bin", "ü name"} <= view.paths
    assert view.read("s.sh") == "exit 1\n"
    assert [view.read(path) for path in ("blob.bin", "ü name", "nowhere")] == [None] * 3


def test_object_ids_distinguish_changed_from_unchanged_files(world: World) -> None:
    write(world.repo, a__sh="1\n", b__sh="1\n")
    old = world.workspace.contents.tree_view(commit(world.repo))
    write(world.repo, a__sh="2\n")
    (world.repo / "b.sh").chmod(0o755)
    new = world.workspace.contents.tree_view(commit(world.repo))

    changed = {path for path in old.paths if old.blob_ids[path] != new.blob_ids[path]}

    assert changed == {"a.sh", "b.sh"}


def test_a_lost_execute_bit_is_a_change_with_both_modes(world: World) -> None:
    write(world.repo, t__sh="true\n")
    (world.repo / "t.sh").chmod(0o755)
    old = commit(world.repo)
    (world.repo / "t.sh").chmod(0o644)
    new = commit(world.repo)

    (change,) = world.workspace.contents.read_changes(old, new)

    assert (change.path, change.before, change.after) == ("t.sh", "true\n", "true\n")
    assert (change.mode_before, change.mode_after) == ("100755", "100644")
