"""The cases run as those of the truth suite, with the real programs on the PATH."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.conftest import project, pycache, store_url, stores
from tests.false_success.case_runner import PROGRAMS, CaseRunner

__all__ = ["project", "pycache", "store_url", "stores"]


@pytest.fixture
def case_runner(tmp_path: Path, pycache: Path) -> CaseRunner:
    """Without the stand-ins for tools: the real node runs the tests."""
    runner = CaseRunner(tmp_path, pycache)
    runner.env["PATH"] = runner.env["PATH"].removeprefix(f"{PROGRAMS}:")
    return runner
