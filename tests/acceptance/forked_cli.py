"""Calls of `yaoki` from tests without starting an interpreter each time.

A process that has imported yaoki forks, and the fork calls the program's `main` with the arguments,
folder and environment of the call.  `--installed` starts the installed program for each call
instead; `Place.start` always does.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import pkgutil
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import tokenize
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn

from pydantic import BaseModel

from tests.acceptance.warm_up import warm_up
from yaoki.adapters.store.rows import RUN_DOC_FIELDS
from yaoki.adapters.store.task_rows import TASK_DOC_FIELDS
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.machine.value_codec import fields_from_data, from_data
from yaoki.core.model import Catalogue, Run, Task, TaskSpec

ROOT = Path(__file__).parents[2]
BOUND_S = 90
# The program itself, which would run at once, and the shim, a bare script.
NOT_IMPORTED = {"yaoki.__main__", "yaoki.adapters.processes.shim.__main__"}
_servers: list[subprocess.Popen[str]] = []


def call_yaoki(
    words: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: Path = Path(os.devnull)
) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `yaoki` with these words.

    Standard input is the file; without one there is nothing to read.
    """
    asked = {"words": list(words), "cwd": str(cwd), "env": dict(env), "stdin": str(stdin)}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line, line.makefile("rw") as talk:
        line.connect(start_server(env["PYTHONPYCACHEPREFIX"]))
        print(json.dumps(asked), file=talk, flush=True)
        document = json.loads(talk.readline())
    assert document["code"] != -signal.SIGALRM, (
        f"yaoki {words} did not end in {BOUND_S} s: {document}"
    )
    return document["code"], document["out"], document["err"]


@cache
def start_server(pycache: str) -> str:
    """The address of the fork server, which ends with this process and the forks that use it."""
    folder = tempfile.mkdtemp(prefix="yaoki-looking-")
    atexit.register(shutil.rmtree, folder)
    address = f"{folder}/socket"
    server = subprocess.Popen(
        (sys.executable, "-m", "tests.acceptance.forked_cli", address),
        cwd=ROOT,
        env={**os.environ, "PYTHONPYCACHEPREFIX": pycache},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(server.communicate)
    # A fork forgets what is to be done at the end, and must not end a server that others use.
    _servers.append(server)
    assert server.stdout is not None
    assert server.stdout.readline() == "ready\n"
    return address


def serve(address: str) -> None:
    # Imports allocate much and free nothing.
    gc.disable()
    for module in pkgutil.walk_packages(import_module("yaoki").__path__, "yaoki."):
        if module.name not in NOT_IMPORTED:
            import_module(module.name)
    _compile_classes()
    warm_up()
    gc.collect()
    gc.freeze()
    gc.enable()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(address)
        door.listen(64)
        print("ready", flush=True)
        if not os.fork():
            _end_with_tests(os.getppid())
        _serve_calls(door)


def _serve_calls(door: socket.socket) -> NoReturn:
    """One fork for each call, so that calls may run beside each other; its end is a signal."""
    calls: dict[int, Call] = {}
    ended, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select((door, ended), (), ())
        if ended in ready:
            ended.recv(4096)
            for pid, status in _ended_children():
                if call := calls.pop(pid, None):
                    call.answer(os.waitstatus_to_exitcode(status))
        if door in ready:
            call = Call(door.accept()[0])
            if not (pid := os.fork()):
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _answer(call.asked, call.out.fileno(), call.err.fileno())
            calls[pid] = call


def _ended_children() -> Iterator[tuple[int, int]]:
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            yield ended


class Call:
    """What was asked over a connection, and files for what the fork says."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        with line.makefile("r") as talk:
            self.asked: Mapping[str, Any] = json.loads(talk.readline())
        # Closed with the answer.
        self.out = tempfile.TemporaryFile()  # noqa: SIM115
        self.err = tempfile.TemporaryFile()  # noqa: SIM115

    def answer(self, code: int) -> None:
        with self._line, self.out, self.err:
            told = {"code": code, "out": _text(self.out), "err": _text(self.err)}
            # Whoever asked may be gone.
            with suppress(OSError):
                self._line.sendall(f"{json.dumps(told)}\n".encode())


def _compile_classes() -> None:
    """Methods, models and patterns that are built on first use, so that not each fork builds them.

    A pattern compiles for any of its methods, a method of a dataclass for arguments that are wrong.
    """
    pattern: Any = lazy_compile
    each: Any
    for each in gc.get_objects():
        if isinstance(each, pattern):
            each.search  # noqa: B018 - it is compiled when it is read
        elif not isinstance(each, type) or not str(each.__module__).startswith("yaoki."):
            continue
        elif issubclass(each, BaseModel):
            each.model_rebuild()
        elif "__lazy_fields__" in vars(each):
            _compile_methods(each)
    # The patterns of the tokenizer are built at its first use as well.
    list(tokenize.generate_tokens(io.StringIO("").readline))
    for stored in (Catalogue, TaskSpec):
        with suppress(TypeError):
            from_data(stored, {})
    for cls, names in ((Run, RUN_DOC_FIELDS), (Task, TASK_DOC_FIELDS)):
        with suppress(LookupError):
            fields_from_data(cls, names, {"": None})


def _compile_methods(cls: Any) -> None:
    too_many = range(len(cls.__lazy_fields__) + 1)
    calls = (("__init__", too_many), ("__eq__", (None,)), ("__hash__", ()), ("__repr__", ()))
    for name, args in calls:
        if (method := vars(cls).get(name)) is not None:
            with suppress(AttributeError, TypeError):
                method(cls.__new__(cls), *args)


def _end_with_tests(server: int) -> NoReturn:
    """Standard input closes when the process of the tests is gone."""
    sys.stdin.read()
    os.kill(server, signal.SIGTERM)
    os._exit(0)


def _answer(asked: Mapping[str, Any], out: int, err: int) -> NoReturn:
    """Runs in the fork and never returns."""
    code = 1
    try:
        signal.alarm(BOUND_S)
        random.seed()
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["env"])
        sys.argv = ["yaoki", *asked["words"]]
        told = os.open(asked["stdin"], os.O_RDONLY)
        for ours, theirs in ((told, 0), (out, 1), (err, 2)):
            os.dup2(ours, theirs)
        os.closerange(3, 1024)
        from yaoki.faces.cli.main import main

        code = main(asked["words"])
        for thread in threading.enumerate():
            if not thread.daemon and thread is not threading.current_thread():
                thread.join()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001 - the fork must not continue as the server
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


if __name__ == "__main__":
    serve(sys.argv[1])
