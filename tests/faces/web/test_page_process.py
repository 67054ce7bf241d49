"""The page beside the background worker, and its cost when it is off."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack, suppress
from urllib.parse import urlsplit

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, wait_until, writes
from tests.faces.web.page_server import LINK, Client
from yaoki.errors import NotNow
from yaoki.faces.web.listen_address import PORT, bind


def link_of(project: Project) -> Client:
    """The link that `yaoki ui` prints while the background worker serves the page."""
    said = project.yaoki("ui")
    found = LINK.search(said.out)
    assert found, said.out + said.err
    assert "the background worker serves the page" in said.out
    return Client(int(found[3]), found[4])


def answers(client: Client) -> int:
    """The status of a response; 0 without one.  Others on this machine may use the default port."""
    try:
        return client.get("/session").status
    except OSError:
        return 0


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("12.5", "11.8")
def test_the_background_worker_serves_the_page_and_executes_runs(project: Project) -> None:
    up = project.yaoki("up", "--json").document
    try:
        page = urlsplit(up["page"])
        client = link_of(project)
        plan = a_plan(
            {"asks": [[{"ask": "Shall it be an owl?"}], writes("said.txt")]},
            [{"id": "asks", "checks": ["said"]}],
            {"said": file_contains("said.txt")},
        )
        run = project.yaoki("run", project.plan(plan), "--detach", "--json")
        wait_until(lambda: client.document("/needs-you")["total"] == 1, "it asks a person")
        workers = client.document("/workers")["workers"]
        asks = client.document("/needs-you")["asking"][0]["task"]["id"]
        answer = client.post(f"/tasks/{asks}/answer", {"choice": "retry", "words": "an owl"})
        wait_until(lambda: client.document("/runs")["runs"][0]["status"] == "DONE", "it is done")
        stopped = project.yaoki("down", "--json").document
    finally:
        project.yaoki("down", "--wait", "0")

    assert run.code == 0, run.out + run.err
    assert (page.hostname, page.port) == ("127.0.0.1", client.port)
    assert workers[0]["background"] is True
    assert answer.status == 200, answer.body
    assert (stopped["was_up"], stopped["open_runs"]) == (True, [])
    assert answers(client) in {0, 401}, "nobody, or who took the port since and knows us not"


@pytest.mark.full
@pytest.mark.acceptance
@pytest.mark.spec("11.8")
def test_a_worker_executes_runs_without_a_page(project: Project) -> None:
    """With the default port taken it uses another; switched off it uses none."""
    with ExitStack() as open_:
        ours = False
        with suppress(NotNow):
            open_.enter_context(bind(port=PORT).socket)
            ours = True
        beside = project.yaoki("up", "--json").document
        project.yaoki("down", "--wait", "0")
    (project.repo / "yaoki.toml").write_text("[ui]\nbackground = false\n")
    without = project.yaoki("up", "--json").document
    project.yaoki("down", "--wait", "0")

    assert (beside["up"], without["up"]) == (True, True)
    # Another process may have the port for any time.
    assert not ours or urlsplit(beside["page"]).port != PORT
    assert without["page"] is None


@pytest.mark.quick_cases(2)
@pytest.mark.spec("12.1")
@pytest.mark.parametrize("words", [["--help"], ["status", "--help"], ["up", "--help"], ["status"]])
def test_a_command_without_a_page_imports_no_web_module(project: Project, words: list[str]) -> None:
    script = (
        "import sys; from yaoki.faces.cli.main import main; main(sys.argv[1:]);"
        " print([m for m in ('starlette', 'uvicorn', 'anyio') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=project.repo,
        env=project.env,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert done.stdout.splitlines()[-1] == "[]"
