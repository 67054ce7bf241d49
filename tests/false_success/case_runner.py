"""Runs a case in a folder with a repository, a home and a temporary folder.

The program runs in a fork that has imported it already.  Afterwards home and temporary folder
are removed, and the oracle checks fresh clones.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.acceptance.forked_cli import call_yaoki
from tests.false_success.case import Asks, Case, Ending, Lands, NotDone, OnlyIfTrue, Refused, Task
from tests.false_success.oracle import assert_done_is_true
from tests.trusted_folders import trust_folder

SETTINGS = """\
[retry.default_backoff]
type = "fixed"
initial_delay_ms = 1

[limits]
parallel = 2
heartbeat_s = 0.5
lease_s = 60.0
hang_warning_s = 70.0
hang_s = 80.0
deadline_s = 90.0

[sandbox]
mode = "off"
"""
PROGRAMS = Path(__file__).parent / "programs"
# The agent of a task: the text of its attempt, or the last one there is.
ACT = 'f={folder}/$YAOKI_ATTEMPT.sh; [ -f "$f" ] || f={folder}/last.sh; . "$f"'


@dataclass(frozen=True)
class CaseResult:
    """The end of the last command of a case, and the status of its run."""

    code: int
    output: str
    status: Mapping[str, Any]
    journal: Sequence[Mapping[str, Any]]

    def state(self, name: str) -> str:
        found = [task["state"] for task in self.status.get("tasks", ()) if task["name"] == name]
        return found[0] if found else "none"

    def patterns(self, name: str) -> set[str]:
        """The patterns of all failures of the task in the journal."""
        ids = {task["id"] for task in self.status.get("tasks", ()) if task["name"] == name}
        decided = [e for e in self.journal if e["event"] in ("RETRY_DECISION", "ESCALATE_DECISION")]
        return {e["data"]["failure"].get("pattern", "") for e in decided if e["task"] in ids}

    def describe(self, name: str) -> str:
        """A description for the message of a failing test."""
        checks = [
            f"{e['data']['check']}={e['data']['outcome']}({e['data'].get('message', '')[:160]})"
            for e in self.journal
            if e["event"] == "CHECK_FINISHED"
        ]
        state = f"{name} {self.state(name)}, patterns {sorted(self.patterns(name))}"
        return f"exit {self.code}, {state}, {checks}\n{self.output}"


class CaseRunner:
    """A folder with a repository, a home and a temporary folder for one case."""

    def __init__(self, folder: Path, pycache: Path) -> None:
        self.folder, self.pycache = folder, pycache
        self.repo, self.home, self.tmp = folder / "repo", folder / "home", folder / "tmp"
        for made in (self.repo, self.home, self.tmp):
            made.mkdir()
        around = {
            n: v for n, v in os.environ.items() if not n.startswith(("YAOKI", "GIT_", "XDG_"))
        }
        path = f"{PROGRAMS}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        own = {"HOME": str(self.home), "TMPDIR": str(self.tmp), "PATH": path, "LANG": "C.UTF-8"}
        self.env = {**around, **own, "PYTHONPYCACHEPREFIX": str(pycache)}
        trust_folder(self.home / ".local" / "state" / "yaoki", folder)

    def sh(self, line: str) -> None:
        who = {"GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@localhost"}
        also = {"GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@localhost"}
        done = subprocess.run(
            ("sh", "-ec", line),
            cwd=self.repo,
            env={**self.env, **who, **also},
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr

    def set_up(self, case: Case) -> None:
        """Commit the files of the base and write the user's git settings."""
        (self.home / ".gitconfig").write_text(case.gitconfig)
        for path, text in {"yaoki.toml": SETTINGS + case.settings, **case.files}.items():
            file = self.repo / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            if text.startswith("#!"):
                file.chmod(0o755)
        config = "; ".join(f"git config {name} {value}" for name, value in case.git.items())
        begin = "git init -q -b main --template=; git add -A; git commit -qm base"
        self.sh(f"{begin}; {config or ':'}; {case.before or ':'}")

    def plan(self, case: Case) -> Path:
        tasks = case.tasks or (Task("work", case.acts, case.keys),)
        agents: dict[str, Any] = {}
        held = {
            "goal": "Truth",
            "checks": case.checks,
            "tasks": [self._task(task, agents) for task in tasks],
            **{key: self._filled(value, agents) for key, value in case.plan.items()},
        }
        file = self.folder / "plan.json"
        text = json.dumps({**held, **({"agents": agents} if agents else {})})
        file.write_text(text.replace("{pycache}", str(self.pycache)))
        return file

    def _task(self, task: Task, agents: dict[str, Any]) -> dict[str, Any]:
        keys = {key: self._filled(value, agents) for key, value in task.keys.items()}
        held = {"id": task.name, "goal": f"Do {task.name}.", "retry": {"max_retries": 0}, **keys}
        if keys.get("kind") in ("check", "group"):
            return {key: value for key, value in held.items() if key != "retry"}
        agents[task.name] = self._agent(task)
        return {"agent": task.name, **held}

    def _filled(self, value: Any, agents: dict[str, Any]) -> Any:
        """Tasks inside a value of the plan: a group's, or the final ones."""
        if isinstance(value, (list, tuple)):
            return [self._task(v, agents) if isinstance(v, Task) else v for v in value]
        return value

    def _agent(self, task: Task) -> dict[str, Any]:
        folder = self.folder / "acts" / task.name
        folder.mkdir(parents=True)
        acts = (task.acts,) if isinstance(task.acts, str) else task.acts
        for number, text in enumerate(acts, 1):
            (folder / f"{number}.sh").write_text(text)
        (folder / "last.sh").write_text(acts[-1])
        return {"command": ["sh", "-c", ACT.format(folder=folder)], "prompt": "argument"}

    def yaoki(self, *words: str) -> tuple[int, str, str]:
        return call_yaoki(words, self.repo, self.env)

    def run(self, case: Case) -> CaseResult:
        """Run the plan, then the commands that follow it."""
        self.set_up(case)
        code, out, err = self.yaoki("run", str(self.plan(case)), "--quiet")
        for words in case.then:
            if words[0] == "sh":
                self.sh(words[1])
            else:
                code, out, err = self.yaoki(*words)
        return self.read_result(code, out + err)

    def read_result(self, code: int, said: str) -> CaseResult:
        if not (self.repo / ".yaoki" / "state.db").exists():
            return CaseResult(code, said, {}, ())
        document = json.loads(self.yaoki("status", "--json")[1])
        if not document.get("run"):
            return CaseResult(code, said, {}, ())
        journal = json.loads(self.yaoki("trace", document["run"], "--json")[1])
        return CaseResult(code, said, document, journal["entries"])

    def check_oracle(self, case: Case) -> None:
        """Remove files outside git, then let the oracle confirm every DONE."""
        self.home.rename(self.folder / "home-of-before")
        self.tmp.rename(self.folder / "tmp-of-before")
        assert_done_is_true(
            self.repo,
            folder=self.folder,
            path=self.env["PATH"],
            prepare=case.prepare,
            truth=case.truth,
        )


