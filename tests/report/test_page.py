"""The HTML report, for readers who see nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import NOW
from tests.report.test_report import CATALOGUE, HandGit, a_branch, a_story, entry, landed, name
from tests.report.test_report import report_of as any_report
from tests.views.test_views import RUN, a_row
from yaoki.app.check_output import StoredOutputs
from yaoki.core.model import State
from yaoki.ports import JournalEntry, SavedWork
from yaoki.report import (
    ReportSources,
    read_run_branch,
    render_page,
    report_document,
)
from yaoki.views import build_run_view
from yaoki.views.history import build_run_history

WEAKENED = {"kind": "QUALITY_FAILURE", "pattern": "test-weakened", "message": "a test is gone"}


def asked_in_the_middle(choice: str, outcome: str = "PASSED", **exit_: Any) -> list[JournalEntry]:
    """Ten seconds in, a person is asked for eighty; the same attempt then lands."""
    story = a_story(1, 0, **exit_)
    head = story[:4]
    proven: dict[str, Any] = {"passed": True, "commit": name(1), "onto": name(0)}
    seen: dict[str, Any] = {"check": "tests", "outcome": outcome, "commit": name(1), "exit_code": 0}
    return [
        *head,
        entry(10, "ESCALATE_DECISION", 1, failure=WEAKENED, blocked="MAX_RETRIES", stage="VERIFY"),
        entry(90, "ESCALATION_ANSWERED", 1, choice=choice),
        entry(91, "TASK_CLAIMED", 1),
        entry(92, "CHECK_FINISHED", 1, **seen, seconds=0.5, message="", log=""),
        entry(92, "QUALITY_JUDGMENT", 1, **proven),
        entry(95, "TASK_LANDED", 1, commit=name(1)),
    ]


def page_of(entries: list[JournalEntry], n: int = 1, **more: Any) -> str:
    report, _ = any_report(landed(n), entries, a_branch(n), **more)
    # The builders' clock does not advance; the last entry is the end of the run.
    report["time"]["wall_s"] = 100.0
    return render_page(report)


def story_of(html: str, task: str) -> str:
    rows = re.findall(r"<tr>.*?</tr>", html, re.DOTALL)
    row = next(row for row in rows if f">{task}<" in row and 'class="why"' in row)
    return re.sub(r"<[^>]+>", " ", row.partition('class="why"')[2])


@pytest.mark.spec("0.1", "10.4")
def test_a_waived_check_is_named_at_its_task() -> None:
    html = page_of(asked_in_the_middle("waive", "WAIVED"))

    told = story_of(html, "t1")
    assert "landed because a person waived tests" in told
    assert "attempt 1: tests were weakened" in told
    assert "at the first attempt" not in told


@pytest.mark.spec("0.1", "10.4")
@pytest.mark.parametrize(
    ("exit_", "words"),
    [
        ({"ended_by": "hang"}, "its agent hung and was stopped"),
        ({"signal": 11}, "its agent crashed (signal 11)"),
        ({"code": 3}, "its agent ended with exit code 3"),
    ],
)
def test_landed_work_names_an_agent_that_ended_abnormally(
    exit_: dict[str, Any], words: str
) -> None:
    told = story_of(page_of(a_story(1, 0, **exit_)), "t1")

    assert words in told
    assert "at the first attempt" not in told


def test_a_landing_at_the_first_attempt_is_one_line() -> None:
    assert "at the first attempt" in story_of(page_of(a_story(1, 0, code=0)), "t1")


@pytest.mark.spec("12.3")
def test_a_failure_is_told_by_its_facts_and_not_by_its_words() -> None:
    """A message that ends like the codes of another failure is shown as it is."""
    failure = {"kind": "INCOMPLETE", "pattern": "no-change", "message": "see (TIMEOUT)"}
    retried = entry(10, "RETRY_DECISION", 1, failure=failure, delay_ms=5, strategy="fresh")
    report, _ = any_report([a_row(1, attempt=1)], [*a_story(1, 0)[:4], retried], HandGit([]))
    report["time"]["wall_s"] = 100.0

    html = render_page(report)

    (attempt,) = report["tasks"][0]["attempts"]
    facts = {"kind": "INCOMPLETE", "pattern": "no-change", "subject": "see (TIMEOUT)"}
    assert attempt["failure"] == facts
    assert story_of(html, "t1").strip().endswith("attempt 1: nothing was changed: see (TIMEOUT)")
    assert "INCOMPLETE" not in html


@pytest.mark.spec("0.1", "10.4")
def test_waiting_for_a_person_is_drawn_separately_from_work() -> None:
    html = page_of(asked_in_the_middle("retry"))

    bars = re.findall(r'<rect class="bar ([a-z]*)" x="([\d.]+)" width="([\d.]+)"', html)
    assert bars == [("good", "0.0", "100.0"), ("asks", "100.0", "800.0"), ("good", "900.0", "50.0")]
    assert "waiting for a person</li>" in html


def test_an_open_question_is_drawn_up_to_now() -> None:
    entries = asked_in_the_middle("retry")[:5]
    report, _ = any_report([a_row(1, State.ESCALATED, attempt=1)], entries, HandGit([]))
    report["time"]["wall_s"] = 100.0

    bars = re.findall(
        r'<rect class="bar ([a-z]*)" x="([\d.]+)" width="([\d.]+)"', render_page(report)
    )

    assert bars == [("bad", "0.0", "100.0"), ("asks", "100.0", "900.0")]


@pytest.mark.parametrize(("told", "branch"), [("release", "release"), ("", RUN.base_branch)])
def test_merged_names_the_branch_and_a_short_commit(told: str, branch: str) -> None:
    """After `yaoki merge` the journal has the branch; after a merge by git it is the base."""
    merged = [entry(99, "RUN_MERGED", branch=told, commit=name(1), how="ff")] if told else []
    rows, git = landed(1), a_branch(1)
    view = build_run_view(replace(RUN, merged_commit=name(1)), rows, {rows[0].id: ()}, is_idle=True)
    facts = read_run_branch(git, RUN.base, name(1), [name(1)])
    history = build_run_history([*a_story(1, 0), *merged], CATALOGUE)
    made = report_document(
        ReportSources(view, history, facts, StoredOutputs(Path("/nowhere")), NOW, "yaoki test")
    )

    html = render_page({**made, "receipt": None})

    assert f"merged into <b>{branch} at {name(1)[:10]}</b>" in html
    assert name(1) not in html.partition("<footer>")[2]


def test_open_questions_come_first() -> None:
    report, _ = any_report([a_row(1, State.ESCALATED, question="?")], [], HandGit([]))

    assert "those that need you first" in render_page(report)
    assert "those that need you first" not in page_of(a_story(1, 0))


def test_the_final_check_has_the_same_name_everywhere() -> None:
    rows = landed(1)
    last = replace(rows[0], name="done_when", kind="check")
    report, _ = any_report([last], a_story(1, 0), a_branch(1))
    report["time"]["wall_s"] = 100.0

    html = render_page(report)

    assert "done_when" not in html
    assert html.count("the whole run, verified again") >= 3


def test_saved_work_is_listed_by_task() -> None:
    rows = [a_row(1, State.CANCELLED), a_row(2, State.CANCELLED)]
    kept = [
        SavedWork(f"{RUN.id}-{task}", attempt, f"refs/x/{task}/{attempt}", name(n), NOW, "")
        for n, (task, attempt) in enumerate([(2, 1), (1, 1), (2, 2), (1, 2)], start=10)
    ]
    report, _ = any_report(rows, [], HandGit([]), saved_work=kept)

    refs = re.findall(r"refs/x/(\d/\d)", render_page(report))

    assert refs == ["1/1", "1/2", "2/1", "2/2"]
