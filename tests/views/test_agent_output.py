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


def as_log(events: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(event)}\n" for event in events)


@pytest.mark.parametrize(
    ("events", "shown"),
    [
        (
            CLAUDE,
            "[session s1 m]|I look first.|> Bash ls -l|< failed: no such|[ended: success $0.2500]",
        ),
        (CODEX, "[session t1]|> command make|< failed: red|It is red.|[error: usage limit]"),
        (GEMINI, "[session g1 m]|Hello.|> write_file a.txt|< ok|[ended: success]"),
        (OPENCODE, "Hello.|> bash ls|< a b"),
    ],
    ids=["claude", "codex", "gemini", "opencode"],
)
def test_messages_tools_and_the_result_of_an_agent_are_shown(
    events: list[dict[str, Any]], shown: str
) -> None:
    assert format_agent_output(as_log(events)).splitlines() == shown.split("|")


@pytest.mark.parametrize(
    "line",
    [
        "plain words",
        '{"type": "acp.permission", "allowed": true}',
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
