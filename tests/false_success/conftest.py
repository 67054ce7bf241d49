"""Fixtures of the truth suite: a place for each case, and compiled code to start quickly with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import compiled_code
from tests.false_success.case_runner import CaseRunner


@pytest.fixture(scope="session")
def pycache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Beside the base of this worker, so that workers side by side share it."""
    return compiled_code.shared_folder(tmp_path_factory.getbasetemp().parent)


@pytest.fixture
def case_runner(tmp_path: Path, pycache: Path) -> CaseRunner:
    return CaseRunner(tmp_path, pycache)
