"""Where output goes: closed, full, a device, a link."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.prepared import Prepared
from tests.acceptance.project import Project, a_plan, writes

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("12.4")]


def finish_run(project: Project) -> None:
    plan = a_plan({"a": [writes("a.txt")]}, [{"id": "a"}], {"ok": {"shell": "ls [ab].txt"}})
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 0


@pytest.fixture
def finished_project(prepared: Prepared) -> Project:
    project, _ = prepared.after(finish_run)
    return project


def shell(project: Project, line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", line, "sh", sys.executable],
        cwd=project.repo,
        env=project.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.full
def test_a_dash_means_standard_output_or_standard_input(finished_project: Project) -> None:
    yaoki, read = finished_project.yaoki, finished_project.yaoki_reading
    file = finished_project.folder / "given"
    plan = a_plan({"b": [writes("b.txt")]}, [{"id": "b"}], {"ok": {"shell": "ls [ab].txt"}})

    def given(text: str) -> Path:
        file.write_text(text)
        return file

    report = yaoki("report", "-o", "-", "--format", "json")
    receipt = shell(finished_project, '"$1" -m yaoki report --receipt - | "$1" -m yaoki verify -')
    both = yaoki("report", "--receipt", "-", "-o", "-")
    valid = read(given(json.dumps(plan)), "validate", "-")
    ran = read(file, "run", "-", "--quiet")
    refused = read(given("gaol: x\n"), "plan", "-")
    more = {"tasks": [{"id": "c", "goal": "Do c.", "needs": ["b"]}]}
    extended = read(given(json.dumps(more)), "plan", "extend", "-")
    unfit = read(given("[1]\n"), "plan", "extend", "-")

    assert report.document["numbers"]["done"] == 1
    assert receipt.returncode == 0, receipt.stdout + receipt.stderr
    assert both.code == 2, "one output takes one text"
    assert (valid.code, ran.code) == (0, 0), valid.err + ran.err
    assert "1 of 1 task landed" in ran.out
    assert refused.code == 2
    assert "standard input:1:1: gaol: unknown key" in refused.err
    assert extended.code == 0, extended.err
    assert finished_project.task("c")["state"] == "WAITING"
    assert (unfit.code, "standard input: a document with tasks" in unfit.err) == (2, True)
    assert not (finished_project.repo / "-").exists()


@pytest.mark.full
def test_a_command_with_closed_standard_streams_succeeds(finished_project: Project) -> None:
    for closed in (">&-", "2>&-", "<&-", "<&- >&- 2>&-"):
        ended = shell(finished_project, f'"$1" -m yaoki status {closed}')

        assert (closed, ended.returncode, ended.stderr) == (closed, 0, "")
    assert finished_project.status()["status"] == "DONE", "no file of ours took their place"


def test_an_output_that_cannot_be_written_is_named(finished_project: Project) -> None:
    if not Path("/dev/full").is_char_device():
        pytest.skip("this system has no /dev/full")

    ended = shell(finished_project, '"$1" -m yaoki status > /dev/full')

    assert ended.returncode not in {0, 70}
    assert "standard output cannot be written: No space left on device" in ended.stderr


@pytest.mark.full
def test_a_report_is_written_through_links_and_into_pipes(finished_project: Project) -> None:
    """Nothing but a plain file is ever replaced."""
    link, real, pipe = (finished_project.folder / name for name in ("link.md", "real.md", "pipe"))
    real.write_text("old\n")
    link.symlink_to(real)
    os.mkfifo(pipe)

    linked = finished_project.yaoki("report", "-o", str(link))
    piped = shell(
        finished_project, f'cat {pipe} & "$1" -m yaoki report -o {pipe} --format markdown; wait'
    )

    assert linked.code == 0, linked.err
    assert link.is_symlink()
    assert real.read_text().startswith("# Run ")
    assert "# Run " in piped.stdout, piped.stderr
    assert stat.S_ISFIFO(pipe.stat().st_mode)
