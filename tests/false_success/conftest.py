"""Fixtures of the truth suite: a place for each case, and compiled code to start quickly with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.false_success.case_runner import CaseRunner

ONE_TEST = "def test_one():\n    assert 'one'\n"


@pytest.fixture(scope="session")
def pycache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where compiled code is kept, beside the base of this worker, so that workers share it.

    pytest is compiled here once: the checks of the cases may not write compiled files, and
    would compile it each time.
    """
    where = tmp_path_factory.getbasetemp().parent / "pycache"
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "test_one.py").write_text(ONE_TEST)
    drop = ("PYTHONDONTWRITEBYTECODE", "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST")
    around = {name: value for name, value in os.environ.items() if name not in drop}
    own = {"PYTHONPYCACHEPREFIX": str(where), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    words = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junit-xml=r.xml")
    subprocess.run(words, cwd=folder, env={**around, **own}, check=True, capture_output=True)
    return where


@pytest.fixture
def case_runner(tmp_path: Path, pycache: Path) -> CaseRunner:
    return CaseRunner(tmp_path, pycache)
