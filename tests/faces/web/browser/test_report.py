"""The report of a run, as a manager opens it: a file in a browser, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.project import Project

pytestmark = [pytest.mark.browser, pytest.mark.spec("12.1")]
NARROW, WIDE = (400, 800), (1200, 900)
# Names that only machines use; people get words.
WIRE = re.compile(r"\b(?!YAOKI)[A-Z]{4,}(?:_[A-Z]+)*\b")


@pytest.fixture
def report(finished_project: Project, tmp_path: Path) -> Path:
    file = tmp_path / "report.html"
    done = finished_project.yaoki("report", "-o", str(file))
    assert done.code == 0, done.err
    return file


@dataclass
class Opened:
    """The file in a window; everything it asks for or complains about is noted."""

    page: Page
    asked: list[str] = field(default_factory=list)
    console_errors: list[str] = field(default_factory=list)


@contextmanager
def opened(browser: Browser, file: Path, size: tuple[int, int], **look: str) -> Iterator[Opened]:
    viewport = {"width": size[0], "height": size[1]}
    context = browser.new_context(viewport=viewport, **look)  # type: ignore[arg-type]
    try:
        held = Opened(context.new_page())
        held.page.on("request", lambda request: held.asked.append(request.url))
        held.page.on("console", lambda told: held.console_errors.append(told.text))
        held.page.on("pageerror", lambda error: held.console_errors.append(str(error)))
        held.page.goto(file.as_uri())
        yield held
    finally:
        context.close()


@pytest.mark.full
def test_the_report_shows_landed_work_its_proof_and_open_questions(
    browser: Browser, report: Path, screens: Path
) -> None:
    with opened(browser, report, WIDE) as held:
        page = held.page
        page.screenshot(path=screens / "report.png", full_page=True)

        expect(page).to_have_title(re.compile("escalated: Rehearse"))
        verdict = "The run needs you: 2 of 4 tasks are done and proven"
        expect(page.locator(".verdict")).to_contain_text(verdict)
        asking = page.locator("section", has=page.get_by_role("heading", name="Needs you"))
        expect(asking).to_contain_text("asks")
        expect(asking).to_contain_text("Shall it be an owl?")
        expect(asking.locator("code").first).to_contain_text("yaoki answer")
        rows = page.locator("tbody tr")
        expect(rows.first).to_contain_text("asks")
        blocked = rows.filter(has_text="waits for your answer to asks")
        expect(blocked).to_contain_text("waits")
        for name in ("lie", "cured"):
            proof = page.locator("details", has=page.get_by_text(name, exact=True))
            expect(proof.locator("summary")).to_contain_text("1 of 1 check passed")
        told = page.locator("main").inner_text()
        assert not WIRE.findall(told), "names of the wire are for machines"
        assert "unknown" not in told

        proof = page.locator("details").first
        proof.locator("summary").click()
        for words in ("commit", "verified tree", "command", "exit code"):
            expect(proof).to_contain_text(words)
        assert "unknown" not in proof.inner_text()
        page.screenshot(path=screens / "report proof.png")
        assert (held.asked, held.console_errors) == ([report.as_uri()], []), (
            "one file, and no complaint"
        )


@pytest.mark.full
def test_the_report_is_readable_on_a_phone(browser: Browser, report: Path, screens: Path) -> None:
    """No text is cut off, overlapped or too small; a colour scheme changes no size."""
    with opened(browser, report, NARROW, color_scheme="dark") as held:
        page = held.page
        page.screenshot(path=screens / "report narrow dark.png", full_page=True)

        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
        beyond = page.evaluate(
            """() => [...document.querySelectorAll("main *")]
              .filter((one) => one.getClientRects().length && !one.closest("pre, svg"))
              .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
              .map((one) => one.outerHTML.slice(0, 80))"""
        )
        assert beyond == []
        sizes = page.evaluate(
            """() => [...document.querySelectorAll("main *")].filter((one) => one.innerText)
              .map((one) => parseFloat(getComputedStyle(one).fontSize))"""
        )
        assert min(sizes) >= 11
        expect(page.get_by_role("heading", name="Needs you")).to_be_visible()
        assert (held.asked, held.console_errors) == ([report.as_uri()], [])
