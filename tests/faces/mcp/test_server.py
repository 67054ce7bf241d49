"""The MCP server on pipes: invalid input is never fatal, and nothing outlives the client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_task
from yaoki.adapters.agents.result_file import ResultStatus
from yaoki.adapters.system.machine import process_start_time
from yaoki.core.model import PendingRequest, Stage, State, Task, TaskId
from yaoki.errors import Refused
from yaoki.faces.mcp.caller import (
    CallingAttempt,
    CallRefusal,
    calling_attempt,
    claim_epochs,
    refusal_of,
    repository_from_environment,
)
from yaoki.faces.mcp.frames import FRAME_BYTES_MAX
from yaoki.faces.mcp.results import ResultClaim, claim_defect
from yaoki.faces.mcp.server import HANDSHAKE, MODERN, McpServer
from yaoki.ports import JournalEntry

BOUND_S = 40
VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT = """
import subprocess, sys, time
server = subprocess.Popen([sys.executable, "-m", "yaoki", "mcp"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)
server.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\\n')
server.stdin.flush()
server.stdout.readline()
print(server.pid, flush=True)
server.stdin.write(b'{"jsonrpc": "2.0", "id": 2, "meth')
server.stdin.flush()
time.sleep(60)
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    where = tmp_path / "repo"
    who = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    subprocess.run(("git", "init", "-q", "-b", "main", str(where)), check=True)
    empty = ("git", *who, "commit", "-q", "--allow-empty", "-m", "begin")
    subprocess.run(empty, cwd=where, check=True)
    return where


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "tmp").mkdir()
    around = {name: value for name, value in os.environ.items() if not name.startswith("YAOKI_")}
    return {**around, "YAOKI_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp")}


class PipedServer:
    """A server and the two ends of its pipes."""

    def __init__(self, repo: Path, env: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            (sys.executable, "-m", "yaoki", "mcp"),
            cwd=repo,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def send(self, frame: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(frame + b"\n")
        self.process.stdin.flush()

    def ask(self, frame: bytes) -> dict[str, Any]:
        self.send(frame)
        assert self.process.stdout is not None
        document: dict[str, Any] = json.loads(self.process.stdout.readline())
        return document


@pytest.fixture
def piped(repo: Path, env: dict[str, str]) -> Iterator[PipedServer]:
    server = PipedServer(repo, env)
    yield server
    server.process.communicate(timeout=BOUND_S)


def until(holds: Callable[[], object], what: str) -> None:
    give_up = time.monotonic() + BOUND_S
    while not holds():
        assert time.monotonic() < give_up, f"still not: {what}"
        time.sleep(0.02)


def framed(method: str, params: object = None, **more: Any) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}, **more}
    ).encode()


def call(name: object, given: object) -> bytes:
    return framed("tools/call", {"name": name, "arguments": given})


GARBAGE = {
    "no JSON": (b"hello", -32700),
    "no text": (b"\xff\xfe{}", -32700),
    "too deep": (b"[" * 100_000, -32700),
    "a number of many digits": (b'{"id": ' + b"9" * 5000 + b"}", -32700),
    "a batch": (b"[" + framed("ping") + b"]", -32600),
    "no version": (b'{"id": 1, "method": "ping"}', -32600),
    "too long": (b" " * (3 * FRAME_BYTES_MAX) + b"{}", -32600),
    "an odd id": (framed("ping", id=[1]), -32600),
    "a yes for an id": (framed("ping", id=True), -32600),
    "an odd method": (framed("ping") .replace(b'"ping"', b"7"), -32600),
    "odd params": (framed("ping", params=[1]), -32600),
    "no such method": (framed("tools/drop"), -32601),
    "no such tool": (call("merge", {}), -32602),
    "an odd tool": (call(["status"], {}), -32602),
    "odd arguments": (call("status", [1]), -32602),
    "a version to come": (framed("ping", {"_meta": {VERSION: "2099-01-01"}}), -32022),
}  # fmt: skip


@pytest.mark.spec("12.7", "14.4")
def test_invalid_input_is_an_error_and_the_server_continues(piped: PipedServer) -> None:
    for what, (frame, code) in GARBAGE.items():
        assert piped.ask(frame)["error"]["code"] == code, what
        assert piped.ask(framed("ping", id=what)) == {"jsonrpc": "2.0", "id": what, "result": {}}


