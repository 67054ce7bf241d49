"""Presets of known agents: command lines, refused options, and usage of a run."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from yaoki.adapters.agents import find_agent, preset_names
from yaoki.adapters.agents.preset import (
    AgentPreset,
    UsageCount,
    UsageRule,
    load_preset,
    parse_preset,
    shipped_preset_names,
)
from yaoki.adapters.agents.preset_agent import PresetAgent
from yaoki.adapters.agents.usage import BYTES_MAX, UNKNOWN_USAGE, read_usage
from yaoki.core.model import AgentExit, AgentSpec, Permissions, TaskId, Usage
from yaoki.errors import Fault, Unknown
from yaoki.formats.plan import field_values
from yaoki.formats.plan.model import AgentModel
from yaoki.ports import AttemptRequest, Launch, ProcessPhase, ProcessState

ENVIRON = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/nowhere",
    "ANTHROPIC_API_KEY": "planted-secret-value",
    "HTTPS_PROXY": "http://proxy:8080",
    "CLAUDE_CODE_SESSION_ID": "of the session that started us",
    "UNNAMED": "stays at home",
}
SESSION = "0199-ab_c.d:e"


def preset_agent(name: str) -> PresetAgent:
    return PresetAgent(load_preset(name), ENVIRON)


def an_attempt_request(top: Path, session: str = "", **about: Any) -> AttemptRequest:
    worktree = top / "tree"
    worktree.mkdir(parents=True, exist_ok=True)
    name = about.pop("preset", "claude")
    return AttemptRequest(
        task_id=TaskId("abcd1234-1"),
        attempt=1,
        epoch=1,
        agent=AgentSpec("mine", preset=name, **about),
        prompt="Do it.",
        worktree=worktree,
        folder=top / "attempts" / "1",
        timeout=timedelta(minutes=1),
        hang=timedelta(0),
        lease=timedelta(0),
        session=session,
    )


def build_launch(top: Path, name: str, session: str = "", **about: Any) -> Launch:
    return preset_agent(name).build_launch(an_attempt_request(top, session, preset=name, **about))


# ------------------------------------------------------------------ the descriptions


@pytest.mark.spec("12.8")
def test_a_plan_accepts_exactly_the_shipped_presets() -> None:
    assert set(field_values.PRESETS) == {"command", "scripted", *shipped_preset_names()}
    assert set(preset_names()) >= set(field_values.PRESETS)


@pytest.mark.spec("12.8")
@pytest.mark.parametrize("name", shipped_preset_names())
def test_every_preset_is_complete(name: str) -> None:
    about = load_preset(name)

    assert about.title
    assert about.tested[0].isdigit()
    assert about.install.startswith(("npm install -g ", "pip install ", "options.program"))
    assert bool(about.program) is (name != "acp")
    assert "{more}" in about.start
    assert not about.resume or "{more}" in about.resume
    assert ("{prompt}" in about.start) is (about.prompt == "argument")
    assert ("{prompt_file}" in about.start) is (about.prompt == "file")
    assert isinstance(find_agent(name), PresetAgent)


@pytest.mark.spec("0.6")
@pytest.mark.parametrize(
    "text", ["colour = 1", "[usage]\ncolour = 1", "[base_url]\ncolour = 1"], ids=str
)
def test_an_unknown_key_of_a_preset_is_refused(text: str) -> None:
    head = 'title="t"\nprogram="p"\ninstall="i"\ntested="1"\nprompt="stdin"\nstart=["{more}"]\n'

    assert parse_preset("mine", head).title == "t"
    with pytest.raises(ValueError, match="unknown keys"):
        parse_preset("mine", head + text)


@pytest.mark.spec("0.6")
def test_an_unknown_agent_has_no_preset() -> None:
    with pytest.raises(Unknown, match="there is no agent preset 'clod'"):
        load_preset("clod")


# ------------------------------------------------------------------ the command line

BYPASS = "--dangerously-bypass-approvals-and-sandbox"


@pytest.mark.spec("12.8", "3.7")
@pytest.mark.parametrize(
    ("name", "start", "resume"),
    [
        ("claude", "claude -p … --model M", "claude -p … --model M --resume S"),
        (
            "codex",
            f"codex exec --json {BYPASS} … -m M -",
            f"codex exec resume --json {BYPASS} … -m M S -",
        ),
        ("gemini", "gemini --yolo --skip-trust … -m M", "gemini --yolo … -m M --resume S"),
        ("qwen", "qwen --yolo … -m M", "qwen --yolo … -m M --resume S"),
        ("opencode", "opencode run --format json … -m M", "opencode run … -m M --session S"),
        ("pi", "pi --mode json -p --model M", "pi --mode json -p --model M --session S"),
        (
            "copilot",
            "copilot --yolo … --model M",
            "copilot --yolo … --model M --resume S",
        ),
        ("vibe", "vibe --auto-approve … --prompt-file P", "vibe … --resume S --prompt-file P"),
    ],
)
def test_a_retry_has_its_own_command_line(
    tmp_path: Path, name: str, start: str, resume: str
) -> None:
    model = "" if name == "vibe" else "M"
    file = str(tmp_path / "attempts" / "1" / "prompt.md")

    first = build_launch(tmp_path, name, model=model)
    again = build_launch(tmp_path, name, SESSION, model=model)

    for launch, line in ((first, start), (again, resume)):
        said = " ".join(launch.argv).replace(SESSION, "S").replace(file, "P")
        head, _, tail = line.partition(" … ")
        assert said.startswith(head)
        assert said.endswith(tail)
        assert launch.stdin == ("Do it." if load_preset(name).prompt == "stdin" else None)


@pytest.mark.spec("12.8")
def test_a_preset_works_with_no_further_key(tmp_path: Path) -> None:
    launch = build_launch(tmp_path, "claude")

    rights, line = load_preset("claude").permissions["all"].arguments, load_preset("claude").start
    assert launch.argv == ("claude", "-p", *rights, *line[2:-1])
    assert launch.stdin == "Do it."


@pytest.mark.spec("12.8", "14.2")
def test_an_agent_gets_its_own_and_network_variables_and_no_other(tmp_path: Path) -> None:
    env = build_launch(tmp_path, "claude", env={"CLAUDE_CODE_MAX_RETRIES": "9"}).env

    assert env["ANTHROPIC_API_KEY"] == "planted-secret-value"
    assert env["HTTPS_PROXY"] == "http://proxy:8080"
    assert env["DISABLE_AUTOUPDATER"] == "1"
    assert env["CLAUDE_CODE_MAX_RETRIES"] == "9", "the plan's word wins"
    assert {"UNNAMED", "CLAUDE_CODE_SESSION_ID"}.isdisjoint(env)


@pytest.mark.spec("14.2")
def test_keys_of_an_agent_are_secret_and_network_variables_are_not(tmp_path: Path) -> None:
    launch = build_launch(tmp_path, "claude", pass_env=("UNNAMED",))

    assert "planted-secret-value" in launch.secrets
    assert launch.env["UNNAMED"] in launch.secrets
    assert launch.env["HTTPS_PROXY"] not in launch.secrets


@pytest.mark.spec("12.8")
def test_another_service_is_configured_in_the_format_of_the_agent(tmp_path: Path) -> None:
    options = {
        "base_url": "http://127.0.0.1:9/v1",
        "program": "/opt/a",
        "arguments": ["--x", "{y}"],
    }

    codex = build_launch(tmp_path, "codex", model="m", options=options)
    opencode = build_launch(tmp_path, "opencode", model="m", options=options)

    assert codex.argv[0] == "/opt/a"
    assert codex.argv[-3:] == ("--x", "{y}", "-")
    assert 'base_url="http://127.0.0.1:9/v1"' in " ".join(codex.argv)
    config = json.loads(opencode.env["OPENCODE_CONFIG_CONTENT"])
    assert config["provider"]["yaoki"]["options"]["baseURL"] == "http://127.0.0.1:9/v1"
    assert list(config["provider"]["yaoki"]["models"]) == ["m"]
    assert opencode.argv[-4:] == ("-m", "yaoki/m", "--x", "{y}")


CHECKS = ("python -m pytest", "make lint")
SERVER = ("/usr/bin/python", "-P", "-m", "yaoki", "mcp")


def limited_launch(top: Path, name: str, session: str = "", **about: Any) -> Launch:
    about = {"permissions": Permissions.EDITS, **about}
    request = an_attempt_request(top, session, preset=name, **about)
    request = replace(request, check_commands=CHECKS, tool_server=SERVER)
    return preset_agent(name).build_launch(request)


@pytest.mark.spec("12.8", "14.3")
@pytest.mark.parametrize(
    ("name", "given", "withheld"),
    [
        (
            "claude",
            ("acceptEdits", "Bash(python -m pytest)", "mcp__yaoki__ask"),
            "--dangerously-skip-permissions",
        ),
        ("codex", ('approval_policy="never"', 'sandbox_mode="workspace-write"'), BYPASS),
        ("gemini", ("--approval-mode", "auto_edit"), "--yolo"),
        ("qwen", ("auto-edit", "run_shell_command(make lint)", "mcp__yaoki__ask"), "--yolo"),
        ("vibe", ("--agent", "accept-edits"), "--auto-approve"),
        ("claude-acp", ("--allow-command=make lint",), "*"),
    ],
)
def test_an_agent_limited_to_edits_gets_its_own_flags_for_that(
    tmp_path: Path, name: str, given: tuple[str, ...], withheld: str
) -> None:
    unlimited = limited_launch(tmp_path, name, permissions=Permissions.ALL).argv
    for session in ("", SESSION):
        limited = limited_launch(tmp_path, name, session).argv

        assert set(given) <= set(limited)
        assert withheld not in limited
    assert withheld in unlimited
    assert not set(given) & set(unlimited)


@pytest.mark.spec("12.8")
def test_the_presets_that_a_plan_may_limit_are_those_that_can_be_limited() -> None:
    can = {name for name in shipped_preset_names() if load_preset(name).can_be_limited}

    assert set(field_values.PRESETS_WITH_EDITS) == can


@pytest.mark.spec("12.8", "12.7")
def test_an_agent_starts_the_mcp_server_in_its_own_format(tmp_path: Path) -> None:
    claude = limited_launch(tmp_path, "claude").argv
    codex = limited_launch(tmp_path, "codex").argv
    opencode = limited_launch(tmp_path, "opencode").env
    acp = limited_launch(tmp_path, "acp", options={"program": "x"}).argv

    servers = json.loads(claude[claude.index("--mcp-config") + 1])["mcpServers"]
    assert servers == {"yaoki": {"command": SERVER[0], "args": list(SERVER[1:])}}
    [table] = [word for word in codex if word.startswith("mcp_servers.yaoki=")]
    server = tomllib.loads(table)["mcp_servers"]["yaoki"]
    assert (server["command"], tuple(server["args"])) == (SERVER[0], SERVER[1:])
    assert "YAOKI_TASK" in server["env_vars"]
    assert server["required"], "else its first request would not wait for the tools"
    config = json.loads(opencode["OPENCODE_CONFIG_CONTENT"])
    assert tuple(config["mcp"]["yaoki"]["command"]) == SERVER
    assert f"--tool-server={json.dumps(SERVER)}" in acp
    assert "yaoki" not in str(build_launch(tmp_path, "claude").argv), "only where one is given"


@pytest.mark.spec("12.8")
def test_the_configuration_of_opencode_is_merged_with_that_of_the_plan(tmp_path: Path) -> None:
    own = {"theme": "dark", "provider": {"mine": {}}, "mcp": {"other": {"enabled": True}}}
    env = {"OPENCODE_CONFIG_CONTENT": json.dumps(own)}
    options = {"base_url": "http://127.0.0.1:9/v1"}

    for rights in (Permissions.ALL, Permissions.EDITS):
        launch = limited_launch(
            tmp_path, "opencode", env=env, model="m", options=options, permissions=rights
        )
        config = json.loads(launch.env["OPENCODE_CONFIG_CONTENT"])

        assert (config["theme"], config["share"]) == ("dark", "disabled")
        assert set(config["provider"]) == {"mine", "yaoki"}
        assert set(config["mcp"]) == {"other", "yaoki"}
    bash = {"*": "deny", "python -m pytest": "allow", "make lint": "allow"}
    assert config["permission"]["bash"] == bash


@pytest.mark.spec("12.8")
def test_vibe_gets_another_service_by_a_folder_of_its_task(tmp_path: Path) -> None:
    launch = build_launch(tmp_path, "vibe", model="m", options={"base_url": "http://x/v1"})

    config = tomllib.loads((Path(launch.env["VIBE_HOME"]) / "config.toml").read_text())
    assert config["active_model"] == "m"
    assert config["providers"][0]["api_base"] == "http://x/v1"


@pytest.mark.spec("12.8")
def test_pi_gets_another_service_by_a_folder_of_its_task(tmp_path: Path) -> None:
    options = {"base_url": "http://127.0.0.1:9/v1"}

    launch = build_launch(tmp_path, "pi", model="m", options=options)
    again = build_launch(tmp_path, "pi", SESSION, model="m", options=options)

    home = Path(launch.env["PI_CODING_AGENT_DIR"])
    [provider] = json.loads((home / "models.json").read_text())["providers"].values()
    assert (provider["baseUrl"], provider["models"]) == ("http://127.0.0.1:9/v1", [{"id": "m"}])
    assert launch.argv[-2:] == ("--model", "yaoki/m")
    assert again.env["PI_CODING_AGENT_DIR"] == str(home), "its conversation is there"
    assert "PI_CODING_AGENT_DIR" not in build_launch(tmp_path, "pi", model="m").env


@pytest.mark.spec("0.6", "14.4")
@pytest.mark.parametrize(
    ("name", "session", "about", "words"),
    [
        ("claude", "", {"options": {"colour": "red"}}, "'colour' is not an option of Claude Code"),
        ("claude", "", {"options": {"program": 1}}, "options.program must be a string"),
        ("claude", "", {"options": {"arguments": "-x"}}, "arguments must be a list of words"),
        ("claude", "", {"options": {"arguments": [1]}}, "arguments must be a list of words"),
        ("claude", "", {"options": {"base_url": "file:///x"}}, "is not an address"),
        ("opencode", "", {"model": 'm"}'}, "is not a valid model name"),
        ("opencode", "", {"options": {"base_url": "http://x"}}, "needs a model"),
        ("pi", "", {"options": {"base_url": "http://x"}}, "needs a model"),
        ("cline", "", {"options": {"base_url": "http://x"}}, "it takes no base_url: to use"),
        ("pi", "", {"permissions": Permissions.EDITS}, "pi has no way to allow only edits"),
        ("opencode", "", {"env": {"OPENCODE_CONFIG_CONTENT": "[]"}}, "must be a JSON object"),
        ("claude", "--help", {}, "cannot continue '--help'"),
        ("claude", "a b", {}, "cannot continue 'a b'"),
        ("aider", SESSION, {}, "aider cannot continue"),
    ],
)
def test_invalid_options_are_refused(
    tmp_path: Path, name: str, session: str, about: dict[str, Any], words: str
) -> None:
    with pytest.raises(Fault, match=words) as fault:
        build_launch(tmp_path, name, session, **about)

    assert not fault.value.transient
    assert f"yaoki agents show {name}" in fault.value.hint


@pytest.mark.spec("3.1")
def test_preflight_checks_the_program_and_the_options() -> None:
    with pytest.raises(Fault, match="'claude' is not on the PATH"):
        preset_agent("claude").preflight(AgentSpec("mine", preset="claude"))
    with pytest.raises(Fault, match="is not an option"):
        preset_agent("claude").preflight(AgentSpec("mine", preset="claude", options={"x": 1}))
    options = {"program": sys.executable}
    preset_agent("claude").preflight(AgentSpec("mine", preset="claude", options=options))


@pytest.mark.spec("3.7")
def test_a_preset_says_whether_it_can_resume() -> None:
    resuming = {
        name
        for name in shipped_preset_names()
        if preset_agent(name).can_resume(AgentSpec("x", preset=name))
    }

    plain = {"claude", "codex", "copilot", "gemini", "opencode", "pi", "qwen", "vibe"}
    over_acp = {"claude-acp", "codex-acp", "opencode-acp", "qwen-acp", "vibe-acp"}
    assert resuming == plain | over_acp | {"acp"}
    assert not find_agent("command").can_resume(AgentSpec("x"))


@pytest.mark.spec("3.2")
def test_the_scratch_folder_of_an_agent_is_ignored_by_git(tmp_path: Path) -> None:
    build_launch(tmp_path, "aider")
    build_launch(tmp_path, "aider")

    assert (tmp_path / "tree" / ".aider.tags.cache.v4" / ".gitignore").read_text() == "*\n"


def test_a_link_in_place_of_the_scratch_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".aider.tags.cache.v4").symlink_to(tmp_path)

    build_launch(tmp_path, "aider")

    assert not (tmp_path / ".gitignore").exists()


# ------------------------------------------------------------------ what it left


def write_events(folder: Path, *events: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "out.log").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    return folder


def run_attempt(top: Path, name: str, *events: Any, session: str = "", n: int = 1) -> AgentExit:
    """Launch as attempt `n`, leave these events, read."""
    agent, folder = preset_agent(name), top / "attempts" / str(n)
    agent.build_launch(replace(an_attempt_request(top, session, preset=name), folder=folder))
    write_events(folder, *events)
    (folder / "err.log").touch()
    return agent.read(folder, ProcessState(ProcessPhase.EXITED, code=0))


def a_turn(tokens: int) -> list[Any]:
    return [
        {"type": "thread.started", "thread_id": SESSION},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}},
        {"type": "turn.completed", "usage": {"input_tokens": tokens, "output_tokens": 1}},
    ]


@pytest.mark.spec("10.6", "3.7")
def test_a_conversation_is_not_counted_twice(tmp_path: Path) -> None:
    """Codex counts the whole thread after a resume; only the new part is this run's."""
    first = run_attempt(tmp_path, "codex", *a_turn(100))
    second = run_attempt(tmp_path, "codex", *a_turn(250), session=SESSION, n=2)
    third = run_attempt(tmp_path, "codex", *a_turn(260), session=SESSION, n=3)

    assert [run.tokens for run in (first, second, third)] == [101, 150, 10]


