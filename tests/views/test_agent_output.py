"""The JSON-lines log of an agent as text for people."""

from __future__ import annotations

import json
from typing import Any

import pytest

from yaoki.views.agent_output import GLANCE_CHARS, WORDS_CHARS, format_agent_output

pytestmark = pytest.mark.spec("12.4")
CLAUDE: list[dict[str, Any]] = [
    {"type": "system", "subtype": "init", "session_id": "s1", "model": "m", "tools": ["Bash"]},
    {
        "type": "assistant",
        "message": {
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "I look first."},
                {"type": "tool_use", "name": "Bash", "input": {"command": "ls -l"}},
            ]
        },
    },
    {
        "type": "user",
        "message": {"content": [{"type": "tool_result", "content": "no such", "is_error": True}]},
    },
    {"type": "result", "subtype": "success", "total_cost_usd": 0.25, "is_error": False},
]
CODEX: list[dict[str, Any]] = [
    {"type": "thread.started", "thread_id": "t1"},
    {"type": "turn.started"},
    {
        "type": "item.completed",
        "item": {
            "type": "command_execution",
            "command": "make",
            "aggregated_output": "red",
            "exit_code": 2,
        },
    },
    {"type": "item.completed", "item": {"type": "agent_message", "text": "It is red."}},
    {"type": "turn.failed", "error": {"message": "usage limit"}},
]
GEMINI: list[dict[str, Any]] = [
    {"type": "init", "session_id": "g1", "model": "m"},
    {"type": "message", "role": "user", "content": "the prompt"},
    {"type": "message", "role": "assistant", "content": "Hello."},
    {"type": "tool_use", "tool_name": "write_file", "parameters": {"file_path": "a.txt"}},
    {"type": "tool_result", "status": "success", "output": "ok"},
    {"type": "result", "status": "success"},
]
OPENCODE: list[dict[str, Any]] = [
    {"type": "step_start", "part": {}},
    {"type": "text", "part": {"text": "Hello."}},
    {
        "type": "tool_use",
        "part": {"tool": "bash", "state": {"input": {"command": "ls"}, "output": "a b"}},
    },
]


PI: list[dict[str, Any]] = [
    {"type": "session", "id": "p1"},
    {"type": "agent_start"},
    {"type": "message_end", "message": {"role": "user", "content": [{"text": "the prompt"}]}},
    {
        "type": "message_end",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]},
    },
    {"type": "tool_execution_start", "toolName": "bash", "args": {"command": "ls"}},
    {
        "type": "tool_execution_end",
        "toolName": "bash",
        "result": {"content": [{"type": "text", "text": "a b"}]},
        "isError": False,
    },
    {"type": "auto_retry_start", "errorMessage": "429 Rate limit"},
    {"type": "agent_end", "messages": []},
]
VIBE: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [{"type": "text", "text": "the prompt"}]},
    {
        "type": "effect",
        "title": "file_system.write_file",
        "detail": {"input": {"filePath": "a.txt", "content": "x"}},
        "state": {"status": "completed", "outputText": "", "display": {"message": "a.txt"}},
    },
    {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Done."}]},
]
COPILOT: list[dict[str, Any]] = [
    {"type": "session.skills_loaded", "data": {"skills": []}},
    {"type": "user.message", "data": {"content": "the prompt"}},
    {"type": "tool.execution_start", "data": {"toolName": "bash", "arguments": {"command": "ls"}}},
    {"type": "tool.execution_complete", "data": {"success": True, "result": {"content": "a b"}}},
    {"type": "assistant.message_delta", "data": {"deltaContent": "Do"}},
    {"type": "assistant.message", "data": {"content": "Done."}},
    {"type": "assistant.turn_retry", "data": {"reason": "rate_limit"}},
    {"type": "session.error", "data": {"message": "429 Rate limit"}},
    {"type": "result", "sessionId": "c1", "exitCode": 1},
]
CONTINUE: list[dict[str, Any]] = [{"response": "Done.", "status": "success"}]
OPENHANDS: list[dict[str, Any]] = [
    {"kind": "MessageEvent", "source": "user", "llm_message": {"content": [{"text": "prompt"}]}},
    {
        "kind": "ActionEvent",
        "source": "agent",
        "thought": [{"text": "I look first."}],
        "tool_name": "terminal",
        "action": {"command": "ls"},
    },
    {
        "kind": "ObservationEvent",
        "source": "environment",
        "observation": {"content": [{"type": "text", "text": "a b"}], "is_error": False},
    },
    {"kind": "MessageEvent", "source": "agent", "llm_message": {"content": [{"text": "Done."}]}},
    {"kind": "ConversationErrorEvent", "source": "environment", "code": "X", "detail": "no"},
]


