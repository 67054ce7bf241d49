"""The page during a run with real workers and a scripted agent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.acceptance.project import (
    BOUND_S,
    PATIENT,
    Project,
    a_plan,
    file_contains,
    wait_until,
    waits_for,
    writes,
)
from tests.acceptance.test_forecast import plan_of, stages
from tests.faces.web.browser.chromium import WIDE, Visit, visiting
from tests.faces.web.page_server import PageServer, free_port, run_page_server

pytestmark = [pytest.mark.browser, pytest.mark.spec("12.5")]
LIE = "All tests pass."
TALL = ViewportSize(width=1360, height=5000)


@pytest.fixture
def page_server(project: Project) -> Iterator[PageServer]:
    with run_page_server(project) as server:
        yield server


@pytest.fixture
def project(project: Project) -> Project:
    """Agents wait here for a person at a slow browser."""
    project.settings(PATIENT)
    return project


def plan_with_false_claim(gate: Path) -> dict[str, Any]:
    """`lie` makes a false claim and lands once the gate is open; `logo` asks; `poster` needs it."""
    script = {
        "lie": [["claim_done"], [waits_for(gate), {"write": {"lie.txt": "good\n"}}]],
        "logo": [[{"ask": "An owl or a daruma?"}], writes("logo.txt")],
        "poster": [writes("poster.txt")],
    }
    names = ("lie", "logo", "poster")
    tasks: list[dict[str, Any]] = [{"id": name, "checks": [name]} for name in names]
    tasks[2]["needs"] = ["logo"]
    return a_plan(script, tasks, {name: file_contains(f"{name}.txt") for name in names})


def attempt(page: Page, n: int) -> Any:
    return page.locator(f"[data-attempt='{n}']")


def test_the_page_follows_a_live_run_and_shows_the_false_claim_and_its_fix(
    project: Project, page_server: PageServer, visit: Visit
) -> None:
    """Opened before there is any run; never loaded again."""
    page, gate = visit.page, project.folder / "gate"
    visit.enter(page_server)
    expect(page.get_by_role("heading", name="No run here yet")).to_be_visible()
    visit.is_live()
    page.evaluate("window.stays = true")

    worker = project.start("run", project.plan(plan_with_false_claim(gate)))
    expect(page.get_by_text("An owl or a daruma?").first).to_be_visible()
    page.get_by_role("link", name="Rehearse").click()
    page.get_by_role("link", name="lie", exact=True).first.click()
    expect(attempt(page, 1).get_by_text(LIE).first).to_be_visible()
    expect(attempt(page, 1).get_by_text("retried")).to_be_visible()
    expect(attempt(page, 1).get_by_text("It changed nothing.")).to_be_visible()
    expect(attempt(page, 2).get_by_text("The last failure")).to_be_visible()
    visit.shot("the lie")

    gate.touch()
    expect(attempt(page, 2).get_by_text("landed", exact=True)).to_be_visible()
    expect(attempt(page, 2).get_by_text("+good")).to_be_visible()
    expect(page.get_by_text("DONE: landed as")).to_be_visible()
    visit.shot("its cure")
    worker.communicate(timeout=BOUND_S)
    assert worker.returncode == 4
    assert page.evaluate("window.stays")
    visit.assert_no_errors()


@pytest.mark.full
@pytest.mark.spec("10.4")
def test_no_event_is_missed_during_a_restart_of_the_server_and_a_question_is_answered(
    project: Project, visit: Visit
) -> None:
    """While it is gone the page says so and since when; then it has every entry once."""
    page, gate = visit.page, project.folder / "gate"
    port = free_port()
    with run_page_server(project, port=port) as first:
        visit.enter(first, "#/journal")
        visit.is_live()
        worker = project.start("run", project.plan(plan_with_false_claim(gate)))
        expect(page.get_by_text("ATTEMPT_STARTED").first).to_be_visible()
        first.stop()
    expect(page.get_by_text("disconnected, last seen")).to_be_visible()
    visit.shot("disconnected")
    gate.touch()
    worker.communicate(timeout=BOUND_S)
    assert worker.returncode == 4

    with run_page_server(project, port=port):
        visit.is_live()
        # All rows of the list are drawn only in a window of this height.
        page.set_viewport_size(TALL)
        expect(page.get_by_text("TASK_LANDED")).to_be_visible()
        events = [entry["seq"] for entry in project.events()]
        wait_until(lambda: seqs(page) == events[::-1], "every entry once, newest first")
        visit.assert_no_errors(*GONE)
        page.set_viewport_size(ViewportSize(width=WIDE[0], height=WIDE[1]))
        assert_question_is_answered(project, visit)
    visit.assert_no_errors(*GONE)


# What the console says while there is no server.
GONE = ("net::ERR_(CONNECTION|INCOMPLETE_CHUNKED|EMPTY_RESPONSE|SOCKET)",)


def assert_question_is_answered(project: Project, visit: Visit) -> None:
    page, logo = visit.page, project.task("logo")
    visit.go("#/needs")
    asked = page.get_by_role("article").filter(has_text="An owl or a daruma?")
    expect(asked.get_by_text("1 task waits for this.")).to_be_visible()
    expect(
        page.get_by_role("navigation", name="views").get_by_text("1", exact=True)
    ).to_be_visible()

    first = asked.locator("form").locator("textarea, input, select, button").first
    assert first.evaluate("element => element.tagName") == "TEXTAREA"
    asked.get_by_label("Your answer to the agent").fill("A daruma, <b>please</b>.")
    visit.shot("answering")
    asked.get_by_role("button", name="Send: try again").click()
    expect(page.get_by_text("no worker is running")).to_be_visible()
    expect(page.get_by_text(f"yaoki resume {project.status()['run']}")).to_be_visible()
    assert project.task("logo")["state"] == "WAITING"

    assert project.yaoki("resume").code == 0
    assert "A daruma, <b>please</b>." in project.prompt(logo, 2)
    visit.go(f"#/task/{logo['id']}")
    expect(attempt(page, 2).get_by_text("A daruma, <b>please</b>.")).to_be_visible()
    expect(attempt(page, 2).get_by_text("landed", exact=True)).to_be_visible()
    expect(page).to_have_title("Task · repo · yaoki")


def seqs(page: Page) -> list[int]:
    return [int(words) for words in page.locator(".journal-row .num [data-row]").all_inner_texts()]


@pytest.mark.full
@pytest.mark.spec("18.9")
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
    expect(shown).to_contain_text("2 agent runs in all (90 %: 2), cost in all $0.50 (90 %: $0.50)")
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
    expect(page.get_by_text("All done, proven and landed.")).to_be_visible()
    visit.shot("forecast-scored")
    visit.assert_no_errors()