@pytest.mark.spec("10.6", "3.7")
def test_a_conversation_of_qwen_is_not_counted_twice(tmp_path: Path) -> None:
    """Seen with 0.24.4: 31501 tokens, after a resume 72273, of which 40772 are new."""

    def turn(tokens: int) -> list[Any]:
        usage = {"input_tokens": tokens, "output_tokens": 1}
        return [
            {"type": "system", "subtype": "init", "session_id": SESSION},
            {"type": "result", "subtype": "success", "result": "Done.", "usage": usage},
        ]

    first = run_attempt(tmp_path, "qwen", *turn(31500))
    second = run_attempt(tmp_path, "qwen", *turn(72272), session=SESSION, n=2)

    assert [run.tokens for run in (first, second)] == [31501, 40772]


@pytest.mark.spec("10.6", "18.7")
def test_the_cost_of_a_conversation_of_claude_is_not_counted_twice(tmp_path: Path) -> None:
    """Seen with 2.1.325: the cost is that of the whole conversation, the tokens are not."""

    def turn(cost: float) -> list[Any]:
        usage = {"input_tokens": 200, "output_tokens": 40}
        return [
            {"type": "system", "subtype": "init", "session_id": SESSION},
            {"type": "result", "subtype": "success", "usage": usage, "total_cost_usd": cost},
        ]

    first = run_attempt(tmp_path, "claude", *turn(0.0012))
    second = run_attempt(tmp_path, "claude", *turn(0.0024), session=SESSION, n=2)

    assert [run.tokens for run in (first, second)] == [240, 240]
    assert (first.cost, second.cost) == (0.0012, 0.0012)


