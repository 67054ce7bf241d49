"""Agents over ACP: our own client, run by the shim, against a scripted agent that misbehaves."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.time_limits import run_until_started
from yaoki.adapters.agents.acp.event_log import TEXT_CHARS_MAX, bound_value
from yaoki.adapters.agents.acp.policy import ToolPolicy, choose_outcome
from yaoki.adapters.agents.preset import load_preset
from yaoki.adapters.agents.preset_agent import PresetAgent
from yaoki.adapters.agents.structured_output import CallRecord, write_call_record
from yaoki.adapters.processes.pipe import LINE_BYTES_MAX, PipedProcess
from yaoki.adapters.processes.process_trees import ShimProcesses
from yaoki.adapters.system.clock import SystemClock
from yaoki.core.agent_json import last_agent_message
from yaoki.core.model import AgentExit, AgentSpec, EndCause, TaskId
from yaoki.errors import Fault
from yaoki.ports import AttemptRequest, ProcessPhase, ProcessState

PROCESSES, CLOCK = ShimProcesses(), SystemClock()
PLAYER = Path(__file__).parents[2] / "scripted_model" / "acp_agent.py"
SESSION = "ses_scripted-1"
OPTIONS = [
    {"optionId": "always", "kind": "allow_always", "name": "Always"},
    {"optionId": "once", "kind": "allow_once", "name": "Once"},
    {"optionId": "no", "kind": "reject_once", "name": "No"},
]


class AcpAttempts:
    """One worktree and one agent; each call is an attempt."""

    def __init__(self, top: Path) -> None:
        self.top, self.tree = top, top / "tree"
        self.tree.mkdir()
        self.script = top / "script.json"
        self.folder = top / "attempt"
        self._agent = PresetAgent(
            load_preset("acp"), {**os.environ, "SECRET_TOKEN": "planted-secret"}
        )

    def start(self, *turn: Any, session: str = "", model: str = "", **script: Any) -> None:
        allow, seconds = script.pop("allow", []), script.pop("seconds", 60)
        grace = timedelta(seconds=script.pop("grace_s", 2))
        self.script.write_text(json.dumps({"turn": turn, **script}))
        options = {
            "program": sys.executable,
            "arguments": [str(PLAYER), str(self.script)],
            "allow": allow,
        }
        order = AttemptRequest(
            task_id=TaskId("abcd1234-1"),
            attempt=1,
            epoch=1,
            agent=AgentSpec("mine", preset="acp", model=model, options=options),
            prompt="Do it.",
            worktree=self.tree,
            folder=self.folder,
            timeout=timedelta(seconds=seconds),
            hang=timedelta(0),
            lease=timedelta(0),
            session=session,
        )
        PROCESSES.start(self.folder, replace(self._agent.build_launch(order), grace=grace))

    def run(self, *turn: Any, **more: Any) -> AgentExit:
        self.start(*turn, **more)
        return self.end()

    def end(self) -> AgentExit:
        while (look := PROCESSES.inspect(self.folder)).phase == ProcessPhase.RUNNING:
            CLOCK.sleep(timedelta(milliseconds=20))
        return self.read(look)

    def read(self, look: ProcessState) -> AgentExit:
        return self._agent.read(self.folder, look)

    def read_logged(self, **end: Any) -> AgentExit:
        """As if the client had logged this and ended."""
        self.folder.mkdir()
        write_call_record(self.folder, CallRecord("acp"))
        opened = {"type": "acp.session", "session_id": SESSION, "loads": True}
        said = {"type": "acp.update", "update": {"content": {"text": "429 rate limit, in prose"}}}
        last = {"type": "acp.end", "at": "session/prompt", "acts": 1, **end}
        lines = "".join(json.dumps(held) + "\n" for held in (opened, said, last))
        (self.folder / "out.log").write_text(lines)
        return self.read(ProcessState(ProcessPhase.EXITED, code=1))

    def events_of_type(self, kind: str = "") -> list[dict[str, Any]]:
        """The events of the client, in order."""
        lines = (self.folder / "out.log").read_text().splitlines()
        return [held for line in lines if kind in (held := json.loads(line))["type"]]

    def requests(self, method: str) -> list[dict[str, Any]]:
        """The requests that the agent got."""
        file = self.script.with_suffix(".heard")
        lines = file.read_text().splitlines() if file.exists() else []
        frames = [json.loads(line) for line in lines]
        return [frame["params"] for frame in frames if frame.get("method") == method]

    def answers(self) -> list[dict[str, Any]]:
        lines = self.script.with_suffix(".heard").read_text().splitlines()
        return [frame for line in lines if "method" not in (frame := json.loads(line))]


@pytest.fixture
def attempts(tmp_path: Path) -> Iterator[AcpAttempts]:
    attempts = AcpAttempts(tmp_path)
    yield attempts
    PROCESSES.end(attempts.folder, EndCause.STOP)


def until(holds: Callable[[], object], bound_s: float = 40.0) -> None:
    give_up = CLOCK.now() + timedelta(seconds=bound_s)
    while not holds():
        assert CLOCK.now() < give_up
        CLOCK.sleep(timedelta(milliseconds=20))


def a_call(kind: str, title: str = "do", **more: Any) -> dict[str, Any]:
    call = {"toolCallId": "c1", "kind": kind, "title": title, **more}
    return {"sessionId": SESSION, "toolCall": call, "options": OPTIONS}


def an_edit(path: object) -> dict[str, Any]:
    return a_call("edit", locations=[{"path": str(path)}])


# ------------------------------------------------------------------ a turn


@pytest.mark.spec("12.8", "3.10")
def test_a_turn_is_one_prompt_in_the_worktree_and_its_end_is_a_claim(attempts: AcpAttempts) -> None:
    exit_ = attempts.run({"say": "I "}, {"say": "am done.\n"}, model="big")

    assert exit_.ended_cleanly, exit_
    assert exit_.session == SESSION
    [opened], [asked] = attempts.requests("session/new"), attempts.requests("session/prompt")
    assert opened == {"cwd": str(attempts.tree), "mcpServers": []}
    assert asked["prompt"] == [{"type": "text", "text": "Do it."}]
    [model] = attempts.requests("session/set_config_option")
    assert model == {"sessionId": SESSION, "configId": "model", "value": "big"}
    [said] = attempts.events_of_type("update")
    assert said["update"]["content"]["text"] == "I am done.\n"
    assert (exit_.cost, exit_.tokens) == (None, None)


@pytest.mark.spec("6.7", "12.8")
def test_the_last_message_is_logged_completely(attempts: AcpAttempts) -> None:
    """A judge or a planner may use the protocol as well."""
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "read", "kind": "read"}
    reason = "so " * 3000

    attempts.run(
        {"say": '{"pass": false}'},
        {"update": call},
        {"say": '{"pass": true,\n'},
        {"say": f' "reason": "{reason}"}}'},
    )

    said = last_agent_message((attempts.folder / "out.log").read_text(), 1 << 16, "pass")
    assert json.loads(said) == {"pass": True, "reason": reason}


@pytest.mark.spec("3.7", "12.8")
def test_a_retry_loads_the_conversation_without_logging_the_replay(attempts: AcpAttempts) -> None:
    exit_ = attempts.run({"say": "Now it is."}, session=SESSION)

    assert exit_.ended_cleanly
    assert exit_.session == SESSION
    assert attempts.requests("session/new") == []
    assert attempts.requests("session/load")[0]["sessionId"] == SESSION
    assert "of before" not in (attempts.folder / "out.log").read_text()


@pytest.mark.spec("3.7")
@pytest.mark.parametrize(
    "script",
    [
        {"loads": False},
        {"errors": {"session/load": {"code": -32603, "message": "Internal error"}}},
    ],
    ids=["cannot", "gone"],
)
def test_a_conversation_that_cannot_be_loaded_is_reported_as_a_session_limit(
    attempts: AcpAttempts, script: dict[str, Any]
) -> None:
    exit_ = attempts.run({"say": "?"}, session=SESSION, **script)

    assert (exit_.limit, exit_.session) == ("session", "")
    assert attempts.requests("session/prompt") == []


@pytest.mark.spec("3.7")
def test_an_agent_that_cannot_load_has_no_session_to_resume(attempts: AcpAttempts) -> None:
    exit_ = attempts.run({"say": "Done."}, loads=False)

    assert (exit_.ended_cleanly, exit_.session) == (True, "")


# ------------------------------------------------------------------ permission


@pytest.mark.spec("3.9", "14.3")
def test_a_tool_that_is_not_allowed_is_denied_and_reported_to_a_person(
    attempts: AcpAttempts,
) -> None:
    exit_ = attempts.run({"ask": a_call("execute", "rm -rf /")}, {"say": "I could not."})

    [asked] = attempts.events_of_type("permission")
    assert (asked["allowed"], asked["kind"], asked["title"]) == (False, "execute", "rm -rf /")
    assert asked["why"] == "execute is not allowed"
    assert {"outcome": {"outcome": "selected", "optionId": "no"}} in [
        frame.get("result") for frame in attempts.answers()
    ]
    assert exit_.limit == "denied"
    assert "not allowed to use execute (execute is not allowed): rm -rf /" in exit_.stderr_tail


@pytest.mark.spec("3.9", "14.3")
@pytest.mark.parametrize("command", ["rm -rf build", ["rm", "-rf", "build"]], ids=["text", "list"])
def test_a_permission_line_names_the_command_and_not_the_title_of_the_model(
    attempts: AcpAttempts, command: object
) -> None:
    """The command comes with the request, or with the tool call before it."""
    call = {"sessionUpdate": "tool_call", "toolCallId": "c2", "title": "x", "kind": "execute"}
    before = {**call, "rawInput": {"command": command}}
    asked_later = a_call("execute", "Tidy up")
    asked_later["toolCall"]["toolCallId"] = "c2"

    exit_ = attempts.run(
        {"ask": a_call("execute", "List the files", rawInput={"command": command})},
        {"update": before},
        {"ask": asked_later},
        {"say": "I could not."},
    )

    asked = attempts.events_of_type("permission")
    assert [event["target"] for event in asked] == ["rm -rf build"] * 2
    assert "not allowed to use execute (execute is not allowed): rm -rf build" in exit_.stderr_tail


@pytest.mark.quick_cases(2)
@pytest.mark.spec("12.8")
@pytest.mark.parametrize("word", ["execute", "bash", "*"])
def test_a_plan_allows_by_kind_by_name_or_everything_once(attempts: AcpAttempts, word: str) -> None:
    named = {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "bash", "kind": "execute"}

    exit_ = attempts.run(
        {"update": named}, {"ask": a_call("execute", "ls")}, {"say": "Done."}, allow=[word]
    )

    assert exit_.ended_cleanly
    [asked] = attempts.events_of_type("permission")
    assert (asked["allowed"], asked["tool"]) == (True, "bash")
    assert asked["outcome"] == {"outcome": "selected", "optionId": "once"}


@pytest.mark.spec("14.3", "0.2")
def test_a_change_outside_the_worktree_is_always_refused(attempts: AcpAttempts) -> None:
    outside = attempts.top / "evil.txt"
    (attempts.tree / "way").symlink_to(attempts.top)
    (attempts.tree / ".git").mkdir()
    paths = [
        outside,
        "../evil.txt",
        attempts.tree / "way" / "evil.txt",
        attempts.tree / ".git" / "config",
    ]
    writes = [{"write": {"sessionId": SESSION, "path": str(p), "content": "x"}} for p in paths]
    asks = [{"ask": an_edit(path)} for path in paths]

    attempts.run(*writes, *asks, {"ask": a_call("edit")}, {"say": "Done."}, allow=["*"])

    assert not outside.exists()
    assert list((attempts.tree / ".git").iterdir()) == []
    assert len(attempts.events_of_type("refused")) == len(paths)
    assert [held["allowed"] for held in attempts.events_of_type("permission")] == [False] * (
        len(paths) + 1
    )


@pytest.mark.spec("12.8")
def test_a_change_inside_the_worktree_is_written(attempts: AcpAttempts) -> None:
    file = attempts.tree / "deep" / "a.txt"
    held = {"sessionId": SESSION, "path": str(file), "content": "é\r\n"}

    exit_ = attempts.run({"ask": an_edit(file)}, {"write": held}, {"say": "Done."})

    assert exit_.ended_cleanly
    assert file.read_bytes() == "é\r\n".encode()


@pytest.mark.parametrize(
    ("kinds", "allowed", "chosen"),
    [
        (("allow_always", "allow_once"), True, "allow_once"),
        (("allow_always", "reject_always"), True, None),
        (("allow_once", "reject_always"), False, "reject_always"),
        ((), False, None),
    ],
)
@pytest.mark.spec("14.3")
def test_permission_is_granted_only_once(
    kinds: tuple[str, ...], allowed: bool, chosen: str | None
) -> None:
    options = [{"optionId": kind, "kind": kind} for kind in kinds]

    found = choose_outcome([*options, "garbage", {"kind": "allow_once"}], allowed=allowed)

    assert found.get("optionId") == chosen
    assert found["outcome"] == ("selected" if chosen else "cancelled")


@pytest.mark.spec("14.4")
@pytest.mark.parametrize("call", [{}, {"kind": 7}, {"kind": "edit", "locations": "x"}], ids=str)
def test_a_malformed_permission_request_is_denied(tmp_path: Path, call: Mapping[str, Any]) -> None:
    assert ToolPolicy(frozenset({"edit", "read"}), tmp_path).denial_reason(call)


# ------------------------------------------------------------------ broken agents


@pytest.mark.spec("14.4", "12.8")
def test_a_line_that_is_no_frame_is_logged_and_not_fatal(attempts: AcpAttempts) -> None:
    exit_ = attempts.run(
        {"raw": "Welcome!\n"}, {"raw": "[1, 2]\n"}, {"raw": "{\n"}, {"say": "Done."}
    )

    assert exit_.ended_cleanly
    assert [held["text"] for held in attempts.events_of_type("noise")] == [
        "Welcome!",
        "[1, 2]",
        "{",
    ]


@pytest.mark.spec("14.4", "14.2")
def test_hostile_frames_do_not_end_the_client(attempts: AcpAttempts) -> None:
    """Lone surrogates, unterminated frames, names with many lines, a flood of tools."""
    lone = json.loads('"\\ud800"')
    half = {"sessionId": SESSION, "path": f"{lone}.txt", "content": "x"}
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "kind": "read"}
    flood = [{"update": {**call, "toolCallId": f"c{n}", "title": "read"}} for n in range(300)]

    exit_ = attempts.run(
        {"write": half},
        {"write": {**half, "path": "a.txt", "content": lone}},
        {"ask": an_edit(f"{lone}.txt")},
        {"raw": "[" * 100_000 + "\n"},
        {"raw": '{"id": {"a": 1}, "result": NaN}\n'},
        {"raw": '{"jsonrpc": "2.0", "id": [], "method": 7, "params": 3}\n'},
        {"update": {"sessionUpdate": "agent_message_chunk", "content": {"text": [lone]}}},
        *flood,
        {"say": f"Done{lone}."},
    )

    assert (exit_.code, exit_.session) == (0, SESSION), exit_
    assert len(attempts.events_of_type("refused")) == 2
    assert not list(attempts.tree.glob("*.txt")) or (attempts.tree / "a.txt").read_bytes() == b""


@pytest.mark.spec("14.4")
def test_a_line_longer_than_any_frame_is_skipped(attempts: AcpAttempts) -> None:
    script = f"import sys; sys.stdout.write('x' * {LINE_BYTES_MAX + (1 << 20)} + '\\nnext\\n')"
    child = PipedProcess((sys.executable, "-c", script), cwd=attempts.tree, env=os.environ)
    child.set_deadline(40.0)

    first, second, end = child.read_line(), child.read_line(), child.read_line()

    assert first is not None
    assert 0 < len(first) < LINE_BYTES_MAX
    assert (second, end) == (b"next", None)
    assert child.close(40.0) == 0


@pytest.mark.spec("12.8", "4.2")
def test_an_unknown_update_is_logged_and_an_unknown_request_refused(attempts: AcpAttempts) -> None:
    exit_ = attempts.run(
        {"update": {"sessionUpdate": "of_next_year", "held": 1}},
        {"call": ["terminal/create", {"command": "ls"}]},
        {"say": "Done."},
    )

    assert exit_.ended_cleanly
    assert attempts.events_of_type("update")[0]["update"] == {
        "sessionUpdate": "of_next_year",
        "held": 1,
    }
    assert [f["error"]["code"] for f in attempts.answers() if "error" in f] == [-32601]


@pytest.mark.spec("4.2", "3.10")
def test_an_agent_that_dies_during_a_turn_has_not_finished(attempts: AcpAttempts) -> None:
    exit_ = attempts.run(
        {"say": "I begin"}, {"complain": "error: 503 Service Unavailable"}, {"die": 3}
    )

    assert exit_.code == 1
    assert exit_.limit == "overloaded", "its own last words say why"
    assert exit_.session == SESSION
    assert "the agent ended with exit code 3" in exit_.stderr_tail


@pytest.mark.full
@pytest.mark.spec("3.8", "3.10")
def test_an_agent_that_hangs_is_ended_at_the_deadline_with_all_its_tree(
    attempts: AcpAttempts,
) -> None:

    def hung(seconds: float) -> AgentExit:
        attempts.folder = attempts.top / f"attempt-{seconds}"
        return attempts.run({"say": "I think"}, {"hang": 1}, seconds=seconds, deaf=True)

    exit_, _ = run_until_started(hung, lambda seen: seen.session, (1.5, 6.0, 24.0))

    assert (exit_.ended_by, exit_.ended_cleanly) == ("deadline", False)
    assert exit_.session == SESSION
    assert json.loads((attempts.folder / "exit.json").read_text())["left"] == []


@pytest.mark.spec("3.8", "3.7")
def test_a_request_to_end_cancels_the_turn_and_keeps_the_conversation(
    attempts: AcpAttempts,
) -> None:
    attempts.start({"say": "working\n"}, {"until_cancelled": 1}, deaf=True, grace_s=40)
    until(
        lambda: attempts.folder.joinpath("out.log").exists() and attempts.events_of_type("update")
    )

    exit_ = attempts.read(PROCESSES.end(attempts.folder, EndCause.CANCEL))

    assert attempts.requests("session/cancel") == [{"sessionId": SESSION}]
    assert attempts.events_of_type("end")[0]["stop_reason"] == "cancelled"
    assert (exit_.ended_by, exit_.limit, exit_.session) == ("cancel", "unfinished", SESSION)


@pytest.mark.spec("4.2", "0.1")
@pytest.mark.parametrize("beside", ["update", "answer"])
def test_an_end_of_turn_with_an_error_in_meta_is_an_error(
    attempts: AcpAttempts, beside: str
) -> None:
    """Seen with a real adapter: a failed turn ends with `end_turn` and an error in `_meta`."""
    meta = {"codex": {"error": {"message": "429 Too Many Requests"}}}
    told = {
        "update": {"sessionUpdate": "session_info_update", "_meta": meta},
        "answer": {"stopReason": "end_turn", "_meta": meta},
    }

    exit_ = attempts.run({"say": "Hm."}, {beside: told[beside]})

    assert (exit_.limit, exit_.code) == ("rate", 1)


@pytest.mark.spec("4.2", "0.1")
def test_a_failed_thread_of_codex_is_an_error_although_its_turn_ends(
    attempts: AcpAttempts,
) -> None:
    """Seen with codex-acp 2.6.0: the status of the thread, then the error in words."""

    def status(kind: str) -> dict[str, Any]:
        meta = {"codex": {"threadStatus": {"type": kind}}}
        return {"update": {"sessionUpdate": "session_info_update", "_meta": meta}}

    words = "exceeded retry limit, last status: 429 Too Many Requests"
    exit_ = attempts.run(
        {"say": "Warning: no metadata.\n"},
        status("active"),
        status("systemError"),
        {"say": words},
    )

    assert (exit_.limit, exit_.code) == ("rate", 1)
    assert words in exit_.stderr_tail
    assert exit_.model_responded is False, "the words are those of the adapter"


@pytest.mark.spec("4.2")
def test_a_thread_of_codex_that_recovered_is_no_error(attempts: AcpAttempts) -> None:
    meta = {"codex": {"threadStatus": {"type": "systemError"}}}
    again = {"codex": {"threadStatus": {"type": "active"}}}
    updates = [{"sessionUpdate": "session_info_update", "_meta": held} for held in (meta, again)]

    exit_ = attempts.run(*({"update": update} for update in updates), {"say": "Done."})

    assert exit_.ended_cleanly


@pytest.mark.spec("4.2")
def test_a_broken_connection_that_opencode_reports_is_an_outage(attempts: AcpAttempts) -> None:
    words = "Internal error: Cannot connect to API: The socket connection was closed unexpectedly."

    assert attempts.run({"fail": {"code": -32603, "message": words}}).limit == "overloaded"


def codex_retry_notice(status: int) -> dict[str, Any]:
    """As codex-acp 2.6.0 reports it."""
    error = {
        "message": "Reconnecting... 1/5",
        "codexErrorInfo": {"responseStreamDisconnected": {"httpStatusCode": status}},
        "additionalDetails": f"exceeded retry limit, last status: {status}",
        "willRetry": True,
    }
    meta = {"codex": {"error": error}}
    return {"update": {"sessionUpdate": "session_info_update", "_meta": meta}}


@pytest.mark.spec("4.2", "3.10")
@pytest.mark.parametrize(("status", "limit"), [(429, "rate"), (529, "overloaded"), (401, "auth")])
def test_a_turn_that_ends_while_codex_waits_for_its_service_is_an_error(
    attempts: AcpAttempts, status: int, limit: str
) -> None:
    exit_ = attempts.run(codex_retry_notice(status))

    assert (exit_.limit, exit_.code) == (limit, 1)
    assert exit_.model_responded is False


@pytest.mark.spec("4.2")
def test_a_turn_of_codex_that_goes_on_after_a_retry_is_no_error(attempts: AcpAttempts) -> None:
    assert attempts.run(codex_retry_notice(429), {"say": "Done."}).ended_cleanly


@pytest.mark.spec("10.6")
def test_the_cost_of_the_session_is_kept(attempts: AcpAttempts) -> None:
    usage = {"sessionUpdate": "usage_update", "used": 1, "size": 2}
    dollars = {**usage, "cost": {"amount": 0.25, "currency": "USD"}}
    euros = {**usage, "cost": {"amount": 9, "currency": "EUR"}}
    answer = {"stopReason": "end_turn", "usage": {"inputTokens": 100, "outputTokens": 20}}

    exit_ = attempts.run({"update": dollars}, {"update": euros}, {"say": "Hi."}, {"answer": answer})

    assert (exit_.tokens, exit_.cost) == (120, 0.25)


@pytest.mark.spec("4.2")
@pytest.mark.parametrize(
    ("fault", "limit"),
    [
        ({"codexErrorInfo": "usage_limit_exceeded"}, "rate"),
        ("stream disconnected", "overloaded"),
        ({"statusCode": 401}, "auth"),
        ({"strange": True}, "unknown"),
    ],
    ids=str,
)
def test_an_error_in_meta_is_classified_by_its_kind(
    attempts: AcpAttempts, fault: object, limit: str
) -> None:
    assert attempts.read_logged(stop_reason="end_turn", faults=[fault]).limit == limit


@pytest.mark.spec("4.2", "3.7")
@pytest.mark.parametrize(("before", "session"), [([], ""), ([{"say": "I begin."}], SESSION)])
def test_an_error_of_the_protocol_ends_the_attempt(
    attempts: AcpAttempts, before: list[Any], session: str
) -> None:
    """Without any message there is no conversation to resume."""
    exit_ = attempts.run(*before, {"fail": {"code": 429, "message": "The service said no."}})

    assert (exit_.limit, exit_.code, exit_.session) == ("rate", 1, session)


@pytest.mark.spec("0.1", "3.10")
def test_an_end_of_turn_without_any_activity_is_unfinished(attempts: AcpAttempts) -> None:
    """Seen with a real adapter: after a failed turn the next ended without a request."""
    exit_ = attempts.run()

    assert exit_.limit == "unfinished"


@pytest.mark.spec("4.2", "5.4")
@pytest.mark.parametrize(
    ("error", "limit", "wait_s"),
    [
        ({"code": 429, "message": "The service said no."}, "rate", None),
        ({"code": 503, "message": "no"}, "overloaded", None),
        ({"code": 400, "message": "API key not valid. Please pass a valid one."}, "auth", None),
        ({"code": 400, "message": "no such tool"}, "request", None),
        ({"code": -32000, "message": "Authentication required"}, "auth", None),
        (
            {"code": -32603, "message": "Internal error", "data": {"errorKind": "rate_limit"}},
            "rate",
            None,
        ),
        (
            {"code": -32603, "message": "Internal error: Incorrect API key provided: sk-x."},
            "auth",
            None,
        ),
        (
            {
                "code": -32603,
                "message": "Internal",
                "data": {"details": "429 Too Many Requests, retry after 7 s"},
            },
            "rate",
            7.0,
        ),
        ({"code": 429, "message": "no", "data": {"retryAfter": 9}}, "rate", 9.0),
        ({"code": -32603, "message": "prompt is too long"}, "context", None),
        (
            {
                "code": 1001,
                "message": "Codex process has exited with code 1:\nError: failed to initialize "
                "sqlite state runtime under /h/.codex: failed to initialize state runtime",
                "data": {"exitCode": 1, "signal": None, "restartable": True},
            },
            "busy",
            None,
        ),
        ({"code": -32603, "message": "Something"}, "unknown", None),
        ({"code": "x"}, "unknown", None),
    ],
    ids=str,
)
def test_an_error_is_classified_by_its_structured_fields(
    attempts: AcpAttempts, error: dict[str, Any], limit: str, wait_s: float | None
) -> None:
    exit_ = attempts.read_logged(error=error)

    wait = exit_.retry_after.total_seconds() if exit_.retry_after else None
    assert (exit_.limit, wait) == (limit, wait_s)


@pytest.mark.spec("4.2")
@pytest.mark.parametrize(
    ("reason", "limit"),
    [
        ("max_tokens", "turns"),
        ("max_turn_requests", "turns"),
        ("refusal", "refusal"),
        ("", "unknown"),
    ],
)
def test_any_other_stop_reason_is_not_success(
    attempts: AcpAttempts, reason: str, limit: str
) -> None:
    assert attempts.read_logged(stop_reason=reason).limit == limit


@pytest.mark.spec("4.2")
def test_another_version_of_the_protocol_is_refused(attempts: AcpAttempts) -> None:
    exit_ = attempts.run({"say": "hello"}, version=2)

    assert "it uses version 2 of the protocol, yaoki uses 1" in exit_.stderr_tail
    assert not exit_.ended_cleanly


@pytest.mark.spec("4.2")
def test_a_missing_login_is_reported_before_the_prompt(attempts: AcpAttempts) -> None:
    missing = {"code": -32000, "message": "Authentication required"}

    exit_ = attempts.run({"say": "?"}, errors={"session/new": missing})

    assert exit_.limit == "auth"
    assert attempts.requests("session/prompt") == []


# ------------------------------------------------------------------ what a plan may say


@pytest.mark.spec("12.8", "3.1")
def test_a_missing_program_is_refused_before_any_attempt() -> None:
    agent = PresetAgent(load_preset("acp"), {"PATH": "/usr/bin:/bin"})
    bare = AgentSpec("mine", preset="acp")

    with pytest.raises(Fault, match=r"options\.program must name the program"):
        agent.preflight(bare)
    with pytest.raises(Fault, match="'no-such-agent' is not on the PATH"):
        agent.preflight(replace(bare, options={"program": "no-such-agent"}))


@pytest.mark.spec("0.6")
@pytest.mark.parametrize("allow", ["execute", [7], ["a b"], ["-x"], [""]], ids=str)
def test_an_invalid_allow_option_is_refused(allow: Any) -> None:
    spec = AgentSpec("mine", preset="acp", options={"program": "sh", "allow": allow})

    with pytest.raises(Fault, match=r"options\.allow"):
        PresetAgent(load_preset("acp")).preflight(spec)


@pytest.mark.spec("0.6")
def test_only_an_acp_agent_has_the_allow_option() -> None:
    spec = AgentSpec("mine", preset="codex", options={"allow": ["execute"]})

    with pytest.raises(Fault, match="'allow' is not an option of Codex"):
        PresetAgent(load_preset("codex")).preflight(spec)


@pytest.mark.spec("3.2", "14.4")
def test_logged_values_are_bounded() -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = [deep]

    told = bound_value({"long": "y" * 10_000, "many": list(range(1000)), "deep": deep})

    assert len(told["long"]) < TEXT_CHARS_MAX + 100
    assert len(told["many"]) == 100
    assert len(json.dumps(told["deep"])) < 100
