"""What lies between two commits, file by file, as text; bounded, binaries left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from yaoki.core.change import Change
from yaoki.workspace.content import raw_between
from yaoki.workspace.git import Git

FILES_MAX = 1_000
FILE_BYTES_MAX = 1 << 20
REGULAR = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    old: str
    new: str


def changes(git: Git, old: str, new: str) -> tuple[Change, ...]:
    """Renames are a file that went and one that came; links and submodules are left out."""
    entries = list(_entries(git, old, new))[:FILES_MAX]
    wanted = [sha for e in entries for sha in (e.old, e.new) if sha]
    blobs = _blobs(git, wanted)
    return tuple(found for entry in entries if (found := _change(entry, blobs)) is not None)


def _entries(git: Git, old: str, new: str) -> Iterator[_Entry]:
    fields = raw_between(git, old, new).split(b"\0")
    for head, name in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old_sha, new_sha, _ = head.decode("ascii").lstrip(":").split(" ")
        before = old_sha if old_mode in REGULAR else ""
        after = new_sha if new_mode in REGULAR else ""
        if before or after:
            yield _Entry(name.decode("utf-8", "surrogateescape"), before, after)


def _blobs(git: Git, wanted: list[str]) -> dict[str, bytes]:
    """What is too large is not looked at."""
    found = {sha: git.contents(sha, FILE_BYTES_MAX) for sha in dict.fromkeys(wanted)}
    return {sha: one.content for sha, one in found.items() if one and one.size == len(one.content)}


def _change(entry: _Entry, blobs: dict[str, bytes]) -> Change | None:
    sides = [blobs.get(sha) if sha else b"" for sha in (entry.old, entry.new)]
    if any(side is None or b"\0" in side for side in sides):
        return None
    before, after = ((side or b"").decode("utf-8", "replace") for side in sides)
    return Change(
        entry.path,
        before if entry.old else None,
        after if entry.new else None,
        tuple(_added(before, after)),
    )


def _added(before: str, after: str) -> Iterator[tuple[int, str]]:
    """Lines of the after side that a diff would show as added, by a plain and bounded compare.

    Equal beginnings and ends are left out, then lines that stand before in the same number.
    """
    old, new = before.splitlines(), after.splitlines()
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    left: dict[str, int] = {}
    for line in old[start : len(old) - end]:
        left[line] = left.get(line, 0) + 1
    for number, line in enumerate(new[start : len(new) - end], start=start + 1):
        if left.get(line, 0) > 0:
            left[line] -= 1
        else:
            yield number, line
