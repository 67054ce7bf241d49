"""The real agents that `python3 dev.py agents` installs, each configured for a scripted model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.scripted_model.turns import Step, Turn, say, shell, write

HOME = Path(__file__).parents[2] / ".venv" / "agents"
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


@dataclass(frozen=True, slots=True)
class Program:
    """How one program is found, and what it needs in its home to talk to the scripted model.

    `files` are written below its home; `{url}` in them is the address of the model.
    """

    name: str
    file: str
    model: str = "scripted"
    path: str = "/v1"
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Any] = field(default_factory=dict)
    base_url: bool = True

    @property
    def program(self) -> Path:
        return HOME / self.file

    def agent(self, url: str, home: Path) -> dict[str, Any]:
        """The agent as a plan names it; prepares its home."""
        address = f"{url}{self.path}"
        for name, content in self.files.items():
            file = home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(content).replace("{url}", address), encoding="utf-8")
        options = {"program": str(self.program)}
        if self.base_url:
            options["base_url"] = address
        # Some write crash reports to the temporary folder.
        temporary = home / "tmp"
        temporary.mkdir(exist_ok=True)
        env = {"HOME": str(home), "TMPDIR": str(temporary), **self.env}
        return {"preset": self.name, "model": self.model, "options": options, "env": env}

    def wrote(self, path: str, content: str) -> tuple[Step, ...]:
        """The turns in which this program writes a file and ends."""
        if self.name == "aider":
            return (say(f"{path}\n```\n{content}```\n"),)
        last = shell(SUBMIT) if self.name == "mini-swe-agent" else say("Done.")
        return write(path, content), last

    def ran(self, command: str) -> tuple[Turn, ...]:
        """The turns in which it runs a command and ends."""
        return shell(command), shell(SUBMIT) if self.name == "mini-swe-agent" else say("Done.")


def needed(name: str) -> Program:
    """The program; skips the test if it is not installed, but fails on a build server."""
    held = PROGRAMS[name]
    if not held.program.exists():
        words = f"{name} is not installed here: python3 dev.py agents"
        if os.environ.get("CI"):
            pytest.fail(words)
        pytest.skip(words)
    return held


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
            files={".gemini/settings.json": _GEMINI},
        ),
        Program("opencode", "opencode/node_modules/.bin/opencode", env=_OPENCODE),
        Program("opencode-acp", "opencode/node_modules/.bin/opencode", env=_OPENCODE),
        Program(
            "gemini-acp",
            "gemini/node_modules/.bin/gemini",
            model="gemini-2.5-pro",
            path="",
            files={".gemini/settings.json": _GEMINI},
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
        Program("aider", "aider/bin/aider", env={"AIDER_EDIT_FORMAT": "whole"}),
    )
}
