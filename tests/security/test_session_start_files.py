"""Files that start programs in a person's next session: a person looks, or the scope says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.acceptance.project import Project, a_plan, file_contains
from tests.adapters.agents.test_presets import an_attempt_request, preset_agent
from yaoki.adapters.workspace.protect.agent_settings import read_agent_settings
from yaoki.core.scope import session_paths

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("14.4", "6.5")]
FILES = (
    *(".claude/settings.json", ".codex/config.toml", ".gemini/settings.json", ".mcp.json"),
    *(".cursor/mcp.json", ".vscode/tasks.json", ".envrc", ".husky/pre-commit", ".githooks/x"),
    *("web/.claude/settings.local.json", "web/.vscode/tasks.json", ".Claude/settings.json"),
)


@pytest.mark.parametrize("path", FILES)
def test_a_session_start_file_is_allowed_only_by_a_scope_that_names_it(path: str) -> None:
    top = path.rpartition("/")[0] or path
    assert session_paths([path], ()) == (path,)
    assert session_paths([path], ("**",)) == (path,)
    assert session_paths([path], ("web/**", "*")) == (path,)
    assert session_paths([path], (path,)) == ()
    assert session_paths([path], (path, f"!{path}")) == (path,)
    if top.rpartition("/")[2] != ".vscode":
        assert session_paths([path], (top if top == path else f"{top}/**",)) == ()


def test_ordinary_files_are_no_session_start_files() -> None:
    files = ("claude/x.py", ".vscode/settings.json", "docs/.envrc.md", "husky/x", ".github/x.yml")
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
    "name", [".continue/config.yaml", ".codex/config.toml", ".cursor/mcp.json"]
)
def test_a_change_of_an_agents_own_settings_is_detected(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir()
    file.write_text("a = 1\n")
    before = read_agent_settings(tmp_path, {})
    file.write_text('a = 1\n[projects."/repo"]\ntrust_level = "trusted"\n')

    assert read_agent_settings(tmp_path, {}) != before
