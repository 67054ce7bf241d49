"""A repository to run the installed program in, and plans for a no-op agent."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import noop
from benchmarks.crew import environment
from benchmarks.place import python
from yaoki.ports import JournalEntry

WHO = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
# A no-op for an agent: without any change there would be nothing to land.
AGENT = ("sh", "-c", 'echo good > "$YAOKI_TASK_NAME.txt"')
BOUND_S = 300


class Repository:
    """One commit, settings, and `yaoki` called inside it."""

    def __init__(self, folder: Path, settings: str = "") -> None:
        self.folder, self.top = folder, folder / "repo"
        self.top.mkdir()
        self.env = {**environment(), "YAOKI_HOME": str(folder / "home")}
        self.git("init", "-q", "-b", "main")
        (self.top / "README").write_text("hello\n")
        (self.top / "yaoki.toml").write_text(settings)
        self.git("add", "-A")
        self.git(*WHO, "commit", "-qm", "begin")
        # As a person does with a folder of their own.
        self.yaoki("trust", "--below", str(folder))

    def git(self, *words: str, at: Path | None = None) -> str:
        done = subprocess.run(
            ("git", *words), cwd=at or self.top, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def plan(self, tasks: int, agent: Sequence[str] = AGENT, check: str = "") -> str:
        """Independent tasks; unless a shell line is given, the one check costs no process."""
        quick = {"file": {"path": "README", "exists": True}}
        held = {
            "goal": "Benchmark",
            "agents": {"noop": {"command": list(agent)}},
            "agent": "noop",
            "checks": {"there": {"shell": check} if check else quick},
            "tasks": [{"id": f"t{n}", "goal": "Do nothing."} for n in range(tasks)],
        }
        file = self.folder / "plan.json"
        file.write_text(json.dumps(held))
        return str(file)

    def command(self, *words: str) -> tuple[str, ...]:
        return (python(), "-m", "yaoki", *words)

    def yaoki(self, *words: str) -> str:
        done = subprocess.run(
            self.command(*words),
            cwd=self.top,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"yaoki {words[0]} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def journal(self) -> list[JournalEntry]:
        """Every line of the store of this repository."""
        store = noop.opened(str(self.top / ".yaoki" / "state.db"))
        try:
            return store.journal(limit=100_000)
        finally:
            store.close()

    def document(self, *words: str) -> Mapping[str, Any]:
        held: dict[str, Any] = json.loads(self.yaoki(*words, "--json"))
        return held
