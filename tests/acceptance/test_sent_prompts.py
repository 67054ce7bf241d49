"""The words that agents get: from files, changed without a restart, counted by what they cured."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Place, holds, writes
from tests.acceptance.test_agent_failures import carried, events

pytestmark = pytest.mark.acceptance


@pytest.mark.spec("7.1", "7.3", "6.9")
def test_the_prompt_of_a_pattern_is_sent_and_its_search_is_journalled(place: Place) -> None:
    checks = {"good": {**holds("a.txt"), "pattern": "lint-error"}}

    code, task, entries = carried(
        place, {"a": [writes("a.txt", "bad\n"), writes("a.txt")]}, {}, checks=checks
    )

    assert code == 0
    first, second = events(entries, "PROMPT_SENT")
    assert first["path"] == ""
    assert second["path"].endswith("steps/retry/issue/f_failed_lint-error.md")
    assert second["steps"]
    assert "a.txt does not hold good" in place.prompt(task, 2)


@pytest.mark.spec("7.1", "5.8")
def test_an_ejected_and_edited_prompt_changes_the_next_attempt(place: Place) -> None:
    ejected = place.yaoki("prompts", "eject", "lint-error")
    assert ejected.code == 0, ejected.err
    file = next((place.repo / ".yaoki" / "prompts").rglob("f_failed_lint-error.md"))
    file.write_text(file.read_text() + "\nSay it in our own words.\n")
    checks = {"good": {**holds("a.txt"), "pattern": "lint-error"}}

    code, task, _ = carried(
        place, {"a": [writes("a.txt", "bad\n"), writes("a.txt")]}, {}, checks=checks
    )

    assert code == 0
    assert "Say it in our own words." in place.prompt(task, 2)


@pytest.mark.spec("7.2", "2.2")
def test_a_broken_prompt_of_the_project_is_refused_before_anything_runs(place: Place) -> None:
    folder = place.repo / ".yaoki" / "prompts" / "steps" / "retry" / "issue"
    folder.mkdir(parents=True)
    (folder / "f_failed_lint-error.md").write_text("---\nparams: []\n---\n{{ nobodyGivesThis }}\n")

    code = place.yaoki("run", place.plan(_a_plan())).code

    assert code == 2
    assert not place.stored()


def _a_plan() -> dict[str, object]:
    from tests.acceptance.project import a_plan

    return a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], {"good": holds("a.txt")})


@pytest.mark.full
@pytest.mark.spec("7.5")
def test_successful_retries_are_counted_by_prompt_and_pattern(place: Place) -> None:
    checks = {"good": {**holds("a.txt"), "pattern": "lint-error"}}
    carried(
        place,
        {"a": [writes("a.txt", "bad\n"), writes("a.txt", "worse\n"), writes("a.txt")]},
        {},
        checks=checks,
    )

    told = place.yaoki("stats", "prompts", "--json").document["prompts"]

    assert [(p["pattern"], p["sent"], p["cured"], p["not_cured"]) for p in told] == [
        ("lint-error", 2, 1, 1)
    ]
    shown = place.yaoki("stats", "prompts").out
    assert "50%" in shown
    assert shown.endswith("next: yaoki prompts show lint-error\n")


@pytest.mark.full
@pytest.mark.spec("7.2", "5.8")
def test_an_empty_prompt_is_replaced_by_the_built_in_text(place: Place) -> None:
    """The file is in order, but this failure leaves its only loop empty."""
    folder = place.repo / ".yaoki" / "prompts" / "steps" / "retry" / "issue"
    folder.mkdir(parents=True)
    loop = "{% for one in lintErrors %}- {{ one.code }}{% endfor %}"
    (folder / "f_failed_lint-error.md").write_text(f"---\nparams: [lintErrors]\n---\n{loop}\n")
    checks = {"good": {**holds("a.txt"), "pattern": "lint-error"}}

    code, task, entries = carried(
        place, {"a": [writes("a.txt", "bad\n"), writes("a.txt")]}, {}, checks=checks
    )

    assert code == 0
    assert "a.txt does not hold good" in place.prompt(task, 2)
    assert "renders an empty text" in events(entries, "PROMPT_FAULT")[0]["fault"]
