"""An agent's settings file: the hook is added and removed, and nothing else changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project
from yaoki.errors import NotNow, Unknown
from yaoki.faces.hooks.installation import HookTarget, install, installed_entries, uninstall
from yaoki.faces.hooks.supported_agents import HOOKED_AGENTS, find_hooked_agent

SETTINGS = {
    "empty": "{}",
    "own": '{\n  "model": "x"\n}\n',
    "tabs": '{\n\t"model": "x",\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}\n',
    "lines": '{\r\n  "hooks": {\r\n    "Notification": [{"hooks": []}]\r\n  }\r\n}',
    "others": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}, "a": 1}',
    "odd": ' { "b" : [ 1 ,2 ] , "hooks":{ } , "z": "日本 \\u00e9" } ',
    "marked": '\ufeff{\r\n  "model": "x"\r\n}\r\n',
    "bare": "",
    "blank": "\ufeff \n",
}


def target(top: Path, agent: str = "claude-code") -> HookTarget:
    known = HOOKED_AGENTS[agent]
    return HookTarget(known, top / known.project_file, top / "memory" / "project.json")


def written(top: Path, text: str) -> HookTarget:
    made = target(top)
    made.file.parent.mkdir()
    made.file.write_bytes(text.encode("latin-1") if text == "\xff" else text.encode())
    return made


def parse_settings(text: str) -> dict[str, Any]:
    """The settings as an agent reads them: without a byte order mark; an empty file has none."""
    parsed: dict[str, Any] = json.loads(text.removeprefix("\ufeff").strip() or "{}")
    return parsed


@pytest.mark.spec("12.6")
@pytest.mark.parametrize("before", SETTINGS.values(), ids=SETTINGS)
def test_uninstalling_restores_the_file_byte_for_byte(tmp_path: Path, before: str) -> None:
    made = written(tmp_path, before)
    made.file.chmod(0o640)

    changed = install(made, 600)
    put = made.file.read_bytes()
    again = install(made, 600)
    same = made.file.read_bytes()
    install(made, 900)
    longer = parse_settings(made.file.read_text())
    out = uninstall(made)

    assert (changed, again, out) == (True, False, True)
    assert put == same
    stops = parse_settings(put.decode())["hooks"]["Stop"]
    assert sum("hook event" in json.dumps(one) for one in stops) == 1
    assert {key for key in parse_settings(before) if key != "hooks"} <= set(
        parse_settings(put.decode())
    )
    assert put.startswith("\ufeff".encode()) is before.startswith("\ufeff")
    assert longer["hooks"]["Stop"][-1]["hooks"][0]["timeout"] == 900
    assert made.file.read_bytes() == before.encode()
    assert made.file.stat().st_mode & 0o777 == 0o640
    assert uninstall(made) is False


@pytest.mark.spec("12.6")
@pytest.mark.parametrize("before", SETTINGS.values(), ids=SETTINGS)
def test_uninstalling_without_a_backup_keeps_the_other_settings(
    tmp_path: Path, before: str
) -> None:
    """Another checkout of the same project has the file, but not the stored original."""
    made = written(tmp_path, before)
    install(made, 600)
    made.backup_file.unlink()

    uninstall(made)

    left, was = parse_settings(made.file.read_text()), parse_settings(before)
    empty = {"hooks": {name: one for name, one in was.get("hooks", {}).items() if one}}
    assert left.get("hooks", {}) == empty["hooks"]
    assert {**left, **empty} == {**was, **empty}


@pytest.mark.spec("12.6")
def test_uninstalling_removes_a_file_that_yaoki_created(tmp_path: Path) -> None:
    made = target(tmp_path)

    install(made, 600)
    put = json.loads(made.file.read_bytes())
    uninstall(made)

    assert set(put["hooks"]) == {"Stop", "UserPromptSubmit"}
    assert not made.file.parent.exists()


@pytest.mark.spec("12.6")
def test_uninstalling_keeps_a_folder_that_existed_before(tmp_path: Path) -> None:
    made = target(tmp_path)
    made.file.parent.mkdir()

    install(made, 600)
    install(made, 700)
    uninstall(made)

    assert not made.file.exists()
    assert list(made.file.parent.iterdir()) == []


@pytest.mark.spec("12.6")
def test_changes_of_the_owner_are_preserved(tmp_path: Path) -> None:
    """The owner moved the hook into another group and added a setting."""
    made = target(tmp_path)
    install(made, 600)
    put = json.loads(made.file.read_bytes())
    (ours,) = put["hooks"]["Stop"][0]["hooks"]
    mine = {"type": "command", "command": "mine"}
    put["hooks"]["Stop"] = [{"hooks": [ours, mine]}]
    made.file.write_text(json.dumps({"model": "x", **put}, indent=2))

    uninstall(made)

    left = json.loads(made.file.read_bytes())
    assert left == {"model": "x", "hooks": {"Stop": [{"hooks": [mine]}]}}


@pytest.mark.spec("12.6")
def test_installing_keeps_a_symbolic_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}\n")
    made = target(tmp_path)
    made.file.parent.mkdir()
    made.file.symlink_to(real)

    install(made, 600)

    assert made.file.is_symlink()
    assert "hook event" in real.read_text()
    uninstall(made)
    assert real.read_text() == "{}\n"


@pytest.mark.spec("12.6", "0.6")
@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "\xff", '{"a": 1, "a": 2}', "[" * 9999],
)
def test_an_unparsable_settings_file_is_left_alone(tmp_path: Path, text: str) -> None:
    made = written(tmp_path, text)
    before = made.file.read_bytes()

    with pytest.raises(NotNow, match="was not changed"):
        install(made, 600)
    with pytest.raises(NotNow, match="was not changed"):
        uninstall(made)

    assert made.file.read_bytes() == before


@pytest.mark.spec("12.6")
@pytest.mark.parametrize(
    ("agent", "event", "timeout"),
    [("codex", "Stop", 600), ("gemini", "AfterAgent", 600_000), ("qwen", "Stop", 600_000)],
)
def test_other_agents_get_the_same_hook_in_their_own_form(
    tmp_path: Path, agent: str, event: str, timeout: int
) -> None:
    made = target(tmp_path, agent)

    install(made, 600)

    (entry,) = json.loads(made.file.read_bytes())["hooks"][event]
    assert entry["hooks"][0]["timeout"] == timeout
    assert [(event, entry["hooks"][0]["command"])] == installed_entries(made)
    assert f"hook event {agent}" in entry["hooks"][0]["command"]


@pytest.mark.spec("12.6", "0.6")
@pytest.mark.parametrize("agent", ["opencode", "aider", "pi", "claud-code"])
def test_an_agent_without_a_stop_hook_is_refused_with_the_reason(agent: str) -> None:
    words = (
        "did you mean 'claude-code'"
        if agent == "claud-code"
        else f"yaoki installs no stop hook for {agent}: (it|its) "
    )

    with pytest.raises(Unknown, match=words):
        find_hooked_agent(agent)


@pytest.mark.full
@pytest.mark.spec("12.6")
def test_user_settings_are_changed_only_with_the_option_user(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    project = Project(tmp_path, tmp_path_factory.getbasetemp().parent / "pycache")
    home = tmp_path / "person"
    home.mkdir()
    env = {"HOME": str(home)}

    project.yaoki("hook", "install", "claude-code", env=env)
    untouched = list(home.iterdir())
    project.yaoki("hook", "install", "claude-code", "--user", env=env)
    text = (home / ".claude" / "settings.json").read_text()
    out = project.yaoki("hook", "uninstall", "claude-code", "--user", "--json", env=env)

    assert untouched == []
    assert "--if-configured" in text
    assert out.document["changed"] is True
    assert list(home.iterdir()) == []
    assert (project.repo / ".claude" / "settings.json").exists()


@pytest.fixture
def project(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = Project(tmp_path, tmp_path_factory.getbasetemp().parent / "pycache")
    (tmp_path / "person").mkdir()
    made.env["HOME"] = str(tmp_path / "person")
    return made


@pytest.mark.spec("12.6", "0.6")
def test_an_unreadable_settings_file_does_not_hide_the_others(project: Project) -> None:
    project.yaoki("hook", "install", "claude-code")
    broken = project.repo / ".gemini" / "settings.json"
    broken.parent.mkdir()
    broken.write_text("{")

    people, told = project.query("hook", "status"), project.query("hook", "status", "--json")

    assert (people.code, told.code) == (0, 0), people.err
    assert f"{broken} is not JSON" in people.out
    files = {one["file"]: one for one in told.document["files"]}
    assert files[str(project.repo / ".claude" / "settings.json")]["installed"] is True
    assert files[str(broken)]["installed"] is None
    assert "is not JSON" in files[str(broken)]["defect"]


@pytest.mark.spec("12.6")
@pytest.mark.parametrize(
    ("agent", "variable", "name"),
    [("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"), ("codex", "CODEX_HOME", "hooks.json")],
)
def test_the_user_settings_file_follows_the_variable_of_the_agent(
    project: Project, tmp_path: Path, agent: str, variable: str, name: str
) -> None:
    project.env[variable] = str(tmp_path / "moved")

    put = project.yaoki("hook", "install", agent, "--user", "--json")

    assert put.document["file"] == str(tmp_path / "moved" / name)
    assert list((tmp_path / "person").iterdir()) == []


@pytest.mark.spec("12.6", "0.6")
def test_a_file_in_place_of_the_state_folder_is_an_error_without_a_traceback(
    project: Project,
) -> None:
    home = project.repo / ".yaoki"
    home.write_text("mine\n")
    hook_input = json.dumps(
        {"session_id": "s", "hook_event_name": "Stop", "cwd": str(project.repo)}
    )

    refused = project.yaoki("hook", "install", "claude-code")
    doctor = project.yaoki("doctor")
    stopped = subprocess.run(
        (sys.executable, "-m", "yaoki", "hook", "event", "claude-code"),
        cwd=project.repo,
        env=project.env,
        input=hook_input,
        capture_output=True,
        text=True,
        check=True,
        timeout=40,
    )

    words = f"{home} cannot be created: there is a file of that name"
    assert words in refused.err
    assert f"mv {home} " in refused.err
    assert (doctor.code, words in doctor.out) == (1, True)
    assert words in json.loads(stopped.stdout)["reason"]
    assert "Traceback" not in stopped.stderr
    assert home.read_text() == "mine\n"


@pytest.mark.spec("12.6")
@pytest.mark.parametrize("act", [lambda made: install(made, 600), installed_entries, uninstall])
def test_a_pipe_in_place_of_the_settings_is_refused_without_blocking(
    tmp_path: Path, act: Callable[[HookTarget], object]
) -> None:
    made = target(tmp_path)
    made.file.parent.mkdir()
    os.mkfifo(made.file)

    with pytest.raises(NotNow, match="is not a regular file; it was not changed"):
        act(made)
