"""Everything new that a commit would bring: names, contents, links and words, in bounded pieces."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from yaoki.adapters.git.command import Git, Site
from yaoki.adapters.git.trees import LINK, Change, parse_raw, raw_between, readable
from yaoki.core.leaks import Part

# Larger files are read from the disk, a piece at a time.
WHOLE_BYTES_MAX = 16 << 20
PIECE_BYTES, OVERLAP_BYTES = 8 << 20, 64 << 10
MESSAGES_MAX = 200
# The work, and its merge onto the run branch.
OUR_COMMITS = 2


def parts(git: Git, old: str, new: str) -> Iterator[Part]:
    """Of each path in which the two commits differ, and of the commits between them."""
    yield from _messages(git, old, new)
    yield from _between(git, old, new)
    for change in parse_raw(raw_between(git, old, new)):
        if change.status == "D":
            continue
        path = readable(change.path)
        if change.status == "A":
            yield Part(f"the name of {path}", os.fsencode(change.path), line=0)
        if change.blob or change.now == LINK:
            yield from _contents(git, old, change, path)


def _messages(git: Git, old: str, new: str) -> Iterator[Part]:
    form = ("log", f"--max-count={MESSAGES_MAX}", "--format=%an%n%ae%n%B")
    said = git.run(*form, f"{old}..{new}", "--").out
    yield Part("the message of a commit", said, line=0)


def _between(git: Git, old: str, new: str) -> Iterator[Part]:
    """What a person's own commits added and took away again: it stays in the history."""
    count = git.text("rev-list", "--count", f"--max-count={MESSAGES_MAX}", f"{old}..{new}")
    if int(count) <= OUR_COMMITS:
        return
    seen = {change.object for change in parse_raw(raw_between(git, old, new))}
    rows = git.run("rev-list", "--objects", "--no-object-names", f"{old}..{new}").out.split()
    for name in (row.decode("ascii") for row in rows):
        found = git.contents(name, WHOLE_BYTES_MAX) if name not in seen else None
        if found is not None and found.kind == "blob":
            where = f"a file of an earlier commit ({name[:12]})"
            yield Part(where, found.content, line=0)


def _contents(git: Git, old: str, change: Change, path: str) -> Iterator[Part]:
    found = git.contents(change.object, WHOLE_BYTES_MAX)
    if found is None:
        return
    if found.size > len(found.content):
        yield from _pieces(git, change.object, path)
        return
    # A name with a newline is two questions to git; then all of it counts as new.
    known = change.status != "A" and "\n" not in change.path
    before = git.contents(f"{old}:{change.path}", WHOLE_BYTES_MAX) if known else None
    yield Part(path, found.content, before.content if before else b"")


def _pieces(git: Git, blob: str, path: str) -> Iterator[Part]:
    with tempfile.TemporaryDirectory(prefix="yaoki-") as scratch:
        at = Site(git.common_dir, Path(scratch))
        name = git.text("unpack-file", blob, at=at)
        with (Path(scratch) / name).open("rb") as stream:
            line, held = 1, b""
            while piece := stream.read(PIECE_BYTES):
                yield Part(path, held + piece, line=line)
                line += (held + piece)[:-OVERLAP_BYTES].count(b"\n")
                held = (held + piece)[-OVERLAP_BYTES:]


def mentions(git: Git, commit: str, value: str) -> bool:
    """Does a file of the commit hold this line of text?  Told by standard input: arguments show."""
    lines = [line for line in value.splitlines() if line]
    given = "\n".join(lines[:1]).encode("utf-8", "surrogateescape") + b"\n"
    asked = ("grep", "-q", "-a", "-F", "-f", "-", commit, "--")
    return bool(lines) and git.run(*asked, given=given, ok=(0, 1)).code == 0
