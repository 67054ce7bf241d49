"""What agents may do, and what people and agents are told about it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import SETTINGS, Project, file_contains
from tests.acceptance.test_acp_agents import PLAYER
from tests.acceptance.test_acp_agents import a_plan as an_acp_plan

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("12.8", "14.3")]
OUTSIDE = "agents run with your rights, outside a sandbox (YAOKI_SANDBOX_MODE is off)"
ANSWER = {"type": "result", "subtype": "success", "is_error": False, "result": "ok"}


def a_claude(project: Project, **agent: Any) -> dict[str, Any]:
    """A program in the place of Claude Code that writes down its arguments and a file."""
    file = project.folder / "claude"
    lines = (
        f"#!{sys.executable}",
        "import json, pathlib, sys",
        f"pathlib.Path({str(project.folder / 'argv')!r}).write_text(json.dumps(sys.argv[1:]))",
        "pathlib.Path('a.txt').write_text('good\\n')",
        f"print({json.dumps(json.dumps(ANSWER))})",
    )
    file.write_text("\n".join(lines) + "\n")
    file.chmod(0o755)
    return {
        "goal": "Write",
        "agents": {"mine": {"preset": "claude", "options": {"program": str(file)}, **agent}},
        "agent": "mine",
        "checks": {"reads": {"run": ["grep", "good", "a.txt"]}, "odd": file_contains("a.txt")},
        "tasks": [{"id": "a", "goal": "Write a.txt.", "checks": ["reads", "odd"]}],
    }


def run_claude(project: Project, plan: dict[str, Any]) -> tuple[list[str], str, str]:
    """Its arguments, its prompt, and the output of the run."""
    done = project.yaoki("run", project.plan(plan))
    assert done.code == 0, done.out + done.err
    argv: list[str] = json.loads((project.folder / "argv").read_text())
    return argv, project.prompt(project.task("a"), 1), done.out


def test_an_agent_may_do_everything_and_is_given_the_server_by_default(project: Project) -> None:
    argv, prompt, out = run_claude(project, a_claude(project))

    assert "--dangerously-skip-permissions" in argv
    assert '"yaoki"' in argv[argv.index("--mcp-config") + 1]
    assert "call the tool `ask` of the MCP server `yaoki`" in prompt
    assert "no one answers questions" not in prompt
    assert out.count(OUTSIDE) == 1
    assert "limited to edits" not in out


def test_an_agent_limited_to_edits_may_run_the_plain_commands_of_its_checks(
    project: Project,
) -> None:
    argv, _, out = run_claude(project, a_claude(project, permissions="edits"))

    assert "--dangerously-skip-permissions" not in argv
    assert argv[argv.index("--permission-mode") + 1] == "acceptEdits"
    assert [word for word in argv if word.startswith("Bash")] == ["Bash(grep good a.txt)"]
    assert "limited to edits, by their own programs: mine" in out


def test_a_setting_keeps_the_server_back_and_the_prompt_does_not_name_it(project: Project) -> None:
    project.settings(f"{SETTINGS}\n[mcp]\noffer = false\n")

    argv, prompt, _ = run_claude(project, a_claude(project))

    assert "--mcp-config" not in argv
    assert "`ask`" not in prompt
    assert "no one answers questions while you work" in prompt


@pytest.mark.parametrize("preset", ["pi", "command", "scripted"])
def test_a_preset_without_a_middle_way_refuses_the_key(project: Project, preset: str) -> None:
    plan = a_claude(project, preset=preset, permissions="edits")

    done = project.yaoki("validate", project.plan(plan))

    assert done.code == 2, done.out
    assert f"preset {preset} has no way to allow only edits" in done.err
    assert "or use acp, aider, claude" in done.err


def test_settings_may_limit_an_agent_and_unknown_permissions_are_refused(project: Project) -> None:
    plan = a_claude(project)
    [agent] = plan.pop("agents").values()
    options = f'options = {{program = "{agent["options"]["program"]}"}}'
    table = f'[agents.mine]\npreset = "claude"\n{options}'
    project.settings(f'{SETTINGS}\n{table}\npermissions = "edits"\n')

    argv, _, _ = run_claude(project, plan)
    bad = project.yaoki("validate", project.plan(a_claude(project, permissions="some")))

    assert "acceptEdits" in argv
    assert bad.code == 2
    assert "permissions" in bad.err


@pytest.mark.full
def test_plan_and_dry_run_say_what_rights_agents_have(project: Project) -> None:
    plan = project.plan(a_claude(project, permissions="edits"))

    for words in (("plan", plan), ("run", plan, "--dry-run")):
        out = project.yaoki(*words).out

        assert out.count(OUTSIDE) == 1, out
        assert "limited to edits, by their own programs: mine" in out


@pytest.mark.full
def test_init_says_what_rights_the_agents_have_that_it_found(project: Project) -> None:
    (project.repo / "yaoki.toml").unlink()
    program = project.folder / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 2.1.0\n")
    program.chmod(0o755)

    done = project.yaoki("init", env={"PATH": f"{program.parent}:{project.env['PATH']}"})

    assert done.code == 0, done.out + done.err
    assert OUTSIDE in done.out


# ------------------------------------------------------------------ over ACP


def asks_to_execute(command: str) -> dict[str, Any]:
    call = {"toolCallId": "c", "kind": "execute", "title": "x", "rawInput": {"command": command}}
    options = [{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]
    return {"ask": {"sessionId": "s", "toolCall": call, "options": options}}


def plan_for_each(folder: Path, rights: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A task for each agent, which asks for three commands and then touches its own file."""
    whole: dict[str, Any] = {"goal": "Speak", "agents": {}, "checks": {}, "tasks": []}
    for name, agent in rights.items():
        check = f"grep touched {name}.txt"
        asks = map(asks_to_execute, (check, f"{check} && make", "make"))
        acts = (*asks, {"touch": f"{name}.txt"}, {"say": "Done"})
        plan = an_acp_plan(folder / f"{name}.json", *acts)
        whole["agents"][name] = plan["agents"]["mine"] | agent
        whole["checks"][name] = {"run": check.split()}
        task = {"id": name, "goal": f"Do {name}.", "agent": name, "checks": [name]}
        whole["tasks"].append(task)
    return whole


def allowed_requests(project: Project, name: str) -> list[bool]:
    task = project.task(name)
    folder = project.repo / ".yaoki" / "runs" / task["id"].partition("-")[0] / task["id"] / "1"
    lines = map(json.loads, (folder / "out.log").read_text().splitlines())
    return [line["allowed"] for line in lines if line["type"] == "acp.permission"]


@pytest.mark.full
def test_over_acp_an_agent_may_execute_exactly_the_commands_of_its_checks(
    project: Project, tmp_path: Path
) -> None:
    assert PLAYER.exists()
    rights = {"unsaid": {}, "edits": {"permissions": "edits"}, "all": {"permissions": "all"}}

    done = project.yaoki("run", project.plan(plan_for_each(tmp_path, rights)))

    assert done.code == 0, done.out + done.err
    assert {name: allowed_requests(project, name) for name in rights} == {
        "unsaid": [True, False, False],
        "edits": [True, False, False],
        "all": [True, True, True],
    }
    lines = (tmp_path / "all.heard").read_text().splitlines()
    heard = [json.loads(line) for line in lines]
    [server] = next(f for f in heard if f.get("method") == "session/new")["params"]["mcpServers"]
    assert (server["name"], server["args"][-1]) == ("yaoki", "mcp")
    assert "YAOKI_TASK" in {variable["name"] for variable in server["env"]}
