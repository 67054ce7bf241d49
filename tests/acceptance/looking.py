"""What tests look up again and again, without a start of the interpreter each time.

A process that has imported yaoki forks, and the fork calls the program's own `main`.  What a test
proves still runs as the installed program; this only tells how things stand afterwards.
"""

from __future__ import annotations

import atexit
import json
import os
import pkgutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, Any

ROOT = Path(__file__).parents[2]
BOUND_S = 90
# The program itself, which would begin at once, and the script that imports nothing else of ours.
NOT_IMPORTED = {"yaoki.__main__", "yaoki.shim.__main__"}
_turn = Lock()


def look(words: Sequence[str], cwd: Path, env: Mapping[str, str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `yaoki` with these words."""
    asked = {"words": list(words), "cwd": str(cwd), "env": dict(env)}
    with _turn:
        server = _server(env["PYTHONPYCACHEPREFIX"])
        assert server.stdin is not None
        assert server.stdout is not None
        print(json.dumps(asked), file=server.stdin, flush=True)
        told = json.loads(server.stdout.readline())
    return told["code"], told["out"], told["err"]


@cache
def _server(pycache: str) -> subprocess.Popen[str]:
    """One for each test process; it ends when nobody can ask it any more."""
    server = subprocess.Popen(
        (sys.executable, "-m", "tests.acceptance.looking"),
        cwd=ROOT,
        env={**os.environ, "PYTHONPYCACHEPREFIX": pycache},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(server.communicate)
    return server


def serve(questions: IO[str]) -> None:
    for module in pkgutil.walk_packages(import_module("yaoki").__path__, "yaoki."):
        if module.name not in NOT_IMPORTED:
            import_module(module.name)
    for line in questions:
        with TemporaryFile() as out, TemporaryFile() as err:
            child = os.fork()
            if not child:
                _answer(json.loads(line), out.fileno(), err.fileno())
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            told = {"code": code, "out": _text(out), "err": _text(err)}
        print(json.dumps(told), flush=True)


def _answer(asked: Mapping[str, Any], out: int, err: int) -> None:
    """In the fork, which never returns."""
    code = 1
    try:
        signal.alarm(BOUND_S)
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["env"])
        nowhere = os.open(os.devnull, os.O_RDONLY)
        for ours, theirs in ((nowhere, 0), (out, 1), (err, 2)):
            os.dup2(ours, theirs)
        from yaoki.cli.main import main

        code = main(asked["words"])
    except BaseException:  # noqa: BLE001 - the fork must not go on as the server
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


if __name__ == "__main__":
    serve(sys.stdin)