@pytest.mark.spec("18.7")
@pytest.mark.parametrize("name", shipped_preset_names())
def test_a_running_agent_reports_the_usage_of_its_run_alone(name: str) -> None:
    assert not load_preset(name).live_usage.whole_thread


@pytest.mark.spec("10.6")
def test_a_run_that_was_cut_off_is_counted_with_the_next(tmp_path: Path) -> None:
    cut = run_attempt(tmp_path, "codex", *a_turn(100)[:2])
    second = run_attempt(tmp_path, "codex", *a_turn(250), session=SESSION, n=2)

    assert (cut.tokens, second.tokens) == (None, 251)


@pytest.mark.spec("10.6")
def test_a_conversation_from_elsewhere_has_unknown_cost(tmp_path: Path) -> None:
    run_attempt(tmp_path, "codex", *a_turn(100))

    assert run_attempt(tmp_path, "codex", *a_turn(250), session="other", n=2).tokens is None


STEP = UsageRule("step", UsageCount.SUM, "part.cost", ("part.in", "part.out"), "events")
LINE = UsageRule(
    count=UsageCount.SUM,
    file="out.log",
    pattern=r"^Tokens: (?P<in>\S+) sent, (?P<out>\S+) received(?:, \$(?P<cost>[\d.]+))?",
)


