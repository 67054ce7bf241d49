"""The real agents that `python3 dev.py agents` installs, each configured for a scripted model."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.scripted_model.turns import Step, Turn, say, shell, write
from tests.tools.agents.install import FIRST_HOME, pinned_version

HOME = Path(__file__).parents[2] / ".venv" / "agents"
# Node.js keeps here what it compiled: a start costs these programs half as much.
COMPILED = HOME / "compiled"
NEW_NODE = HOME / "pi" / "node_modules" / ".bin"
# The programs that this session tries, separated by blanks; empty for all.
SELECTION = "YAOKI_TEST_PROGRAMS"
LEFT_OUT = "left to: python3 dev.py real"
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


@dataclass(frozen=True, slots=True)
class Program:
    """How one program is found, and what it needs in its home to talk to the scripted model.

    `files` are written below its home; `{url}` in them and in `env` is the address of the model.
    With `compiled` it runs by the newer Node.js that another program brings, if that is installed,
    because only that one can keep compiled code.
    """

    name: str
    file: str
    model: str = "scripted"
    path: str = "/v1"
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Any] = field(default_factory=dict)
    base_url: bool = True
    compiled: bool = False

    @property
    def program(self) -> Path:
        return HOME / self.file

    @property
    def package(self) -> str:
        """The name under which it is pinned and installed."""
        return self.file.partition("/")[0]

    @property
    def has_tools(self) -> bool:
        """False if it edits by the text of its model's answers."""
        return self.name != "aider"

    def _node(self) -> dict[str, str]:
        """The variables with which it finds its Node.js; some bring a newer one."""
        folder = NEW_NODE if self.compiled else self.program.parent
        if not (folder / "node").exists():
            return {}
        keeps = {"NODE_COMPILE_CACHE": str(COMPILED)} if self.compiled else {}
        return {"PATH": f"{folder}:{os.environ['PATH']}", **keeps}

    def agent(self, url: str, home: Path) -> dict[str, Any]:
        """The agent as a plan names it; prepares its home."""
        address = f"{url}{self.path}"
        first = HOME / self.package / FIRST_HOME
        if first.exists() and not any(home.iterdir()):
            shutil.copytree(first, home, dirs_exist_ok=True)
        for name, content in self.files.items():
            file = home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            text = content if isinstance(content, str) else json.dumps(content)
            file.write_text(text.replace("{url}", address), encoding="utf-8")
        options = {"program": str(self.program)}
        if self.base_url:
            options["base_url"] = address
        # Some write crash reports to the temporary folder.
        temporary = home / "tmp"
        temporary.mkdir(exist_ok=True)
        own = {name: value.replace("{url}", address) for name, value in self.env.items()}
        env = {"HOME": str(home), "TMPDIR": str(temporary), **self._node(), **own}
        return {"preset": self.name, "model": self.model, "options": options, "env": env}

    def wrote(self, path: str, content: str) -> tuple[Step, ...]:
        """The turns in which this program writes a file and ends."""
        if not self.has_tools:
            return (say(f"{path}\n```\n{content}```\n"),)
        last = shell(SUBMIT) if self.name == "mini-swe-agent" else say("Done.")
        return write(path, content), last

    def ran(self, command: str) -> tuple[Turn, ...]:
        """The turns in which it runs a command and ends."""
        return shell(command), shell(SUBMIT) if self.name == "mini-swe-agent" else say("Done.")


def needed(name: str, *, is_selected: bool = False) -> Program:
    """The program; skips the test if it is not installed, but fails on a build server.

    `is_selected`: whatever the selection says.
    """
    if why := missing_reason(name, is_selected=is_selected):
        words = f"{name} is not installed here: {why}"
        if os.environ.get("CI") and why != LEFT_OUT:
            pytest.fail(words)
        pytest.skip(words)
    return PROGRAMS[name]


def missing_reason(name: str, *, is_selected: bool = False) -> str:
    """The reason why a program is not tried; empty if it is."""
    selected = os.environ.get(SELECTION, "").split()
    if selected and name not in selected and not is_selected:
        return LEFT_OUT
    if PROGRAMS[name].program.exists():
        return ""
    note = HOME / f"{PROGRAMS[name].package}.missing"
    return note.read_text(encoding="utf-8") if note.exists() else "python3 dev.py agents"


def version(name: str) -> str:
    """The version that is pinned for the tests."""
    return pinned_version(PROGRAMS[name].package)


def environ() -> dict[str, str]:
    """The environment of a worker, with invalid keys."""
    return {
        "PATH": os.environ["PATH"],
        "IS_SANDBOX": "1",
        "ANTHROPIC_API_KEY": "sk-ant-scripted-key",
        "OPENAI_API_KEY": "sk-scripted-key",
        "GEMINI_API_KEY": "scripted-key",
    }


