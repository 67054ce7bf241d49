"""Everything that a commit adds: names, contents, links and messages, in bounded pieces."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.tree_diff import (
    LINK,
    ChangeStatus,
    TreeChange,
    parse_raw_diff,
    printable_path,
    read_raw_diff,
)
from yaoki.core.leaks import NewContent

# Larger files are unpacked to the disk and read piece by piece.
WHOLE_BYTES_MAX = 16 << 20
PIECE_BYTES, OVERLAP_BYTES = 8 << 20, 64 << 10
MESSAGES_MAX = 200
# The work, and its merge onto the run branch.
OWN_COMMITS = 2


def read_new_content(git: Git, old: str, new: str) -> Iterator[NewContent]:
    """Content of each path that differs, and of the commits in between."""
    yield from _read_messages(git, old, new)
    yield from _read_intermediate(git, old, new)
    for change in parse_raw_diff(read_raw_diff(git, old, new)):
        if change.status is ChangeStatus.DELETED:
            continue
        path = printable_path(change.path)
        if change.status is ChangeStatus.ADDED:
            yield NewContent(f"the name of {path}", os.fsencode(change.path), line=0)
        if change.blob_id or change.new_mode == LINK:
            yield from _read_file(git, old, change, path)


def _read_messages(git: Git, old: str, new: str) -> Iterator[NewContent]:
    form = ("log", f"--max-count={MESSAGES_MAX}", "--format=%an%n%ae%n%B")
    text = git.run(*form, f"{old}..{new}", "--").out
    yield NewContent("the message of a commit", text, line=0)


def _read_intermediate(git: Git, old: str, new: str) -> Iterator[NewContent]:
    """Content that a person's commits added and removed again: it stays in the history."""
    count = git.read_text("rev-list", "--count", f"--max-count={MESSAGES_MAX}", f"{old}..{new}")
    if int(count) <= OWN_COMMITS:
        return
    final = {change.object_id for change in parse_raw_diff(read_raw_diff(git, old, new))}
    rows = git.run("rev-list", "--objects", "--no-object-names", f"{old}..{new}").out.split()
    for name in (row.decode("ascii") for row in rows):
        stored = git.read_object(name, WHOLE_BYTES_MAX) if name not in final else None
        if stored is not None and stored.kind == "blob":
            source = f"a file of an earlier commit ({name[:12]})"
            yield NewContent(source, stored.content, line=0)


def _read_file(git: Git, old: str, change: TreeChange, path: str) -> Iterator[NewContent]:
    stored = git.read_object(change.object_id, WHOLE_BYTES_MAX)
    if stored is None:
        return
    if stored.size > len(stored.content):
        yield from _read_pieces(git, change.object_id, path)
        return
    # A name with a newline would be two queries to git; all of the file then counts as new.
    has_old = change.status is not ChangeStatus.ADDED and "\n" not in change.path
    before = git.read_object(f"{old}:{change.path}", WHOLE_BYTES_MAX) if has_old else None
    yield NewContent(path, stored.content, before.content if before else b"")


def _read_pieces(git: Git, blob: str, path: str) -> Iterator[NewContent]:
    with tempfile.TemporaryDirectory(prefix="yaoki-") as scratch:
        at = GitLocation(git.common_dir, Path(scratch))
        name = git.read_text("unpack-file", blob, at=at)
        with (Path(scratch) / name).open("rb") as stream:
            line, overlap = 1, b""
            while piece := stream.read(PIECE_BYTES):
                yield NewContent(path, overlap + piece, line=line)
                line += (overlap + piece)[:-OVERLAP_BYTES].count(b"\n")
                overlap = (overlap + piece)[-OVERLAP_BYTES:]


def contains_text(git: Git, commit: str, value: str) -> bool:
    """True when a file of the commit contains the first line of the text.

    The text goes through standard input: arguments are visible in the process list.
    """
    lines = [line for line in value.splitlines() if line]
    pattern = "\n".join(lines[:1]).encode("utf-8", "surrogateescape") + b"\n"
    args = ("grep", "-q", "-a", "-F", "-f", "-", commit, "--")
    return bool(lines) and git.run(*args, stdin=pattern, ok=(0, 1)).code == 0