def an_update(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": "acp.update", "update": {"sessionUpdate": kind, **more}}


ACP: list[dict[str, Any]] = [
    {"type": "acp.start", "agent": {"name": "mine", "version": "1"}},
    {"type": "acp.session", "session_id": "a1"},
    an_update("agent_thought_chunk", content={"text": "hm"}),
    an_update("tool_call", title="bash", rawInput={"command": "ls"}),
    {
        "type": "acp.permission",
        "kind": "execute",
        "title": "Look",
        "target": "ls",
        "allowed": False,
        "why": "execute is not allowed",
    },
    an_update("tool_call_update", status="failed", content=[{"content": {"text": "denied"}}]),
    an_update("usage_update", used=1),
    an_update("agent_message_chunk", content={"text": "I could not.\n"}),
    {"type": "message", "role": "assistant", "content": "I could not.", "repeats": True},
    {"type": "acp.end", "stop_reason": "end_turn", "cost_usd": 0.25, "faults": ["429 busy"]},
]


def as_log(events: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(event)}\n" for event in events)


@pytest.mark.parametrize(
    ("events", "shown"),
    [
        (
            CLAUDE,
            "[session s1 m]|I look first.|> Bash ls -l|< failed: no such"
            "|[ended: success conversation so far: $0.2500]",
        ),
        (CODEX, "[session t1]|> command make|< failed: red|It is red.|[error: usage limit]"),
        (GEMINI, "[session g1 m]|Hello.|> write_file a.txt|< ok|[ended: success]"),
        (OPENCODE, "Hello.|> bash ls|< a b"),
        (PI, "[session p1]|Hello.|> bash ls|< a b|[retry: 429 Rate limit]|[ended]"),
        (VIBE, "> file_system.write_file a.txt|< a.txt|Done."),
        (
            COPILOT,
            "> bash ls|< a b|Done.|[retry: rate_limit]|[error: 429 Rate limit]"
            "|[ended: exit code 1]",
        ),
        (CONTINUE, "Done.|[ended: success]"),
        (OPENHANDS, "I look first.|> terminal ls|< a b|Done.|[error: X no]"),
        (
            ACP,
            "[agent mine 1]|[session a1]|> bash ls|[denied: execute (execute is not allowed) ls]"
            "|< failed: denied|I could not.|[ended: end_turn conversation so far: $0.2500]"
            "|429 busy",
        ),
    ],
    ids=[
        *("claude", "codex", "gemini", "opencode", "pi", "vibe", "copilot", "continue"),
        *("openhands", "acp"),
    ],
)
def test_messages_tools_and_the_result_of_an_agent_are_shown(
    events: list[dict[str, Any]], shown: str
) -> None:
    assert format_agent_output(as_log(events)).splitlines() == shown.split("|")


@pytest.mark.parametrize(
    "line",
    [
        "plain words",
        '{"type": "acp.other", "allowed": true}',
        '{"type": "text", "text": "of a program"}',
        '{"type": ["assistant"]}',
        '{"type": "assistant", "message": {"content": 7}}',
        '{"type": "assistant", "mess',
        '{"a":' * 5000,
        "[1, 2]",
        "",
    ],
    ids=["words", "acp", "other", "list", "odd", "cut", "deep", "array", "empty"],
)
def test_a_line_of_another_format_is_unchanged(line: str) -> None:
    assert format_agent_output(f"{line}\n") == f"{line}\n"


def test_shown_agent_output_is_bounded() -> None:
    blocks = [
        {"type": "text", "text": "w" * 100_000},
        {"type": "tool_use", "name": "Write", "input": {"content": "c" * 100_000}},
    ]

    log = as_log([{"type": "assistant", "message": {"content": blocks}}])
    said, tool = format_agent_output(log).split("\n", 1)

    assert len(said) <= WORDS_CHARS + 2
    assert tool.startswith("> Write ")
    assert len(tool) < GLANCE_CHARS + 20
