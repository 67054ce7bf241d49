"""What agents say at their end, in whole runs: programs that print what the real ones printed.

One run for all: each task has its own agent, on its own account.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import BOUND_S, Project, a_plan, file_contains, wait_until
from tests.acceptance.test_structured_agents import an_agent

pytestmark = pytest.mark.acceptance
LIMIT = "Claude usage limit reached. Your limit will reset at 3pm (UTC)."
KEY = "API key not valid. Please pass a valid API key."


def printed(*events: Mapping[str, Any]) -> str:
    lines = "\n".join(json.dumps(event) for event in events)
    return f"cat <<'END'\n{lines}\nEND\n"


# The preset, or `command`, and what its program does.
PROGRAMS: dict[str, tuple[str, str]] = {
    "gemini": (
        "gemini",
        printed(
            {"type": "init", "session_id": "g"},
            {"type": "result", "status": "error", "error": {"message": f"[API Error: {KEY}]"}},
        )
        + "exit 144",
    ),
    "gptme": ("gptme", f"echo '· ERROR    Error code: 401 - {KEY}' >&2; exit 76"),
    "continue": (
        "continue",
        'echo \'{"status":"error","message":"401 Incorrect API key provided"}\' >&2; exit 1',
    ),
    "openhands": (
        "openhands",
        "echo 'Initializing agent...'\n"
        + printed(
            {"source": "user", "kind": "MessageEvent"},
            {"source": "environment", "kind": "ConversationErrorEvent", "code": "RateLimitError"},
        ),
    ),
    "copilot": (
        "copilot",
        printed(
            {"type": "session.skills_loaded", "data": {}},
            {"type": "session.error", "data": {"errorType": "authentication", "statusCode": 401}},
            {"type": "result", "sessionId": "c", "exitCode": 1},
        )
        + "exit 1",
    ),
    "claude": (
        "claude",
        printed(
            {"type": "system", "subtype": "init", "session_id": "s"},
            {
                "type": "system",
                "subtype": "api_retry",
                "attempt": 1,
                "max_retries": 10,
                "retry_delay_ms": 5399333,
                "error_status": 429,
                "error": "rate_limit",
            },
        )
        + "sleep 60",
    ),
    "qwen": (
        "qwen",
        printed({"type": "system", "subtype": "init", "session_id": "q"})
        + "echo '[qwen-code] Waiting for API capacity... attempt 1, retry in 5370s' >&2; sleep 60",
    ),
    "codex": (
        "codex",
        printed(
            {"type": "thread.started", "thread_id": "c"},
            {"type": "error", "message": "Reconnecting... 1/5 (429 Too Many Requests)"},
        )
        + "sleep 2; exit 1",
    ),
    "opencode": ("opencode", "echo 'Failed query: CREATE TABLE session' >&2; exit 1"),
    "codex-start": (
        "codex",
        "echo 'Error: failed to initialize sqlite state runtime under /h/.codex: "
        "failed to initialize state runtime at /h/.codex' >&2; exit 1",
    ),
    "wrapped": ("command", f"echo '{LIMIT}'; exit 1"),
    "wrapped-done": ("command", f"echo '{LIMIT}'; exit 0"),
    "wrapped-changed": ("command", f"echo bad > wrapped-changed.txt; echo '{LIMIT}'; exit 1"),
}
DECISIONS = {"RETRY_DECISION", "ESCALATE_DECISION"}
# The kind of the failure, and its message.
AUTH = ("FATAL_ERROR", "the agent's service refused the credentials")
RATE = ("RATE_LIMIT", "the agent's service answered with a rate limit")
BUSY = (
    "TRANSIENT_ERROR",
    "the agent's own files were in use by another process of the same agent",
)
EXPECTED: dict[str, tuple[str, str]] = {
    "gemini": AUTH,
    "gptme": (AUTH[0], f"{AUTH[1]}: ERROR    Error code: 401 - {KEY}"),
    "continue": AUTH,
    "openhands": RATE,
    "copilot": AUTH,
    "claude": RATE,
    "qwen": RATE,
    "codex": RATE,
    "opencode": BUSY,
    "codex-start": BUSY,
    "wrapped": RATE,
    "wrapped-done": ("INCOMPLETE", "nothing was changed"),
    "wrapped-changed": ("QUALITY_FAILURE", ""),
}


def the_plan(folder: Path) -> dict[str, Any]:
    agents: dict[str, Any] = {}
    for name, (preset, script) in PROGRAMS.items():
        program = an_agent(folder, name, script)
        how = {"command": [program]} if preset == "command" else {"options": {"program": program}}
        agents[name] = {"preset": preset, "account": name, **how}
    checks = {name: file_contains(f"{name}.txt") for name in PROGRAMS}
    tasks = [
        {"id": name, "agent": name, "checks": [name], "retry": {"max_retries": 0}}
        for name in PROGRAMS
    ]
    plan = a_plan({}, tasks, checks)
    del plan["agent"]
    return {**plan, "agents": agents}


def decisions_of(project: Project, plan: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The first decision about each task; the run is stopped then, because two tasks wait."""
    running = project.start("run", project.plan(plan))

    def all_are_decided() -> bool:
        decided = (e["task"] for e in project.events() if e["event"] in DECISIONS)
        return len(set(decided)) == len(PROGRAMS)

    try:
        wait_until(lambda: running.poll() is not None or all_are_decided(), "all have ended")
    finally:
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=BOUND_S)
    asked = {name: project.query("why", name, "--json").document for name in PROGRAMS}
    return {name: document["decisions"][0] for name, document in asked.items()}


@pytest.mark.full
@pytest.mark.spec("4.2", "5.4", "3.10", "4.7")
@pytest.mark.long
def test_what_agents_say_at_their_end_is_understood(project: Project) -> None:
    project.settings("[limits]\nagent_wait_s = 1.0\nparallel = 4\n")

    decisions = decisions_of(project, the_plan(project.folder))

    told = {name: decision["inputs"]["kind"] for name, decision in decisions.items()}
    assert told == {name: kind for name, (kind, _) in EXPECTED.items()}
    for name, (_, words) in EXPECTED.items():
        assert words in decisions[name]["failure"], name
    assert decisions["claude"]["inputs"]["retry_after_s"] == pytest.approx(5399.333)
    assert decisions["qwen"]["inputs"]["retry_after_s"] == 5370
    assert decisions["wrapped"]["inputs"]["retry_after_s"] > 0