_PI = {
    "providers": {
        "yaoki": {
            "baseUrl": "{url}",
            "api": "openai-completions",
            "apiKey": "OPENAI_API_KEY",
            "models": [{"id": "scripted"}],
        }
    }
}
_GEMINI = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "general": {"maxAttempts": 2},
}
# Both would start themselves again, only to allow themselves more memory.
_GEMINI_STARTS_ONCE = {"GEMINI_CLI_NO_RELAUNCH": "true"}
_QWEN_STARTS_ONCE = {"QWEN_CODE_NO_RELAUNCH": "true"}
_QWEN = {"security": {"auth": {"selectedType": "openai"}}}
_VIBE = """\
active_model = "scripted"
enable_update_checks = false
enable_telemetry = false

[[providers]]
name = "yaoki"
api_base = "{url}"
api_key_env_var = "OPENAI_API_KEY"
api_style = "openai"
backend = "generic"

[[models]]
name = "scripted"
provider = "yaoki"
alias = "scripted"
input_price = 1.0
output_price = 2.0
"""
_VIBE_RETRIES = {"VIBE_API_RETRY_MAX_ELAPSED_TIME": "3"}
# YAML, of which JSON is a part.
_CONTINUE = {
    "name": "scripted",
    "version": "1.0.0",
    "schema": "v1",
    "models": [
        {
            "name": "scripted",
            "provider": "openai",
            "model": "scripted",
            "apiBase": "{url}",
            "apiKey": "sk-scripted-key",
            "roles": ["chat"],
        }
    ],
}
# It offers only the models that it knows, so the name is given here.
_CODEX = {
    "model": "scripted",
    "model_provider": "yaoki",
    "model_providers": {
        "yaoki": {
            "name": "yaoki",
            "base_url": "{url}",
            "env_key": "OPENAI_API_KEY",
            "wire_api": "responses",
            "request_max_retries": 0,
            "stream_max_retries": 1,
        }
    },
}
# Without network it would wait for a download.
_OPENCODE = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
PROGRAMS: Mapping[str, Program] = {
    held.name: held
    for held in (
        Program(
            "claude",
            "claude/node_modules/.bin/claude",
            model="claude-sonnet-4-5",
            path="",
            env={"CLAUDE_CODE_MAX_RETRIES": "1"},
        ),
        Program("codex", "codex/node_modules/.bin/codex"),
        Program(
            "gemini",
            "gemini/node_modules/.bin/gemini",
            model="gemini-2.5-pro",
            path="",
            env=_GEMINI_STARTS_ONCE,
            files={".gemini/settings.json": _GEMINI},
            compiled=True,
        ),
        Program("opencode", "opencode/node_modules/.bin/opencode", env=_OPENCODE),
        Program("opencode-acp", "opencode/node_modules/.bin/opencode", env=_OPENCODE),
        Program(
            "gemini-acp",
            "gemini/node_modules/.bin/gemini",
            model="gemini-2.5-pro",
            path="",
            env=_GEMINI_STARTS_ONCE,
            files={".gemini/settings.json": _GEMINI},
            compiled=True,
        ),
        Program(
            "pi",
            "pi/node_modules/.bin/pi",
            model="yaoki/scripted",
            files={".pi/agent/models.json": _PI},
            base_url=False,
        ),
        Program(
            "mini-swe-agent",
            "mini-swe-agent/bin/mini",
            env={"MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "1"},
        ),
        # Without a name it writes one into the repository, in which others start at the same time.
        Program(
            "aider",
            "aider/bin/aider",
            env={"AIDER_EDIT_FORMAT": "whole"},
            files={".gitconfig": "[user]\n\tname = t\n\temail = t@localhost\n"},
        ),
        Program(
            "qwen",
            "qwen/node_modules/.bin/qwen",
            env=_QWEN_STARTS_ONCE,
            files={".qwen/settings.json": _QWEN},
            compiled=True,
        ),
        Program(
            "qwen-acp",
            "qwen/node_modules/.bin/qwen",
            model="",
            env={"OPENAI_MODEL": "scripted", **_QWEN_STARTS_ONCE},
            files={".qwen/settings.json": _QWEN},
            compiled=True,
        ),
        Program(
            "vibe",
            "vibe/bin/vibe",
            model="",
            env=_VIBE_RETRIES,
            files={".vibe/config.toml": _VIBE},
            base_url=False,
        ),
        Program(
            "vibe-acp",
            "vibe/bin/vibe-acp",
            model="",
            env=_VIBE_RETRIES,
            files={".vibe/config.toml": _VIBE},
            base_url=False,
        ),
        Program(
            "copilot",
            "copilot/node_modules/.bin/copilot",
            env={"COPILOT_PROVIDER_API_KEY": "sk-scripted-key"},
        ),
        Program(
            "continue",
            "continue/node_modules/.bin/cn",
            model="",
            files={".continue/config.yaml": _CONTINUE},
            compiled=True,
            base_url=False,
        ),
        Program("gptme", "gptme/bin/gptme"),
        Program(
            "openhands",
            "openhands/bin/openhands",
            model="",
            env={"LLM_MODEL": "openai/scripted", "LLM_API_KEY": "sk-scripted-key"},
        ),
        Program(
            "claude-acp",
            "claude-acp/node_modules/.bin/claude-agent-acp",
            model="",
            path="",
            env={"CLAUDE_CODE_MAX_RETRIES": "1"},
        ),
        Program(
            "codex-acp",
            "codex-acp/node_modules/.bin/codex-acp",
            model="",
            env={"CODEX_CONFIG": json.dumps(_CODEX)},
        ),
    )
}
