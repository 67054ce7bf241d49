"""pytest for many small programs, without starting an interpreter for each of them.

A process that has imported pytest forks; the fork runs the tests of one program in its folder.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import pytest
from _pytest.config import default_plugins

ROOT = Path(__file__).parents[2]
BOUND_S = 300
# What the forks have imported already: a file of such a name would come too late.
IMPORTED = {*sys.stdlib_module_names, "_pytest", "iniconfig", "packaging", "pluggy", "pytest"}


def can_fork(paths: Iterable[str]) -> bool:
    """False for a program whose files take the place of what pytest imports."""
    return IMPORTED.isdisjoint(path.partition("/")[0].removesuffix(".py") for path in paths)


def run_pytest(words: Sequence[str], folder: Path, env: Mapping[str, str]) -> int:
    """The exit code of `python3 -m pytest` with these words, or minus the signal that ended it."""
    server = _server(os.getpid())
    assert server.stdin is not None
    assert server.stdout is not None
    asked = {"words": list(words), "folder": str(folder), "env": dict(env)}
    print(json.dumps(asked), file=server.stdin, flush=True)
    code: int = json.loads(server.stdout.readline())
    assert code != -signal.SIGALRM, f"the tests in {folder} did not end in {BOUND_S} s"
    return code


@cache
def _server(_: int) -> subprocess.Popen[str]:
    """One for each process of the tests; it ends when its standard input closes."""
    server = subprocess.Popen(
        (sys.executable, "-m", "tests.gaming.forked_pytest"),
        cwd=ROOT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(server.communicate)
    return server


def serve() -> None:
    # Of this repository they see nothing: a program may have a package of the same name.
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != ROOT]
    _import_plugins()
    for line in sys.stdin:
        if not (pid := os.fork()):
            _run_tests(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def _import_plugins() -> None:
    """What every fork would import on its own otherwise."""
    for name in (*default_plugins, "assertion.rewrite"):
        import_module(f"_pytest.{name}")


def _run_tests(words: list[str], folder: str, env: dict[str, str]) -> NoReturn:
    """Runs in the fork and never returns."""
    code = int(pytest.ExitCode.INTERNAL_ERROR)
    try:
        signal.alarm(BOUND_S)
        atexit._clear()
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(env)
        sys.path.insert(0, folder)
        sys.argv = ["pytest", *words]
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
        code = int(pytest.main(words))
        # A program may end the process here, with another code.
        atexit._run_exitfuncs()
    finally:
        os._exit(code)


if __name__ == "__main__":
    serve()
