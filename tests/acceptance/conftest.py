"""Fixtures of the acceptance tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.place import Place


@pytest.fixture
def place(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Place:
    # Beside the base of this worker, so that workers side by side share it.
    return Place(tmp_path, tmp_path_factory.getbasetemp().parent / "pycache")
