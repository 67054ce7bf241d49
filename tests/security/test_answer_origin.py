"""An answer says how it was given, and nobody gives one from the tree of a task."""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Place, a_plan, holds, until, writes
from tests.faces.web.page_server import Client
from tests.faces.web.test_page_process import link_of
from yaoki import Repository
from yaoki.faces.web.access_tokens import ACT, LINK, open_access_tokens

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("16.10", "14.1")]
# It drops what it was told of itself: in a grandchild with a session of its own, or by becoming
# another program, so that nobody but its shim is left above it.
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


def asking(place: Place) -> str:
    ask = [{"ask": "which one?"}]
    plan = a_plan(
        {"q": [ask, ask, ask, ask, ask, writes("q.txt")]}, [{"id": "q"}], {"ok": holds("q.txt")}
    )
    told = place.yaoki("run", place.plan(plan, "q.json"), "--detach", "--json").document
    until(lambda: place.status(told["run"])["status"] == "ESCALATED", "it asks")
    return str(place.status(told["run"])["tasks"][0]["id"])


def given(place: Place, task: str) -> list[str]:
    entries = place.events(task)
    return [e["data"].get("how", "") for e in entries if e["event"] == "ESCALATION_ANSWERED"]


def again(place: Place, task: str, times: int) -> None:
    until(lambda: len(given(place, task)) == times, "it is answered")
    until(lambda: place.status(task.split("-")[0])["status"] == "ESCALATED", "it asks again")


@pytest.mark.full
def test_every_answer_records_its_origin(place: Place) -> None:
    place.yaoki("up")
    try:
        task = asking(place)
        client = link_of(place)

        assert place.yaoki("answer", task, "retry").code == 0
        again(place, task, 1)
        assert client.post(f"/tasks/{task}/answer", {"choice": "retry"}).status == 200
        again(place, task, 2)
        browser = entered(client)
        assert browser.post(f"/tasks/{task}/answer", {"choice": "retry"}).status == 200
        again(place, task, 3)
        with Repository(place.repo) as repository:
            repository.find(task.split("-")[0]).answer(task, "retry")
        again(place, task, 4)

        command, api, page, python = given(place, task)
        assert (command, python) == ("command line", "python")
        name = sha256(client.token.split(".")[3].encode()).hexdigest()[:8]
        assert api == f"API {name}"
        assert page.startswith("page ")
        assert page != f"page {name}"
        told = place.look("trace", task).out
        shown = place.look("report", task.split("-")[0]).out
        for how in (command, api, page, python):
            assert f"({how})" in told
            assert f"({how})" in shown
    finally:
        place.yaoki("down", "--wait", "0")


def entered(client: Client) -> Client:
    """A browser that opened the link."""
    got = client.ask("GET", f"/enter?token={client.token}", Authorization=None)
    cookie = got.headers["set-cookie"].partition(";")[0]
    origin = f"http://127.0.0.1:{client.port}"
    return Client(client.port, headers={"Cookie": cookie, "Origin": origin})


def key_of(place: Place) -> Path:
    (key,) = place.home.rglob("page.key")
    return key


@pytest.mark.full
def test_a_waiver_needs_a_fresh_link_and_a_cookie_has_the_age_of_its_link(place: Place) -> None:
    place.yaoki("up")
    try:
        plan = a_plan({"q": [writes("other.txt")]}, [{"id": "q"}], {"ok": holds("q.txt")})
        told = place.yaoki("run", place.plan(plan), "--detach", "--json").document
        until(lambda: place.status(told["run"])["status"] == "ESCALATED", "it asks")
        task = str(place.status(told["run"])["tasks"][0]["id"])
        client = link_of(place)
        hour_ago = datetime.now(UTC) - timedelta(hours=1)
        old = Client(client.port, open_access_tokens(key_of(place)).make(LINK, ACT, hour_ago))
        waive = {"choice": "waive", "check": "ok"}

        for caller in (old, entered(old)):
            refused = caller.post(f"/tasks/{task}/answer", waive)
            assert (refused.status, refused.code) == (403, "OLD_LINK")
            assert "yaoki ui" in str(refused.document)
        assert given(place, task) == []
        assert entered(client).post(f"/tasks/{task}/answer", waive).status == 200
        until(lambda: place.status(told["run"])["status"] == "DONE", "it lands")
    finally:
        place.yaoki("down", "--wait", "0")


@pytest.mark.full
@pytest.mark.parametrize("how", ["has a grandchild", "becomes another"])
def test_an_agent_that_unsets_its_variables_is_recognised_by_its_process_tree(
    place: Place, how: str
) -> None:
    """It has a true token, and asks the API and the command line in a person's name."""
    place.yaoki("up")
    try:
        task = asking(place)
        client = link_of(place)
        code = place.folder / "answers.py"
        code.write_text(ANSWERS)
        words = [str(client.port), client.token, task, str(place.repo), str(place.home), how]
        plan: dict[str, Any] = {
            "goal": "Answer",
            "agents": {"bold": {"command": [sys.executable, str(code), *words], "prompt": "file"}},
            "agent": "bold",
            "checks": {"good": holds("a.txt")},
            "tasks": [{"id": "a", "goal": "Write a.txt.", "checks": ["good"]}],
        }
        told = place.yaoki("run", place.plan(plan), "--detach", "--json").document
        until(lambda: place.status(told["run"])["status"] == "DONE", "the agent has ended")
        time.sleep(0.2)

        said = place.look("logs", "a", "--run", told["run"]).out
        api, _, command = said.partition("called:")
        assert "only people may do this, and the caller is the agent of" in api
        assert "only people may do this, and the caller is the agent of" in command
        assert given(place, task) == []
        assert place.status(task.split("-")[0])["status"] == "ESCALATED"
        assert json.dumps(client.post(f"/tasks/{task}/answer", {"choice": "retry"}).document)
        assert len(given(place, task)) == 1, "the tests are nobody's agent"
    finally:
        place.yaoki("down", "--wait", "0")
