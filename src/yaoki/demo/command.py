"""The story: start the run, kill its worker in the middle, go on, and hold the end to its word."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import click

from yaoki.demo import stage
from yaoki.system import Child, SystemClock, run

EXPECTED_EXIT = 4
LANDS = ("greet", "add", "words", "clock", "price", "teal", "rose", "night")
ASKS = "logo"
BLOCKED = "poster"


@click.command()
@click.option("--folder", type=click.Path(path_type=Path), help="Where to play; a new folder.")
def command(folder: Path | None) -> None:
    """Rehearse everything that goes wrong, in a throwaway repository."""
    home = folder or Path(tempfile.mkdtemp(prefix="yaoki-demo-"))
    sys.exit(Story(home).play())


class Story:
    """Told in lines, as it happens."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._repo = home / "library"
        self._env = {**os.environ, "YAOKI_HOME": str(home / "state"), "PYTHONUNBUFFERED": "1"}
        self._clock = SystemClock()

    def play(self) -> int:
        began = self._clock.now()
        plan = stage.write(self._home)
        self._say(
            f"Ten tasks, each with an agent that falls in its own way. They play in {self._repo}"
        )
        self._first_life(plan)
        code = self._second_life()
        wrong = self._wrong(code)
        seconds = (self._clock.now() - began).total_seconds()
        self._moral(wrong, seconds)
        return 1 if wrong else 0

    def _first_life(self, plan: Path) -> None:
        """Until the agent of `night` is at work; then its worker gets no last word."""
        worker = self._yaoki("run", str(plan))
        for line in worker.lines():
            click.echo(f"  {line}")
            if "night" in line and "attempt 1" in line:
                break
        worker.kill()
        worker.wait()
        self._say(f"kill -9 {worker.pid}: the worker is dead. Its agents work on, unwatched.")

    def _second_life(self) -> int:
        self._say("yaoki resume: the agents are found again, nothing is done twice.")
        worker = self._yaoki("resume")
        for line in worker.lines():
            click.echo(f"  {line}")
        return worker.wait()

    def _yaoki(self, *words: str) -> Child:
        return Child((sys.executable, "-m", "yaoki", *words), cwd=self._repo, env=self._env)

    # -------------------------------------------------------------- held to its word

    def _wrong(self, code: int) -> list[str]:
        """Everything that is not as the story promised; nothing is taken on trust."""
        tasks = {task["name"]: task for task in self._status()["tasks"]}
        wrong = [] if code == EXPECTED_EXIT else [f"exit code {code}, not {EXPECTED_EXIT}"]
        wrong += [f"{n} did not land" for n in LANDS if tasks[n]["state"] != "DONE"]
        if not tasks[ASKS]["question"]:
            wrong.append(f"{ASKS} asks nothing")
        if tasks[BLOCKED]["reason"] != "DEPENDENCY_FAILED":
            wrong.append(f"{BLOCKED} is not blocked by {ASKS}")
        return [*wrong, *self._twice()]

    def _status(self) -> dict[str, list[dict[str, str]]]:
        done = self._ask("status", "--json")
        status: dict[str, list[dict[str, str]]] = json.loads(done)
        return status

    def _twice(self) -> Iterator[str]:
        """The run branch holds each landing once."""
        branch = json.loads(self._ask("status", "--json"))["run_branch"]
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

    def _say(self, text: str) -> None:
        click.secho(f"\n{text}", bold=True)

    def _moral(self, wrong: list[str], seconds: float) -> None:
        if wrong:
            self._say("The demo did not end as promised: " + "; ".join(wrong))
            click.echo(f"Everything is kept in {self._home}; please report it with that folder.")
            return
        self._say(
            f"In {seconds:.0f} s: every change that could land is proven and landed once, "
            "and one question waits for you."
        )
        click.echo("Look around:")
        click.echo(f"  cd {self._repo} && export YAOKI_HOME={self._home / 'state'}{_path()}")
        for next_command in (
            "yaoki why words",
            "yaoki trace rose",
            'yaoki answer logo retry "A daruma."',
            f"rm -rf {self._home}",
        ):
            click.echo(f"  {next_command}")


def _path() -> str:
    """What a shell needs to find the program that is telling this."""
    if shutil.which("yaoki"):
        return ""
    return f" PATH={Path(sys.executable).parent}:$PATH"
