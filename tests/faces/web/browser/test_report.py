"""The report of the demo, as a manager opens it: a file in a browser, and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from yaoki.faces.demo.play import ASKING_TASK, BLOCKED_TASK, LANDING_TASKS

pytestmark = [pytest.mark.browser, pytest.mark.spec("12.1", "12.2")]
NARROW, WIDE = (400, 800), (1200, 900)
# Names that only machines use; people get words.
WIRE = re.compile(r"\b(?!YAOKI)[A-Z]{4,}(?:_[A-Z]+)*\b")
BOUND_S = 100


@dataclass(frozen=True)
class DemoProject:
    """What the demo left, and how to call `yaoki` there."""

    repo: Path
    env: dict[str, str]

    def yaoki(self, *words: str) -> subprocess.CompletedProcess[str]:
        call = (sys.executable, "-m", "yaoki", *words)
        return subprocess.run(
            call, cwd=self.repo, env=self.env, capture_output=True, text=True, timeout=BOUND_S
        )


@pytest.fixture(scope="module")
def finished_project(tmp_path_factory: pytest.TempPathFactory, pycache: Path) -> DemoProject:
    home = tmp_path_factory.mktemp("demo") / "it"
    env = {**os.environ, "PYTHONPYCACHEPREFIX": str(pycache), "YAOKI_HOME": str(home / "state")}
    demo = (sys.executable, "-m", "yaoki", "demo", "--folder", str(home))
    done = subprocess.run(demo, env=env, capture_output=True, text=True, timeout=BOUND_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return DemoProject(home / "library", env)


@pytest.fixture(scope="module")
def report(finished_project: DemoProject) -> Path:
    file = finished_project.repo.parent / "report.html"
    done = finished_project.yaoki("report", "-o", str(file))
    assert done.returncode == 0, done.stderr
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

        expect(page).to_have_title(re.compile("escalated: Ten small changes"))
        verdict = (
            f"The run needs you: {len(LANDING_TASKS)} of {len(LANDING_TASKS) + 2} "
            f"tasks are done and proven"
        )
        expect(page.locator(".verdict")).to_contain_text(verdict)
        asking = page.locator("section", has=page.get_by_role("heading", name="Needs you"))
        expect(asking).to_contain_text(ASKING_TASK)
        expect(asking).to_contain_text("Which animal shall the logo show")
        expect(asking.locator("code").first).to_contain_text("yaoki answer")
        rows = page.locator("tbody tr")
        expect(rows.first).to_contain_text(ASKING_TASK)
        expect(rows.filter(has_text=BLOCKED_TASK)).to_contain_text(
            f"waits for your answer to {ASKING_TASK}"
        )
        for name in LANDING_TASKS:
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


@pytest.mark.full
@pytest.mark.spec("12.1")
def test_the_receipt_of_the_demo_is_verified_until_one_byte_is_changed(
    finished_project: DemoProject,
) -> None:
    file = finished_project.repo.parent / "receipt.json"
    assert finished_project.yaoki("report", "--receipt", str(file)).returncode == 0

    good = finished_project.yaoki("verify", str(file))
    data = bytearray(file.read_bytes())
    at = data.index(b'"commit"') + 12
    data[at] = ord("0") if data[at] != ord("0") else ord("1")
    file.write_bytes(data)
    bad = finished_project.yaoki("verify", str(file))

    assert good.returncode == 0, good.stdout + good.stderr
    assert bad.returncode != 0, bad.stdout
