"""Where everything is measured: a folder of its own, and a PostgreSQL server that syncs."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.adapters.store import server

# Later lines win: the tests' server syncs nothing.
DURABLE = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "shared_buffers": "128MB",
}


class Place:
    """Made once for a run of the benchmarks; everything in it is gone afterwards."""

    def __init__(self, *, quick: bool, around: ExitStack, at: Path | None = None) -> None:
        self.quick = quick
        self._around = around
        self.folder = Path(tempfile.mkdtemp(prefix="yaoki-bench-", dir=at))
        around.callback(shutil.rmtree, self.folder, ignore_errors=True)

    @cached_property
    def server(self) -> str:
        """The URL of the server; empty when there can be none, and `lacking` says why."""
        if self.lacking:
            return ""
        if given := os.environ.get(server.URL_VARIABLE):
            return given
        made = server.Server.make()
        self._around.callback(made.remove)
        lines = "".join(f"{name} = '{value}'\n" for name, value in DURABLE.items())
        with (made.folder / "data" / "postgresql.conf").open("a") as file:
            file.write(lines)
        made.start()
        return made.url

    @property
    def lacking(self) -> str:
        return server.missing()

    @contextmanager
    def fresh(self) -> Iterator[Path]:
        """A folder for one measurement."""
        with tempfile.TemporaryDirectory(dir=self.folder, ignore_cleanup_errors=True) as made:
            yield Path(made)

    @contextmanager
    def store(self, kind: str) -> Iterator[str]:
        """The address of an empty database: `sqlite` or `postgresql`."""
        if kind == "sqlite":
            with self.fresh() as folder:
                yield str(folder / "state.db")
            return
        with server.a_database(self.server) as url:
            yield url

    @property
    def kinds(self) -> tuple[str, ...]:
        return ("sqlite",) if self.lacking else ("sqlite", "postgresql")

    def facts(self) -> dict[str, Any]:
        """What a reader must know of the machine; no names of hosts."""
        durable = {"sqlite": "journal_mode=WAL, synchronous=FULL"}
        if not self.lacking:
            durable["postgresql"] = self._shown()
        return {
            "machine": {"cores": os.cpu_count(), "system": platform.system().lower()},
            "python": platform.python_version(),
            "sqlite": sqlite3.sqlite_version,
            "durability": durable,
            "quick": self.quick,
        }

    def _shown(self) -> str:
        """As the server itself says."""
        import psycopg

        names = ("fsync", "synchronous_commit", "full_page_writes", "server_version")
        with psycopg.connect(self.server, autocommit=True) as link:
            rows = [(name, link.execute(f"SHOW {name}".encode()).fetchone()) for name in names]
        return ", ".join(f"{name}={row[0] if row else '?'}" for name, row in rows)


def python() -> str:
    return sys.executable
