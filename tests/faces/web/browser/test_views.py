"""Every view in both languages, wide and narrow, light and dark, by keyboard and screen reader."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.faces.web.browser.chromium import NARROW, WIDE, Size, Visit, visiting
from tests.faces.web.page_server import PageServer

pytestmark = [pytest.mark.browser, pytest.mark.spec("12.5")]
RUN_VIEWS = ("run/-", "run/-/graph", "run/-/timeline", "run/-/tasks", "task/{0}-1", "task/{0}-3")
OTHERS = ("runs", "journal", "journal/5", "workers", "limits", "prompts", "reliability", "settings")
VIEWS = ("needs", *RUN_VIEWS, *OTHERS)
# Words of the dictionary are never shown by their key.
KEY = re.compile(r"\b(?:nav|tab|state|run|told|lead|chart|unit|wait|ended|choice)\.\w+")
READY = "main h1, main .empty"


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("size", "dark", "language"),
    [(WIDE, False, "en"), (NARROW, True, "ja")],
    ids=["wide", "narrow"],
)
def test_every_view_is_complete_and_accessible(
    browser: Browser,
    page_server: PageServer,
    run_id: str,
    tmp_path_factory: pytest.TempPathFactory,
    size: Size,
    dark: bool,
    language: str,
) -> None:
    """No overflow, no untranslated key, no console error; every image and field has a name."""
    screens = tmp_path_factory.mktemp("screens")
    print(f"screenshots: {screens}")
    with visiting(browser, screens, size, dark=dark, language=language) as visit:
        visit.enter(page_server)
        for number, view in enumerate(VIEWS):
            visit.go(f"#/{view.format(run_id)}")
            expect(visit.page.locator(READY).first).to_be_visible()
            expect(visit.page.locator("main").get_by_text(loading(language))).to_have_count(0)
            visit.shot(f"{number:02}-{language}")
            _whole(visit.page, view)
        visit.assert_no_errors()


def loading(language: str) -> str:
    return {"en": "loading …", "ja": "読み込み中 …"}[language]


def _whole(page: Page, view: str) -> None:
    words = page.locator("body").inner_text()
    assert not KEY.search(words), (view, KEY.search(words))
    assert page.evaluate(STICKS_OUT) <= 0, f"{view} is wider than the window"
    assert page.evaluate(NAMELESS) == [], view
    for landmark in ("banner", "navigation", "main"):
        expect(page.get_by_role(landmark).first).to_be_visible()
    expect(page.get_by_role("heading", level=1), view).to_have_count(1)


STICKS_OUT = """() => { const view = document.querySelector("main");
  return Math.max(view.scrollWidth - view.clientWidth, document.body.scrollWidth - innerWidth) }"""
# Every control and image needs an accessible name.
NAMELESS = """() => [...document.querySelectorAll(
    "button, a, input, select, textarea, svg[role=img], canvas, [role=table]")]
  .filter((one) => !one.textContent.trim() && !one.ariaLabel && !one.labels?.length)
  .map((one) => one.outerHTML.slice(0, 120))"""


@pytest.mark.full
def test_every_control_and_task_of_the_graph_is_reachable_by_keyboard_and_announced(
    page_server: PageServer, run_id: str, visit: Visit
) -> None:
    page = visit.page
    visit.enter(page_server, "#/run/-/tasks")
    rows = page.locator(".task-row [data-row]")
    expect(rows).to_have_count(4)
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(rows.nth(1)).to_be_focused()
    page.keyboard.press("k")
    expect(rows.nth(0)).to_be_focused()
    assert "solid" in rows.nth(0).evaluate("one => getComputedStyle(one).outlineStyle")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"#/task/{run_id}-1$"))

    for keys, heading in {"gj": "Journal", "gw": "Workers", "gn": "Needs you"}.items():
        page.keyboard.type(keys)
        expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
    page.keyboard.type("gt")
    expect(rows).to_have_count(4)
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("lie")
    expect(rows).to_have_count(1)
    expect(page).to_have_url(re.compile("text=lie"))
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    visit.assert_no_errors()

    # lie -> cured -> waits: along the edges of the graph, and each is named as it is reached.
    visit.go("#/run/-/graph")
    canvas = page.locator("canvas[data-drawn='4']")
    canvas.focus()
    for name in ("lie", "cured", "waits"):
        page.keyboard.press("ArrowRight")
        expect(canvas).to_have_attribute("aria-label", re.compile(name))
        expect(page.locator("aside.panel h3")).to_have_text(name)
    expect(page.locator("aside.panel")).to_contain_text("blocked by asks")
    visit.shot("graph")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("waits")
    visit.assert_no_errors()


@pytest.mark.full
def test_the_report_is_downloaded_with_one_click_and_language_and_theme_are_remembered(
    page_server: PageServer, run_id: str, visit: Visit
) -> None:
    page = visit.page
    visit.enter(page_server, "#/run/-")
    with page.expect_download() as begun:
        page.get_by_role("link", name="Report").click()
    report = begun.value.path().read_text()
    assert begun.value.suggested_filename.endswith(".html")
    assert run_id in report
    assert "Rehearse" in report

    visit.go("#/needs")
    ground = page.locator("body").evaluate("one => getComputedStyle(one).backgroundColor")
    page.get_by_label("theme").select_option("dark")
    assert page.locator("body").evaluate("one => getComputedStyle(one).backgroundColor") != ground
    page.get_by_label("language").select_option("ja")
    expect(page.get_by_role("heading", level=1)).to_contain_text("判断が必要")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_contain_text("判断が必要")
    assert page.locator("html").get_attribute("lang") == "ja"
    assert page.locator("html").get_attribute("data-theme") == "dark"
    visit.assert_no_errors()


@pytest.mark.full
@pytest.mark.spec("14.4")
def test_text_of_agents_is_not_interpreted_as_html(page_server: PageServer, visit: Visit) -> None:
    """The answer of a server is data: nothing in it becomes an element, and nothing is fetched."""
    page = visit.page
    asked: list[str] = []
    bad = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: asked.append(f"dialog {dialog.message}"))

    def poisoned(route: Route) -> None:
        answer = route.fetch()
        text = answer.text().replace("Shall it be an owl?", bad)
        route.fulfill(response=answer, body=text)

    page.route("**/api/v1/needs-you", poisoned)
    visit.enter(page_server)
    expect(page.locator(".question").first).to_have_text(bad)
    assert page.locator("main img, main script").count() == 0
    assert not [url for url in asked if "127.0.0.1" not in url or url.endswith("/x")]
    visit.assert_no_errors()


@pytest.mark.full
def test_background_windows_release_their_event_streams(
    page_server: PageServer, visit: Visit
) -> None:
    """A browser has six for all of them; a stream takes one for as long as it is open."""
    visit.enter(page_server)
    visit.is_live()
    others = [visit.context.new_page() for _ in range(3)]
    for other in others:
        other.goto(f"http://127.0.0.1:{page_server.port}/#/needs")
        expect(other.locator("[data-connection=live]")).to_be_visible()

    last = others[-1]
    last.evaluate(HIDDEN, True)
    expect(last.locator("[data-connection=connecting]")).to_be_visible()
    last.evaluate(HIDDEN, False)
    expect(last.locator("[data-connection=live]")).to_be_visible()
    visit.assert_no_errors()


HIDDEN = """(hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
