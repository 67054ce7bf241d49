"""Copies of the output of set-up: files of their own, whole or not at all, never through a link."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.adapters.workspace.test_proof_rooms import git, repo, rooms_of
from yaoki.adapters.workspace.proof_rooms import GitProofRooms
from yaoki.ports import SetupCopy

pytestmark = pytest.mark.spec("16.1")
__all__ = ["repo"]
KEY = "key"


@pytest.fixture
def rooms(repo: Path) -> GitProofRooms:
    """With one room in which set-up filled the folder `out`."""
    rooms = rooms_of(repo)
    with rooms.acquire(KEY) as room:
        room.check_out(git(repo, "rev-parse", "HEAD"))
        out = room.files / "out" / "bin"
        out.mkdir(parents=True)
        (out / "tool").write_text(f"#!/bin/sh\nexec '{room.files}/python' # file://{room.files}\n")
        (out / "tool").chmod(0o755)
        (out / "data").write_bytes(b"\0data")
        (out / "here").symlink_to(room.files / "a.txt")
        (out / "near").symlink_to("tool")
        room.record_setup_output()
    return rooms


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "worktree with spaces"
    folder.mkdir()
    return folder


def test_a_copy_works_in_its_own_place(rooms: GitProofRooms, target: Path, tmp_path: Path) -> None:
    copied = rooms.copy_setup_output(KEY, target, ["out"])

    out = target / "out" / "bin"
    assert copied is SetupCopy.COPIED
    address = str(target).replace(" ", "%20")
    expected = f"#!/bin/sh\nexec '{target}/python' # file://{address}\n"
    assert (out / "tool").read_text() == expected
    assert os.access(out / "tool", os.X_OK)
    assert (out / "here").readlink() == target / "a.txt"
    assert (out / "near").readlink() == Path("tool")
    inodes = [path.stat().st_ino for path in tmp_path.rglob("data")]
    assert len(inodes) == len(set(inodes)) == 3, "room, its pristine copy and this one"


def test_a_file_of_the_commit_stays(rooms: GitProofRooms, target: Path) -> None:
    (target / "out" / "bin").mkdir(parents=True)
    (target / "out" / "bin" / "data").write_text("tracked")

    assert rooms.copy_setup_output(KEY, target, ["out"]) is SetupCopy.COPIED
    assert (target / "out" / "bin" / "data").read_text() == "tracked"


def test_nothing_is_written_through_a_link(
    rooms: GitProofRooms, target: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (target / "out").symlink_to(elsewhere)

    assert rooms.copy_setup_output(KEY, target, ["out"]) is SetupCopy.UNUSABLE
    assert list(elsewhere.iterdir()) == []
    assert [path.name for path in target.iterdir()] == ["out"]


def test_an_output_that_works_only_in_its_place_is_not_copied(
    repo: Path, rooms: GitProofRooms, target: Path
) -> None:
    with rooms.acquire("binary") as room:
        room.check_out(git(repo, "rev-parse", "HEAD"))
        (room.files / "out").mkdir()
        (room.files / "out" / "program").write_bytes(b"\0" + os.fsencode(room.files))
        room.record_setup_output()

    assert rooms.copy_setup_output("binary", target, ["out"]) is SetupCopy.UNUSABLE
    assert rooms.copy_setup_output(KEY, target, ["node_modules"]) is SetupCopy.UNUSABLE
    assert rooms.copy_setup_output("other", target, ["out"]) is SetupCopy.ABSENT
    assert list(target.iterdir()) == []


@pytest.mark.parametrize(
    ("place", "result"), [("plain", SetupCopy.COPIED), ("with spaces", SetupCopy.UNUSABLE)]
)
def test_a_script_whose_interpreter_could_not_be_found_is_not_copied(
    repo: Path, rooms: GitProofRooms, place: str, result: SetupCopy
) -> None:
    """The name of an interpreter ends at a space, and has a greatest length."""
    with rooms.acquire("script") as room:
        room.check_out(git(repo, "rev-parse", "HEAD"))
        (room.files / "out").mkdir()
        (room.files / "out" / "script").write_text(f"#!{room.files}/p -I\n")
        room.record_setup_output()
    short = Path(tempfile.mkdtemp(dir="/tmp")) / place
    short.mkdir()

    try:
        copied = rooms.copy_setup_output("script", short, ["out"])
        files = [path.name for path in short.iterdir()]
    finally:
        shutil.rmtree(short.parent)

    assert copied is result
    assert files == (["out"] if result is SetupCopy.COPIED else [])


def test_an_interrupted_copy_leaves_nothing(repo: Path, rooms: GitProofRooms, target: Path) -> None:
    """As when another process wipes the room meanwhile."""
    (pristine,) = (repo.parent / "rooms").glob("*/pristine/out/bin/tool")
    pristine.unlink()

    assert rooms.copy_setup_output(KEY, target, ["out"]) is SetupCopy.UNUSABLE
    assert list(target.iterdir()) == []


def test_one_process_at_a_time_sets_up_a_key(repo: Path, rooms: GitProofRooms) -> None:
    other = rooms_of(repo)

    with (
        rooms.lock_setup(KEY) as first,
        other.lock_setup(KEY) as second,
        other.lock_setup("another") as third,
    ):
        pass
    with other.lock_setup(KEY) as later:
        pass

    assert (first, second, third, later) == (True, False, True, True)
