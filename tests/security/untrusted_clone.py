"""A clone of an untrusted repository whose commands each leave a marker file."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from tests.acceptance.project import GIT_IDENTITY, Project
from tests.trusted_folders import trust_folder

STOP = {"hook_event_name": "Stop", "session_id": "s-1"}
TESTS = "from pathlib import Path\nPath({mark!r}).touch()\n\n\ndef test_it():\n    pass\n"
REGISTRY = Path(__file__).parents[1] / "fixtures" / "registry" / "steps_registry.json"
PLAYBOOK = Path(__file__).parents[1] / "fixtures" / "playbook" / "playbook-auto-retry.md"


class UntrustedClone(Project):
    """A clone that the user has not trusted."""

    def __init__(self, folder: Path, pycache: Path) -> None:
        self.folder, self.repo, self.home = folder, folder / "clone", folder / "home"
        self.marks_folder, self.store = folder / "ran", ""
        self.marks_folder.mkdir()
        self._started = []
        drop = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "NO_COLOR")
        around = {
            name: value
            for name, value in os.environ.items()
            if name not in drop and not name.startswith("YAOKI")
        }
        own = {"YAOKI_HOME": str(self.home), "PYTHONPYCACHEPREFIX": str(pycache)}
        self.env = {**around, **own}

    def mark(self, name: str) -> str:
        return str(self.marks_folder / name)

    @property
    def marks(self) -> set[str]:
        """The names of the commands that ran."""
        return {file.name for file in self.marks_folder.iterdir()}

    def settings_text(self, check: str = "check") -> str:
        mark = self.mark
        return f"""\
agent = "worker"
planner = "worker"
[agents.worker]
command = ["sh", "-c", "touch {mark("agent")}; echo good > a.txt"]
[checks.own]
run = ["touch", "{mark(check)}"]
[notify]
command = ["touch", "{mark("notify")}"]
"""

    def a_plan(self, **more: Any) -> dict[str, Any]:
        acts = f"touch {self.mark('agent')}; echo good > a.txt"
        return {
            "agents": {"brought": {"command": ["sh", "-c", acts]}},
            "agent": "brought",
            "goal": "Take me along",
            "setup": [["touch", self.mark("setup")]],
            "checks": {"good": {"shell": f"touch {self.mark('plan-check')}; test -f a.txt"}},
            "tasks": [{"id": "a", "goal": "Do it."}],
            **more,
        }

    def write(self, path: str, text: str) -> Path:
        file = self.repo / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def create(self, *, store: bool = True, settings: bool = True) -> None:
        """Create the upstream repository at the same path, with its store, and clone it."""
        self.repo.mkdir()
        self.git("init", "-q", "-b", "main")
        if settings:
            self.write("yaoki.toml", self.settings_text())
        self.write("plan.json", json.dumps(self.a_plan()))
        self.write("tests/test_it.py", TESTS.format(mark=self.mark("tests")))
        self.write("steps_registry.json", REGISTRY.read_text())
        self.write("playbook-auto-retry.md", PLAYBOOK.read_text())
        self.write("README", "hello\n")
        hook = {"hooks": [{"type": "command", "command": f"touch {self.mark('claude-hook')}"}]}
        self.write(".claude/settings.json", json.dumps({"hooks": {"Stop": [hook]}}))
        self.commit("begin")
        if store:
            self._commit_store()
        bare = self.folder / "upstream.git"
        self.git("clone", "-q", "--bare", ".", str(bare))
        shutil.rmtree(self.repo)
        self.repo.mkdir()
        self.git("clone", "-q", str(bare), ".")
        assert self.marks == set()

    def _commit_store(self) -> None:
        elsewhere = self.folder / "stranger"
        trust_folder(elsewhere, self.folder)
        submit = ("plan", "submit", "plan.json")
        done = self.yaoki(*submit, env={"YAOKI_HOME": str(elsewhere)})
        assert done.code == 0, done
        words = ".yaoki/prompts/en/steps/retry/issue/f_failed_test-failed.md"
        self.write(words, "Mend it.\n")
        self.git("add", "-f", ".yaoki")
        self.commit("a store")

    def commit(self, words: str) -> None:
        self.git("add", "-A")
        self.git(*GIT_IDENTITY, "commit", "-qm", words)

    @property
    def trusted(self) -> dict[str, Any]:
        file = self.home / "trust" / "trusted.json"
        document: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"places": {}}
        return document