@pytest.mark.spec("12.7")
def test_a_notification_gets_no_response(piped: PipedServer) -> None:
    piped.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    piped.send(b'{"jsonrpc": "2.0", "id": 7, "result": {}}')
    piped.send(b"  ")

    assert piped.ask(framed("ping", id="next"))["id"] == "next"


@pytest.mark.spec("12.7")
@pytest.mark.parametrize("version", [*HANDSHAKE, "2025-03-26", None])
def test_a_client_with_a_handshake_gets_its_version_or_the_newest(version: str | None) -> None:
    server = McpServer([], lambda *_: {})

    answer = server.respond(framed("initialize", {"protocolVersion": version}))

    assert answer is not None
    spoken = version if version in HANDSHAKE else HANDSHAKE[-1]
    assert answer["result"]["protocolVersion"] == spoken
    assert "resultType" not in answer["result"]


@pytest.mark.spec("12.7")
def test_a_client_without_a_handshake_gets_complete_results() -> None:
    server = McpServer([{"name": "x"}], lambda *_: {"content": []})
    meta = {"_meta": {VERSION: MODERN[-1]}}

    found = server.respond(framed("server/discover", meta))
    listed = server.respond(framed("tools/list", meta))
    called = server.respond(framed("tools/call", {"name": "x", **meta}))

    assert found is not None
    assert listed is not None
    assert called is not None
    assert MODERN[-1] in found["result"]["supportedVersions"]
    assert (listed["result"]["resultType"], listed["result"]["ttlMs"]) == ("complete", 0)
    assert (called["result"]["resultType"], "ttlMs" in called["result"]) == ("complete", False)


@pytest.mark.spec("12.7", "14.4", "0.6")
def test_a_failing_tool_reports_cause_and_remedy(piped: PipedServer) -> None:
    """Without a run; a lone surrogate and a null do not crash the server."""
    nothing = piped.ask(call("status", {"run": "\0"}))["result"]
    half = piped.ask(call("status", {"run": "\ud800"}))["result"]
    odd = piped.ask(call("why", {"task": None}))["result"]

    assert nothing["isError"]
    assert nothing["structuredContent"]["error"]["sentence"] == "there is no run here yet"
    assert nothing["content"][0]["text"].endswith("yaoki run PLAN")
    assert "run: Input should be a valid string" in half["content"][0]["text"]
    assert odd["isError"]
    assert "task: Input should be a valid string" in odd["content"][0]["text"]


@pytest.mark.full
@pytest.mark.spec("12.7", "14.4")
def test_a_plan_with_a_lone_surrogate_is_refused_and_stores_nothing(
    piped: PipedServer, repo: Path, env: dict[str, str]
) -> None:
    plan = {"goal": "\ud800", "tasks": [{"id": "one", "goal": "x" * 300_000}]}

    refused = piped.ask(call("submit", {"plan": plan}))["result"]

    assert refused["isError"]
    assert refused["structuredContent"]["error"]["exit_code"] == 2
    assert not (repo / ".yaoki" / "runs").exists()
    assert list(Path(env["TMPDIR"]).iterdir()) == []


@pytest.mark.spec("12.7", "0.2")
def test_a_killed_client_leaves_nothing_behind(repo: Path, env: dict[str, str]) -> None:
    client = subprocess.Popen(
        (sys.executable, "-c", CLIENT), cwd=repo, env=env, stdout=subprocess.PIPE, text=True
    )
    assert client.stdout is not None
    pid = int(client.stdout.readline())
    born = process_start_time(pid)
    assert born

    client.send_signal(signal.SIGKILL)
    client.communicate(timeout=BOUND_S)

    until(lambda: process_start_time(pid) != born, "the server has gone with its client")
    assert list(Path(env["TMPDIR"]).iterdir()) == []
    assert not (repo / ".yaoki").exists()


# ------------------------------------------------------------------ callers

WHO = {
    "YAOKI_TASK": "abcdefgh-3",
    "YAOKI_ATTEMPT": "2",
    "YAOKI_EPOCH": "5",
    "YAOKI_RESULT": "/r/.yaoki/runs/abcdefgh/abcdefgh-3/2/outbox/result.json",
}


