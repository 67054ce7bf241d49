"""Large runs: hundreds of tasks in a graph, thousands in a list and as a cloud of dots."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.project import Project
from tests.faces.web.browser.chromium import Visit
from tests.faces.web.browser.large_runs import store_large_run
from tests.faces.web.page_server import PageServer, run_page_server

pytestmark = [pytest.mark.browser, pytest.mark.spec("12.5")]
Record = Callable[[str, object], None]
MANY = 3_000
# The number of rendered rows, for any length of the list.
ROWS_MAX = 120


@pytest.fixture(scope="module")
def graphed(tmp_path_factory: pytest.TempPathFactory, pycache: Path) -> Iterator[PageServer]:
    project = Project(tmp_path_factory.mktemp("graphed"), pycache)
    store_large_run(project, 500, wide=40, done=230, active=6, asks=4)
    with run_page_server(project) as server:
        yield server


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, pycache: Path) -> Iterator[PageServer]:
    project = Project(tmp_path_factory.mktemp("many"), pycache)
    store_large_run(project, MANY, wide=600, done=500, active=6, asks=3)
    with run_page_server(project) as server:
        yield server


def measured(page: Page, what: str, began: float, record: Record) -> None:
    heap = page.evaluate("performance.memory.usedJSHeapSize") / 2**20
    nodes = page.evaluate("document.querySelectorAll('*').length")
    words = (
        f"{what}: usable after {time.monotonic() - began:.2f} s"
        f" at a load of {os.getloadavg()[0]:.0f}, {heap:.0f} MiB, {nodes} elements"
    )
    print(words)
    record("measured", words)


@pytest.mark.full
def test_a_graph_of_five_hundred_tasks_is_drawn_folded_and_searched(
    graphed: PageServer, visit: Visit, record_property: Record
) -> None:
    page, began = visit.page, time.monotonic()
    visit.enter(graphed, "#/run/-/graph")
    expect(page.locator("canvas[data-drawn='500']")).to_be_visible()
    measured(page, "graph of 500", began, record_property)
    visit.shot("500")

    page.get_by_role("searchbox").fill("parse-token-1")
    page.locator("canvas").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("aside.panel")).to_be_visible()
    page.get_by_label("fold").select_option("done")
    expect(page.locator("canvas")).to_have_attribute("data-drawn", re.compile(r"^2[789]\d$"))
    visit.shot("500 folded")
    box = page.locator("canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 300, box["y"] + 200)
    for step in (-400, -400, 300):
        page.mouse.wheel(0, step)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 300, steps=5)
    page.mouse.up()
    visit.shot("500 close")
    visit.assert_no_errors()


@pytest.mark.full
def test_an_attempt_killed_before_its_prompt_is_shown(many: PageServer, visit: Visit) -> None:
    run = many.client.document("/runs")["runs"][0]["run"]
    (task,) = many.client.document(f"/runs/{run}/tasks?state=ACTIVE&limit=1")["tasks"]
    visit.enter(many, f"#/task/{task['id']}")

    expect(visit.page.locator("[data-attempt='1']")).to_contain_text("No agent was started.")
    visit.assert_no_errors()


@pytest.mark.full
def test_a_zoomed_out_graph_shows_the_states_as_colours(many: PageServer, visit: Visit) -> None:
    """Three thousand tasks are drawn as coloured dots by state."""
    visit.enter(many, "#/run/-/graph")
    expect(visit.page.locator("canvas[data-drawn='3000']")).to_be_visible()
    visit.shot("crowd")

    share = visit.page.locator("canvas").evaluate(SHARES)
    assert share["done"] > 0.05, share
    assert share["escalated"] > 0.0001, share
    visit.assert_no_errors()


# How much of the picture has the colour of a state, as far as it is drawn opaquely.
SHARES = """canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const style = getComputedStyle(document.documentElement);
  const share = (name) => {
    const sign = style.getPropertyValue(`--state-${name}`).match(/[0-9a-f]{2}/gi);
    const rgb = sign.map((two) => parseInt(two, 16));
    let n = 0;
    for (let i = 0; i < data.length; i += 4)
      n += rgb.every((part, k) => Math.abs(data[i + k] - part) < 5) ? 1 : 0;
    return (4 * n) / data.length;
  };
  return { done: share("done"), escalated: share("escalated") };
}"""


@pytest.mark.full
def test_thousands_of_tasks_are_scrolled_and_filtered(
    many: PageServer, visit: Visit, record_property: Record
) -> None:
    page, began = visit.page, time.monotonic()
    visit.enter(many, "#/run/-/tasks")
    rows = page.locator(".rows-body .task-row")
    expect(rows.first).to_contain_text("parse-token-1")
    measured(page, "list of 3 000", began, record_property)
    expect(page.get_by_text("3,000 of 3,000")).to_be_visible()
    assert rows.count() < ROWS_MAX

    body = page.locator(".rows-body")
    for share in (0.1, 0.5, 0.9, 1.0):
        body.evaluate("(one, share) => { one.scrollTop = share * one.scrollHeight }", share)
    expect(page.locator(f".task-row[aria-rowindex='{MANY + 1}']")).to_contain_text(f"-{MANY}")
    expect(page.locator(f".task-row[aria-rowindex='{MANY + 1}'] .ag")).to_have_text("small")
    assert rows.count() < ROWS_MAX
    visit.shot("3000")
    page.get_by_role("searchbox").fill("invoice-26")
    expect(page.locator(".matched")).not_to_have_text("3,000 of 3,000")
    expect(rows.first).to_contain_text("invoice-26")
    measured(page, "the same, scrolled and filtered", began, record_property)
    visit.assert_no_errors()


@pytest.mark.full
def test_a_long_journal_is_read_page_by_page(many: PageServer, visit: Visit) -> None:
    """Scrolled far down and back: rows out of sight are removed, and none is skipped."""
    page = visit.page
    visit.enter(many, "#/journal")
    seqs = page.locator(".journal-row .num [data-row]")
    expect(seqs.first).to_be_visible()
    first = int(seqs.first.inner_text())
    body = page.locator(".rows-body")
    for _ in range(20):
        before = body.evaluate("one => one.scrollHeight")
        body.evaluate("one => { one.scrollTop = one.scrollHeight }")
        page.wait_for_function(
            "before => document.querySelector('.rows-body').scrollHeight > before", arg=before
        )
    expect(seqs.first).not_to_have_text(str(first))
    shown = [int(words) for words in seqs.all_inner_texts()]
    assert len(shown) < ROWS_MAX
    assert shown == list(range(shown[0], shown[0] - len(shown), -1))
    assert shown[-1] < first - 3500
    body.evaluate("one => { one.scrollTop = 0 }")
    expect(seqs.first).to_have_text(str(first))

    # The other end is one request away, and a rare event is searched to the end.
    page.get_by_role("button", name="oldest first").click()
    expect(seqs.first).to_have_text("1")
    page.get_by_role("button", name="people").click()
    expect(page.locator(".journal-row .ev").nth(1)).to_contain_text("ESCALATE")
    oldest = int(seqs.first.inner_text())
    page.get_by_role("button", name="oldest first").click()
    expect(seqs.last).to_have_text(str(oldest))
    page.get_by_role("searchbox").fill("nobody ever wrote this")
    expect(page.get_by_text("Nothing here yet.")).to_be_visible()
    visit.assert_no_errors()
