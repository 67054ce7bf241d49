"""Several machines: each has a clone and a home; they share a bare remote and a server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs, urlsplit

from tests.acceptance.forked_cli import call_yaoki
from tests.acceptance.project import INSTALLED
from tests.repositories import git
from tests.trusted_folders import trust_folder

SETTINGS = """\
[limits]
heartbeat_s = 0.5
lease_s = 8.0
hang_warning_s = 40.0
hang_s = 60.0
deadline_s = 120.0
max_in_progress_s = 1.0
delivery_max = 50
landings_max = 100

[retry]
default_max_retries = 20
max_total_attempts = 50

[retry.default_backoff]
initial_delay_ms = 20
max_delay_ms = 200

[workspace]
remote = "origin"
"""


class ServerLink:
    """The connection of one machine to the server; `cut` closes all sockets and accepts none."""

    def __init__(self, url: str) -> None:
        there = parse_qs(urlsplit(url).query)["host"][0]
        self._server = f"{there}/.s.PGSQL.5432"
        self._folder = tempfile.TemporaryDirectory(prefix="yaoki-cable-", dir="/tmp")
        self.url = url.replace(there, self._folder.name)
        self._connected = True
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(Path(self._folder.name) / ".s.PGSQL.5432"))
        self._listener.listen(50)
        self._begin(self._serve)

    def cut(self) -> None:
        self._connected = False
        for end in list(self._sockets):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def restore(self) -> None:
        self._connected = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)
        for end in self._sockets:
            end.close()
        self._folder.cleanup()

    def _begin(self, act: object, *given: object) -> None:
        assert callable(act)
        self._threads.append(threading.Thread(target=act, args=given, daemon=True))
        self._threads[-1].start()

    def _serve(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                near, _ = self._listener.accept()
                far = socket.socket(socket.AF_UNIX)
                self._sockets += [near, far]
                try:
                    if not self._connected:
                        raise ConnectionRefusedError
                    far.connect(self._server)
                except OSError:
                    near.shutdown(socket.SHUT_RDWR)
                    continue
                self._begin(_forward, near, far)
                self._begin(_forward, far, near)


def _forward(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    for end in (one, other):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@dataclass
class Machine:
    """A clone of the remote, with settings, worktrees and processes of its own."""

    home: Path
    bare: Path
    store: str
    workers: list[subprocess.Popen[str]] = field(default_factory=list)
    # Options of `git clone`.
    how: Sequence[str] = ()
    # With a folder for compiled code, `run` starts no interpreter.
    pycache: Path | None = None

    def __post_init__(self) -> None:
        self.home.mkdir()
        git(self.home, "clone", "-q", *self.how, f"file://{self.bare}", "repo")
        (self.repo / "yaoki.toml").write_text(f'store = {{url = "{self.store}"}}\n{SETTINGS}')
        trust_folder(self.home / "state", self.home)

    @property
    def repo(self) -> Path:
        return self.home / "repo"

    @property
    def _env(self) -> dict[str, str]:
        cache = {"PYTHONPYCACHEPREFIX": str(self.pycache)} if self.pycache else {}
        return {**os.environ, **cache, "YAOKI_HOME": str(self.home / "state")}

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            (sys.executable, "-m", "yaoki", *words),
            cwd=self.repo,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str) -> tuple[int, str]:
        """Run one command to its end: exit code and output."""
        if self.pycache and INSTALLED not in os.environ:
            code, out, err = call_yaoki(words, self.repo, self._env)
            return code, out + err
        process = self.start(*words)
        out, _ = process.communicate(timeout=60)
        return process.returncode, out

    def start_worker(self, slots: int) -> subprocess.Popen[str]:
        self.workers.append(self.start("worker", "--slots", str(slots)))
        return self.workers[-1]

    def stop(self) -> list[tuple[int, str]]:
        """Stop every worker after its agents finish: exit code and output of each."""
        for worker in self.workers:
            if worker.poll() is None:
                worker.send_signal(signal.SIGTERM)
        ended = [(worker, worker.communicate(timeout=60)[0]) for worker in self.workers]
        self.workers.clear()
        return [(worker.returncode, said) for worker, said in ended]

    def kill(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.communicate(timeout=30)
        self.workers.clear()
