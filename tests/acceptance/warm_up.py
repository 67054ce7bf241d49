"""A run before the fork server forks, so that not each fork runs all code for the first time.

A fork has the bytecode that the interpreter has specialized, compiled patterns, and fewer pages to
copy: a call takes a sixth less processor time.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import Any

from tests.repositories import a_repository

PLAN: dict[str, Any] = {
    "goal": "to be warm",
    "agents": {"writer": {"command": ["sh", "-c", "echo good > $YAOKI_TASK_NAME.txt"]}},
    "agent": "writer",
    "checks": {"good": {"shell": "grep -q good *.txt"}},
    "tasks": [{"id": name, "goal": f"write {name}.txt", "checks": ["good"]} for name in ("a", "b")],
}
COMMANDS = (
    *(["init"], ["validate", "plan.json"], ["run", "plan.json", "--yes"], ["status"]),
    *(["trace"], ["why", "a"], ["report"], ["status", "--json"], ["merge"]),
)
ROUNDS = 2


def warm_up() -> None:
    """Nothing of it stays in this process but what makes the next calls quick."""
    caches = [one for one in gc.get_objects() if isinstance(one, _lru_cache_wrapper)]
    empty = [one for one in caches if one.cache_info().currsize == 0]
    before = Path.cwd(), dict(os.environ)
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    try:
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory(prefix="yaoki-warm-") as folder, _silence():
                _run_commands(Path(folder))
    finally:
        os.chdir(before[0])
        os.environ.clear()
        os.environ.update(before[1])
        for number, handler in handlers.items():
            if signal.getsignal(number) != handler:
                signal.signal(number, handler)
        # They hold facts of that repository, and git processes.
        for cache in empty:
            cache.cache_clear()


def _run_commands(folder: Path) -> None:
    from yaoki.faces.cli.main import main

    (folder / "home").mkdir()
    os.chdir(a_repository(folder))
    os.environ.update({"HOME": str(folder / "home"), "YAOKI_SANDBOX_MODE": "off"})
    Path("plan.json").write_text(json.dumps(PLAN))
    for command in COMMANDS:
        # What it returns does not matter here, tests look at that.
        with suppress(SystemExit):
            main(command)


@contextmanager
def _silence() -> Iterator[None]:
    """Of programs as well, whose output is not ours."""
    kept = [os.dup(number) for number in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            os.dup2(nowhere, number)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, number)
            os.close(copy)
        os.close(nowhere)
