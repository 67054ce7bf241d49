"""The page is accurate about dead workers, hidden characters, times and languages."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.acceptance.project import (
    BOUND_S,
    Project,
    a_plan,
    file_contains,
    wait_until,
    waits_for,
)
from tests.faces.web.browser.chromium import Visit
from tests.faces.web.page_server import PageServer, run_page_server

pytestmark = [pytest.mark.browser, pytest.mark.spec("12.5")]
HIDDEN = "\u202egnilrad\u202c \u001b[31mRED\u001b[0m \ufeff\U000e0041 七転び八起き?"
SHOWN = r"\u202egnilrad\u202c RED \ufeff\U000e0041 七転び八起き?"


def fact(page: Page, name: str) -> Locator:
    return page.locator(".fact").filter(has=page.locator("dt", has_text=re.compile(f"^{name}$")))


def a_slow_plan(gate: Path) -> dict[str, Any]:
    script = {"slow": [[waits_for(gate), {"write": {"slow.txt": "good\n"}}]]}
    return a_plan(script, [{"id": "slow", "checks": ["slow"]}], {"slow": file_contains("slow.txt")})


@pytest.mark.full
@pytest.mark.spec("9.1", "9.5")
def test_a_killed_worker_is_shown_as_missing_and_a_run_is_cancelled_after_a_confirmation(
    project: Project, visit: Visit
) -> None:
    """There is no event for it: the page polls and names the command that resumes the run.

    An agent works for long without a journal entry; this time counts too, and does not decrease.
    """
    page, gate = visit.page, project.folder / "gate"
    with run_page_server(project) as page_server:
        client = page_server.client
        worker = project.start("run", project.plan(a_slow_plan(gate)))
        visit.enter(page_server, "#/run/-")
        expect(page.locator(".run-head .state[data-state=ACTIVE]").first).to_be_visible()
        expect(page.get_by_text("attempt 1 · actor")).to_be_visible()
        run = project.status()["run"]

        def moved_at() -> datetime:
            return datetime.fromisoformat(client.document(f"/runs/{run}")["moved_at"])

        def goes_on() -> bool:
            (newest,) = client.document(f"/journal?run={run}&limit=1")["entries"]
            return moved_at() > datetime.fromisoformat(newest["at"])

        wait_until(goes_on, "time goes on beyond the last line")
        known = moved_at()
        worker.kill()
        worker.communicate()

        expect(page.locator(".run-head").get_by_text("no worker", exact=True).first).to_be_visible()
        assert moved_at() >= known
        expect(page.get_by_text("No worker is running this.")).to_be_visible()
        expect(page.get_by_text(f"yaoki resume {run}")).to_be_visible()
        expect(page.get_by_role("heading", name="Without a worker")).to_be_visible()
        expect(page.get_by_role("heading", name="Running")).to_have_count(0)
        visit.shot("left")
        visit.go("#/runs")
        expect(page.locator(".card").get_by_text("no worker", exact=True).first).to_be_visible()

        visit.go("#/run/-")
        worker = project.start("resume", "--quiet")
        expect(page.get_by_role("heading", name="Running")).to_be_visible()
        page.get_by_role("button", name="Cancel run").click()
        dialog = page.get_by_role("dialog", name=f"Cancel run {run}?")
        visit.shot("sure")
        dialog.get_by_role("button", name="No, go back").click()
        expect(dialog).to_have_count(0)
        assert not project.status()["cancel_wanted"]
        page.get_by_role("button", name="Cancel run").click()
        dialog.get_by_role("button", name="Cancel the run").click()
        expect(page.locator(".run-head .state[data-state=CANCELLED]").first).to_be_visible()
        out, _ = worker.communicate(timeout=BOUND_S)
        assert worker.returncode == 3, out
        expect(page.get_by_text("This run was cancelled.")).to_be_visible()
        visit.shot("cancelled")
        again = client.post(f"/runs/{run}/cancel", {})
        head = client.document(f"/runs/{run}")

    assert again.status == 200, "twice is once"
    assert (head["status"], head["actions"]) == ("CANCELLED", [])
    assert project.event_names().count("TASK_CANCELLED") == 1
    visit.assert_no_errors()


@pytest.mark.full
@pytest.mark.spec("14.4")
def test_hidden_characters_of_agents_are_made_visible(project: Project, visit: Visit) -> None:
    """Bidirectional and invisible characters are shown by their code point."""
    plan = a_plan(
        {"asks": [[{"ask": HIDDEN}]]},
        [{"id": "asks", "checks": ["asks"], "goal": f"Do {HIDDEN}"}],
        {"asks": file_contains("a.txt")},
    )
    assert project.yaoki("run", project.plan(plan)).code == 4
    with run_page_server(project) as page_server:
        visit.enter(page_server)
        expect(visit.page.locator(".question").first).to_have_text(SHOWN)
        visit.shot("hidden")
        visit.go(f"#/task/{project.task('asks')['id']}")
        expect(visit.page.locator(".goal")).to_have_text(f"Do {SHOWN}")
        words = visit.page.locator("body").inner_text()
    assert not re.search("[\u202a-\u202e\u001b\ufeff\U000e0041]", words)
    visit.assert_no_errors()


@pytest.mark.full
def test_the_page_uses_the_language_of_its_browser(
    browser: Browser, page_server: PageServer
) -> None:
    """Until the person or a setting chooses another, also for texts of the server."""
    context = browser.new_context(locale="ja-JP")
    try:
        page = context.new_page()
        page.goto(
            f"http://127.0.0.1:{page_server.port}/enter?token={page_server.token}#/run/-/timeline"
        )
        expect(page.locator("html")).to_have_attribute("lang", "ja")
        lanes = page.locator(".lane-svg")
        expect(lanes.last).to_have_attribute("aria-label", re.compile("cured、asks を待つ"))
        expect(page.locator(".timeline")).not_to_contain_text("needs")
    finally:
        context.close()


@pytest.mark.full
def test_blocked_and_landed_tasks_and_unknown_addresses_are_shown_as_what_they_are(
    page_server: PageServer, run_id: str, visit: Visit
) -> None:
    """A landed task offers no worktree.  A mistyped address has a title and links to other views; a
    run may have been pruned.
    """
    page = visit.page
    visit.enter(page_server)
    lately = page.locator("[aria-labelledby=lately]")
    expect(lately.locator(".state[data-state=BLOCKED]").first).to_be_visible()
    expect(lately.locator(".state[data-state=WAITING]")).to_have_count(0)
    visit.go("#/run/-/timeline")
    lane = page.locator(f".lane[data-task='{run_id}-4'] .state")
    expect(lane).to_have_attribute("data-state", "BLOCKED")
    visit.shot("timeline")

    visit.go(f"#/task/{run_id}-1")
    expect(page.get_by_text("DONE: landed as")).to_be_visible()
    expect(fact(page, "worktree")).to_have_count(0)
    visit.go(f"#/task/{run_id}-3")
    expect(fact(page, "worktree")).to_contain_text("cd ")

    heading = page.get_by_role("heading", level=1)
    for where in ("#/nonsense", "#/constructor", "#/%E0%A4%A"):
        visit.go(where)
        expect(heading).to_have_text("This view does not exist.")
        expect(page).to_have_title(re.compile("This view does not exist"))
    page.locator("main").get_by_role("link", name="All runs").click()
    expect(heading).to_have_text("All runs")
    visit.assert_no_errors()
    visit.go("#/run/zzz")
    expect(page.get_by_text("no run named 'zzz'")).to_be_visible()
    visit.go("#/run/-")
    expect(page.locator(".run-head .code")).to_have_text(run_id)
    visit.assert_no_errors("404")


@pytest.mark.full
def test_the_duration_of_a_run_stops_while_it_waits_for_a_person(
    page_server: PageServer, visit: Visit
) -> None:
    page = visit.page
    page.clock.install()
    visit.enter(page_server, "#/run/-")
    took, since = fact(page, "took").locator("dd"), fact(page, "since").locator("dd")
    before = took.inner_text()
    page.clock.fast_forward("30:00")
    # It was made for all tests of this process: some time ago, on a slow machine.
    expect(since).to_contain_text(re.compile(r"[3-9]\d min|\d h"))
    assert took.inner_text() == before
    visit.shot("facts")


@pytest.mark.full
def test_a_failed_answer_is_a_sentence_in_its_place_and_an_unread_store_is_not_shown_as_live(
    page_server: PageServer, visit: Visit
) -> None:
    """A long message does not break the layout, and the list is not shown as empty."""
    page = visit.page
    words = "internal error: " + "x" * 5_000

    def failing(route: Route) -> None:
        told = {"code": "INTERNAL", "sentence": words, "hint": "yaoki doctor", "defects": []}
        route.fulfill(status=500, json={"schema": 1, "error": told})

    def stalled(route: Route) -> None:
        now = '"now":"2026-03-01T20:10:00+00:00"'
        hello = f'event: hello\ndata: {{"schema":1,"cursor":999999,{now},"following":false}}\n\n'
        route.fulfill(content_type="text/event-stream", body=hello)

    page.route("**/api/v1/needs-you", failing)
    page.route("**/api/v1/events*", stalled)
    visit.enter(page_server)
    expect(page.get_by_role("alert")).to_contain_text("internal error")
    expect(page.get_by_role("navigation", name="views").get_by_text("?")).to_be_visible()
    expect(page.get_by_role("heading", name="Recent runs")).to_be_in_viewport()
    assert page.evaluate(STICKS_OUT) <= 0
    expect(page.locator("[data-connection=lost]")).to_be_visible()
    expect(page.locator("[data-connection=live]")).to_have_count(0)
    visit.shot("failing")


STICKS_OUT = """() => { const view = document.querySelector("main");
  return Math.max(view.scrollWidth - view.clientWidth, document.body.scrollWidth - innerWidth) }"""
