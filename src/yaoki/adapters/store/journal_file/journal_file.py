"""The journal file: a copy of every committed journal entry, next to the database.

The database is authoritative; it is checked against the file and rebuilt from it.  The file is
written after the durable commit, without a sync of its own; what a kill or a full disk kept out of
it follows with the next commit.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from yaoki.adapters.store.journal_file.checksummed_line import COLUMNS, decode_line, encode_lines
from yaoki.adapters.system.files import write_atomically
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import Fault

SEGMENT_BYTES = 16 << 20
TAIL_BYTES = 1 << 16
ROWS_AT_ONCE = 5000
HEADER = lazy_compile(rb'\{"seq":\d+,"at_ms":\d+,"run_id":"([^"]*)".*?,"event":"([^"]*)","data":')
AFTER = f"SELECT {', '.join(COLUMNS)} FROM journal WHERE seq > ? ORDER BY seq LIMIT {ROWS_AT_ONCE}"


class JournalFile:
    """Segments of lines in one folder.  Used only under the writer lock."""

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
        self._last_warning = ""
        self._seq = 0
        # The newest segment after our last write; other processes write to it as well.
        self._segment: tuple[Path, int, int] | None = None

    # -------------------------------------------------------------- writing

    def append_committed(self, connection: sqlite3.Connection) -> None:
        """Append what the database has committed and the file lacks.

        Never an error: the commit is stored, and the next one appends what is missing here.
        """
        try:
            last = self._last_written()
            while rows := connection.execute(AFTER, (last,)).fetchall():
                self._append(encode_lines(rows), last := rows[-1]["seq"])
        except (OSError, sqlite3.Error) as error:
            self._segment = None
            self._warn_once(f"the journal file {self.folder} could not be written: {error}")

    def _warn_once(self, message: str) -> None:
        if message != self._last_warning:
            self._last_warning = message
            self._warn(f"{message}; the store is intact, and the file is completed later")

    def _last_written(self) -> int:
        segment = self._segment
        # After a full segment another process may have started the next.
        if segment and segment[2] < self._segment_bytes and _stat(segment[0]) == segment:
            return self._seq
        return self.last_seq()

    def _append(self, data: bytes, seq: int) -> None:
        path = self._target()
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            # A torn line gets its own line feed, so that only that line is lost.
            rest = memoryview(data if _ends_with_newline(fd) else b"\n" + data)
            while rest:
                rest = rest[os.write(fd, rest) :]
        finally:
            os.close(fd)
        self._segment, self._seq = _stat(path), seq

    def _target(self) -> Path:
        """The newest segment, or the next one when that is full."""
        if self._segment and self._segment[2] < self._segment_bytes:
            return self._segment[0]
        segments = self.list_segments()
        if not segments:
            self.folder.mkdir(parents=True, exist_ok=True)
            return self.folder / "0001.jsonl"
        newest = segments[-1]
        if newest.suffix == ".jsonl" and newest.stat().st_size < self._segment_bytes:
            return newest
        return self.folder / f"{_number(newest) + 1:04}.jsonl"

    def compress_old_segments(self) -> None:
        """Compress all but the newest.

        The plain segment is deleted last, after the archive and its name are synced: a kill or a
        power loss leaves both, which does no harm.
        """
        for plain in self.list_segments()[:-1]:
            if plain.suffix != ".jsonl":
                continue
            import gzip  # most journals have one segment

            try:
                archive = gzip.compress(plain.read_bytes(), 6)
                write_atomically(plain.with_suffix(".jsonl.gz"), archive)
                plain.unlink(missing_ok=True)
            except (OSError, Fault) as error:
                self._warn_once(f"{plain} could not be compressed: {error}")

    # -------------------------------------------------------------- reading

    def list_segments(self) -> list[Path]:
        """Oldest first; of a segment that exists plain and compressed, the plain one counts."""
        segments: dict[int, Path] = {}
        for path in (*self.folder.glob("*.jsonl.gz"), *self.folder.glob("*.jsonl")):
            if path.name.partition(".")[0].isdecimal():
                segments[_number(path)] = path
        return [segments[number] for number in sorted(segments)]

    def last_seq(self) -> int:
        """The number of the last intact line in the file; 0 when there is none."""
        self._segment, self._seq = None, 0
        for age, path in enumerate(reversed(self.list_segments())):
            for line in _lines_backwards(path):
                if (columns := decode_line(line)) is not None:
                    # Only the newest segment is written to, and only while it is plain.
                    self._segment = None if age or path.suffix == ".gz" else _stat(path)
                    self._seq = int(columns["seq"])
                    return self._seq
        return 0

    def read_lines(self) -> Iterator[tuple[str, dict[str, Any] | None]]:
        """All lines with their position (`0001.jsonl:17`); None for a damaged line."""
        for path in self.list_segments():
            for number, line in enumerate(_content(path).split(b"\n"), start=1):
                if line:
                    yield f"{path.name}:{number}", decode_line(line)

    def read_lines_of(
        self, run_id: str, events: Collection[str] = ()
    ) -> Iterator[tuple[str, dict[str, Any] | None]]:
        """The lines of one run, only those of `events` if there are any, and damaged lines.

        A long journal is read quickly: other lines are not decoded.
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


def _stat(path: Path) -> tuple[Path, int, int] | None:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return path, stat.st_ino, stat.st_size


def _ends_with_newline(fd: int) -> bool:
    size = os.fstat(fd).st_size
    return size == 0 or os.pread(fd, 1, size - 1) == b"\n"


def _content(path: Path) -> bytes:
    """The readable part of a damaged archive; its broken end counts as a damaged line."""
    if path.suffix != ".gz":
        return path.read_bytes()
    import gzip
    import zlib

    blocks: list[bytes] = []
    try:
        with gzip.open(path) as file:
            while block := file.read(TAIL_BYTES):
                blocks.append(block)
    except (OSError, EOFError, ValueError, zlib.error):
        blocks.append(b"\nthe rest of this archive cannot be read")
    return b"".join(blocks)


def _lines_backwards(path: Path) -> Iterator[bytes]:
    """The lines of a segment, the last first, reading only as much as needed."""
    if path.suffix == ".gz":
        yield from reversed(_content(path).split(b"\n"))
        return
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        window = TAIL_BYTES
        while True:
            start = max(0, end - window)
            file.seek(start)
            lines = file.read(end - start).split(b"\n")
            yield from reversed(lines[1:] if start else lines)
            if not start:
                return
            window *= 8
