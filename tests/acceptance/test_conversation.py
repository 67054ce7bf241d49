"""After a failure an agent continues its conversation or begins a new one, as the plan says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import SETTINGS, Project, file_contains

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("18.3")]

SESSION = "0d0e0f00-0000-4000-8000-00000000000"


def install_claude(project: Project, calls: Path) -> None:
    """A claude whose first work is bad; it writes down whether it was asked to continue.

    Each attempt of a task has a session of its own, as in the real program.
    """
    said: list[dict[str, Any]] = [
        {"type": "system", "subtype": "init"},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "done"}]}},
        {"type": "result", "subtype": "success", "is_error": False, "result": "done"},
    ]
    lines = "\n".join(json.dumps({"session_id": "@SESSION@", **event}) for event in said)
    script = f"""#!/bin/sh
case "$*" in *--version*) echo 2.0.0; exit;; esac
count=$(cat {calls}/$YAOKI_TASK_NAME.count 2>/dev/null || echo 0)
count=$((count + 1))
echo $count > {calls}/$YAOKI_TASK_NAME.count
case "$*" in *--resume*) echo continued;; *) echo fresh;; esac >> {calls}/$YAOKI_TASK_NAME
[ $count -gt 1 ] && echo good > $YAOKI_TASK_NAME.txt || echo bad > $YAOKI_TASK_NAME.txt
sed "s/@SESSION@/{SESSION}$count/" <<'END'
{lines}
END
"""
    program = project.folder / "bin" / "claude"
    program.parent.mkdir()
    calls.mkdir()
    program.write_text(script)
    program.chmod(0o755)
    project.env["PATH"] = f"{program.parent}:{project.env['PATH']}"


def a_claude_plan(tasks: dict[str, dict[str, Any]], pattern: str = "test-failed") -> dict[str, Any]:
    patterns = {"lint": "lint-error"}
    checks = {
        f"has-{name}": {
            **file_contains(f"{name}.txt"),
            "pattern": patterns.get(name, pattern),
        }
        for name in tasks
    }
    return {
        "goal": "Talk",
        "agents": {"claude": {"preset": "claude"}},
        "agent": "claude",
        "checks": checks,
        "tasks": [
            {"id": name, "goal": f"Do {name}.", "checks": [f"has-{name}"], **keys}
            for name, keys in tasks.items()
        ],
    }


def sent_conversations(project: Project, name: str) -> list[str]:
    task = project.task(name)
    events = project.events(task["id"])
    return [one["data"]["conversation"] for one in events if one["event"] == "PROMPT_SENT"]


def test_the_plan_says_whether_a_conversation_continues(project: Project, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    install_claude(project, calls)
    tasks: dict[str, dict[str, Any]] = {
        "kept": {},
        "anew": {"conversation": "fresh"},
        "tests": {"conversation": "auto"},
        "lint": {"conversation": "auto"},
    }
    project.settings(SETTINGS.replace("parallel = 2", "parallel = 4"))

    done = project.yaoki("run", project.plan(a_claude_plan(tasks)))

    assert done.code == 0, done.out
    expected = {"kept": "continued", "anew": "fresh", "tests": "fresh", "lint": "continued"}
    assert {name: (calls / name).read_text().split() for name in tasks} == {
        name: ["fresh", second] for name, second in expected.items()
    }
    assert {name: sent_conversations(project, name) for name in tasks} == {
        name: ["fresh", second] for name, second in expected.items()
    }
    _check_hand_over(project)
    _check_why(project)
    report = project.query("report", "--format", "json").document
    shown = {
        task["name"]: task["attempts"][1]["conversation"]
        for task in report["tasks"]
        if task["name"] in tasks
    }
    assert shown == expected
    treated = project.query("stats", "--json").document["treatments"]
    found = {
        (one["pattern"], one["agent"], one["conversation"], one["sent"], one["cured"])
        for one in treated
    }
    assert found == {
        ("test-failed", "claude", "continued", 1, 1),
        ("test-failed", "claude", "fresh", 2, 2),
        ("lint-error", "claude", "continued", 1, 1),
    }


def _check_hand_over(project: Project) -> None:
    anew = project.prompt(project.task("anew"), 2)
    assert "# What was tried before" in anew
    assert "- anew.txt" in anew
    assert "# Task\n\nDo anew." in anew, "a new conversation gets the whole prompt"
    kept = project.prompt(project.task("kept"), 2)
    assert "# What was tried before" not in kept
    assert "Do kept." not in kept, "a continued one gets only the failure"


def _check_why(project: Project) -> None:
    kept, anew, tests, lint = (
        project.query("why", name).out for name in ("kept", "anew", "tests", "lint")
    )
    assert "the agent continued its conversation" in kept
    assert "the agent began a new conversation" in anew
    assert "in a new conversation (conversation: fresh)" in anew
    assert "auto: test-failed shows a wrong approach; neither" in " ".join(tests.split())
    assert "auto: lint-error says what to correct" in lint
    document = project.query("why", "anew", "--json").document
    assert [one["conversation"] for one in document["attempts"]] == [None, "fresh"]


@pytest.mark.full
def test_the_settings_and_the_plan_give_the_default(project: Project, tmp_path: Path) -> None:
    """`fresh` in the settings, `continue` in the plan, `fresh` again in one task."""
    calls = tmp_path / "calls"
    install_claude(project, calls)
    project.settings(f'{SETTINGS}\n[retry]\nconversation = "fresh"\n')

    first = project.yaoki("run", project.plan(a_claude_plan({"one": {}})))
    plan = a_claude_plan({"two": {}, "three": {"conversation": "fresh"}})
    second = project.yaoki("run", project.plan({**plan, "conversation": "continue"}))

    assert (first.code, second.code) == (0, 0)
    found = {name: (calls / name).read_text().split()[1] for name in ("one", "two", "three")}
    assert found == {"one": "fresh", "two": "continued", "three": "fresh"}


def test_an_unknown_word_is_refused_with_its_place(project: Project) -> None:
    plan = a_claude_plan({"one": {"conversation": "restart"}})
    settings = f'{SETTINGS}\n[retry]\nlearn = "pick"\n'

    refused = project.query("validate", project.plan(plan))
    project.settings(settings)
    also = project.query("validate", project.plan(a_claude_plan({"one": {}})))

    assert refused.code == 2
    assert "tasks.0.conversation" in refused.out + refused.err
    assert "continue" in refused.out + refused.err
    assert also.code == 2
    assert "retry.learn" in also.out + also.err
