"""A racing task shows its candidates side by side with what decided, in both languages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.project import Project
from tests.acceptance.test_race_judges import LETTER, says
from tests.acceptance.test_races import FAST, LONG, RIGHT, WRONG, a_plan
from tests.faces.web.browser.chromium import Visit, visiting
from tests.faces.web.page_server import PageServer, run_page_server

pytestmark = [pytest.mark.full, pytest.mark.browser, pytest.mark.spec("18.4", "12.5")]


@pytest.fixture(scope="module")
def race_project(tmp_path_factory: pytest.TempPathFactory, pycache: Path) -> Project:
    """Two of three candidates are right, and the third has the smaller diff; in `x` a judge says
    nothing, and in `y` another one chooses the second.
    """
    project = Project(tmp_path_factory.mktemp("race"), pycache)
    project.settings(FAST)
    answer = says("$L", "it explains itself")
    judge = f"cat > $PWD.prompt; P=$PWD.prompt; {LETTER}; {answer}"
    agents = {"wrong": WRONG, "long": LONG, "short": RIGHT, "careful": judge, "mute": "true"}
    race = {"tries": 3, "agents": ["wrong", "long", "short"], "until": "all"}
    tasks = {
        "x": {"race": {**race, "judge": "mute"}},
        "y": {"race": {**race, "judge": "careful"}},
    }
    done = project.yaoki("run", project.plan(a_plan(agents, tasks)))
    assert done.code == 0, done.out + done.err
    return project


@pytest.fixture(scope="module")
def race_server(race_project: Project) -> Iterator[PageServer]:
    with run_page_server(race_project) as server:
        yield server


def test_the_candidates_of_a_race_are_side_by_side_with_the_criterion_that_decided(
    race_server: PageServer, race_project: Project, visit: Visit
) -> None:
    page = visit.page
    task = race_project.task("x")

    visit.enter(race_server, f"#/task/{task['id']}")

    race = page.locator(".race")
    expect(race).to_contain_text("x~1.3 won: its diff is smaller")
    expect(race.locator("thead th")).to_have_text(["candidate", "x~1.1", "x~1.2", "x~1.3"])
    expect(race.locator("tr[data-decides]")).to_have_count(1)
    expect(race.locator("tr[data-decides] th")).to_have_text("changed lines decided")
    expect(race.locator("tr[data-decides] td")).to_have_text(["unknown", "21", "1"])
    nothing = "Judge mute decided nothing: there is no JSON object in its answer"
    expect(race.locator(".race-judge")).to_have_text(nothing)
    expect(race.locator("tbody tr").nth(0).locator("td")).to_have_text(["wrong", "long", "short"])
    results = race.locator("tbody tr").nth(1).locator("td")
    expect(results.nth(0)).to_contain_text("failed")
    expect(results.nth(0)).to_contain_text("has-x: exit code 1")
    expect(results.nth(1)).to_have_text("proven")
    expect(results.nth(2)).to_contain_text("won")
    visit.shot("race")
    visit.go(f"#/task/{race_project.task('x~1.1')['id']}")
    expect(page.locator(".relatives")).to_contain_text("Races for")
    expect(page.locator("[data-attempt='1'] header .state")).to_have_text("failed")
    visit.assert_no_errors()


def test_the_judge_of_a_race_is_told_with_its_letters_and_its_reason(
    race_server: PageServer, race_project: Project, visit: Visit
) -> None:
    visit.enter(race_server, f"#/task/{race_project.task('y')['id']}")

    race = visit.page.locator(".race")
    expect(race).to_contain_text("y~1.2 won: the judge chose it")
    expect(race.locator("tr[data-decides] th")).to_have_text("letter for the judge decided")
    letters = race.locator("tr[data-decides] td").all_inner_texts()
    assert sorted(letters) == ["A", "B", "–"]
    chose = f"Judge careful chose {letters[1]}: it explains itself"
    expect(race.locator(".race-judge")).to_have_text(chose)
    visit.shot("race-judge")
    visit.go(f"#/task/{race_project.task('y~1.judge')['id']}")
    expect(visit.page.locator("[data-attempt='1'] header .state")).to_have_text("answered")
    visit.assert_no_errors()


def test_a_race_is_told_in_japanese(
    race_server: PageServer, race_project: Project, browser: Browser, screens: Path
) -> None:
    with visiting(browser, screens, language="ja") as visit:
        visit.enter(race_server, f"#/task/{race_project.task('x')['id']}")

        race = visit.page.locator(".race")
        expect(race).to_contain_text("x~1.3 が勝ちました: 差分がより小さい")
        expect(race.locator("tr[data-decides] th")).to_contain_text("決め手")
        visit.shot("race-ja")
        nothing = "審査役 mute は候補を選びませんでした: 回答に JSON オブジェクトがありません"
        expect(race.locator(".race-judge")).to_have_text(nothing)
        visit.assert_no_errors()
