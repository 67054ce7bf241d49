"""The `python3` that checks and agents of the tests start."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.started_python import path_to_interpreter


def test_a_script_named_python3_is_replaced_by_the_interpreter_that_it_starts(
    tmp_path: Path,
) -> None:
    script = tmp_path / "python3"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}/usr/bin"

    assert path_to_interpreter(path) == f"{Path(sys.executable).parent}{os.pathsep}{path}"


def test_the_path_is_unchanged_where_python3_is_an_interpreter_or_missing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "python3").symlink_to(sys.executable)

    for path in (str(tmp_path), str(tmp_path / "empty")):
        assert path_to_interpreter(path) == path