def a_step(cost: Any, sent: Any, received: Any) -> dict[str, Any]:
    return {"type": "step", "part": {"cost": cost, "in": sent, "out": received}}


@pytest.mark.spec("10.6")
@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([a_step(0.1, 5, 6), a_step(0.2, 7, 8)], Usage(0.1 + 0.2, 26, 2)),
        ([a_step(0, 5, 6)], Usage(None, 11, 1)),
        ([a_step(None, 5, 6), a_step(0.1, 5, 6)], Usage(None, 22, 2)),
        ([a_step(-1, 5, None)], Usage(None, 5, 1)),
        ([a_step("much", True, [])], UNKNOWN_USAGE),
        # No model answered.
        ([a_step(0, 0, 0)], Usage(None, None, 1)),
        ([a_step(1e300, 1e300, 1)], Usage(None, 1, 1)),
        ([{"type": "other", "part": {"in": 5}}, "words", 7, []], UNKNOWN_USAGE),
        ([], UNKNOWN_USAGE),
    ],
)
def test_incomplete_usage_is_unknown(tmp_path: Path, events: list[Any], expected: Usage) -> None:
    assert read_usage(write_events(tmp_path / "a", *events), STEP) == expected


@pytest.mark.spec("18.7")
def test_a_running_agent_reports_each_call_of_its_model_once(tmp_path: Path) -> None:
    def says(call: str | None, tokens: int) -> dict[str, Any]:
        usage = {"input_tokens": tokens, "output_tokens": 1}
        return {"type": "assistant", "message": {"id": call, "usage": usage}}

    opening = {"type": "system", "subtype": "init", "session_id": "s"}
    agent = find_agent("claude")
    silent = write_events(tmp_path / "silent", opening)
    talking = write_events(
        tmp_path / "talking", opening, says("m1", 10), says("m1", 20), says(None, 5), says(None, 6)
    )

    assert agent.usage_so_far(silent) == UNKNOWN_USAGE
    assert agent.usage_so_far(talking) == Usage(None, 34, 3)
    assert agent.usage_so_far(tmp_path) == UNKNOWN_USAGE, "nothing was written yet"


@pytest.mark.spec("10.6", "14.4")
def test_events_are_found_among_any_amount_of_other_output(tmp_path: Path) -> None:
    folder = write_events(tmp_path / "a", a_step(0.1, 5, 6))
    with (folder / "out.log").open("ab") as log:
        log.write(b"\n" * 1_500_000 + b'say "step"\n' + b"x" * (9 << 20) + b"\n")
        log.write(json.dumps(a_step(0.25, 7, 8)).encode())

    assert read_usage(folder, STEP) == Usage(0.35, 26, 2)


