"""One SQLite database: a fair writer lock, group commit, read-only readers.

The transactions of all threads that wait share one durable commit.  Across processes an `flock`
makes the turns fair and keeps the halves of SQLite's WAL-reset race apart: every write, checkpoint
and write-side close happens under it.  The journal file is written in the same turn, after the
commit.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from yaoki.adapters.store.database import ResultT, Transaction
from yaoki.adapters.store.group_commit import GroupCommit, WriteRequest, requested_task_ids
from yaoki.adapters.store.journal_file.journal_file import JournalFile
from yaoki.adapters.store.paths import StorePaths
from yaoki.adapters.store.sqlite.transaction import SqliteTransaction
from yaoki.errors import StoreCorrupt, StoreError, StoreFull

TABLE_NAMES = "SELECT name FROM sqlite_master WHERE type = 'table'"
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class SqliteDatabase:
    """Opened once per process.  `write` and `read` may be called from any thread."""

    tables_query = TABLE_NAMES
    extra_schema: Sequence[str] = ()

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        self.path = path
        # Given once the schema stands: before that there is nothing to witness.
        self.journal_file: JournalFile | None = None
        self.commit_count = 0
        self._batches = GroupCommit(self._commit)
        self._reading = threading.Lock()
        with translate_sqlite_errors(path), ExitStack() as opened:
            self._lock_fd = os.open(
                path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644
            )
            opened.callback(os.close, self._lock_fd)
            self._writer = opened.enter_context(closing(_connect(path)))
            with self._exclusive():
                self._writer.execute("PRAGMA journal_mode = WAL")
            sync = "FULL" if durable else "OFF"
            self._writer.execute(f"PRAGMA synchronous = {sync}")
            self._writer.execute("PRAGMA foreign_keys = ON")
            # Checkpoints happen under the writer lock, four megabytes of pages at a time.
            self._writer.execute("PRAGMA wal_autocheckpoint = 1000")
            self._reader = opened.enter_context(closing(_connect(path)))
            self._inode = path.stat().st_ino
            self._reader.execute("PRAGMA query_only = ON")
            # All went well: from here on `close` closes them.
            opened.pop_all()

    def translate_schema(self, sql: str) -> str:
        return sql.replace("{{identity}}", "INTEGER PRIMARY KEY AUTOINCREMENT")

    @property
    def location(self) -> str:
        return str(self.path)

    @property
    def waiting_count(self) -> int:
        """How many transactions wait for the next commit."""
        return self._batches.waiting_count

    def write(
        self, work: Callable[[Transaction], ResultT], task_ids: Collection[str] = ()
    ) -> ResultT:
        """Run `work` in a transaction of its own, committed durably together with its neighbours.

        An exception inside `work` undoes just that work and is raised here.
        """
        return self._batches.write(work, task_ids)

    def _commit(self, batch: list[WriteRequest[Any]]) -> None:
        with translate_sqlite_errors(self.path), self._exclusive():
            # Inside our turn, so no write ever goes to a file that was set aside.
            self.refuse_if_replaced()
            self._write_all(batch)
            if self.journal_file is not None:
                self.journal_file.append_committed(self._writer)

    def _write_all(self, batch: list[WriteRequest[Any]]) -> None:
        """As one; and when one of them fails, again with each under a savepoint of its own."""
        try:
            with self._transaction():
                self._together(batch)
        except sqlite3.IntegrityError:
            self._write_each(batch)
        except sqlite3.Error:
            raise
        except BaseException as error:  # noqa: BLE001 - its caller hears of it
            if len(batch) == 1:
                batch[0].error = error
            else:
                self._write_each(batch)

    def _together(self, batch: list[WriteRequest[Any]]) -> None:
        link = SqliteTransaction(self._writer)
        wanted = requested_task_ids(batch)
        if len(wanted) > 1:
            link.prefetch(wanted)
        for request in batch:
            request.result = request.work(link)
        link.flush()

    def _write_each(self, batch: list[WriteRequest[Any]]) -> None:
        with self._transaction():
            for request in batch:
                self._attempt(request)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._writer.execute("COMMIT")
            self.commit_count += 1
        except BaseException:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            raise

    def update_journal_file(self) -> None:
        """Bring the journal file up to what was committed by somebody who was killed then."""
        if self.journal_file is not None:
            with translate_sqlite_errors(self.path), self._exclusive():
                self.journal_file.append_committed(self._writer)
            self.journal_file.compress_old_segments()

    def _attempt(self, request: WriteRequest[Any]) -> None:
        """One caller's work under a savepoint: its failure is its own."""
        self._writer.execute("SAVEPOINT one")
        try:
            link = SqliteTransaction(self._writer)
            request.result = request.work(link)
            link.flush()
        except sqlite3.IntegrityError as error:
            # What one caller may not store is no trouble of its neighbours.
            self._writer.execute("ROLLBACK TO one")
            request.error = StoreError(f"the store refuses it: {error}", hint="yaoki doctor")
        except sqlite3.Error:
            raise
        except BaseException as error:  # noqa: BLE001 - raised again by its caller
            self._writer.execute("ROLLBACK TO one")
            request.error = error
        self._writer.execute("RELEASE one")

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        fcntl.flock(self._lock_fd, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock_fd, fcntl.LOCK_UN)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A consistent view; never waits for writers."""
        with self._reading, translate_sqlite_errors(self.path):
            self._reader.execute("BEGIN")
            try:
                yield SqliteTransaction(self._reader)
            finally:
                self._reader.execute("COMMIT")

    def refuse_if_replaced(self) -> None:
        """Raise when the file we write to is no longer the one people see."""
        try:
            here = self.path.stat().st_ino
        except FileNotFoundError:
            here = 0
        if here != self._inode:
            raise StoreCorrupt(
                f"{self.path} was deleted or replaced while this worker used it",
                hint="yaoki doctor, and then go on with what is there: yaoki resume",
            )

    def version(self) -> int:
        """Changes whenever somebody commits."""
        with self._reading, translate_sqlite_errors(self.path):
            found: int = self._reader.execute("PRAGMA data_version").fetchone()[0]
            return found

    def retry_read(self, look: Callable[[], ResultT]) -> ResultT:
        return look()

    def wait_for_pending_entries(self) -> None:
        """Lines are numbered in the order of their commits."""

    def clock_offset(self) -> timedelta:
        return timedelta(0)

    def stop_waiting(self) -> None:
        """A file is never away."""

    def backup(self, target: Path) -> None:
        """A whole copy of the committed state, made while others read and write.

        It is read through a connection of its own: copying a large store takes long, and the
        heartbeats that renew the leases read through ours.
        """
        self.refuse_if_replaced()
        partial = target.with_suffix(".partial")
        # By this name a file that is gone meanwhile is an error, and not made anew.
        there = f"{self.path.resolve().as_uri()}?mode=rw"
        with translate_sqlite_errors(self.path):
            try:
                with (
                    closing(sqlite3.connect(there, uri=True, timeout=30)) as source,
                    closing(sqlite3.connect(partial)) as copy,
                ):
                    source.backup(copy)
                sync_to_disk(partial)
                partial.replace(target)
                sync_to_disk(target.parent)
            except BaseException:
                partial.unlink(missing_ok=True)
                raise

    def close(self) -> None:
        with self._batches.block_commits(), self._reading:
            self._reader.close()
            with self._exclusive():
                self._writer.close()
            os.close(self._lock_fd)


def _connect(path: Path) -> sqlite3.Connection:
    # Threads share the connection under our own locks; the wait covers readers of other tools.
    link = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    link.row_factory = sqlite3.Row
    return link


def sync_to_disk(path: Path) -> None:
    """A file's bytes, or the names in a folder, on the disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def translate_sqlite_errors(path: Path) -> Iterator[None]:
    """SQLite's words in ours.  Damage leaves a mark, so that the next opening looks thoroughly."""
    try:
        yield
    except sqlite3.OperationalError as error:
        words = str(error)
        if "full" in words or "disk I/O" in words:
            raise _full(path, words) from error
        if "readonly" in words or "unable to open" in words:
            raise StoreError(
                f"the store {path} cannot be opened: {words}",
                hint=f"make {path.parent} writable, or set [store] url in yaoki.toml",
            ) from error
        if "decode" in words:
            raise damage_error(path, words) from error
        raise StoreError(f"the store failed: {words}", hint="yaoki doctor") from error
    except sqlite3.DatabaseError as error:
        raise damage_error(path, str(error)) from error
    except OSError as error:
        if error.errno in NO_ROOM:
            raise _full(path, str(error.strerror)) from error
        raise StoreError(
            f"the store {path} cannot be opened: {error.strerror}",
            hint=f"make {path.parent} writable",
        ) from error


def _full(path: Path, words: str) -> StoreFull:
    return StoreFull(
        f"the store could not be written: {words}",
        hint=f"free some space below {path.parent}, then: yaoki resume",
    )


def damage_error(path: Path, words: str) -> StoreCorrupt:
    with suppress(OSError):
        # Without the mark the next command meets the damage again and says the same.
        StorePaths(path).damage_marker.touch()
    return StoreCorrupt(
        f"{path} is damaged or not a yaoki store: {words}",
        hint="yaoki status: it is set aside and restored from its backups and its journal file",
    )
