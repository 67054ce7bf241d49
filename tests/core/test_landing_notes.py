"""Notes about work that lands: they warn, and never repeat a text that may be a secret."""

from __future__ import annotations

import pytest

from yaoki.core.landing_notes import LARGE_FILE_BYTES, landing_notes
from yaoki.core.model.change import Change

pytestmark = pytest.mark.spec("14.2", "16.10")

KEY = "AKIA" + "ABCDEFGHIJKLMNOP"


def a_change(path: str, *lines: str) -> Change:
    return Change(path, "", "\n".join(lines), tuple(enumerate(lines, start=1)))


def test_ordinary_work_has_no_note() -> None:
    sizes = {"exactly": LARGE_FILE_BYTES}

    assert list(landing_notes([a_change("a.py", "x = 1")], sizes, ())) == []


def test_a_large_file_is_named_with_its_size() -> None:
    sizes = {"small.bin": 1, "film.bin": LARGE_FILE_BYTES + 1, "disk.bin": 3 << 30}

    (note,) = landing_notes((), sizes, ())

    assert note == "its work contains large files: film.bin (5 MiB), disk.bin (3 GiB)"


def test_a_text_shaped_like_a_key_is_named_by_its_place_only() -> None:
    changes = [a_change("a.py", "x = 1", f"key = '{KEY}'"), a_change("b.py", "y = 2", "", KEY)]

    (note,) = landing_notes(changes, {}, ())

    assert note == "its work contains text that looks like a key: a.py:2, b.py:3"
    assert KEY not in note


def test_files_that_look_left_behind_land_and_are_named() -> None:
    (note,) = landing_notes((), {}, ("debug.log", "a.py.bak"))

    assert note == (
        "new files in its work look left behind: debug.log, a.py.bak; they land anyway; "
        ".gitignore keeps such files out"
    )


def test_every_kind_of_note_is_told_and_long_lists_are_cut() -> None:
    sizes = {f"{n}.bin": LARGE_FILE_BYTES * 2 for n in range(7)}
    changes = [a_change("a.py", *[KEY] * 7)]

    large, keys, left = landing_notes(changes, sizes, [f"{n}.log" for n in range(7)])

    assert "4.bin (10 MiB)" in large
    assert "5.bin" not in large
    assert "a.py:5" in keys
    assert "a.py:6" not in keys
    assert "4.log" in left
    assert "5.log" not in left