@pytest.mark.spec("10.6")
def test_usage_is_read_from_text(tmp_path: Path) -> None:
    (tmp_path / "out.log").write_text(
        "Tokens: 2.3k sent, 1,200 received, $0.5\nwords\nTokens: 1M sent, 20 received, $0.25\n"
    )

    assert read_usage(tmp_path, LINE) == Usage(0.75, 1_003_520, None)


@pytest.mark.spec("10.6", "14.4")
def test_the_usage_of_a_too_long_output_is_unknown(tmp_path: Path) -> None:
    folder = write_events(tmp_path / "a", a_step(0.1, 5, 6))
    with (folder / "out.log").open("ab") as log:
        log.truncate(BYTES_MAX + 1)

    assert read_usage(folder, STEP) == UNKNOWN_USAGE


@pytest.mark.spec("3.10")
def test_a_retry_notice_without_a_time_counts_by_its_age(tmp_path: Path) -> None:
    """Codex reports the refusal and then sleeps as long as the service asked."""
    notice = {
        "type": "error",
        "message": "Reconnecting... 1/2 (last status: 429 Too Many Requests)",
    }
    folder = write_events(tmp_path / "a", a_turn(1)[0], notice)
    written = (folder / "out.log").stat().st_mtime
    now = [datetime.fromtimestamp(written, UTC)]
    agent = PresetAgent(load_preset("codex"), ENVIRON, now=lambda: now[0])

    fresh = agent.announced_wait(folder)
    now[0] += timedelta(minutes=5)
    old = agent.announced_wait(folder)
    write_events(folder, *a_turn(1)[:2])

    assert fresh < timedelta(seconds=1)
    # A time stamp as a float is exact to a microsecond.
    assert old >= timedelta(minutes=5) - timedelta(milliseconds=1)
    assert agent.announced_wait(folder) == timedelta(0)


@pytest.mark.spec("14.4", "3.7")
def test_an_invalid_session_id_is_dropped(tmp_path: Path) -> None:
    events = [{"type": "thread.started", "thread_id": "--config=evil"}, *a_turn(5)[1:]]

    assert run_attempt(tmp_path, "codex", *events).session == ""


def copilot_failure(kind: str, status: int, message: str) -> list[Any]:
    data = {"errorType": kind, "statusCode": status, "message": message}
    return [
        {"type": "session.skills_loaded", "data": {"skills": []}},
        {"type": "user.message", "data": {"content": "Do it."}},
        {"type": "session.error", "data": data},
        {"type": "result", "sessionId": SESSION, "exitCode": 1},
    ]


UNANSWERED: dict[str, list[Any]] = {
    "copilot": copilot_failure("rate_limit", 429, "Last error: 429 Rate limit reached"),
    "claude": [
        {"type": "system", "subtype": "init", "session_id": SESSION},
        {"type": "assistant", "message": {"model": "<synthetic>"}, "error": "rate_limit"},
        {"type": "result", "subtype": "success", "is_error": True, "api_error_status": 429},
    ],
    "codex": [
        {"type": "thread.started", "thread_id": SESSION},
        {"type": "item.completed", "item": {"type": "error", "message": "No metadata"}},
        {"type": "turn.failed", "error": {"message": "last status: 429 Too Many Requests"}},
    ],
    "gemini": [
        {"type": "init", "session_id": SESSION},
        {"type": "message", "role": "user", "content": "Do it."},
        {"type": "result", "status": "error", "error": {"message": "status: 429"}},
    ],
    "opencode": [
        {"type": "step_start", "sessionID": SESSION},
        {"type": "error", "sessionID": SESSION, "error": {"data": {"statusCode": 429}}},
    ],
    "pi": [
        {"type": "session", "id": SESSION},
        {"type": "message_end", "message": {"role": "assistant", "content": []}},
        {
            "type": "agent_end",
            "messages": [{"stopReason": "error", "errorMessage": "429 Rate limit"}],
        },
    ],
}
ANSWERS: dict[str, dict[str, Any]] = {
    "copilot": {"type": "assistant.message", "data": {"content": "I begin."}},
    "claude": {"type": "assistant", "message": {"model": "m", "content": []}},
    "codex": {"type": "item.started", "item": {"type": "command_execution"}},
    "gemini": {"type": "tool_use", "tool_name": "write_file"},
    "opencode": {"type": "tool_use", "sessionID": SESSION},
    "pi": {"type": "message_end", "message": {"role": "assistant", "content": [{"text": "I"}]}},
}


@pytest.mark.spec("3.7", "5.4")
@pytest.mark.parametrize("name", UNANSWERED)
def test_a_first_turn_without_an_answer_is_not_resumed(tmp_path: Path, name: str) -> None:
    """Gemini CLI saves no such conversation and refuses to resume it; the limit would be lost."""
    first, *rest = UNANSWERED[name]

    refused = run_attempt(tmp_path, name, first, *rest)
    begun = run_attempt(tmp_path, name, first, ANSWERS[name], *rest, n=2)
    later = run_attempt(tmp_path, name, first, *rest, session=SESSION, n=3)

    assert [exit_.limit for exit_ in (refused, begun, later)] == ["rate"] * 3
    assert [exit_.session for exit_ in (refused, begun, later)] == ["", SESSION, SESSION]


@pytest.mark.spec("3.7")
def test_an_agent_without_resume_names_no_conversation(tmp_path: Path) -> None:
    events = a_turn(5)

    assert run_attempt(tmp_path, "codex", *events).session == SESSION
    assert run_attempt(tmp_path / "b", "gptme", *events).session == ""


