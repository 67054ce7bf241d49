"""The play: start the run, kill its worker in the middle, go on, and hold the end to its word."""

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

from yaoki.adapters.processes.child import Child
from yaoki.adapters.processes.command import run
from yaoki.adapters.system.clock import SystemClock
from yaoki.errors import NotNow, YaokiError
from yaoki.faces.cli.text.render import columns, say
from yaoki.faces.demo import stage
from yaoki.faces.demo.story import JournalTail, Telling, loud

EXPECTED_EXIT = 4
LANDS = ("greet", "add", "words", "clock", "price", "teal", "rose", "night")
ASKS = "logo"
BLOCKED = "poster"
ACTOR = "scripted"


@click.command()
@click.option("--folder", type=click.Path(path_type=Path), help="Where to play; a new folder.")
def command(folder: Path | None) -> int:
    """Rehearse everything that goes wrong, in a throwaway repository."""
    home = _empty(folder) if folder else Path(tempfile.mkdtemp(prefix="yaoki-demo-"))
    return Story(home).play()


def _empty(folder: Path) -> Path:
    """The folder, made if need be; what somebody keeps in one is never played with."""
    home = folder.absolute()
    try:
        home.mkdir(parents=True, exist_ok=True)
        held = next(home.iterdir(), None)
    except OSError as fault:
        reason = (fault.strerror or str(fault)).lower()
        hint = "name a new folder, or none: then one is made"
        raise YaokiError(f"{home} cannot be played in: {reason}", hint=hint) from fault
    if held is not None:
        hint = "name a new folder, or none: then one is made"
        raise NotNow(f"{home} is not empty: it holds {held.name}", hint=hint)
    return home


class Story:
    """Told in lines, as it happens."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._repo = home / "library"
        self._env = {**os.environ, "YAOKI_HOME": str(home / "state"), "PYTHONUNBUFFERED": "1"}
        self._journal = JournalTail(self._repo / ".yaoki" / "journal")
        self._clock = SystemClock()
        self._began = self._clock.now()

    def play(self) -> int:
        plan = stage.write(self._home)
        self._cast()
        telling = Telling(self._seconds)
        self._first_life(plan, telling)
        code = self._second_life(telling)
        wrong = self._wrong(code)
        self._moral(wrong)
        return 1 if wrong else 0

    def _seconds(self) -> float:
        return (self._clock.now() - self._began).total_seconds()

    def _first_life(self, plan: Path, telling: Telling) -> None:
        """Until the agent of `night` is at work; then its worker gets no last word."""
        worker = self._yaoki("run", str(plan))
        try:
            for _ in self._heard(worker, telling):
                if telling.begun("night"):
                    break
        finally:
            worker.kill()
            worker.wait()
        say()
        say(loud(f"  kill -9 {worker.pid}: the worker is dead. Its agents work on, unwatched."))
        say(loud("  yaoki resume: they are found again; nothing is lost, nothing is done twice."))
        say()

    def _second_life(self, telling: Telling) -> int:
        worker = self._yaoki("resume")
        try:
            for _ in self._heard(worker, telling):
                pass
            return worker.wait()
        finally:
            worker.kill()

    def _heard(self, worker: Child, telling: Telling) -> Iterator[None]:
        """Whenever the worker says a line, the journal has the entry that it speaks of."""
        for _ in worker.lines():
            self._hear(telling)
            yield
        self._hear(telling)

    def _hear(self, telling: Telling) -> None:
        for entry in self._journal.new():
            telling.hear(entry)

    def _yaoki(self, *words: str) -> Child:
        # Nothing is imported from the repository, whatever its modules are called.
        return Child((sys.executable, "-P", "-m", "yaoki", *words), cwd=self._repo, env=self._env)

    # -------------------------------------------------------------- held to its word

    def _wrong(self, code: int) -> list[str]:
        """Everything that is not as the story promised; nothing is taken on trust."""
        wrong = [] if code == EXPECTED_EXIT else [f"exit code {code}, not {EXPECTED_EXIT}"]
        status = json.loads(self._ask("status", "--json"))
        if "tasks" not in status:
            return [*wrong, status["error"]["sentence"]]
        tasks = {task["name"]: task for task in status["tasks"]}
        wrong += [f"{n} did not land" for n in LANDS if tasks[n]["state"] != "DONE"]
        if not tasks[ASKS]["question"]:
            wrong.append(f"{ASKS} asks nothing")
        if tasks[BLOCKED]["reason"] != "DEPENDENCY_FAILED":
            wrong.append(f"{BLOCKED} is not blocked by {ASKS}")
        return [*wrong, *self._twice(status)]

    def _twice(self, status: dict[str, Any]) -> Iterator[str]:
        """The run branch holds each landing once."""
        branch = status["run_branch"]
        argv = ("git", "log", "--first-parent", "--format=%(trailers:key=Yaoki-Task)", branch)
        log = run(argv, cwd=self._repo, env=self._env, timeout=timedelta(seconds=30)).out
        landed = [line for line in log.decode().splitlines() if line.strip()]
        for line in {line for line in landed if landed.count(line) > 1}:
            yield f"landed twice: {line}"

    def _ask(self, *words: str) -> str:
        child = self._yaoki(*words)
        said = "\n".join(child.lines())
        child.wait()
        return said

    # -------------------------------------------------------------- words

    def _cast(self) -> None:
        say(loud("Ten tasks. Agents are scripted; git, processes, checks and crashes are real."))
        say(self._walls())
        for text in columns(list(stage.CAST.items())):
            say(f"  {text}")
        say()

    def _walls(self) -> str:
        """What holds the agents, or what is missing that would."""
        from yaoki.app import App

        walls = App(self._repo).walls
        if walls.around_agent(ACTOR):
            return "Agents and checks run in a sandbox: bubblewrap is here, nothing had to be set."
        return walls.told([ACTOR]) or "no sandbox: YAOKI_SANDBOX_MODE is off"

    def _moral(self, wrong: list[str]) -> None:
        say()
        if wrong:
            say(loud("The demo did not end as promised: " + "; ".join(wrong), "red"))
            say(f"Everything is kept in {self._home}; please report it with that folder.")
            return
        seconds = f"In {self._seconds():.0f} s"
        say(loud(f"{seconds}: {len(LANDS)} of 10 landed, each proven, each once; one asks you."))
        say("Your turn:")
        home, repo = shlex.quote(str(self._home / "state")), shlex.quote(str(self._repo))
        say(f"  cd {repo}; export YAOKI_HOME={home}{_path()}")
        for text in columns(self._turns()):
            say(f"  {text}")
        say(f"  cd; rm -rf {shlex.quote(str(self._home))}  # leaves nothing behind")

    def _turns(self) -> list[tuple[str, str]]:
        return [
            ("yaoki why add", "# which rule sent the liar back, with its numbers"),
            ("yaoki report", "# what landed, and what proves it"),
            (f'yaoki answer {ASKS} retry "A daruma."', "# the one question"),
            ("yaoki resume", "# goes on: the logo, then the poster that waits for it"),
            ("yaoki ui", "# all of it on a page; Ctrl-C ends it"),
        ]


def _path() -> str:
    """What a shell needs to find the program that is telling this; the user's own come first."""
    if shutil.which("yaoki"):
        return ""
    return f' PATH="$PATH:{Path(sys.executable).parent}"'
