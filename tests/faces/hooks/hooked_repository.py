"""A repository with a check, and simulated agents that call the hook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.acceptance.forked_cli import call_yaoki
from tests.acceptance.project import GIT_IDENTITY, INSTALLED, Project
from yaoki.app.build import App
from yaoki.faces.cli.commands.hook import session_status_document
from yaoki.faces.hooks.sessions import begin_phase, list_sessions

CHECK = """
[checks.good]
shell = "grep -qx good a.txt || { echo 'a.txt does not hold good'; exit 1; }"
rerun = false
"""
HANG = """
[checks.hang]
shell = "echo $$ > ../pid; sleep 600; test -f a.txt"
"""
BOUND_S = 60


class HookedProject(Project):
    """A repository whose one check needs `good` in a.txt, and agents that call the hook."""

    def __init__(self, folder: Path, pycache: Path) -> None:
        super().__init__(folder, pycache)
        self.configure(CHECK)
        self.write_work("bad\n")
        self.git("add", "-A")
        self.git(*GIT_IDENTITY, "commit", "-qm", "a check")

    def configure(self, text: str) -> None:
        (self.repo / "yaoki.toml").write_text(text)

    def write_work(self, text: str) -> None:
        (self.repo / "a.txt").write_text(text)

    def popen(
        self, *words: str, agent: str = "claude-code", cwd: Path | None = None, **more: Any
    ) -> subprocess.Popen[bytes]:
        argv = (sys.executable, "-m", "yaoki", "hook", "event", agent, *words)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(argv, cwd=cwd or self.repo, **{"env": self.env, **pipes, **more})

    def call(
        self,
        said: bytes | Mapping[str, Any],
        *words: str,
        agent: str = "claude-code",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> dict[str, Any]:
        """The answer of the hook: exactly one JSON object, and exit code 0."""
        raw = said if isinstance(said, bytes) else json.dumps(said).encode()
        environ = {**self.env, **(env or {})}
        if INSTALLED in os.environ:
            process = self.popen(*words, agent=agent, cwd=cwd, env=environ)
            out, err = (each.decode() for each in process.communicate(raw, timeout=BOUND_S))
            code = process.returncode
        else:
            file = self.folder / "hook-input"
            file.write_bytes(raw)
            argv = ("hook", "event", agent, *words)
            code, out, err = call_yaoki(argv, cwd or self.repo, environ, file)
        assert code == 0, err
        document: dict[str, Any] = json.loads(out)
        return document

    def stop(self, session: str = "s1", *words: str, **more: Any) -> dict[str, Any]:
        hook_input = {
            "session_id": session,
            "hook_event_name": "Stop",
            "cwd": str(self.repo),
            **more,
        }
        return self.call(hook_input, *words)

    def send_prompt(self, text: str, session: str = "s1") -> dict[str, Any]:
        hook_input = {"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": text}
        return self.call({**hook_input, "cwd": str(self.repo)})

    def session(self, key: str = "s1") -> dict[str, Any]:
        """The state of a session in `yaoki hook status`; empty for an unknown one."""
        with closing(App(self.repo, create=True)) as app:
            found = (one for one in list_sessions(app)[1] if one.key == key)
            return next((session_status_document(one) for one in found), {})

    def start_phase(self, number: int) -> None:
        """Start a phase with this many attempts."""
        with closing(App(self.repo, create=True)) as app:
            begin_phase(app, "p", "", number)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def context(answer: Mapping[str, Any]) -> str:
    held: dict[str, str] = answer.get("hookSpecificOutput", {})
    return held.get("additionalContext", "")
