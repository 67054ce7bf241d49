"""Single lines of `yaoki doctor`: the problem and its remedy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from yaoki.faces.cli.doctor.condition import unwritable_condition

MOUNTS = Path("/proc/mounts")


def read_only() -> Path:
    """A folder on a read-only file system of this machine."""
    rows = MOUNTS.read_text().splitlines() if MOUNTS.is_file() else []
    folders = (Path(row.split()[1]) for row in rows)
    found = (one for one in folders if one.is_dir() and os.statvfs(one).f_flag & os.ST_RDONLY)
    return next(found, Path())


@pytest.mark.spec("12.2", "0.5")
def test_doctor_does_not_recommend_chmod_on_a_read_only_file_system() -> None:
    project = read_only()
    if project == Path():
        pytest.skip("this machine has no read-only file system")

    line = unwritable_condition(
        "store", f"{project} is not writable", project, "git clone REPO DIR"
    )

    assert not line.ok
    assert "its file system is read-only" in line.words
    assert line.next_command == "git clone REPO DIR"


@pytest.mark.spec("12.2", "0.5")
def test_doctor_recommends_chmod_on_a_writable_file_system(tmp_path: Path) -> None:
    line = unwritable_condition("store", "it is not writable", tmp_path, "git clone REPO DIR")

    assert (line.words, line.next_command) == ("it is not writable", f"chmod u+rwx {tmp_path}")