def run_case(case: Case, case_runner: CaseRunner) -> CaseResult:
    """Run the case, let the oracle confirm every DONE, and compare the ending."""
    ended = case_runner.run(case)
    case_runner.check_oracle(case)
    guilty = case.guilty
    if guilty is None:
        guilty = case.tasks[-1].name if case.tasks else "work"
    assert_ending(case.ends, ended, guilty)
    return ended


def assert_ending(ends: Ending, ended: CaseResult, guilty: str) -> None:
    told = ended.describe(guilty)
    match ends:
        case Lands():
            assert ended.code == 0, f"honest work did not land: {told}"
            assert ended.status["status"] == "DONE", told
        case Refused():
            assert ended.code == 2, f"not refused: {told}"
            assert not ended.status, f"something was stored: {told}"
        case Asks(patterns):
            _assert_not_done(ended, guilty, told)
            assert ended.code == 4, f"nobody was asked: {told}"
            assert not patterns or patterns & ended.patterns(guilty), f"for another reason: {told}"
        case NotDone():
            _assert_not_done(ended, guilty, told)
        case OnlyIfTrue():
            assert ended.code in (0, 4), told


def _assert_not_done(ended: CaseResult, guilty: str, told: str) -> None:
    assert ended.code != 0, f"called a success: {told}"
    assert ended.code in (2, 3, 4, 5, 6), f"broken: {told}"
    assert ended.status.get("status") != "DONE", told
    assert not guilty or ended.state(guilty) != "DONE", f"the task is DONE: {told}"
