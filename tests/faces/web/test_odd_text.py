"""Lone surrogates: new ones are replaced, and an old one affects one entry only."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.acceptance.project import Project, file_contains
from tests.builders import in_outbox
from tests.faces.web.page_server import PageServer, run_page_server
from yaoki.adapters.agents.result_file import read_result
from yaoki.adapters.agents.structured_output.summary import text_at, texts_at
from yaoki.app.build import App
from yaoki.core.text import replace_lone_surrogates, strip_terminal_codes
from yaoki.faces.hooks.call import HookCall
from yaoki.faces.web.errors import SENTENCE_MAX, internal_error_document
from yaoki.faces.web.events import EventHub
from yaoki.faces.web.journal import entry_with_words
from yaoki.faces.web.request_context import RequestContext
from yaoki.ports import JournalEntry
from yaoki.report import canonical

pytestmark = pytest.mark.spec("12.5", "14.4")
HALF, MARK = "\ud800", "�"
ASKS = r"""
import os
note = '{"status": "question", "question": "lone \\ud800 half, or a pair \\ud83d\\ude00?"}'
open(os.environ["YAOKI_RESULT"], "w").write(note)
"""


def a_plan() -> dict[str, Any]:
    agent = {"command": [sys.executable, "-c", ASKS], "prompt": "file"}
    task = {"id": "asks", "goal": "Ask.", "checks": ["good"]}
    base = {"goal": "Ask", "agents": {"mine": agent}, "agent": "mine", "tasks": [task]}
    return {**base, "checks": {"good": file_contains("a.txt")}}


@pytest.fixture(scope="module")
def asking_project(tmp_path_factory: pytest.TempPathFactory, pycache: Any) -> Project:
    project = Project(tmp_path_factory.mktemp("odd"), pycache)
    done = project.yaoki("run", project.plan(a_plan()), "--json")
    assert done.code == 4, done.out + done.err
    return project


@pytest.fixture
def server(asking_project: Project) -> Iterator[PageServer]:
    with run_page_server(asking_project) as page_server:
        yield page_server


def noted(project: Project, run_id: str, message: str) -> None:
    """An entry as an older version may have written it."""
    app = App(project.repo)
    try:
        app.store.note(run_id, "WARNING", {"message": message})  # type: ignore[arg-type]
    finally:
        app.close()


@pytest.mark.full
def test_a_lone_surrogate_from_an_agent_is_replaced_on_input(
    asking_project: Project, server: PageServer
) -> None:
    needs = server.client.document("/needs-you")

    (question,) = [one["task"]["question"] for one in needs["asking"]]
    assert question == f"lone {MARK} half, or a pair \U0001f600?"
    assert HALF not in json.dumps(asking_project.events(), ensure_ascii=False)


@pytest.mark.full
def test_a_lone_surrogate_in_an_answer_is_replaced(
    project: Project,
) -> None:
    """From the page as JSON, and from a terminal as bytes that are not UTF-8."""
    run = project.yaoki("run", project.plan(a_plan()), "--json").document["run"]
    task = f"{run}-1"
    with run_page_server(project) as server:
        sent = server.client.post(
            f"/tasks/{task}/answer", {"choice": "retry", "words": f"a {HALF}"}
        )
        told = server.client.get(f"/tasks/{task}")
        journal = server.client.document("/journal?limit=500")
    project.yaoki("resume")
    typed = project.yaoki("answer", task, "retry", "b \udcff")

    assert (sent.status, told.status) == (200, 200), told.body
    assert typed.code == 0, typed.err
    answers = [e["data"]["words"] for e in project.events() if e["event"] == "ESCALATION_ANSWERED"]
    assert answers == [f"a {MARK}", f"b {MARK}"]
    assert journal["entries"]


@pytest.mark.full
def test_an_old_entry_with_a_lone_surrogate_is_skipped(asking_project: Project) -> None:
    """Lists, the stream and the command line skip it."""
    run = asking_project.status()["run"]
    noted(asking_project, run, f"old {HALF} words")
    with (
        run_page_server(asking_project) as server,
        server.client.listening("/events?after=0") as stream,
    ):
        heard = stream.until("WARNING")
        listed = server.client.document("/journal?limit=500")["entries"]

    assert heard[-1].data["data"] == {"message": f"old {MARK} words"}
    assert f"old {MARK} words" in [entry["data"].get("message") for entry in listed]
    assert asking_project.yaoki("trace").code == 0


def test_the_message_of_a_refusal_is_bounded(server: PageServer) -> None:
    _, document = internal_error_document(ValueError("x" * 100_000))

    assert len(document["error"]["sentence"]) <= SENTENCE_MAX
    refused = server.client.get(f"/runs/{'r' * 2000}")
    assert len(refused.document["error"]["sentence"]) <= SENTENCE_MAX


class Failing(RequestContext):
    """A context whose store fails twice unexpectedly, with one entry that cannot be shown."""

    faults = 2

    @property
    def app(self) -> App:
        if self.faults:
            self.faults -= 1
            raise ValueError("a fault of ours")
        return super().app

    def mask(self, value: Any) -> Any:
        if isinstance(value, dict) and value["data"].get("message") == "strange":
            raise ValueError("cannot be shown")
        return super().mask(value)


def test_the_event_stream_survives_a_failing_read(
    asking_project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """It reports while it gets nothing; an entry that cannot be shown keeps its number."""
    run = asking_project.status()["run"]

    async def heard() -> list[bytes]:
        desk = Failing(asking_project.repo)
        hub = EventHub(desk, stall_s=0.0)
        following = asyncio.create_task(hub.follow())
        frames = []
        try:
            async for frame in hub.listen(None, ""):
                frames.append(frame)
                if b"event: hello" in frame:
                    noted(asking_project, run, "strange")
                    noted(asking_project, run, "plain again")
                if b"plain again" in frame:
                    break
        finally:
            hub.close()
            await following
            desk.close()
        return frames

    frames = asyncio.run(asyncio.wait_for(heard(), 30))

    beats = [frame for frame in frames if b"event: beat" in frame]
    assert [b'"following":false' in beat for beat in beats] == [True, False]
    strange, again = frames[-2:]
    assert b'"cut":true' in strange
    assert b"plain again" in again
    output = capsys.readouterr().err
    assert output.count("ValueError: a fault of ours") == 1, (
        "told once, and not five times a second"
    )
    assert "cannot be shown" in output


def test_hidden_characters_are_made_visible_and_lone_surrogates_replaced() -> None:
    hidden = "\u061c\u2028\u2029\ufeff\u00ad\u2060\u202e\U000e0041\ud800"

    assert strip_terminal_codes(hidden) == (
        r"\u061c\u2028\u2029\ufeff\xad\u2060\u202e\U000e0041\ud800"
    )
    assert (
        strip_terminal_codes("naïve 七転び八起き \U0001f600\n\t")
        == "naïve 七転び八起き \U0001f600\n\t"
    )
    assert replace_lone_surrogates("a\ud83d\ude00\udcff") == f"a\U0001f600{MARK}"
    assert replace_lone_surrogates("naïve\0") == "naïve\0"


def test_a_result_with_lone_surrogates_is_encodable(tmp_path: Any) -> None:
    note = {key: f"{key} {HALF}" for key in ("summary", "question")}
    (in_outbox(tmp_path) / "result.json").write_text(json.dumps({"status": "question", **note}))

    result = read_result(tmp_path)

    assert (result.summary, result.question) == (f"summary {MARK}", f"question {MARK}")


@pytest.mark.spec("12.4")
def test_a_receipt_with_a_lone_surrogate_is_refused_without_an_internal_error(
    asking_project: Project,
) -> None:
    body = canonical.seal({"goal": f"g {HALF}", "landed": [], "line": []})
    file = asking_project.folder / "receipt.json"
    file.write_text(json.dumps(body))

    done = asking_project.yaoki("verify", str(file))

    assert "internal error" not in done.out + done.err
    assert done.code not in (0, 70), done.out + done.err


def test_lone_surrogates_in_agent_events_are_replaced() -> None:
    event = json.loads('{"error": {"message": "no \\ud800"}, "all": ["a", "\\udcff"]}')

    assert text_at(event, "error", "message") == f"no {MARK}"
    assert texts_at(event, "all") == ("a", MARK)


def test_an_incomplete_entry_is_shown_without_a_description(asking_project: Project) -> None:
    desk = RequestContext(asking_project.repo)
    try:
        shown = entry_with_words(
            desk, JournalEntry(7, desk.now, "r", "", 1, "CHECK_FINISHED", {"odd": HALF})
        )
    finally:
        desk.close()

    assert (shown["seq"], shown["words"], shown["data"]) == (7, "", {"odd": HALF})


def test_lone_surrogates_in_hook_input_are_replaced() -> None:
    call = HookCall(["claude-code"])
    call.data = {"prompt": f"go {HALF}"}

    assert call.text("prompt") == f"go {MARK}"
