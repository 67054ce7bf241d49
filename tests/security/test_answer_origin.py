"""An answer records its origin, and no process of a task can give one."""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains, wait_until, writes
from tests.faces.web.page_server import Client
from tests.faces.web.test_page_process import link_of
from yaoki import Repository
from yaoki.faces.web.access_tokens import ACT, LINK, open_access_tokens

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.10", "14.1")]
# It removes its yaoki variables: in a grandchild with a new session, or by becoming
# another program, so that only its shim remains as a parent.
ANSWERS = """
import json, os, subprocess, sys, urllib.request
body = {"choice": "retry", "words": "in your name"}
becomes = sys.argv[6] == "becomes another"
if os.environ.get("YAOKI_TASK") and becomes:
    os.execve(sys.executable, [sys.executable, *sys.argv], {})
if os.environ.get("YAOKI_TASK"):
    subprocess.run(["env", "-i", sys.executable, *sys.argv],
                   check=True, start_new_session=True)
    open("a.txt", "w").write("good\\n")
    sys.exit(0)
port, token, task, repo, home = sys.argv[1:6]
request = urllib.request.Request(
    f"http://127.0.0.1:{port}/api/v1/tasks/{task}/answer", json.dumps(body).encode(),
    {"Authorization": "Bearer " + token, "Content-Type": "application/json"})
try:
    print(urllib.request.urlopen(request).status, flush=True)
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode(), flush=True)
called = [sys.executable, "-m", "yaoki", "answer", task, "retry", "--repo", repo]
told = subprocess.run(called, env={"YAOKI_HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin"},
                      capture_output=True, text=True)
print("called:", told.returncode, told.stderr, flush=True)
if becomes:
    open("a.txt", "w").write("good\\n")
"""


def start_asking_task(project: Project) -> str:
    ask = [{"ask": "which one?"}]
    plan = a_plan(
        {"q": [ask, ask, ask, ask, ask, writes("q.txt")]},
        [{"id": "q"}],
        {"ok": file_contains("q.txt")},
    )
    document = project.yaoki("run", project.plan(plan, "q.json"), "--detach", "--json").document
    wait_until(lambda: project.status(document["run"])["status"] == "ESCALATED", "it asks")
    return str(project.status(document["run"])["tasks"][0]["id"])


def answer_origins(project: Project, task: str) -> list[str]:
    entries = project.events(task)
    return [e["data"].get("how", "") for e in entries if e["event"] == "ESCALATION_ANSWERED"]


def wait_for_answers(project: Project, task: str, times: int) -> None:
    wait_until(lambda: len(answer_origins(project, task)) == times, "it is answered")
    wait_until(lambda: project.status(task.split("-")[0])["status"] == "ESCALATED", "it asks again")


@pytest.mark.full
def test_every_answer_records_its_origin(project: Project) -> None:
    project.yaoki("up")
    try:
        task = start_asking_task(project)
        client = link_of(project)

        assert project.yaoki("answer", task, "retry").code == 0
        wait_for_answers(project, task, 1)
        assert client.post(f"/tasks/{task}/answer", {"choice": "retry"}).status == 200
        wait_for_answers(project, task, 2)
        browser = open_link(client)
        assert browser.post(f"/tasks/{task}/answer", {"choice": "retry"}).status == 200
        wait_for_answers(project, task, 3)
        with Repository(project.repo) as repository:
            repository.find(task.split("-")[0]).answer(task, "retry")
        wait_for_answers(project, task, 4)

        command, api, page, python = answer_origins(project, task)
        assert (command, python) == ("command line", "python")
        name = sha256(client.token.split(".")[3].encode()).hexdigest()[:8]
        assert api == f"API {name}"
        assert page.startswith("page ")
        assert page != f"page {name}"
        output = project.query("trace", task).out
        shown = project.query("report", task.split("-")[0]).out
        for how in (command, api, page, python):
            assert f"({how})" in output
            assert f"({how})" in shown
    finally:
        project.yaoki("down", "--wait", "0")


def open_link(client: Client) -> Client:
    """A browser that opened the link."""
    got = client.ask("GET", f"/enter?token={client.token}", Authorization=None)
    cookie = got.headers["set-cookie"].partition(";")[0]
    origin = f"http://127.0.0.1:{client.port}"
    return Client(client.port, headers={"Cookie": cookie, "Origin": origin})


def key_of(project: Project) -> Path:
    (key,) = project.home.rglob("page.key")
    return key


@pytest.mark.full
def test_a_waiver_needs_a_fresh_link_and_a_cookie_has_the_age_of_its_link(project: Project) -> None:
    project.yaoki("up")
    try:
        plan = a_plan({"q": [writes("other.txt")]}, [{"id": "q"}], {"ok": file_contains("q.txt")})
        document = project.yaoki("run", project.plan(plan), "--detach", "--json").document
        wait_until(lambda: project.status(document["run"])["status"] == "ESCALATED", "it asks")
        task = str(project.status(document["run"])["tasks"][0]["id"])
        client = link_of(project)
        hour_ago = datetime.now(UTC) - timedelta(hours=1)
        old = Client(client.port, open_access_tokens(key_of(project)).make(LINK, ACT, hour_ago))
        waive = {"choice": "waive", "check": "ok"}

        for caller in (old, open_link(old)):
            refused = caller.post(f"/tasks/{task}/answer", waive)
            assert (refused.status, refused.code) == (403, "OLD_LINK")
            assert "yaoki ui" in str(refused.document)
        assert answer_origins(project, task) == []
        assert open_link(client).post(f"/tasks/{task}/answer", waive).status == 200
        wait_until(lambda: project.status(document["run"])["status"] == "DONE", "it lands")
    finally:
        project.yaoki("down", "--wait", "0")


@pytest.mark.full
def test_an_agent_that_unsets_its_variables_is_recognised_by_its_process_tree(
    project: Project,
) -> None:
    """It has a true token, and asks the API and the command line in a person's name."""
    project.yaoki("up")
    try:
        task = start_asking_task(project)
        client = link_of(project)
        for how in ("has a grandchild", "becomes another"):
            output = run_answering_agent(project, client, task, how)
            api, _, command = output.partition("called:")
            assert "only people may do this, and the caller is the agent of" in api, how
            assert "only people may do this, and the caller is the agent of" in command, how
            assert answer_origins(project, task) == [], how
            assert project.status(task.split("-")[0])["status"] == "ESCALATED", how
        assert json.dumps(client.post(f"/tasks/{task}/answer", {"choice": "retry"}).document)
        assert len(answer_origins(project, task)) == 1, "the tests are nobody's agent"
    finally:
        project.yaoki("down", "--wait", "0")


def run_answering_agent(project: Project, client: Client, task: str, how: str) -> str:
    """The log of an agent that answers the question about the task."""
    code = project.folder / "answers.py"
    code.write_text(ANSWERS)
    words = [str(client.port), client.token, task, str(project.repo), str(project.home), how]
    plan: dict[str, Any] = {
        "goal": "Answer",
        "agents": {"bold": {"command": [sys.executable, str(code), *words], "prompt": "file"}},
        "agent": "bold",
        "checks": {"good": file_contains("a.txt")},
        "tasks": [{"id": "a", "goal": "Write a.txt.", "checks": ["good"]}],
    }
    document = project.yaoki("run", project.plan(plan), "--detach", "--json").document
    wait_until(lambda: project.status(document["run"])["status"] == "DONE", "the agent has ended")
    time.sleep(0.2)
    return project.query("logs", "a", "--run", document["run"]).out
