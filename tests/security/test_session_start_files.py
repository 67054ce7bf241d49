"""Files that start programs in a person's next session: a person looks, or the scope says so."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project, a_plan, file_contains
from tests.adapters.agents.test_presets import an_attempt_request, preset_agent
from yaoki.adapters.agents.preset import load_preset, shipped_preset_names
from yaoki.adapters.workspace.protect.agent_settings import SETTINGS_FILES, read_agent_settings
from yaoki.core.scope import session_paths

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("14.4", "6.5")]
FILES = (
    *(".claude/settings.json", ".codex/config.toml", ".gemini/settings.json", ".mcp.json"),
    *(".cursor/mcp.json", ".vscode/tasks.json", ".envrc", ".husky/pre-commit", ".githooks/x"),
    *("web/.claude/settings.local.json", "web/.vscode/tasks.json", ".Claude/settings.json"),
    *(".pi/extensions/x.ts", ".vibe/config.toml", ".openhands/setup.sh", ".aider.conf.yml"),
    *("gptme.toml", ".github/hooks/x.json", ".zed/tasks.json"),
)


@pytest.mark.parametrize("path", FILES)
def test_a_session_start_file_is_allowed_only_by_a_scope_that_names_it(path: str) -> None:
    top = path.rpartition("/")[0] or path
    assert session_paths([path], ()) == (path,)
    assert session_paths([path], ("**",)) == (path,)
    assert session_paths([path], ("web/**", "*")) == (path,)
    assert session_paths([path], (path,)) == ()
    assert session_paths([path], (path, f"!{path}")) == (path,)
    if top.rpartition("/")[2] not in {".vscode", ".zed"}:
        assert session_paths([path], (top if top == path else f"{top}/**",)) == ()


def test_ordinary_files_are_no_session_start_files() -> None:
    files = (
        *("claude/x.py", ".vscode/settings.json", "docs/.envrc.md", "husky/x", ".github/x.yml"),
        *(".github/workflows/x.yml", "hooks/x.json", "pi/x", "my-gptme.toml"),
    )
    assert session_paths(files, ()) == ()


@pytest.mark.full
def test_a_session_hook_is_escalated_once_and_lands_when_waived(project: Project) -> None:
    acts = [{"write": {"a.txt": "good\n", ".claude/settings.json": '{"hooks": {}}\n'}}]
    plan = a_plan({"a": [acts]}, [{"id": "a"}], {"ok": file_contains("a.txt")})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 4, done.out + done.err
    branch = f"yaoki/{project.status()['run']}"
    assert project.git("rev-parse", branch) == project.git("rev-parse", "main")
    assert project.event_names("a").count("ATTEMPT_STARTED") == 1
    assert ".claude/settings.json" in project.query("why", "a").out
    assert project.yaoki("answer", "a", "waive").code == 0
    assert project.yaoki("resume", "--quiet").code == 0
    assert "hooks" in project.show(branch, ".claude/settings.json")


def test_a_session_start_file_named_by_the_scope_lands(project: Project) -> None:
    acts = [{"write": {"a.txt": "good\n", ".envrc": "export A=1\n"}}]
    task = {"id": "a", "scope": ["a.txt", ".envrc"]}
    plan = a_plan({"a": [acts]}, [task], {"ok": file_contains("a.txt")})

    done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0, done.out + done.err
    assert project.show(f"yaoki/{project.status()['run']}", ".envrc") == "export A=1"


def test_codex_is_started_with_the_checkout_marked_untrusted(tmp_path: Path) -> None:
    order = an_attempt_request(tmp_path, "", preset="codex")
    repo = '/home/me/my "own" repo'
    order = replace(order, environment={**order.environment, "YAOKI_REPO": repo})

    words = preset_agent("codex").build_launch(order).argv

    told = r'projects={"/home/me/my \"own\" repo"={trust_level="untrusted"}}'
    assert words[words.index(told) - 1] == "-c"


def test_continue_gets_only_its_own_key() -> None:
    assert preset_agent("continue").preset.pass_env == ("CONTINUE_API_KEY",)


@pytest.mark.parametrize(
    "name",
    [
        *(".continue/config.yaml", ".codex/config.toml", ".cursor/mcp.json", ".vibe/config.toml"),
        *(".gemini/trustedFolders.json", ".config/gptme/config.toml", ".pi/agent/extensions/x.ts"),
        *(".config/mini-swe-agent/.env", ".aider.conf.yml", ".openhands/mcp.json"),
    ],
)
def test_a_change_of_an_agents_own_settings_is_detected(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("a = 1\n")
    before = read_agent_settings(str(tmp_path), {})
    file.write_text('a = 1\n[projects."/repo"]\ntrust_level = "trusted"\n')

    assert read_agent_settings(str(tmp_path), {}) != before


@pytest.mark.parametrize("name", sorted(set(shipped_preset_names()) - {"acp"}))
def test_the_settings_of_every_preset_are_watched(name: str) -> None:
    """At least one file in one of the folders where the program keeps its own state."""
    watched = {
        f"{default}/{file}".lstrip("/") for _, default, files in SETTINGS_FILES for file in files
    }
    folders = [folder for folder in load_preset(name).state if not folder.startswith("$")]

    assert any(file.startswith(folder) for file in watched for folder in folders)


def read_json_settings(home: Path, name: str, content: dict[str, Any]) -> dict[str, bytes]:
    file = home / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))
    return read_agent_settings(str(home), {})


@pytest.mark.parametrize(
    ("name", "before", "same", "other"),
    [
        (
            ".claude.json",
            {"numStartups": 1, "projects": {"/repo": {"lastCost": 1}}},
            {"numStartups": 2, "projects": {"/x": {"lastCost": 2, "allowedTools": []}}},
            {"numStartups": 2, "projects": {"/repo": {"hasTrustDialogAccepted": True}}},
        ),
        (
            ".codex/auth.json",
            {"OPENAI_API_KEY": None, "tokens": {"access_token": "a", "account_id": "me"}},
            {"OPENAI_API_KEY": None, "tokens": {"access_token": "b", "account_id": "me"}},
            {"OPENAI_API_KEY": "sk-x", "tokens": {"access_token": "b", "account_id": "me"}},
        ),
        (
            ".local/share/opencode/auth.json",
            {"x": {"type": "oauth", "access": "a", "refresh": "a", "expires": 1}},
            {"x": {"type": "oauth", "access": "b", "refresh": "b", "expires": 2}},
            {"x": {"type": "oauth", "access": "b"}, "y": {"type": "api", "key": "sk-x"}},
        ),
        (".qwen/settings.json", {"a": 1}, {"a": 1, "$version": 3}, {"a": 1, "hooks": {"Stop": []}}),
    ],
)
def test_counters_and_renewed_logins_are_no_change_but_trust_and_keys_are(
    tmp_path: Path, name: str, before: Any, same: Any, other: Any
) -> None:
    first = read_json_settings(tmp_path, name, before)

    assert read_json_settings(tmp_path, name, same) == first
    assert read_json_settings(tmp_path, name, other) != first


@pytest.mark.parametrize("content", [{}, {"$schema": "x"}])
def test_a_new_file_that_sets_nothing_is_no_change(tmp_path: Path, content: Any) -> None:
    assert read_json_settings(tmp_path, ".config/opencode/opencode.json", content) == {}


@pytest.mark.full
@pytest.mark.spec("14.3", "16.13")
def test_a_key_in_an_agents_own_settings_is_reported_in_output_and_report(
    project: Project,
) -> None:
    home = project.folder / "own-home"
    home.mkdir()
    project.env |= {"HOME": str(home)}
    script = f"mkdir -p {home}/.continue; echo 'apiKey: x' > {home}/.continue/config.yaml"
    acts = [{"write": {"a.txt": "good\n"}}, {"run": ["sh", "-c", script]}]
    plan = a_plan({"a": [acts]}, [{"id": "a"}], {"ok": file_contains("a.txt")})

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 0, done.out + done.err
    for text in (done.out, project.query("report").out):
        assert "~/.continue/config.yaml" in "".join(text.split("\n")), text
