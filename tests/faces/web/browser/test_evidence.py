"""An attempt shows the evidence that its checks prove something, in both languages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.acceptance.project import Project
from tests.faces.web.browser.chromium import NARROW, WIDE, Visit, visiting
from tests.faces.web.browser.test_display import OWN, answering
from tests.faces.web.browser.test_views import STICKS_OUT
from tests.faces.web.page_server import PageServer

pytestmark = [pytest.mark.browser, pytest.mark.spec("12.5")]
ATTEMPT = r"/api/v1/tasks/\S+/attempts/{}$"


@pytest.fixture(scope="module")
def half(evidence_project: Project) -> str:
    return str(evidence_project.task("half")["id"])


def evidence(page: Page, number: int) -> Locator:
    return page.locator(f"[data-attempt='{number}'] > section").nth(3)


def about(page: Page, number: int, kind: str) -> Locator:
    """One kind of evidence of an attempt."""
    return evidence(page, number).locator(".evidence > div").filter(has_text=kind)


@pytest.mark.spec("17.1", "17.2", "17.3", "17.4")
def test_three_attempts_show_what_their_checks_prove(
    evidence_server: PageServer, half: str, visit: Visit
) -> None:
    page = visit.page
    visit.enter(evidence_server, f"#/task/{half}/1,2,3")

    gamed = about(page, 1, "tell-tales in the diff")
    expect(gamed.locator(".state")).to_have_text("found")
    expect(gamed.locator("li")).to_contain_text("half.py:4 finds out whether a test runs it")
    expect(evidence(page, 1)).to_contain_text(
        "Not run, because the attempt ended before: tests that fail without the change,"
        " mutants of the changed lines."
    )
    told = page.locator("[data-attempt='1'] .finding li", has_text="half.py:4")
    expect(told).to_have_count(0)

    hidden = about(page, 2, "hidden checks")
    expect(hidden).to_contain_text("failed acceptance files")
    expect(evidence(page, 2)).to_contain_text("ended before: tests that fail without the change,")
    assert len(hidden.locator("code").inner_text()) == 12
    assert "212150035" not in evidence(page, 2).inner_text()

    red = about(page, 3, "tests that fail without the change")
    expect(red).to_contain_text("1 test fails without the change and passes with it:")
    expect(red.locator("li")).to_have_text("test_half.py::test_odd")
    expect(about(page, 3, "hidden checks")).to_contain_text("passed acceptance")
    mutants = about(page, 3, "mutants of the changed lines")
    expect(mutants).to_contain_text("survived")
    expect(mutants.locator("li").first).to_contain_text("no test notices if")
    expect(evidence(page, 3)).not_to_contain_text("Not asked for")
    tops = page.locator(".attempt > section:nth-of-type(4)").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().top)"
    )
    assert len(set(tops)) == 1, "side by side"
    visit.shot("evidence")
    visit.assert_no_errors()


def let_much_happen(told: Any) -> None:
    """More than is shown at once."""
    survivors = [
        {"where": f"price.py:{n}", "words": "no test notices if it returns None"} for n in range(20)
    ]
    counts = {"killed": 9, "survived": 25, "timed_out": 2, "unjudged": 3, "untried": 4}
    told["evidence"]["mutants"] |= {
        "asked": True,
        "outcome": "FAILED",
        "counts": counts,
        "survivors": survivors,
        "survivors_left_out": 5,
    }
    told["evidence"]["red_first"] |= {
        "asked": True,
        "outcome": "FAILED",
        "reason": "no test shows what the change fixes: check tests passes without the change",
    }
    told["evidence"]["hidden_checks"] = [
        {"check": "style", "required": False, "outcome": "PASSED", "digest": None},
        {"check": "late", "required": True, "outcome": None, "digest": "ab" * 32},
    ]


@pytest.mark.full
@pytest.mark.spec("17.1", "17.2", "17.3")
def test_long_lists_are_folded_and_missing_evidence_has_its_reason(
    evidence_server: PageServer, evidence_project: Project, visit: Visit
) -> None:
    page = visit.page
    plain = evidence_project.task("plain")["id"]
    visit.enter(evidence_server, f"#/task/{plain}/1")
    expect(evidence(page, 1)).to_contain_text(
        "Not asked for by the plan: tests that fail without the change, hidden checks,"
        " mutants of the changed lines."
    )

    answering(page, ATTEMPT.format(1), let_much_happen)
    page.reload()

    mutants = about(page, 1, "mutants")
    expect(mutants).to_contain_text(
        "9 killed, 2 of them by the time limit, 25 survived, 3 could not be judged,"
        " 4 not tried in time"
    )
    expect(mutants.locator("li:visible")).to_have_count(3)
    mutants.get_by_text("and 22 more").click()
    expect(mutants.locator("li:visible")).to_have_count(20)
    expect(mutants.get_by_text("and 5 more")).to_be_visible()
    expect(about(page, 1, "tests that fail")).to_contain_text("no test shows what the change fixes")
    hidden = about(page, 1, "hidden").locator("p")
    expect(hidden).to_have_text(
        ["passed style optional no files of its own", "not run late files abababababab"]
    )
    expect(evidence(page, 1)).not_to_contain_text("Not asked for")
    visit.assert_no_errors()


@pytest.mark.full
def test_the_evidence_is_in_japanese_and_fits_any_window(
    browser: Browser, evidence_server: PageServer, half: str, screens: Path
) -> None:
    with visiting(browser, screens, WIDE, dark=True, language="ja") as visit:
        page = visit.page
        visit.enter(evidence_server, f"#/task/{half}/1")
        for name, size in (("wide", WIDE), ("narrow", NARROW)):
            page.set_viewport_size({"width": size[0], "height": size[1]})
            for number in (1, 2, 3):
                visit.go(f"#/task/{half}/{number}")
                section = evidence(page, number)
                expect(section.locator("h4")).to_have_text("証拠")
                words = section.locator(".evidence dt, .evidence li").all_inner_texts()
                # The name of a test has no space.
                left = [one for one in words if " " in one and not OWN.search(one)]
                assert (left, bool(words)) == ([], True)
                assert page.evaluate(STICKS_OUT) <= 0
                section.scroll_into_view_if_needed()
                visit.shot(f"attempt-{number}-{name}")
            expect(section).to_contain_text("どのテストも気づきません")
            page.emulate_media(color_scheme="light")
        visit.assert_no_errors()
