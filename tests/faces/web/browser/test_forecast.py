"""The page shows when a run will be done, and afterwards whether that was right."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.project import BOUND_S, Project, wait_until
from tests.acceptance.test_forecast import plan_of, stages
from tests.faces.web.browser.chromium import Visit, visiting
from tests.faces.web.page_server import PageServer, run_page_server

pytestmark = [pytest.mark.browser, pytest.mark.spec("18.9", "12.5")]


@pytest.fixture
def page_server(project: Project) -> Iterator[PageServer]:
    with run_page_server(project) as server:
        yield server


def test_the_page_shows_the_forecast_and_then_what_became_of_it(
    project: Project, page_server: PageServer, visit: Visit, browser: Browser
) -> None:
    first = project.plan(plan_of([f"old{n}" for n in range(5)]), "first.json")
    assert project.yaoki("run", first, "--quiet").code == 0
    gate, page = project.folder / "gate", visit.page
    running = project.start("run", project.plan(plan_of(["a", "b"], gate)), "--quiet")
    wait_until(lambda: stages(project) == {"a": "DONE", "b": "WORK"}, "one landed, one works")
    run = project.status()["run"]
    shown = page.locator(".facts.forecast")

    visit.enter(page_server, f"#/run/{run}")
    time = r"(\w+ \d+, )?\d\d:\d\d"
    expect(shown).to_contain_text(re.compile(rf"done at {time}, 90 %: {time}"))
    expect(shown).to_contain_text("2 agent runs (90 %: 2), cost $0.50 (90 %: $0.50)")
    expect(shown).to_contain_text("from 6 measured attempts")
    visit.shot("forecast")
    with visiting(browser, visit.screens, language="ja") as japanese:
        japanese.enter(page_server, f"#/run/{run}")
        there = japanese.page.locator(".facts.forecast")
        expect(there).to_contain_text(re.compile(r"予測.*に完了、90 %: "))
        japanese.shot("forecast-ja")

    gate.touch()
    assert running.wait(timeout=BOUND_S) == 0
    expect(shown).to_contain_text(re.compile(r"\(90 %: .+\): (inside|slower|faster)"))
    visit.shot("forecast-scored")
    visit.assert_no_errors()