@pytest.mark.spec("12.7")
def test_the_environment_identifies_the_calling_attempt() -> None:
    assert calling_attempt({}) is None
    assert calling_attempt(WHO) == CallingAttempt(TaskId("abcdefgh-3"), "abcdefgh", 2, 5)
    assert repository_from_environment(WHO) == Path("/r")
    for lost in ("YAOKI_ATTEMPT", "YAOKI_EPOCH"):
        with pytest.raises(Refused, match=f"{lost} does not identify the caller"):
            calling_attempt({name: value for name, value in WHO.items() if name != lost})
    with pytest.raises(Refused, match="there is no task"):
        calling_attempt({**WHO, "YAOKI_TASK": "../../etc"})


@pytest.mark.spec("12.7")
@pytest.mark.parametrize(
    "odd",
    ["", "result.json", "/result.json", "/a/b/c/d/e/f/g/result.json", "/r/.yaoki/x/1/2/3/o/r"],
)
def test_a_result_file_outside_a_repository_identifies_no_repository(odd: str) -> None:
    assert repository_from_environment({"YAOKI_RESULT": odd}) is None


def entry(event: str, **data: Any) -> JournalEntry:
    return JournalEntry(1, datetime(2026, 1, 1, tzinfo=UTC), "r", "t", 1, event, data)


@pytest.mark.spec("11.2")
def test_the_claims_of_an_attempt_start_with_its_first_claim() -> None:
    story = [
        entry("TASK_CLAIMED", epoch=1),
        entry("ATTEMPT_STARTED", attempt=1),
        entry("TASK_CLAIMED", epoch=2),
        entry("TASK_CLAIMED", epoch=3),
        entry("ATTEMPT_STARTED", attempt=2),
        entry("TASK_CLAIMED", epoch=4),
    ]

    assert claim_epochs(story, 2) == range(3, 5)
    assert 0 not in claim_epochs(story, 1)
    assert list(claim_epochs(story, 3)) == []


AT_WORK = a_task(state=State.ACTIVE, stage=Stage.WORK, attempt=2, epoch=5)
CALLER = CallingAttempt(AT_WORK.id, AT_WORK.run_id, attempt=2, epoch=4)


@pytest.mark.spec("11.2")
@pytest.mark.parametrize(
    ("task", "caller", "name"),
    [
        (AT_WORK, CALLER, None),
        (replace(AT_WORK, state=State.WAITING), CALLER, None),
        (AT_WORK, replace(CALLER, epoch=3), CallRefusal.STALE),
        (AT_WORK, replace(CALLER, epoch=6), CallRefusal.STALE),
        (AT_WORK, replace(CALLER, attempt=1), CallRefusal.STALE),
        (AT_WORK, replace(CALLER, attempt=3), CallRefusal.STALE),
        (replace(AT_WORK, stage=Stage.VERIFY), CALLER, CallRefusal.LATE),
        (replace(AT_WORK, state=State.ESCALATED), CALLER, CallRefusal.LATE),
        (replace(AT_WORK, state=State.DONE, stage=Stage.LAND), CALLER, CallRefusal.LATE),
        (replace(AT_WORK, request=PendingRequest.CANCEL), CALLER, CallRefusal.CANCELLED),
        (replace(AT_WORK, state=State.CANCELLED), CALLER, CallRefusal.CANCELLED),
        (replace(AT_WORK, state=State.REPLACED), replace(CALLER, epoch=1), CallRefusal.REPLACED),
    ],
)
def test_a_caller_is_accepted_only_while_its_attempt_runs(
    task: Task, caller: CallingAttempt, name: CallRefusal | None
) -> None:
    why = refusal_of(caller, task, range(4, 6))

    assert (why and why.exit_code) == name


@pytest.mark.spec("12.7")
@pytest.mark.parametrize(
    "said",
    [
        ResultClaim(ResultStatus.NONE, "x"),
        ResultClaim(ResultStatus.FAILED),
        ResultClaim(ResultStatus.DONE, "  "),
        ResultClaim(ResultStatus.QUESTION),
        ResultClaim(ResultStatus.DONE, "x", question="y"),
        ResultClaim(ResultStatus.DONE, "x", retry_safe=False),
        ResultClaim(ResultStatus.QUESTION, question="x", partial_changes=True),
        ResultClaim(ResultStatus.FAILED, "x", retry_after_s=-1),
        ResultClaim(ResultStatus.FAILED, "x", retry_after_s=float("nan")),
        ResultClaim(ResultStatus.FAILED, "x", retry_after_s=float("inf")),
    ],
)
def test_a_result_that_contradicts_itself_is_refused(said: ResultClaim) -> None:
    assert claim_defect(said)