@pytest.mark.spec("12.8")
@pytest.mark.parametrize(
    ("note", "limit", "words"),
    [
        ('{"outcome": "finished", "session_id": "s-1"', "", ""),
        (
            '{"outcome": "config_error", "error": {"message": "Invalid API key", "code": "x"',
            "auth",
            "Invalid",
        ),
        ('{"outcome": "failed", "error": {"message": "no", "code": "rate_limit"', "rate", "no"),
        ('{"outcome": "failed", "error": {"message": "no", "code": "x"', "unknown", "no"),
        ("", "unfinished", "no export"),
    ],
)
def test_the_output_of_vibe_is_read_from_its_export(
    tmp_path: Path, note: str, limit: str, words: str
) -> None:
    folder = tmp_path / "attempts" / "1" / "outbox"
    (folder / "vibe").mkdir(parents=True)
    (folder / "vibe" / "export.json").write_text(note)

    exit_ = run_attempt(tmp_path, "vibe")

    assert exit_.limit == limit
    assert words in exit_.stderr_tail


@pytest.mark.spec("10.6", "12.8")
@pytest.mark.parametrize(
    ("name", "file", "note", "expected"),
    [
        (
            "mini-swe-agent",
            "trajectory.json",
            {"info": {"model_stats": {"instance_cost": 0.25, "api_calls": 2}}},
            (None, 2, 0.25),
        ),
        (
            "vibe",
            "vibe/export.json",
            {
                "usage": {"input_tokens": 90, "output_tokens": 30, "total_tokens": 120},
                "cost_usd": 0.5,
                "steps": 3,
            },
            (120, 3, 0.5),
        ),
    ],
)
def test_usage_is_read_from_the_file_that_the_agent_writes_in_its_outbox(
    tmp_path: Path, name: str, file: str, note: Any, expected: tuple[Any, ...]
) -> None:
    written = tmp_path / "attempts" / "1" / "outbox" / file
    written.parent.mkdir(parents=True)
    written.write_text(json.dumps(note, indent=2))

    exit_ = run_attempt(tmp_path, name)

    assert (exit_.tokens, exit_.turns, exit_.cost) == expected


COPILOT_DONE = [
    {"type": "session.tools_updated", "data": {"model": "m"}},
    {"type": "model.call_failure", "data": {"statusCode": 503}},
    {"type": "assistant.message", "data": {"content": "Done."}},
    {"type": "result", "sessionId": SESSION, "exitCode": 0},
]


@pytest.mark.spec("4.2", "12.8")
@pytest.mark.parametrize(
    ("events", "limit", "words"),
    [
        (COPILOT_DONE, "", ""),
        (copilot_failure("authentication", 401, "HTTP 401"), "auth", "HTTP 401"),
        (copilot_failure("rate_limit", 429, "retry in 90s"), "rate", "retry in 90s"),
        (copilot_failure("query", 529, "Overloaded"), "overloaded", "Overloaded"),
        (copilot_failure("query", 400, "prompt is too long"), "context", "too long"),
        (copilot_failure("query", 418, "no"), "unknown", "no"),
        ([COPILOT_DONE[0], COPILOT_DONE[1]], "overloaded", ""),
        ([COPILOT_DONE[0]], "unfinished", "no final event"),
        ([COPILOT_DONE[0], COPILOT_DONE[3]], "unfinished", "without an answer"),
    ],
)
def test_the_output_of_copilot_is_read_from_its_events(
    tmp_path: Path, events: list[Any], limit: str, words: str
) -> None:
    exit_ = run_attempt(tmp_path, "copilot", *events)

    assert exit_.limit == limit
    assert words in exit_.stderr_tail
    assert (exit_.retry_after == timedelta(seconds=90)) is ("90s" in words)


@pytest.mark.spec("3.10")
def test_a_failed_call_of_copilot_is_a_retry_notice(tmp_path: Path) -> None:
    """It goes on after the failure without a word; a refused key is refused again."""
    agent, failure = preset_agent("copilot"), {"type": "model.call_failure"}
    waits = []
    for n, status in enumerate((401, 429), 1):
        data = {"data": {"statusCode": status}}
        finished = {"type": "model.call_finished", "data": {"outcome": "error"}}
        run_attempt(tmp_path, "copilot", COPILOT_DONE[0], {**failure, **data}, finished, n=n)
        waits.append(agent.announced_wait(tmp_path / "attempts" / str(n)))
    run_attempt(tmp_path, "copilot", *COPILOT_DONE, n=3)

    assert waits[0] == timedelta.max
    assert timedelta(0) <= waits[1] < timedelta(minutes=1)
    assert agent.announced_wait(tmp_path / "attempts" / "3") == timedelta(0)


@pytest.mark.spec("4.2", "12.8")
@pytest.mark.parametrize(
    ("out", "err", "limit"),
    [
        ('{"response":"Done.","status":"success"}', "", ""),
        ("", '{"status":"error","message":"401 Incorrect API key provided: sk-x."}', "auth"),
        ("", '{"status":"error","message":"429 Rate limit reached"}', "rate"),
        ("", '{"status":"error","message":"529 overloaded_error"}', "overloaded"),
        ("", '{"status":"error","message":"Something else"}', "unknown"),
    ],
)
def test_the_error_of_continue_is_read_from_its_error_channel(
    tmp_path: Path, out: str, err: str, limit: str
) -> None:
    agent, folder = preset_agent("continue"), tmp_path / "attempts" / "1"
    agent.build_launch(an_attempt_request(tmp_path, preset="continue"))
    (folder / "out.log").write_text(out)
    (folder / "err.log").write_text(err)

    exit_ = agent.read(folder, ProcessState(ProcessPhase.EXITED, code=1 if err else 0))

    assert exit_.limit == limit


def openhands_event(kind: str, **more: str) -> dict[str, Any]:
    return {"id": "1", "source": "agent", "kind": kind, **more}


