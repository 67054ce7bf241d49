"""The demo: start the run, kill its worker in the middle, continue, and check the result."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from yaoki.adapters.processes.child_processes import ChildProcess
from yaoki.adapters.processes.command import run_command
from yaoki.adapters.system.clock import SystemClock
from yaoki.errors import NotNow, YaokiError
from yaoki.faces.demo import sample_repository
from yaoki.faces.demo.story import JournalTail, Narrator, emphasize
from yaoki.faces.text.render import align_columns, print_line

EXPECTED_EXIT = 4
LANDING_TASKS = ("greet", "add", "words", "clock", "price", "teal", "rose", "night")
ASKING_TASK = "logo"
BLOCKED_TASK = "poster"
ACTOR = "scripted"


@click.command()
@click.option(
    "--folder", type=click.Path(path_type=Path), help="The folder to use; it must be empty."
)
def command(folder: Path | None) -> int:
    """Watch agents fail and recover, in a throwaway repository.

    Scripted agents play the failures; no key and no network is needed.
    """
    home = _require_empty(folder) if folder else Path(tempfile.mkdtemp(prefix="yaoki-demo-"))
    return DemoPlay(home).play()


def _require_empty(folder: Path) -> Path:
    """The folder, created if needed; a folder with files is refused."""
    home = folder.absolute()
    try:
        home.mkdir(parents=True, exist_ok=True)
        entry = next(home.iterdir(), None)
    except OSError as fault:
        reason = (fault.strerror or str(fault)).lower()
        hint = "name a new folder, or none to create one"
        raise YaokiError(f"the demo cannot use {home}: {reason}", hint=hint) from fault
    if entry is not None:
        hint = "name a new folder, or none to create one"
        raise NotNow(f"{home} is not empty: it holds {entry.name}", hint=hint)
    return home


class DemoPlay:
    """Runs the demo and prints each event as it happens."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._repo = home / "library"
        self._env = {**os.environ, "YAOKI_HOME": str(home / "state"), "PYTHONUNBUFFERED": "1"}
        self._journal = JournalTail(self._repo / ".yaoki" / "journal")
        self._clock = SystemClock()
        self._began = self._clock.now()

    def play(self) -> int:
        plan = sample_repository.write_repository(self._home)
        self._print_cast()
        telling = Narrator(self._seconds)
        self._run_until_kill(plan, telling)
        code = self._resume(telling)
        wrong = self._find_differences(code)
        self._print_end(wrong)
        return 1 if wrong else 0

    def _seconds(self) -> float:
        return (self._clock.now() - self._began).total_seconds()

    def _run_until_kill(self, plan: Path, telling: Narrator) -> None:
        """Until the agent of `night` is active; then its worker is killed."""
        worker = self._yaoki("run", str(plan))
        try:
            for _ in self._read_entries(worker, telling):
                if telling.has_begun("night"):
                    break
        finally:
            worker.kill()
            worker.wait()
        print_line()
        print_line(
            emphasize(f"  kill -9 {worker.pid}: the worker is killed. Its agents keep running.")
        )
        print_line(
            emphasize(
                "  yaoki resume: the new worker finds them; nothing is lost, nothing is done twice."
            )
        )
        print_line()

    def _resume(self, telling: Narrator) -> int:
        worker = self._yaoki("resume")
        try:
            for _ in self._read_entries(worker, telling):
                pass
            return worker.wait()
        finally:
            worker.kill()

    def _read_entries(self, worker: ChildProcess, telling: Narrator) -> Iterator[None]:
        """When the worker prints a line, the journal already has its entry."""
        for _ in worker.lines():
            self._narrate(telling)
            yield
        self._narrate(telling)

    def _narrate(self, telling: Narrator) -> None:
        for entry in self._journal.read_new():
            telling.add_entry(entry)

    def _yaoki(self, *words: str) -> ChildProcess:
        # Nothing is imported from the repository, whatever its modules are called.
        return ChildProcess(
            (sys.executable, "-P", "-m", "yaoki", *words), cwd=self._repo, env=self._env
        )

    # -------------------------------------------------------------- the result

    def _find_differences(self, code: int) -> list[str]:
        """Every difference from what the demo promises; nothing is assumed."""
        wrong = [] if code == EXPECTED_EXIT else [f"exit code {code}, not {EXPECTED_EXIT}"]
        status = json.loads(self._output_of("status", "--json"))
        if "tasks" not in status:
            return [*wrong, status["error"]["sentence"]]
        tasks = {task["name"]: task for task in status["tasks"]}
        wrong += [f"{n} did not land" for n in LANDING_TASKS if tasks[n]["state"] != "DONE"]
        if not tasks[ASKING_TASK]["question"]:
            wrong.append(f"{ASKING_TASK} asks nothing")
        if tasks[BLOCKED_TASK]["reason"] != "DEPENDENCY_FAILED":
            wrong.append(f"{BLOCKED_TASK} is not blocked by {ASKING_TASK}")
        return [*wrong, *self._find_double_landings(status)]

    def _find_double_landings(self, status: dict[str, Any]) -> Iterator[str]:
        """The run branch holds each landing once."""
        branch = status["run_branch"]
        argv = ("git", "log", "--first-parent", "--format=%(trailers:key=Yaoki-Task)", branch)
        log = run_command(argv, cwd=self._repo, env=self._env, timeout=timedelta(seconds=30)).out
        landed = [line for line in log.decode().splitlines() if line.strip()]
        for line in {line for line in landed if landed.count(line) > 1}:
            yield f"landed twice: {line}"

    def _output_of(self, *words: str) -> str:
        child = self._yaoki(*words)
        output = "\n".join(child.lines())
        child.wait()
        return output

    # -------------------------------------------------------------- words

    def _print_cast(self) -> None:
        print_line(
            emphasize(
                "Ten tasks. Agents are scripted; git, processes, checks and crashes are real."
            )
        )
        print_line(self._sandbox_words())
        for text in align_columns(list(sample_repository.CAST.items())):
            print_line(f"  {text}")
        print_line()

    def _sandbox_words(self) -> str:
        """The sandbox of the agents, or why there is none."""
        from yaoki.app.build import App

        walls = App(self._repo).context.sandbox_choice
        if walls.applies_to_agent(ACTOR):
            return "Agents and checks run in a sandbox, because bubblewrap is installed."
        return walls.explain_unsandboxed([ACTOR])

    def _print_end(self, wrong: list[str]) -> None:
        print_line()
        if wrong:
            print_line(emphasize("The demo did not end as promised: " + "; ".join(wrong), "red"))
            print_line(f"All files are in {self._home}; please report this and attach that folder.")
            return
        seconds = f"In {self._seconds():.0f} s"
        print_line(
            emphasize(
                f"{seconds}: {len(LANDING_TASKS)} of 10 tasks landed, each proven and landed once; "
                f"one asks you."
            )
        )
        print_line("Your turn:")
        home, repo = shlex.quote(str(self._home / "state")), shlex.quote(str(self._repo))
        print_line(f"  cd {repo}; export YAOKI_HOME={home}{_path()}")
        for text in align_columns(self._next_commands()):
            print_line(f"  {text}")
        print_line(
            f"  cd; rm -rf {shlex.quote(str(self._home))}  # deletes everything that the demo made"
        )

    def _next_commands(self) -> list[tuple[str, str]]:
        return [
            ("yaoki why add", "# which rule rejected the false claim, with its numbers"),
            ("yaoki report", "# what landed, and what proves it"),
            (f'yaoki answer {ASKING_TASK} retry "A daruma."', "# answer the one question"),
            ("yaoki resume", "# continue: the logo, then the poster that needs it"),
            ("yaoki ui", "# the run on a web page; Ctrl-C stops the server"),
        ]


def _path() -> str:
    """The PATH by which a shell finds this program; the user's own entries come first."""
    if shutil.which("yaoki"):
        return ""
    return f' PATH="$PATH:{Path(sys.executable).parent}"'
