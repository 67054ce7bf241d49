"""Tests the scripted model, against which the agents are tested."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.scripted_model import Cut, Fault, Hang, Malformed, ModelServer, say, shell, write
from tests.scripted_model.server import REQUESTS_MAX

SHELL_SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
PATHS = {
    "anthropic": "/v1/messages?beta=true",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "gemini": "/v1beta/models/x:streamGenerateContent?alt=sse",
}
TOOLS: dict[str, Any] = {
    "anthropic": [{"name": "Bash", "input_schema": SHELL_SCHEMA}],
    "chat": [{"type": "function", "function": {"name": "bash", "parameters": SHELL_SCHEMA}}],
    "responses": [
        {"type": "function", "name": "exec_command", "parameters": {"properties": {"cmd": {}}}}
    ],
    "gemini": [
        {"functionDeclarations": [{"name": "run_shell_command", "parameters": SHELL_SCHEMA}]}
    ],
}
COMMAND = "printf hi > a.txt"


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(say("Hello.")) as server:
        yield server


def asked(
    model: ModelServer, path: str, body: dict[str, Any], timeout: float = 40.0
) -> tuple[http.client.HTTPResponse, str]:
    with closing(http.client.HTTPConnection(model.url[7:], timeout=timeout)) as link:
        link.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        with link.getresponse() as answer:
            return answer, answer.read().decode()


def events(text: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


@pytest.mark.parametrize("dialect", PATHS)
def test_every_dialect_streams_words_and_calls_the_agents_own_tool(
    model: ModelServer, dialect: str
) -> None:
    model.play(shell(COMMAND, "First."), say("Done."))
    body = {"model": "m", "stream": True, "tools": TOOLS[dialect]}

    first, told = asked(model, PATHS[dialect], body)
    _, last = asked(model, PATHS[dialect], body)

    assert first.headers["content-type"] == "text/event-stream"
    assert "First." in told
    assert COMMAND in json.loads(json.dumps(told)).replace('\\"', '"')
    assert "Done." in last
    assert COMMAND not in last
    assert events(told)


@pytest.mark.parametrize("dialect", ["anthropic", "chat", "responses"])
def test_every_dialect_also_answers_without_streaming(model: ModelServer, dialect: str) -> None:
    _, told = asked(model, PATHS[dialect], {"model": "m", "tools": TOOLS[dialect]})

    assert "Hello." in json.dumps(json.loads(told))


def test_a_file_is_written_by_the_agents_own_writer_or_by_its_shell(model: ModelServer) -> None:
    schema = {"properties": {"filePath": {}, "content": {}}, "required": ["filePath", "mode"]}
    writer = {"name": "Write", "input_schema": schema}
    model.worktree = "/tree"
    model.play(write("a.txt", "it's"), write("a.txt", "it's"))

    _, by_writer = asked(model, PATHS["anthropic"], {"tools": [*TOOLS["anthropic"], writer]})
    _, by_shell = asked(model, PATHS["anthropic"], {"tools": TOOLS["anthropic"]})

    [call] = json.loads(by_writer)["content"]
    assert call["input"] == {"filePath": "/tree/a.txt", "content": "it's", "mode": "do it"}
    [call] = json.loads(by_shell)["content"]
    assert call["input"]["command"] == """printf %s 'it'"'"'s' > a.txt"""


def test_an_undeclared_tool_is_a_defect_of_the_script(model: ModelServer) -> None:
    model.play(shell(COMMAND))

    with pytest.raises(http.client.RemoteDisconnected):
        asked(model, PATHS["chat"], {"tools": [{"function": {"name": "think"}}]})

    assert "no shell among" in model.defects[0]


def test_faults_have_the_status_headers_and_text_of_their_service(
    model: ModelServer,
) -> None:
    model.play(Fault(429, headers={"retry-after": "7"}), Fault(529), Fault(401, "no such key"))

    rate, told = asked(model, PATHS["anthropic"], {})
    busy, _ = asked(model, PATHS["chat"], {})
    _, refused = asked(model, PATHS["gemini"], {})

    assert (rate.status, rate.headers["retry-after"]) == (429, "7")
    assert json.loads(told)["error"]["type"] == "rate_limit_error"
    assert busy.status == 529
    assert json.loads(refused)["error"]["message"] == "no such key"


def test_a_cut_stream_promises_more_than_it_holds(model: ModelServer) -> None:
    model.play(Cut())

    with pytest.raises(http.client.IncompleteRead) as cut:
        asked(model, PATHS["anthropic"], {"stream": True})

    assert b"message_start" in cut.value.partial


def test_a_malformed_answer_is_not_json(model: ModelServer) -> None:
    model.play(Malformed())

    _, told = asked(model, PATHS["chat"], {"stream": True})

    with pytest.raises(ValueError, match="Expecting"):
        events(told)


def test_a_hanging_answer_sends_no_byte(model: ModelServer) -> None:
    model.play(Hang())

    with pytest.raises(TimeoutError):
        asked(model, PATHS["chat"], {}, timeout=0.3)


def test_side_calls_do_not_use_up_the_script_and_are_no_part_of_the_conversation(
    model: ModelServer,
) -> None:
    model.play(shell(COMMAND), say("Done."))

    _, title = asked(model, PATHS["chat"], {"messages": [{"content": "a title for: hello"}]})
    _, told = asked(model, PATHS["chat"], {"tools": TOOLS["chat"], "messages": [{"content": "é"}]})

    assert "A title" in title
    assert COMMAND in told
    assert [request.holds("é") for request in model.requests] == [True]


def test_an_agent_that_loops_is_refused_in_the_end(model: ModelServer) -> None:
    codes = [asked(model, PATHS["chat"], {})[0].status for _ in range(REQUESTS_MAX + 1)]

    assert codes == [200] * REQUESTS_MAX + [400]


def test_other_requests_are_answered_but_not_recorded(model: ModelServer) -> None:
    with closing(http.client.HTTPConnection(model.url[7:], timeout=40)) as link:
        link.request("GET", "/v1/models")
        listed = json.loads(link.getresponse().read())

    assert listed["data"][0]["id"] == "scripted"
    assert asked(model, "/v1/messages/count_tokens", {})[0].status == 200
    assert model.requests == ()


def test_a_closed_model_answers_no_request() -> None:
    with ModelServer(say("Hello.")) as server:
        pass

    with pytest.raises(ConnectionRefusedError):
        asked(server, PATHS["chat"], {})