@pytest.mark.spec("4.2", "12.8")
@pytest.mark.parametrize(
    ("final", "limit"),
    [
        (openhands_event("MessageEvent"), ""),
        (openhands_event("ObservationEvent", tool_name="finish"), ""),
        (openhands_event("ObservationEvent", tool_name="terminal"), "unfinished"),
        (openhands_event("ConversationErrorEvent", code="AuthenticationError"), "auth"),
        (openhands_event("ConversationErrorEvent", code="LLMRateLimitError"), "rate"),
        (openhands_event("ConversationErrorEvent", code="InternalServerError"), "overloaded"),
        (
            openhands_event("ConversationErrorEvent", code="X", detail="API Error: 529 overloaded"),
            "overloaded",
        ),
        (openhands_event("ConversationErrorEvent", code="MaxIterationsReached"), "turns"),
        (openhands_event("ConversationErrorEvent", code="X", detail="strange"), "unknown"),
    ],
    ids=str,
)
def test_the_output_of_openhands_is_read_among_its_banners(
    tmp_path: Path, final: dict[str, Any], limit: str
) -> None:
    """It exits with 0 in every case."""
    agent, folder = preset_agent("openhands"), tmp_path / "attempts" / "1"
    agent.build_launch(an_attempt_request(tmp_path, preset="openhands"))
    prompt = {**openhands_event("MessageEvent"), "source": "user"}
    lines = ("Initializing agent...", json.dumps(prompt), "Agent is working", json.dumps(final))
    (folder / "out.log").write_text("\n".join((*lines, "Goodbye!", "")))
    (folder / "err.log").touch()

    exit_ = agent.read(folder, ProcessState(ProcessPhase.EXITED, code=0))

    assert exit_.limit == limit


# What real programs reported at the end of two turns of one conversation.
ACP_TURNS: dict[str, tuple[list[Any], list[Any], tuple[Any, ...], tuple[Any, ...]]] = {
    "claude-acp": (
        [{"type": "acp.end", "cost_usd": 0.0024, "result": {"usage": {"inputTokens": 200}}}],
        [{"type": "acp.end", "cost_usd": 0.0048, "result": {"usage": {"inputTokens": 200}}}],
        (200, 0.0024),
        (200, 0.0024),
    ),
    "vibe-acp": (
        [{"type": "acp.end", "cost_usd": 0.00028, "result": {"usage": {"inputTokens": 240}}}],
        [{"type": "acp.end", "cost_usd": 0.00056, "result": {"usage": {"inputTokens": 480}}}],
        (240, 0.00028),
        (240, 0.00028),
    ),
    "codex-acp": (
        [{"type": "acp.end", "result": {"usage": {"inputTokens": 200, "outputTokens": 40}}}],
        [{"type": "acp.end", "result": {"usage": {"inputTokens": 100, "outputTokens": 20}}}],
        (240, None),
        (120, None),
    ),
    "qwen-acp": (
        [{"type": "acp.update", "update": {"_meta": {"usage": {"inputTokens": 100}}}}] * 2,
        [{"type": "acp.update", "update": {"_meta": {"usage": {"inputTokens": 100}}}}],
        (200, None),
        (100, None),
    ),
}


@pytest.mark.spec("10.6", "3.7")
@pytest.mark.parametrize("name", ACP_TURNS)
def test_usage_over_acp_is_that_of_the_attempt(tmp_path: Path, name: str) -> None:
    """Some programs report the turn, some the whole conversation, some each model call."""
    first, second, *expected = ACP_TURNS[name]
    opened = {"type": "acp.session", "session_id": SESSION, "loads": True}

    ends = [
        run_attempt(tmp_path, name, opened, *first),
        run_attempt(tmp_path, name, opened, *second, session=SESSION, n=2),
    ]

    assert [(end.tokens, end.cost and round(end.cost, 5)) for end in ends] == expected


@pytest.mark.spec("4.2", "12.8")
def test_an_agent_without_events_is_read_by_its_preset(tmp_path: Path) -> None:
    agent = PresetAgent(load_preset("continue"), ENVIRON)
    agent.build_launch(an_attempt_request(tmp_path, preset="continue"))
    folder = tmp_path / "attempts" / "1"
    (folder / "err.log").touch()
    ends = {}
    for words in ("Error: 401 Unauthorized", "Error: strange", "The Error: 401 is fixed"):
        (folder / "out.log").write_text(f"working\n{words}\n")
        ends[words] = agent.read(folder, ProcessState(ProcessPhase.EXITED, code=1)).limit

    assert list(ends.values()) == ["auth", "unknown", ""]


@pytest.mark.spec("4.2", "12.8")
@pytest.mark.parametrize(("code", "limit"), [(75, "rate"), (76, "auth"), (77, "overloaded")])
def test_the_exit_code_of_gptme_names_the_failure_of_its_service(
    tmp_path: Path, code: int, limit: str
) -> None:
    agent, folder = preset_agent("gptme"), tmp_path / "attempts" / "1"
    agent.build_launch(an_attempt_request(tmp_path, preset="gptme"))
    (folder / "out.log").write_text("Skipping all confirmation prompts.\n")
    (folder / "err.log").touch()

    assert agent.read(folder, ProcessState(ProcessPhase.EXITED, code=code)).limit == limit


@pytest.mark.spec("4.2", "4.7")
@pytest.mark.parametrize(
    ("err", "words"),
    [
        (
            "· ERROR    Error code: 401 - wrong API key  \n",
            "Error code: 401 - wrong API key",
        ),
        ("", "exit code 76"),
    ],
)
def test_the_words_of_the_service_of_gptme_are_quoted(tmp_path: Path, err: str, words: str) -> None:
    agent, folder = preset_agent("gptme"), tmp_path / "attempts" / "1"
    agent.build_launch(an_attempt_request(tmp_path, preset="gptme"))
    (folder / "out.log").touch()
    (folder / "err.log").write_text(f"· ERROR    Fatal error occurred\n{err}")

    exit_ = agent.read(folder, ProcessState(ProcessPhase.EXITED, code=76))

    assert exit_.limit == "auth"
    assert exit_.service_message.endswith(words)


@pytest.mark.spec("3.10", "5.4")
@pytest.mark.parametrize(
    ("name", "line", "limit", "wait_s"),
    [
        (
            "gptme",
            "· WARNING  OpenAI API transient error (status 429), retrying in 60.0s (attempt 1/11)",
            *("rate", 60),
        ),
        ("qwen", "[qwen-code] Waiting for API capacity... attempt 1, retry in 5370s", "rate", 5370),
    ],
)
def test_a_wait_that_an_agent_announces_on_its_error_channel_is_read(
    tmp_path: Path, name: str, line: str, limit: str, wait_s: int
) -> None:
    agent, folder = preset_agent(name), tmp_path / "attempts" / "1"
    agent.build_launch(an_attempt_request(tmp_path, preset=name))
    (folder / "out.log").touch()
    (folder / "err.log").write_text(f"{line}\n")

    assert agent.announced_wait(folder) == timedelta(seconds=wait_s)
    exit_ = agent.read(folder, ProcessState(ProcessPhase.EXITED, signal=15))
    assert (exit_.limit, exit_.retry_after) == (limit, timedelta(seconds=wait_s))


