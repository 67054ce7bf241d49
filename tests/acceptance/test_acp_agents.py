"""ACP agents in whole runs: permission requests, claims, and a worker that is killed."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import BOUND_S, Project, file_contains, wait_until

pytestmark = pytest.mark.acceptance
PLAYER = Path(__file__).parents[1] / "scripted_model" / "acp_agent.py"


def a_plan(script: Path, *turn: dict[str, Any], **options: Any) -> dict[str, Any]:
    script.write_text(json.dumps({"turn": turn}))
    words = {"program": sys.executable, "arguments": [str(PLAYER), str(script)], **options}
    return {
        "goal": "Speak",
        "agents": {"mine": {"preset": "acp", "options": words}},
        "agent": "mine",
        "checks": {"a": file_contains("a.txt", "touched")},
        "tasks": [{"id": "one", "goal": "Do one.", "checks": ["a"], "retry": {"max_retries": 0}}],
    }


def prompts(script: Path) -> int:
    """How often the agent was asked to work."""
    lines = script.with_suffix(".heard").read_text().splitlines()
    return sum(json.loads(line).get("method") == "session/prompt" for line in lines)


@pytest.mark.full
@pytest.mark.spec("0.2", "0.3", "3.7", "12.8")
def test_a_turn_survives_a_killed_worker_and_its_prompt_is_sent_once(
    project: Project, tmp_path: Path
) -> None:
    begun, go, script = tmp_path / "begun", tmp_path / "go", tmp_path / "script.json"
    acts = ({"touch": str(begun)}, {"until": str(go)}, {"touch": "a.txt"}, {"say": "Done."})
    running = project.start("run", project.plan(a_plan(script, *acts)), "--quiet")
    wait_until(lambda: begun.exists() or running.poll() is not None, "the agent has begun")
    running.send_signal(signal.SIGKILL)
    running.communicate(timeout=BOUND_S)
    go.touch()

    done = project.yaoki("resume")

    assert done.code == 0, done.out + done.err
    task = project.task("one")
    assert (task["state"], task["attempt"], task["session"]) == ("DONE", 1, "ses_scripted-1")
    assert prompts(script) == 1


@pytest.mark.spec("0.1", "3.9", "12.8")
@pytest.mark.long
def test_a_denied_tool_call_is_reported_to_a_person_unless_the_plan_allows_it(
    project: Project, tmp_path: Path
) -> None:
    script = tmp_path / "script.json"
    call = {"toolCallId": "c", "kind": "execute", "title": "make all"}
    options = [{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]
    asks = {"ask": {"sessionId": "s", "toolCall": call, "options": options}}

    done = project.yaoki("run", project.plan(a_plan(script, asks, {"say": "All done."})))

    assert done.code == 4, done.out
    output = project.yaoki("why", "one").out
    assert "ESCALATE_REQUIRED" in output
    assert "not allowed to use execute (execute is not allowed): make all" in output

    allowed = a_plan(script, asks, {"touch": "a.txt"}, {"say": "Done."}, allow=["execute"])
    assert project.yaoki("run", project.plan(allowed)).code == 0
    assert "[allowed: execute make all]" in project.yaoki("logs", "one").out


@pytest.mark.full
@pytest.mark.spec("0.1", "4.2")
def test_the_end_of_a_turn_does_not_count_as_success(project: Project, tmp_path: Path) -> None:
    plan = a_plan(tmp_path / "script.json", {"say": "Everything is done and proven."})

    assert project.yaoki("run", project.plan(plan)).code == 4
    assert project.task("one")["state"] == "ESCALATED"
