"""Remedies for modules that are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from yaoki.app.remedies import upgrade_pip_first

INSTALL = "python -m pip install -e . --group tests"


@pytest.mark.spec("12.3", "16.5")
@pytest.mark.parametrize(
    ("version", "upgrade"),
    [("25.1", ""), ("26.0", ""), ("25.0.1", "python -m pip install -U pip && ")],
)
def test_only_a_pip_that_cannot_install_groups_is_upgraded(
    tmp_path: Path, version: str, upgrade: str
) -> None:
    """A program that prints the version is in the place of the interpreter."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho {version}\n")
    python.chmod(0o755)

    assert upgrade_pip_first(INSTALL, str(python)) == f"{upgrade}{INSTALL}"
