"""A repository for one test in which `yaoki` runs, and plans for its scripted agent."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.acceptance.forked_cli import call_yaoki
from tests.adapters.store.server import a_database
from tests.adapters.store.store_actions import StoreLocation, run_sql
from tests.trusted_folders import trust_folder

SETTINGS = """\
[retry.default_backoff]
initial_delay_ms = 20
max_delay_ms = 40

[limits]
parallel = 2
heartbeat_s = 0.5
lease_s = 10.0
hang_warning_s = 20.0
hang_s = 30.0
deadline_s = 180.0
"""
# Time limits that even a slow machine does not reach.
PATIENT = re.sub(r"(lease|hang_warning|hang|deadline)_s = (\d+)", r"\1_s = \g<2>0", SETTINGS)
GIT_IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@localhost")
# Ten times what any command takes, and less than the timeout of a test.
BOUND_S = 90
# For checks that run pytest: the plugins of our own environment take half of its start-up.
WITHOUT_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
# Set by --installed: every command starts the installed program.
INSTALLED = "TESTS_INSTALLED"
# Variables that affect the start of an interpreter; a fork does not start one.
INTERPRETER_VARIABLES = ("PYTHON", "LANG", "LC_")


@dataclass(frozen=True)
class Completed:
    """How one call of the program ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on standard output."""
        held: dict[str, Any] = json.loads(self.out)
        return held


def a_plan(
    script: Mapping[str, Any],
    tasks: Sequence[Mapping[str, Any]],
    checks: Mapping[str, Any],
    **more: Any,
) -> dict[str, Any]:
    """`script` maps a task to the acts of each attempt."""
    actor = {"preset": "scripted", "options": {"scenario": {"tasks": script}}}
    held = [{"goal": f"Do {task['id']}.", **task} for task in tasks]
    base = {"goal": "Rehearse", "agents": {"actor": actor}, "agent": "actor", "checks": checks}
    return {**base, "tasks": held, **more}


def writes(path: str, text: str = "good\n") -> list[Any]:
    return [{"write": {path: text}}]


def waits_for(marker: Path) -> dict[str, Any]:
    """An act that continues when the file exists, or fails after a time that no test reaches."""
    loop = f"for i in $(seq 2400); do test -f {marker} && exit 0; sleep 0.05; done; exit 1"
    return {"run": ["sh", "-c", loop]}


def remaining_output(process: subprocess.Popen[str]) -> str:
    """The remaining output after some lines were read: `communicate` would lose buffered text."""
    assert process.stdout is not None
    with process.stdout as out:
        said = out.read()
    process.wait(BOUND_S)
    return said


def file_contains(path: str, text: str = "good") -> dict[str, Any]:
    """A check that the file contains the line; its output names the file if not."""
    words = f"{path} does not hold {text}"
    return {"shell": f"grep -qx '{text}' {path} || {{ echo '{words}'; exit 1; }}"}


def tap_script(**tests: str) -> str:
    """A shell script that runs each command as a test and prints TAP; cheaper than an interpreter.

    yaoki reads the names of the tests from it as from any other runner.
    """
    points = (
        f"if {command}; then echo 'ok - {name}'; else echo 'not ok - {name}'; bad=1; fi"
        for name, command in tests.items()
    )
    return "\n".join((f"echo 1..{len(tests)}", *points, "exit ${bad:-0}\n"))


@dataclass(frozen=True)
class Stores:
    """Creates stores; without a server each is a file of its repository."""

    server: str = ""

    @contextmanager
    def new(self, like: str = "") -> Iterator[str]:
        """The URL of an empty store, or of a copy of an unused one; "" means the file."""
        if not self.server:
            yield ""
            return
        template = urlsplit(like).path.strip("/") or "template0"
        with a_database(self.server, template) as url:
            yield url


class Project:
    """A repository with fast settings, and `yaoki` called inside it."""

    # Commands of another user start with the command that changes the user.
    prefix: tuple[str, ...] = ()
    python: str = sys.executable

    def __init__(self, folder: Path, pycache: Path, store: str = "") -> None:
        self.folder, self.repo, self.home = folder, folder / "repo", folder / "home"
        self.store = store
        self._started: list[subprocess.Popen[str]] = []
        # Compiled once for all tests, and not into the source tree.
        drop = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "YAOKI_CONFIG", "NO_COLOR")
        around = {name: value for name, value in os.environ.items() if name not in drop}
        own = {"YAOKI_HOME": str(self.home), "PYTHONPYCACHEPREFIX": str(pycache)}
        self.env = {**around, **own}
        if not self.repo.exists():
            self._create()

    def _create(self) -> None:
        self.repo.mkdir()
        # The folder belongs to the test; trust itself has its own tests.
        trust_folder(self.home, self.folder)
        self.git("init", "-q", "-b", "main")
        (self.repo / "README").write_text("hello\n")
        self.settings(SETTINGS)
        self.git("add", "-A")
        self.git(*GIT_IDENTITY, "commit", "-qm", "begin")

    def settings(self, text: str) -> None:
        """Write the settings; the store's line comes first, before any table."""
        line = f'store = {{url = "{self.store}"}}\n' if self.store else ""
        (self.repo / "yaoki.toml").write_text(line + text)

    @property
    def database(self) -> StoreLocation:
        return self.store or self.repo / ".yaoki" / "state.db"

    def has_store(self) -> bool:
        """Does the store exist: its file, or a table in its database?"""
        if isinstance(self.database, Path):
            return self.database.exists()
        return bool(run_sql(self.database, "SELECT 1 FROM pg_tables WHERE schemaname = 'public'"))

    def store_bytes(self) -> int:
        """The size of the store in bytes."""
        if isinstance(self.database, Path):
            return self.database.stat().st_size
        ours = "FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        ((size,),) = run_sql(self.database, f"SELECT sum(pg_total_relation_size(oid)) {ours}")
        return int(size)

    def git(self, *words: str) -> str:
        done = subprocess.run(
            (*self.prefix, "git", *words),
            cwd=self.repo,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def plan(self, held: Mapping[str, Any], name: str = "plan.json") -> str:
        file = self.folder / name
        file.write_text(json.dumps(held))
        return str(file)

    def yaoki(
        self, *words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> Completed:
        around = {**self.env, **(env or {})}
        if INSTALLED not in os.environ and _has_same_interpreter_variables(around):
            return Completed(*call_yaoki(words, cwd or self.repo, around))
        done = subprocess.run(
            (sys.executable, "-m", "yaoki", *words),
            cwd=cwd or self.repo,
            env=around,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            check=False,
        )
        return Completed(done.returncode, done.stdout, done.stderr)

    def yaoki_reading(self, stdin: Path, *words: str) -> Completed:
        """Like `yaoki`, with the file as its standard input."""
        if INSTALLED not in os.environ and _has_same_interpreter_variables(self.env):
            return Completed(*call_yaoki(words, self.repo, self.env, stdin))
        with stdin.open() as told:
            done = subprocess.run(
                (sys.executable, "-m", "yaoki", *words),
                cwd=self.repo,
                env=self.env,
                stdin=told,
                capture_output=True,
                text=True,
                timeout=BOUND_S,
                check=False,
            )
        return Completed(done.returncode, done.stdout, done.stderr)

    def start(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            (sys.executable, "-m", "yaoki", *words),
            cwd=self.repo,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._started.append(process)
        return process

    @contextmanager
    def beside(self, *words: str, cwd: Path | None = None) -> Iterator[Future[Completed]]:
        """A command that runs beside the block, which must let it end; `start` is for one that
        gets signals or whose lines are read.
        """
        with ThreadPoolExecutor(1) as pool:
            yield pool.submit(self.yaoki, *words, cwd=cwd)

    def end_started(self) -> None:
        """Else a failed test leaves a program and its pipe, and the next one is blamed for them."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
                process.wait(BOUND_S)
            if process.stdout is not None:
                process.stdout.close()

    def query(self, *words: str) -> Completed:
        """Like `yaoki`, for read-only commands: never starts the installed program."""
        return Completed(*call_yaoki(words, self.repo, self.env))

    def status(self, *words: str) -> dict[str, Any]:
        return self.query("status", *words, "--json").document

    def task(self, name: str) -> dict[str, Any]:
        tasks: list[dict[str, Any]] = self.status()["tasks"]
        found = [task for task in tasks if task["name"] == name]
        assert found, f"no task {name!r}; there are {', '.join(task['name'] for task in tasks)}"
        return found[0]

    def events(self, *words: str) -> list[dict[str, Any]]:
        """The journal of a task or a run, oldest first; empty before the first run."""
        document = self.query("trace", *words, "--json").document
        held: list[dict[str, Any]] = document.get("entries", [])
        return held

    def event_names(self, *words: str) -> list[str]:
        return [entry["event"] for entry in self.events(*words)]

    def prompt(self, task: Mapping[str, Any], attempt: int) -> str:
        """The prompt of the attempt."""
        task_id = str(task["id"])
        home = self.repo / ".yaoki" / "runs" / task_id.partition("-")[0] / task_id
        return (home / str(attempt) / "prompt.md").read_text()

    def show(self, branch: str, path: str) -> str:
        return self.git("show", f"{branch}:{path}")


def _has_same_interpreter_variables(env: Mapping[str, str]) -> bool:
    """Would an interpreter with these variables start like the one that is forked?"""
    names = {name for name in {*env, *os.environ} if name.startswith(INTERPRETER_VARIABLES)}
    names -= {"PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}
    return all(env.get(name) == os.environ.get(name) for name in names)


def wait_until(holds: Callable[[], object], what: str, bound_s: float = BOUND_S) -> None:
    """Poll, bounded; a question that starts a program is asked less often than one to a file."""
    give_up = time.monotonic() + bound_s
    asked = time.monotonic()
    while not holds():
        answered = time.monotonic()
        assert answered < give_up, f"still not: {what}"
        time.sleep(min(max(0.05, 8 * (answered - asked)), 0.5))
        asked = time.monotonic()
