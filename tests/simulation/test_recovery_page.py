"""docs/recovery.md: every row of its table has a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COLUMNS = 7


@pytest.mark.spec("8.6")
def test_every_mismatch_names_a_test_that_exists() -> None:
    lines = (ROOT / "docs/recovery.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:1] == "|"]
    written = "".join(file.read_text() for file in Path(__file__).parent.glob("test_*.py"))
    known = set(re.findall(r"^def (test_\w+)", written, re.MULTILINE))

    mismatches = rows[2:]

    assert len(mismatches) > 9, "8.6 names nine kinds"
    for row in mismatches:
        assert len(row) == COLUMNS, row
        assert all(row), f"an empty cell: {row}"
        assert row[-1].strip("`") in known, f"no such test: {row[-1]}"
