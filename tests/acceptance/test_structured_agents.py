"""Known agents are classified by their structured output and not by their exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains

pytestmark = pytest.mark.acceptance


def an_agent(folder: Path, name: str, script: str) -> str:
    """A program of that name which says what the real one was seen to say."""
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return str(file)


def run_one_task(
    project: Project, command: str, check: dict[str, Any]
) -> tuple[int, dict[str, Any], Any]:
    plan = a_plan({}, [{"id": "a", "checks": ["good"]}], {"good": check})
    plan["agents"], plan["agent"] = {"mine": {"command": [command]}}, "mine"
    done = project.yaoki("run", project.plan(plan))
    return done.code, project.task("a"), project.query("trace", "a", "--json").document["entries"]


def failures(entries: Any) -> list[dict[str, Any]]:
    named = ("RETRY_DECISION", "ESCALATE_DECISION")
    return [entry["data"]["failure"] for entry in entries if entry["event"] in named]


@pytest.mark.full
@pytest.mark.spec("4.2", "4.7", "3.5", "0.1")
def test_a_refused_key_is_escalated_at_once_and_not_retried(project: Project) -> None:
    """The check of aider holds at the base, and aider exits 0 on everything: nothing was done."""
    lines = [
        {"type": "system", "subtype": "init", "session_id": "s"},
        {"type": "result", "subtype": "success", "is_error": True, "api_error_status": 401},
    ]
    said = "\n".join(json.dumps(line) for line in lines)
    claude = an_agent(project.folder, "claude", f"cat <<'END'\n{said}\nEND\nexit 1")
    said = "litellm.AuthenticationError: AuthenticationError: OpenAIException - Incorrect API key"
    aider = an_agent(project.folder, "aider", f"echo '{said}'")
    checks = {"claude": file_contains("a.txt"), "aider": file_contains("README", "hello")}
    tasks = [{"id": name, "agent": name, "checks": [name]} for name in checks]
    plan = a_plan({}, tasks, checks)
    del plan["agent"]
    plan["agents"] = {"claude": {"command": [claude]}, "aider": {"command": [aider]}}

    done = project.yaoki("run", project.plan(plan))

    task = project.task("claude")
    assert (done.code, task["attempt"], task["reason"]) == (4, 1, "SYSTEM_ERROR_PERMANENT")
    entries = project.query("trace", "claude", "--json").document["entries"]
    assert [(f["kind"], f["code"]) for f in failures(entries)] == [
        ("FATAL_ERROR", "AUTHENTICATION_FAILED")
    ]
    task = project.task("aider")
    assert (task["state"], task["reason"]) == ("ESCALATED", "SYSTEM_ERROR_PERMANENT")


@pytest.mark.spec("4.2", "5.4", "3.10")
def test_an_http_status_in_the_exit_code_is_read_as_a_rate_limit(project: Project) -> None:
    script = (
        f"[ -e {project.folder}/again ] && {{ echo good > a.txt; exit 0; }}\n"
        f"touch {project.folder}/again\n"
        "echo 'Attempt 1 failed. Retrying after 300ms...' >&2\nexit 173"
    )
    gemini = an_agent(project.folder, "gemini", script)

    code, task, entries = run_one_task(project, gemini, file_contains("a.txt"))

    assert (code, task["state"], task["attempt"]) == (0, "DONE", 2)
    assert [(f["kind"], f["retry_after"]) for f in failures(entries)] == [("RATE_LIMIT", 0.3)]
