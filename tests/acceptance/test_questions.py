"""A question of several lines is asked whole, wherever it is asked."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Place, a_plan, holds, until, waits_for, writes

QUESTION = "I found two options:\n1. delete the users table\n2. keep it\u2028\nWhich one?"
PARTS = ("I found two options:", "1. delete the users table", "2. keep it", "Which one?")


@pytest.mark.full
@pytest.mark.spec("10.3")
def test_every_line_of_a_question_is_shown(place: Place) -> None:
    acts = {"choose": [[{"ask": QUESTION}]]}
    plan = place.plan(a_plan(acts, [{"id": "choose"}], {"there": holds("there.txt")}))

    ended = place.yaoki("run", plan, "--quiet")

    task = place.task("choose")
    faces = {
        "the end of the run": ended.out + ended.err,
        "answer": place.look("answer", "choose").out,
        "why": place.look("why", "choose").out,
        # A question shaped like a list is shown as written, so Markdown escapes its number.
        "report": place.look("report").out.replace("\\", ""),
        "markdown": place.look("report", "--format", "markdown").out.replace("\\", ""),
        "html": place.look("report", "--format", "html").out,
        "status --json": task["question"],
    }
    lacking = {name: part for name, said in faces.items() for part in PARTS if part not in said}
    assert lacking == {}


@pytest.mark.spec("10.6", "12.1")
def test_a_paused_run_shows_the_reason_and_no_other_wait(place: Place) -> None:
    names = ("one", "two")
    plan = a_plan(
        {name: [writes(f"{name}.txt")] for name in names},
        [{"id": "one"}, {"id": "two", "needs": ["one"]}],
        {"there": {"file": {"path": "README", "exists": True}}},
        budget={"attempts": 1},
    )

    assert place.yaoki("run", place.plan(plan), "--quiet").code == 5

    shown = place.look("status").out
    assert "paused: budget: 1 of 1" in shown
    assert "waits for a free slot" not in shown
    assert "the run is paused" in place.look("why", "two").out


@pytest.mark.full
@pytest.mark.spec("12.1")
def test_a_run_without_a_worker_says_so(place: Place) -> None:
    marker = place.folder / "go"
    acts = {"slow": [[waits_for(marker), *writes("slow.txt")]]}
    plan = a_plan(acts, [{"id": "slow"}, {"id": "next"}], {"there": holds("slow.txt")})
    worker = place.start("run", place.plan(plan), "--quiet", "--parallel", "1")
    until(lambda: "PROMPT_SENT" in place.story(), "slow works")
    worker.kill()
    worker.communicate(timeout=30)

    shown = place.look("status").out

    marker.touch()
    assert shown.count("no worker is running this") == 2, shown
    assert shown.splitlines()[-1].startswith("next: yaoki resume")
    assert place.yaoki("cancel").code == 0
