"""The journal file: every committed line once more, beside the database.

The database is the truth and this is its witness.  It is written after the durable commit, without
a sync of its own; what a kill or a full disk kept out of it follows with the next commit.
"""

from __future__ import annotations

import gzip
import os
import re
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from yaoki.adapters.store.journal_file.checksummed_line import COLUMNS, decode_line, encode_lines
from yaoki.adapters.system.files import write_atomically
from yaoki.errors import Fault

SEGMENT_BYTES = 16 << 20
TAIL_BYTES = 1 << 16
ROWS_AT_ONCE = 5000
HEADER = re.compile(rb'\{"seq":\d+,"at_ms":\d+,"run_id":"([^"]*)".*?,"event":"([^"]*)","data":')
AFTER = f"SELECT {', '.join(COLUMNS)} FROM journal WHERE seq > ? ORDER BY seq LIMIT {ROWS_AT_ONCE}"


class JournalFile:
    """Segments of lines in one folder.  Used only by whoever holds the writer lock."""

    def __init__(
        self,
        folder: Path,
        warn: Callable[[str], None] = lambda _: None,
        *,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        self.folder = folder
        self._warn = warn
        self._segment_bytes = segment_bytes
        self._warned = ""
        self._seq = 0
        # What the newest segment looked like when we last wrote: others write to it as well.
        self._seen: tuple[Path, int, int] | None = None

    # -------------------------------------------------------------- writing

    def append_committed(self, link: sqlite3.Connection) -> None:
        """Append what the database has committed and the file does not hold.

        Never an error: the commit stands, and the next one brings what is missing here.
        """
        try:
            last = self._last_seen()
            while rows := link.execute(AFTER, (last,)).fetchall():
                self._append(encode_lines(rows), last := rows[-1]["seq"])
        except (OSError, sqlite3.Error) as error:
            self._seen = None
            self._say(f"the journal file {self.folder} could not be written: {error}")

    def _say(self, words: str) -> None:
        if words != self._warned:
            self._warned = words
            self._warn(f"{words}; the store is whole, and the file is caught up later")

    def _last_seen(self) -> int:
        seen = self._seen
        # Beside a full segment another process may have begun the next.
        if seen and seen[2] < self._segment_bytes and _look(seen[0]) == seen:
            return self._seq
        return self.last_seq()

    def _append(self, data: bytes, seq: int) -> None:
        path = self._target()
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            # What was torn off keeps its own line, so that only that line is lost.
            rest = memoryview(data if _ends_whole(fd) else b"\n" + data)
            while rest:
                rest = rest[os.write(fd, rest) :]
        finally:
            os.close(fd)
        self._seen, self._seq = _look(path), seq

    def _target(self) -> Path:
        """The newest segment, or the next when that is full."""
        if self._seen and self._seen[2] < self._segment_bytes:
            return self._seen[0]
        found = self.list_segments()
        if not found:
            self.folder.mkdir(parents=True, exist_ok=True)
            return self.folder / "0001.jsonl"
        newest = found[-1]
        if newest.suffix == ".jsonl" and newest.stat().st_size < self._segment_bytes:
            return newest
        return self.folder / f"{_number(newest) + 1:04}.jsonl"

    def compress_old_segments(self) -> None:
        """All but the newest.  The plain one goes last, after the archive and its name are synced:
        a kill or a power loss leaves both, and that is fine.
        """
        for plain in self.list_segments()[:-1]:
            if plain.suffix != ".jsonl":
                continue
            try:
                archive = gzip.compress(plain.read_bytes(), 6)
                write_atomically(plain.with_suffix(".jsonl.gz"), archive)
                plain.unlink(missing_ok=True)
            except (OSError, Fault) as error:
                self._say(f"{plain} could not be compressed: {error}")

    # -------------------------------------------------------------- reading

    def list_segments(self) -> list[Path]:
        """Oldest first; one that stands plain and compressed counts once, plain."""
        found: dict[int, Path] = {}
        for path in (*self.folder.glob("*.jsonl.gz"), *self.folder.glob("*.jsonl")):
            if path.name.partition(".")[0].isdecimal():
                found[_number(path)] = path
        return [found[number] for number in sorted(found)]

    def last_seq(self) -> int:
        """The number of the last line that stands whole in the file; 0 when there is none."""
        self._seen, self._seq = None, 0
        for age, path in enumerate(reversed(self.list_segments())):
            for line in _backwards(path):
                if (found := decode_line(line)) is not None:
                    # Only the newest is written to, and only while it stands plain.
                    self._seen = None if age or path.suffix == ".gz" else _look(path)
                    self._seq = int(found["seq"])
                    return self._seq
        return 0

    def read_lines(self) -> Iterator[tuple[str, dict[str, Any] | None]]:
        """All lines with their place (`0001.jsonl:17`); nothing where one is damaged."""
        for path in self.list_segments():
            for number, line in enumerate(_content(path).split(b"\n"), start=1):
                if line:
                    yield f"{path.name}:{number}", decode_line(line)

    def read_lines_of(
        self, run_id: str, events: Collection[str] = ()
    ) -> Iterator[tuple[str, dict[str, Any] | None]]:
        """The lines of one run, those of `events` alone where some are named, and damaged ones.

        A long journal is read quickly: what is not asked for is not decoded.
        """
        run, names = run_id.encode(), {name.encode() for name in events}
        for path in self.list_segments():
            for number, line in enumerate(_content(path).split(b"\n"), start=1):
                header = HEADER.match(line)
                if header and (header[1] != run or (names and header[2] not in names)):
                    continue
                if line:
                    yield f"{path.name}:{number}", decode_line(line)


def _number(path: Path) -> int:
    return int(path.name.partition(".")[0])


def _look(path: Path) -> tuple[Path, int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return path, found.st_ino, found.st_size


def _ends_whole(fd: int) -> bool:
    size = os.fstat(fd).st_size
    return size == 0 or os.pread(fd, 1, size - 1) == b"\n"


def _content(path: Path) -> bytes:
    """A damaged archive gives what can be read of it; its broken end is a damaged line."""
    if path.suffix != ".gz":
        return path.read_bytes()
    read: list[bytes] = []
    try:
        with gzip.open(path) as file:
            while block := file.read(TAIL_BYTES):
                read.append(block)
    except (OSError, EOFError, ValueError, zlib.error):
        read.append(b"\nthe rest of this archive cannot be read")
    return b"".join(read)


def _backwards(path: Path) -> Iterator[bytes]:
    """The lines of a segment, the last first, reading no more than is asked for."""
    if path.suffix == ".gz":
        yield from reversed(_content(path).split(b"\n"))
        return
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        window = TAIL_BYTES
        while True:
            start = max(0, end - window)
            file.seek(start)
            found = file.read(end - start).split(b"\n")
            yield from reversed(found[1:] if start else found)
            if not start:
                return
            window *= 8
