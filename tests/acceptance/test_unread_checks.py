"""`yaoki init` and a linter that fails at the base in words that no reader understands."""

from __future__ import annotations

import tomllib

import pytest

from tests.acceptance.project import Project
from tests.acceptance.test_init import a_program, base, commit_files, programs

pytestmark = pytest.mark.acceptance


@pytest.mark.spec("12.3", "16.4")
def test_a_linter_whose_failures_cannot_be_read_is_commented_out(project: Project) -> None:
    """It would fail every task, because its old failures cannot be told from new ones."""
    files = {
        ".flake8": "[flake8]\nformat = wide\n",
        "test_sum.py": "import unittest\n\n\nclass TestSum(unittest.TestCase):\n"
        "    def test_sum(self):\n        self.assertEqual(1 + 1, 2)\n",
    }
    commit_files(project, files)
    env = programs(project, pytest=False)
    a_program(project.folder / "bin" / "flake8", "echo 'calc.py is 12 columns too wide'; exit 1")

    done = project.yaoki("init", env=env)

    text = (project.repo / "yaoki.toml").read_text()
    line = text.split("\n").index("# [checks.flake8]") + 1
    words = " ".join(done.out.split())
    assert (done.code, list(tomllib.loads(text)["checks"])) == (0, ["tests"]), done.out
    assert "too red flake8 red at the base, and its failures cannot be read" in words
    assert f"flake8 is commented out in line {line} of yaoki.toml: narrow its command" in words
    again = project.yaoki("init", "--dry-run", "--json", env=env)
    assert base(again.document)["flake8"] == "too-red"