@pytest.mark.spec("3.10", "5.4")
def test_a_wait_is_read_if_both_channels_were_written_in_the_same_moment(tmp_path: Path) -> None:
    """The clock of a file system has steps of some milliseconds."""
    agent, folder = preset_agent("qwen"), tmp_path / "attempts" / "1"
    agent.build_launch(an_attempt_request(tmp_path, preset="qwen"))
    out, err = folder / "out.log", folder / "err.log"
    out.write_text('{"type": "system", "subtype": "init", "session_id": "q"}\n')
    err.write_text("[qwen-code] Waiting for API capacity... attempt 1, retry in 5370s\n")

    os.utime(out, ns=(9, 9))
    os.utime(err, ns=(9, 9))
    tied = agent.announced_wait(folder)
    os.utime(out, ns=(10, 10))
    continued = agent.announced_wait(folder)

    assert (tied, continued) == (timedelta(seconds=5370), timedelta(0))


@pytest.mark.spec("4.2", "12.8")
@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("continue", '{"status":"error","message":"aborted"}'),
        (
            "gptme",
            "· ERROR    peer closed connection without sending complete message body "
            "(received 802 bytes, expected 100000)",
        ),
    ],
)
def test_a_broken_stream_is_an_outage(tmp_path: Path, name: str, line: str) -> None:
    agent, folder = preset_agent(name), tmp_path / "attempts" / "1"
    agent.build_launch(an_attempt_request(tmp_path, preset=name))
    (folder / "out.log").touch()
    (folder / "err.log").write_text(f"{line}\n")

    assert agent.read(folder, ProcessState(ProcessPhase.EXITED, code=1)).limit == "overloaded"


@pytest.mark.spec("3.10", "5.4")
def test_a_wait_of_openhands_is_counted_from_its_last_line(tmp_path: Path) -> None:
    """It names no time: an agent that goes on prints more."""
    moment = datetime.now(UTC) + timedelta(seconds=90)
    agent = PresetAgent(load_preset("openhands"), ENVIRON, lambda: moment)
    folder = tmp_path / "attempts" / "1"
    agent.build_launch(an_attempt_request(tmp_path, preset="openhands"))
    (folder / "out.log").touch()
    (folder / "err.log").write_text(
        "[11/17/26 08:26:48] ERROR    litellm.RateLimitError: RateLimitError: Rate limit reached. "
        "Attempt #1 | You can customize retry values in the configuration.     retry_mixin.py:124\n"
    )

    assert agent.announced_wait(folder) > timedelta(seconds=60)
    assert agent.read(folder, ProcessState(ProcessPhase.EXITED, signal=15)).limit == "rate"


@pytest.mark.spec("4.2", "12.8")
def test_a_clash_over_the_database_of_opencode_is_not_a_failure_of_its_service(
    tmp_path: Path,
) -> None:
    agent, folder = preset_agent("opencode"), tmp_path / "attempts" / "1"
    agent.build_launch(an_attempt_request(tmp_path, preset="opencode"))
    (folder / "out.log").touch()
    (folder / "err.log").write_text('Failed query: CREATE TABLE "session" (id text)\n')

    exit_ = agent.read(folder, ProcessState(ProcessPhase.EXITED, code=1))

    assert exit_.limit == "busy"


# ------------------------------------------------------------------ plugins and plans

PLUGIN = """
class Mine:
    def preflight(self, spec): raise RuntimeError("called")


def broken(): raise RuntimeError("no licence")
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[None]:
    """An installed package with agents."""
    info = tmp_path / "site" / "acme_agents-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme_agents\nVersion: 1\n")
    entries = "[yaoki.agents]\nacme = acme_agents:Mine\nacme-broken = acme_agents:broken\n"
    (info / "entry_points.txt").write_text(entries)
    (info.parent / "acme_agents.py").write_text(PLUGIN)
    sys.path.insert(0, str(info.parent))
    yield
    sys.path.remove(str(info.parent))
    sys.modules.pop("acme_agents", None)


@pytest.mark.spec("12.8")
@pytest.mark.usefixtures("site")
def test_an_installed_package_may_provide_an_agent() -> None:
    assert "acme" in preset_names()
    with pytest.raises(RuntimeError, match="called"):
        find_agent("acme").preflight(AgentSpec("mine"))
    assert field_values.check_preset("acme") == "acme"
    with pytest.raises(Unknown, match="no agent preset 'acmee'") as refused:
        find_agent("acmee")
    assert refused.value.hint == "did you mean 'acme'?"


@pytest.mark.spec("12.8", "0.6")
@pytest.mark.usefixtures("site")
def test_an_agent_package_that_cannot_be_loaded_is_reported() -> None:
    with pytest.raises(Fault, match=r"acme-broken.*no licence"):
        find_agent("acme-broken")


@pytest.mark.spec("2.2", "12.8")
def test_a_plan_names_known_agents_with_valid_options() -> None:
    agent = AgentModel.model_validate({"preset": "claude", "model": "m"})

    assert (agent.preset, agent.model) == ("claude", "m")
    with pytest.raises(ValueError, match="unknown preset 'claud'; did you mean 'claude'"):
        AgentModel.model_validate({"preset": "claud"})
    with pytest.raises(ValueError, match="preset claude chooses how it gets its prompt"):
        AgentModel.model_validate({"preset": "claude", "prompt": "file"})


def test_a_preset_works_against_the_real_agent() -> None:
    assert isinstance(load_preset("claude"), AgentPreset)
    assert load_preset("claude") is load_preset("claude")
