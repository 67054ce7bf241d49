"""The installed Chromium, and a page that records its console errors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

from tests.faces.web.page_server import PageServer
from tests.tools.browser import found, installation

BROWSERS = Path(__file__).parents[4] / ".venv" / "browsers"
WHY = "no Chromium was found; python3 dev.py chromium, or on Debian: apt install chromium"
BOUND_MS = 40_000
# A name that is not this machine's, though it leads here: what a rebound name would be.
FOREIGN = "elsewhere.test"
# The first choice; what the person chooses later stays.
FIRST = """
  if (!localStorage.getItem("yaoki.language"))
    localStorage.setItem("yaoki.language", "%(language)s");
"""
# The page listened before us and draws before the next task of the loop.
GONE = """(where) => new Promise((done) => {
  if (window.location.hash === where) return done();
  window.addEventListener("hashchange", () => setTimeout(done), { once: true });
  window.location.hash = where;
})"""
Size = tuple[int, int]
WIDE: Size = (1360, 860)
NARROW: Size = (390, 800)


def executable() -> str:
    """Without one the tests are skipped; on the build server they fail."""
    with installation(BROWSERS):
        path = found(BROWSERS)
    if not path and os.environ.get("CI") == "true":
        pytest.fail(WHY)
    if not path:
        pytest.skip(WHY)
    return path


@contextmanager
def launched() -> Iterator[Browser]:
    path = executable()
    with sync_playwright() as playwright:
        browser = _browser(playwright, path)
        try:
            yield browser
        finally:
            browser.close()


def _browser(playwright: Playwright, path: str) -> Browser:
    arguments = [f"--host-resolver-rules=MAP {FOREIGN} 127.0.0.1", "--disable-dev-shm-usage"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    expect.set_options(timeout=BOUND_MS)
    return playwright.chromium.launch(executable_path=path, args=arguments, timeout=2 * BOUND_MS)


@dataclass
class Visit:
    """A browser window.  `console_errors` contains what its console reported."""

    page: Page
    context: BrowserContext
    screens: Path
    console_errors: list[str] = field(default_factory=list)

    def enter(self, page_server: PageServer, where: str = "#/needs") -> None:
        self.page.goto(
            f"http://127.0.0.1:{page_server.port}/enter?token={page_server.token}{where}"
        )

    def go(self, where: str) -> None:
        """Navigate, and wait until the old view is gone."""
        self.page.evaluate(GONE, where)

    def shot(self, name: str) -> None:
        self.screens.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=self.screens / f"{name}.png")

    def is_live(self) -> None:
        expect(self.page.locator("[data-connection=live]")).to_be_visible()

    def record_console(self, told: ConsoleMessage) -> None:
        if told.type in {"error", "warning"}:
            self.console_errors.append(told.text)

    def assert_no_errors(self, *but: str) -> None:
        """No error but the expected ones."""
        left = [
            words for words in self.console_errors if not any(re.search(one, words) for one in but)
        ]
        assert not left, left


@contextmanager
def visiting(
    browser: Browser, screens: Path, size: Size = WIDE, *, dark: bool = False, language: str = "en"
) -> Iterator[Visit]:
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    context.add_init_script(FIRST % {"language": language})
    context.set_default_timeout(BOUND_MS)
    try:
        visit = Visit(context.new_page(), context, screens)
        visit.page.on("console", visit.record_console)
        visit.page.on("pageerror", lambda error: visit.console_errors.append(str(error)))
        yield visit
    finally:
        context.close()
