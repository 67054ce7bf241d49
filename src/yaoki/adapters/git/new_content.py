"""Everything new that a commit would bring: names, contents, links and words, in bounded pieces."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.trees import LINK, TreeChange, parse_raw_diff, printable_path, read_raw_diff
from yaoki.core.leaks import NewContent

# Larger files are read from the disk, a piece at a time.
WHOLE_BYTES_MAX = 16 << 20
PIECE_BYTES, OVERLAP_BYTES = 8 << 20, 64 << 10
MESSAGES_MAX = 200
# The work, and its merge onto the run branch.
OUR_COMMITS = 2


def read_new_content(git: Git, old: str, new: str) -> Iterator[NewContent]:
    """Of each path in which the two commits differ, and of the commits between them."""
    yield from _messages(git, old, new)
    yield from _between(git, old, new)
    for change in parse_raw_diff(read_raw_diff(git, old, new)):
        if change.status == "D":
            continue
        path = printable_path(change.path)
        if change.status == "A":
            yield NewContent(f"the name of {path}", os.fsencode(change.path), line=0)
        if change.blob_id or change.new_mode == LINK:
            yield from _contents(git, old, change, path)


def _messages(git: Git, old: str, new: str) -> Iterator[NewContent]:
    form = ("log", f"--max-count={MESSAGES_MAX}", "--format=%an%n%ae%n%B")
    said = git.run(*form, f"{old}..{new}", "--").out
    yield NewContent("the message of a commit", said, line=0)


def _between(git: Git, old: str, new: str) -> Iterator[NewContent]:
    """What a person's own commits added and took away again: it stays in the history."""
    count = git.read_text("rev-list", "--count", f"--max-count={MESSAGES_MAX}", f"{old}..{new}")
    if int(count) <= OUR_COMMITS:
        return
    seen = {change.object_id for change in parse_raw_diff(read_raw_diff(git, old, new))}
    rows = git.run("rev-list", "--objects", "--no-object-names", f"{old}..{new}").out.split()
    for name in (row.decode("ascii") for row in rows):
        found = git.read_object(name, WHOLE_BYTES_MAX) if name not in seen else None
        if found is not None and found.kind == "blob":
            where = f"a file of an earlier commit ({name[:12]})"
            yield NewContent(where, found.content, line=0)


def _contents(git: Git, old: str, change: TreeChange, path: str) -> Iterator[NewContent]:
    found = git.read_object(change.object_id, WHOLE_BYTES_MAX)
    if found is None:
        return
    if found.size > len(found.content):
        yield from _pieces(git, change.object_id, path)
        return
    # A name with a newline is two questions to git; then all of it counts as new.
    known = change.status != "A" and "\n" not in change.path
    before = git.read_object(f"{old}:{change.path}", WHOLE_BYTES_MAX) if known else None
    yield NewContent(path, found.content, before.content if before else b"")


def _pieces(git: Git, blob: str, path: str) -> Iterator[NewContent]:
    with tempfile.TemporaryDirectory(prefix="yaoki-") as scratch:
        at = GitLocation(git.common_dir, Path(scratch))
        name = git.read_text("unpack-file", blob, at=at)
        with (Path(scratch) / name).open("rb") as stream:
            line, held = 1, b""
            while piece := stream.read(PIECE_BYTES):
                yield NewContent(path, held + piece, line=line)
                line += (held + piece)[:-OVERLAP_BYTES].count(b"\n")
                held = (held + piece)[-OVERLAP_BYTES:]


def contains_text(git: Git, commit: str, value: str) -> bool:
    """Does a file of the commit hold this line of text?  Told by standard input: arguments show."""
    lines = [line for line in value.splitlines() if line]
    given = "\n".join(lines[:1]).encode("utf-8", "surrogateescape") + b"\n"
    asked = ("grep", "-q", "-a", "-F", "-f", "-", commit, "--")
    return bool(lines) and git.run(*asked, stdin=given, ok=(0, 1)).code == 0
