"""A SQLite database: a fair writer lock, group commit, read-only readers.

The waiting transactions of all threads share one durable commit.  Across processes an `flock` gives
writers fair turns and prevents SQLite's WAL-reset race: every write, checkpoint and write-side
close happens under it.  The journal file is written under the same lock, after the commit.
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
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.group_commit import GroupCommit, WriteRequest, requested_task_ids
from yaoki.adapters.store.paths import StorePaths
from yaoki.adapters.store.sqlite.transaction import SqliteTransaction
from yaoki.errors import StoreCorrupt, StoreError, StoreFull

if TYPE_CHECKING:
    from yaoki.adapters.store.database import ResultT, Transaction
    from yaoki.adapters.store.journal_file.journal_file import JournalFile

TABLE_NAMES = "SELECT name FROM sqlite_master WHERE type = 'table'"
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class SqliteDatabase:
    """Opened once per process.  `write` and `read` may be called from any thread."""

    tables_query = TABLE_NAMES
    extra_schema: Sequence[str] = ()

    def __init__(self, path: Path, *, durable: bool = True) -> None:
        self.path = path
        # Set once the schema exists: before that there is nothing to journal.
        self.journal_file: JournalFile | None = None
        self.commit_count = 0
        self._batches = GroupCommit(self._commit)
        self._reader_lock = threading.Lock()
        with translate_sqlite_errors(path), ExitStack() as stack:
            self._lock_fd = os.open(
                path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644
            )
            stack.callback(os.close, self._lock_fd)
            self._writer = stack.enter_context(closing(_connect(path)))
            with self._writer_lock():
                self._writer.execute("PRAGMA journal_mode = WAL")
            sync = "FULL" if durable else "OFF"
            self._writer.execute(f"PRAGMA synchronous = {sync}")
            self._writer.execute("PRAGMA foreign_keys = ON")
            # Checkpoints happen under the writer lock, four megabytes of pages at a time.
            self._writer.execute("PRAGMA wal_autocheckpoint = 1000")
            self._reader = stack.enter_context(closing(_connect(path)))
            self._inode = path.stat().st_ino
            self._reader.execute("PRAGMA query_only = ON")
            # From here on `close` closes them.
            stack.pop_all()

    def translate_schema(self, sql: str) -> str:
        return sql.replace("{{identity}}", "INTEGER PRIMARY KEY AUTOINCREMENT")

    @property
    def location(self) -> str:
        return str(self.path)

    @property
    def waiting_count(self) -> int:
        return self._batches.waiting_count

    def write(
        self, work: Callable[[Transaction], ResultT], task_ids: Collection[str] = ()
    ) -> ResultT:
        """Run `work` in a transaction, committed durably together with other waiting ones.

        An exception in `work` rolls back just that work and is raised here.
        """
        return self._batches.write(work, task_ids)

    def _commit(self, batch: list[WriteRequest[Any]]) -> None:
        with translate_sqlite_errors(self.path), self._writer_lock():
            # Under the lock, so that no write goes to a file in quarantine.
            self.refuse_if_replaced()
            self._write_all(batch)
            if self.journal_file is not None:
                self.journal_file.append_committed(self._writer)

    def _write_all(self, batch: list[WriteRequest[Any]]) -> None:
        """All requests together; if one of them fails, again with a savepoint for each."""
        try:
            with self._transaction():
                self._run_batch(batch)
        except sqlite3.IntegrityError:
            self._write_each(batch)
        except sqlite3.Error:
            raise
        except BaseException as error:  # noqa: BLE001 - raised by its caller
            if len(batch) == 1:
                batch[0].error = error
            else:
                self._write_each(batch)

    def _run_batch(self, batch: list[WriteRequest[Any]]) -> None:
        tx = SqliteTransaction(self._writer)
        task_ids = requested_task_ids(batch)
        if len(task_ids) > 1:
            tx.prefetch(task_ids)
        for request in batch:
            request.result = request.work(tx)
        tx.flush()

    def _write_each(self, batch: list[WriteRequest[Any]]) -> None:
        with self._transaction():
            for request in batch:
                self._run_in_savepoint(request)

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
        """Append what a process committed that was killed before it wrote the journal file."""
        if self.journal_file is not None:
            with translate_sqlite_errors(self.path), self._writer_lock():
                self.journal_file.append_committed(self._writer)
            self.journal_file.compress_old_segments()

    def _run_in_savepoint(self, request: WriteRequest[Any]) -> None:
        """A failure of one request does not concern the others."""
        self._writer.execute("SAVEPOINT one")
        try:
            tx = SqliteTransaction(self._writer)
            request.result = request.work(tx)
            tx.flush()
        except sqlite3.IntegrityError as error:
            self._writer.execute("ROLLBACK TO one")
            request.error = StoreError(
                f"the store refuses the change: {error}", hint="yaoki doctor"
            )
        except sqlite3.Error:
            raise
        except BaseException as error:  # noqa: BLE001 - raised again by its caller
            self._writer.execute("ROLLBACK TO one")
            request.error = error
        self._writer.execute("RELEASE one")

    @contextmanager
    def _writer_lock(self) -> Iterator[None]:
        fcntl.flock(self._lock_fd, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock_fd, fcntl.LOCK_UN)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A consistent view; never waits for writers."""
        with self._reader_lock, translate_sqlite_errors(self.path):
            self._reader.execute("BEGIN")
            try:
                yield SqliteTransaction(self._reader)
            except StoreCorrupt:
                _mark_damage(self.path)
                raise
            finally:
                self._reader.execute("COMMIT")

    def refuse_if_replaced(self) -> None:
        """Raise when the open file is no longer the one at its path."""
        try:
            inode = self.path.stat().st_ino
        except FileNotFoundError:
            inode = 0
        if inode != self._inode:
            raise StoreCorrupt(
                f"{self.path} was deleted or replaced while this worker used it",
                hint="yaoki doctor; then continue with the current file: yaoki resume",
            )

    def version(self) -> int:
        with self._reader_lock, translate_sqlite_errors(self.path):
            version: int = self._reader.execute("PRAGMA data_version").fetchone()[0]
            return version

    def watch_commits(self, callback: Callable[[], None]) -> None:
        """A file tells nobody of its changes."""

    def retry_read(self, read: Callable[[], ResultT]) -> ResultT:
        return read()

    def wait_for_pending_entries(self) -> None:
        """Return at once: entries are numbered in the order of their commits."""

    def clock_offset(self) -> timedelta:
        return timedelta(0)

    def stop_waiting(self) -> None:
        """A file is always reachable."""

    def backup(self, target: Path) -> None:
        """A complete copy of the committed state, made while other threads read and write.

        It is read through its own connection: copying a large store takes long, and the
        heartbeats that renew the leases use the shared reader.
        """
        self.refuse_if_replaced()
        partial = target.with_suffix(".partial")
        # With mode=rw a file that is gone is an error, and not created again.
        address = f"{self.path.resolve().as_uri()}?mode=rw"
        with translate_sqlite_errors(self.path):
            try:
                with (
                    closing(sqlite3.connect(address, uri=True, timeout=30)) as source,
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
        with self._batches.block_commits(), self._reader_lock:
            self._reader.close()
            with self._writer_lock():
                self._writer.close()
            os.close(self._lock_fd)


def _connect(path: Path) -> sqlite3.Connection:
    # Threads share the connection under our own locks; the timeout covers other tools.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    connection.row_factory = sqlite3.Row
    return connection


def sync_to_disk(path: Path) -> None:
    """Sync a file's bytes, or the names in a folder, to the disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def translate_sqlite_errors(path: Path) -> Iterator[None]:
    """SQLite's errors as yaoki's.  Damage leaves a marker: the next opening checks thoroughly."""
    try:
        yield
    except sqlite3.OperationalError as error:
        message = str(error)
        if "full" in message or "disk I/O" in message:
            raise _full(path, message) from error
        if "readonly" in message or "unable to open" in message:
            raise StoreError(
                f"the store {path} cannot be opened: {message}",
                hint=f"make {path.parent} writable, or set [store] url in yaoki.toml",
            ) from error
        if "decode" in message:
            raise damage_error(path, message) from error
        raise StoreError(f"the store failed: {message}", hint="yaoki doctor") from error
    except sqlite3.DatabaseError as error:
        raise damage_error(path, str(error)) from error
    except OSError as error:
        if error.errno in NO_ROOM:
            raise _full(path, str(error.strerror)) from error
        raise StoreError(
            f"the store {path} cannot be opened: {error.strerror}",
            hint=f"make {path.parent} writable",
        ) from error


def _full(path: Path, message: str) -> StoreFull:
    return StoreFull(
        f"the store could not be written: {message}",
        hint=f"free some space below {path.parent}, then: yaoki resume",
    )


def _mark_damage(path: Path) -> None:
    """Without the marker the next command meets the damage again and reports the same."""
    with suppress(OSError):
        StorePaths(path).damage_marker.touch()


def damage_error(path: Path, message: str) -> StoreCorrupt:
    _mark_damage(path)
    return StoreCorrupt(
        f"{path} is damaged or not a yaoki store: {message}",
        hint="run yaoki status: it moves the file to quarantine and restores the store from its "
        "backups and its journal file",
    )
