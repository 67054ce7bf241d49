"""Messages about failures, waits and questions are sentences: no codes, times in people's units."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import Project, a_plan, file_contains, writes
from tests.trusted_folders import trust_folder
from yaoki.core.model import FailureKind, Reason

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("12.1", "10.3")]
CODES = re.compile(rf"\b({'|'.join((*FailureKind, *Reason))})\b")
UNFIT = {"shell": "echo x >> README; test -s fix.txt"}


def run_with_every_end(project: Project) -> str:
    """Tasks that land, fail for good, have an unfit check, ask, and wait for an answer."""
    home = project.folder / "a home"
    trust_folder(home, project.folder)
    project.env["YAOKI_HOME"] = str(home)
    script = {
        "good": [writes("good.txt")],
        "bad": [writes("bad.txt", "wrong\n")],
        "fix": [writes("fix.txt")],
        "asks": [[{"ask": "Which colour?"}]],
    }
    tasks: list[dict[str, Any]] = [
        {"id": "good", "checks": ["good"]},
        {"id": "bad", "needs": ["good"], "checks": ["bad"], "retry": {"max_retries": 1}},
        {"id": "beside", "needs": ["good"], "checks": ["good"], "may_change_nothing": True},
        {"id": "fix", "checks": ["lint"]},
        {"id": "asks", "checks": ["good"]},
        {"id": "later", "needs": ["asks"], "checks": ["good"]},
    ]
    checks = {"good": file_contains("good.txt"), "bad": file_contains("bad.txt"), "lint": UNFIT}
    script["beside"] = [writes("beside.txt")]
    ran = project.yaoki("run", project.plan(a_plan(script, tasks, checks)))
    assert ran.code == 4, ran.out + ran.err
    return ran.out


def test_a_run_its_summary_and_its_report_have_words_instead_of_codes(prepared: Prepared) -> None:
    project, out = prepared.after(run_with_every_end)
    report, status = project.yaoki("report").out, project.yaoki("status").out
    whys = {name: project.yaoki("why", name).out for name in ("bad", "fix", "later")}

    run = project.status()["run"]
    for text in (out, report, status):
        assert CODES.findall(text) == [], text
    assert "asks  attempt 1  needs you: Which colour?\n" in out
    assert "out of retries; one re-run follows when no other task can run, if other work" in out
    unfit = "check lint: its result cannot be trusted: the check itself changed files: README. "
    frozen = "A retry runs the same check: change it in the plan or yaoki.toml, then: yaoki plan "
    assert f"{unfit}{frozen}recheck {run}." in " ".join(whys["fix"].split())
    assert f"{unfit}…\n" in status
    assert "it needs your answer (out of retries" in whys["bad"]
    assert "no retry can fix it" in whys["fix"]
    assert "asks" in whys["later"]
    assert "waits for your answer" in whys["later"]
    assert "waits for your answer to asks" in report
    assert "2 retries: " in report


def test_paths_with_spaces_are_quoted_in_answers_and_reports(prepared: Prepared) -> None:
    project, out = prepared.after(run_with_every_end)

    worktree = f"{project.folder}/a home/worktrees/"
    pages = [project.yaoki("report", "--format", form).out for form in ("text", "html")]

    assert f"# after working in '{worktree}" in out
    assert f"you did the work yourself in '{worktree}" in pages[0]
    assert re.search(r"yourself in (?:'|&#\w+;)" + re.escape(worktree), pages[1])


@pytest.mark.spec("5.4", "12.4")
def test_waits_and_times_are_in_units_that_people_read(project: Project) -> None:
    acts = {"a": [[{"rate_limit": {"retry_after": 42_960}}]]}
    task = {"id": "a", "checks": ["a"]}
    project.yaoki("run", project.plan(a_plan(acts, [task], {"a": file_contains("a.txt")})))

    why, status = project.yaoki("why", "a").out, project.yaoki("status").out

    moment = r"next try at \d\d:\d\d(?: tomorrow)?, in 11 h 5[456] min"
    assert re.search(moment, status), status
    assert re.search(rf"WAITING: {moment}", why), why
    assert "the service of actor is at its limit; no retry is used" in why
    assert "delay=11 h 56 min" in why
    assert "_s=" not in why
