"""A browser per module: while one is open, nothing else in this process may start a loop."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.faces.web.browser.chromium import Visit, launched, visiting


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture
def screens(tmp_path: Path) -> Path:
    """Where the pictures of a test are kept."""
    folder = tmp_path / "screens"
    folder.mkdir()
    print(f"screenshots: {folder}")
    return folder


@pytest.fixture
def visit(browser: Browser, screens: Path) -> Iterator[Visit]:
    with visiting(browser, screens) as visit:
        yield visit
