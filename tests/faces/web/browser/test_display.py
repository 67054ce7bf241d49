"""The page is complete on a small screen and in the reader's language."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.faces.web.browser.chromium import Visit, visiting
from tests.faces.web.page_server import PageServer

pytestmark = [pytest.mark.browser, pytest.mark.spec("12.5")]
PHONE, DESK = (375, 800), (1280, 860)
# Kana: no sentence of Japanese is without.
OWN = re.compile("[\u3040-\u30ff]")


@pytest.fixture
def phone(browser: Browser, screens: Path) -> Iterator[Visit]:
    with visiting(browser, screens, PHONE) as visit:
        yield visit


@pytest.fixture
def japanese(browser: Browser, screens: Path) -> Iterator[Visit]:
    with visiting(browser, screens, DESK, language="ja") as visit:
        yield visit


@pytest.mark.full
def test_sentences_of_the_server_are_translated_on_the_page(
    page_server: PageServer, run_id: str, japanese: Visit
) -> None:
    page = japanese.page
    japanese.enter(page_server, "#/run/-")
    expect(page.locator(".td-why")).to_have_text("asks によりブロック")
    expect(page.locator(".entries").get_by_text("として着地").first).to_be_visible()
    said = page.locator(".entry-words").all_inner_texts()
    assert not [words for words in said if not OWN.search(words)], said
    japanese.shot("run")

    japanese.go(f"#/task/{run_id}-1")
    expect(page.locator(".run-head")).to_contain_text("として着地しました")
    japanese.go(f"#/task/{run_id}-3")
    expect(page.locator(".run-head")).to_contain_text("人の回答が必要です")
    japanese.go(f"#/task/{run_id}-4")
    expect(page.locator(".waits")).to_contain_text("asks によりブロック")
    japanese.go("#/journal")
    expect(page.locator(".journal-row .why").get_by_text("あなたの判断").first).to_be_visible()
    said = page.locator(".journal-row [role=cell].why").all_inner_texts()
    assert not [words for words in said if words and not OWN.search(words)], said
    japanese.assert_no_errors()


@pytest.mark.full
def test_no_text_is_cut_on_a_small_screen_and_the_graph_is_drawn_downward(
    page_server: PageServer, phone: Visit
) -> None:
    page = phone.page
    phone.enter(page_server, "#/prompts")
    cell = page.locator(".data-table td.code").first
    expect(cell).to_be_visible()
    assert cell.evaluate("one => one.clientWidth") > 300, "a path has room"
    assert page.evaluate(CUT, "nav.side a, .data-table td, .data-table meter") == []
    phone.shot("prompts")

    phone.go("#/run/-/timeline")
    expect(page.locator(".lane-svg").last).to_be_visible()
    expect(page.locator(".timeline-legend")).to_be_visible()
    assert page.evaluate(CUT, ".timeline-legend > span, .told-strip") == []
    phone.shot("timeline")

    phone.go("#/run/-/graph")
    canvas = page.locator("canvas[data-drawn='4']")
    canvas.focus()
    for name in ("lie", "cured", "waits"):
        page.keyboard.press("ArrowDown")
        expect(canvas).to_have_attribute("aria-label", re.compile(name))
    phone.shot("graph")
    phone.assert_no_errors()


# Elements that overflow the window or their box.
CUT = """(which) => [...document.querySelectorAll(which)].filter((one) => {
  const { left, right } = one.getBoundingClientRect();
  return left < 0 || right > innerWidth || one.scrollWidth > one.clientWidth + 1 && one.clientWidth;
}).map((one) => one.outerHTML.slice(0, 120))"""


# The shown columns of the first row of a kind, and the left edge of each.
COLUMNS = """(which) => [...document.querySelector(which).children]
  .filter((cell) => getComputedStyle(cell).display !== "none" && cell.offsetParent)
  .map((cell) => [cell.classList.item(cell.classList.contains("num") ? 2 : 1),
    Math.round(cell.getBoundingClientRect().left)])"""


@pytest.mark.full
def test_columns_have_their_own_heads_no_time_label_is_cut_and_clocks_have_24_hours(
    page_server: PageServer, visit: Visit
) -> None:
    """A narrow window has no heads, and two lines for each task."""
    page = visit.page
    visit.enter(page_server, "#/run/-/timeline")
    expect(page.locator(".axis-row text").first).to_be_visible()
    for _ in range(4):
        assert page.locator(".axis-row").evaluate(BEYOND) == []
        page.get_by_role("button", name="zoom in").click()
    visit.go("#/reliability")
    since = page.locator("main time").first
    expect(since).to_be_visible()
    assert not re.search("[AP]M", since.inner_text()), since.inner_text()

    visit.go("#/run/-/tasks")
    shown = {1360: "n st nm at ag why ct tk ld", 1000: "n st nm at why ct", 700: "st nm at why"}
    for width, names in shown.items():
        page.set_viewport_size({"width": width, "height": 860})
        page.reload()
        expect(page.locator(".task-row [data-row]").first).to_be_visible()

        heads = page.evaluate(COLUMNS, ".rows-head .task-row")
        cells = page.evaluate(COLUMNS, ".rows-body .task-row")

        assert [name for name, _ in cells] == names.split()
        assert heads == ([] if width == 700 else cells)
    visit.assert_no_errors()


BEYOND = """svg => [...svg.querySelectorAll("text")].filter((one) => {
  const { x, width } = one.getBBox();
  return x + width > svg.clientWidth;
}).map((one) => one.textContent)"""


@pytest.mark.full
def test_the_final_check_is_named_and_subtasks_are_not_optional(
    whole_server: PageServer, visit: Visit
) -> None:
    page = visit.page
    visit.enter(whole_server, "#/run/-/tasks")
    expect(page.locator(".task-row [data-row]")).to_have_count(5)
    expect(page.get_by_text("optional")).to_have_count(0)
    expect(page.locator(".task-row .why").last).to_have_text("final check")
    expect(page.locator(".matched")).to_have_text("4 of 4")
    expect(page.locator(".progress-words")).to_have_text(re.compile(r"^\s*done\s*4\s*final check"))
    visit.go("#/run/-/graph")
    expect(page.get_by_text("tasks 4 ·")).to_be_visible()
    visit.shot("graph")
    visit.go("#/runs")
    expect(page.locator(".card .progress-words")).to_contain_text("final check")
    visit.assert_no_errors()


def answering(page: Page, path: str, change: Callable[[Any], None]) -> None:
    """The answers of this path, changed on their way."""

    def changed(route: Route) -> None:
        answer = route.fetch()
        document = json.loads(answer.text())
        change(document)
        route.fulfill(response=answer, body=json.dumps(document))

    page.route(re.compile(path), changed)


def lengthen_goal(told: Any) -> None:
    told["goal"] = "A goal that goes on and on " * 20


def ask_optional_task(told: Any) -> None:
    for one in told["asking"]:
        one["task"] |= {"question": "Tabs or spaces?\nChoose one.", "required": False}
        one["failure"] = "ESCALATE_REQUIRED: Tabs or spaces?"


def ask_about_account(told: dict[str, Any]) -> None:
    told["asking"][0]["retry_subject"] = "account"


def waive_finding(told: Any) -> None:
    told["ended"] = "LANDED"
    told["findings"][0] |= {"outcome": "WAIVED", "message": "waived by a person"}
    entry = {"test": "races", "owner": "mia", "reason": "the clock"}
    told["findings"][0]["quarantined"] = [{**entry, "expires": "2030-01-31T07:00:00+00:00"}]


def wait_within_attempt(told: Any) -> None:
    start = datetime.fromisoformat(told["from"])

    def span(from_s: int, until_s: int, **more: Any) -> dict[str, Any]:
        ends = (start + timedelta(seconds=second) for second in (from_s, until_s))
        return {
            **dict(zip(("from", "until"), (e.isoformat() for e in ends), strict=True)),
            **more,
        }

    told["until"] = told["now"] = span(0, 100)["until"]
    row = told["rows"][0]
    tries = {"attempt": 5, "ended": "LANDED", "failure": None, "stages": []}
    row["attempts"] = [{**row["attempts"][0], **tries, **span(0, 100)}]
    row["waits"] = [span(1, 99, cause="PERSON", words="MAX_RETRIES")]


@pytest.mark.full
def test_long_goals_odd_questions_waivers_and_waits_are_shown_in_their_place(
    page_server: PageServer, run_id: str, visit: Visit
) -> None:
    """A long goal keeps the header in one row, a question is shown once, a task that landed by a
    waiver names the waiver and not its failure, and a wait does not hide its attempt.  The form of
    a question about an account promises no agent that reads the words.
    """
    page = visit.page
    visit.enter(page_server, "#/needs")
    form = page.locator(".answering").first
    expect(form.locator(".field span").first).to_have_text("Your answer to the agent")
    expect(form.locator(".choice-words")).to_contain_text("the agent gets your message")
    answering(page, r"/api/v1/needs-you", ask_about_account)
    page.reload()
    expect(form.locator(".field span").first).to_have_text("Note for the record")
    expect(form.locator(".choice-words")).to_have_text(
        "The account is tried again, and then every task that waits for it. "
        "No agent reads your note."
    )

    # The route that was added last is asked first.
    answering(page, r"/api/v1/runs/\w+$", lengthen_goal)
    answering(page, r"/api/v1/needs-you", ask_optional_task)
    answering(page, r"/api/v1/tasks/\S+/attempts/1$", waive_finding)
    answering(page, r"/api/v1/runs/\S+/timeline", wait_within_attempt)

    page.reload()
    expect(page.locator(".question")).to_have_text("Tabs or spaces?\nChoose one.")
    expect(page.get_by_text("ESCALATE_REQUIRED")).to_have_count(0)
    expect(page.locator(".asked .tag")).to_have_text("optional")

    visit.go("#/run/-/graph")
    title, report = page.locator(".run-head h1"), page.get_by_role("link", name="Report")
    expect(title).to_contain_text("on and on")
    above, beside = title.bounding_box(), report.bounding_box()
    assert above is not None
    assert beside is not None
    assert beside["y"] < above["y"] + above["height"], "beside it, and not below"
    assert beside["x"] + beside["width"] <= page.viewport_size["width"]  # type: ignore[index]

    visit.go("#/run/-/timeline")
    lane = page.locator(".lane-svg").first
    expect(lane.locator(".wait text")).to_have_text("a person: out of retries")
    number, label = (lane.locator(one).bounding_box() for one in (".try-number", ".wait text"))
    assert number is not None
    assert label is not None
    assert number["x"] + number["width"] <= label["x"] + 1
    assert lane.evaluate(LAST) == ["try-number", "try-end"], "drawn over the wait"
    visit.shot("a wait within")

    visit.go(f"#/task/{run_id}-1/1")
    attempt = page.locator("[data-attempt='1']")
    expect(attempt.locator(".attempt-why")).to_have_text("A person waived: lie")
    expect(attempt.get_by_text("Proven and landed.")).to_be_visible()
    excused = attempt.get_by_text("quarantined flaky test: races, owner mia, until Jan 31, 2030")
    expect(excused).to_be_visible()
    visit.assert_no_errors()


LAST = "svg => [...svg.children].slice(-2).map((one) => one.getAttribute('class'))"
