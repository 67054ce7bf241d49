"""A question of several lines is asked whole, wherever it is asked."""

from __future__ import annotations

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, wait_until, waits_for, writes

QUESTION = "I found two options:\n1. delete the users table\n2. keep it\u2028\nWhich one?"
PARTS = ("I found two options:", "1. delete the users table", "2. keep it", "Which one?")


@pytest.mark.full
@pytest.mark.spec("10.3")
def test_every_line_of_a_question_is_shown(project: Project) -> None:
    acts = {"choose": [[{"ask": QUESTION}]]}
    plan = project.plan(a_plan(acts, [{"id": "choose"}], {"there": file_contains("there.txt")}))

    ended = project.yaoki("run", plan, "--quiet")

    task = project.task("choose")
    faces = {
        "the end of the run": ended.out + ended.err,
        "answer": project.query("answer", "choose").out,
        "why": project.query("why", "choose").out,
        # A question shaped like a list is shown as written, so Markdown escapes its number.
        "report": project.query("report").out.replace("\\", ""),
        "markdown": project.query("report", "--format", "markdown").out.replace("\\", ""),
        "html": project.query("report", "--format", "html").out,
        "status --json": task["question"],
    }
    lacking = {name: part for name, said in faces.items() for part in PARTS if part not in said}
    assert lacking == {}


@pytest.mark.spec("10.6", "12.1")
def test_a_paused_run_shows_the_reason_and_no_other_wait(project: Project) -> None:
    names = ("one", "two")
    plan = a_plan(
        {name: [writes(f"{name}.txt")] for name in names},
        [{"id": "one"}, {"id": "two", "needs": ["one"]}],
        {"there": {"file": {"path": "README", "exists": True}}},
        budget={"attempts": 1},
    )

    assert project.yaoki("run", project.plan(plan), "--quiet").code == 5

    shown = project.query("status").out
    assert "paused: budget: 1 of 1" in shown
    assert "waits for a free slot" not in shown
    assert "the run is paused" in project.query("why", "two").out


@pytest.mark.full
@pytest.mark.spec("12.1")
def test_a_run_without_a_worker_says_so(project: Project) -> None:
    marker = project.folder / "go"
    acts = {"slow": [[waits_for(marker), *writes("slow.txt")]]}
    plan = a_plan(acts, [{"id": "slow"}, {"id": "next"}], {"there": file_contains("slow.txt")})
    worker = project.start("run", project.plan(plan), "--quiet", "--parallel", "1")
    wait_until(lambda: "PROMPT_SENT" in project.event_names(), "slow works")
    worker.kill()
    worker.communicate(timeout=30)

    shown = project.query("status").out

    marker.touch()
    assert shown.count("no worker is running this") == 3, "the run and both tasks"
    assert shown.splitlines()[-1].startswith("next: yaoki resume")
    assert project.yaoki("cancel").code == 0
