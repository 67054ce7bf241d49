"""The difference of two commits, file by file, as text; bounded, without binaries.

Every file that differs is listed.  If the whole change is too large, the files beyond the limit
are marked as skipped, so that a reviewer can report them instead of missing them.
"""

from __future__ import annotations

from collections.abc import Iterator

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.tree_diff import read_raw_diff
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model.change import CHANGED_BYTES_MAX, CHANGED_FILES_MAX, Change
from yaoki.errors import GitFailed

FILE_BYTES_MAX = 1 << 20
REGULAR = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    old: str
    new: str
    old_mode: str
    new_mode: str


def read_changes(
    git: Git,
    old: str,
    new: str,
    *,
    files_max: int = CHANGED_FILES_MAX,
    bytes_max: int = CHANGED_BYTES_MAX,
) -> tuple[Change, ...]:
    """A rename is a deleted and an added file; links and submodules are left out."""
    changes: list[Change] = []
    remaining = bytes_max
    for n, entry in enumerate(_entries(git, old, new)):
        sides = None if n >= files_max or remaining < 0 else _read_sides(git, entry)
        remaining -= sum(len(side) for side in sides or () if side)
        if sides is None or remaining < 0:
            changes.append(_skipped(entry))
        elif all(side is not None and b"\0" not in side for side in sides):
            changes.append(_change(entry, *(side or b"" for side in sides)))
    return tuple(changes)


def _entries(git: Git, old: str, new: str) -> Iterator[_Entry]:
    fields = read_raw_diff(git, old, new).split(b"\0")
    for head, name in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old_sha, new_sha, _ = head.decode("ascii").lstrip(":").split(" ")
        before = old_sha if old_mode in REGULAR else ""
        after = new_sha if new_mode in REGULAR else ""
        if before or after:
            path = name.decode("utf-8", "surrogateescape")
            yield _Entry(path, before, after, old_mode, new_mode)


def _read_sides(git: Git, entry: _Entry) -> tuple[bytes | None, bytes | None]:
    """The content before and after; None for a file that is too large to be source."""
    return _read_blob(git, entry.old), _read_blob(git, entry.new)


def _read_blob(git: Git, sha: str) -> bytes | None:
    if not sha:
        return b""
    blob = git.read_object(sha, FILE_BYTES_MAX)
    if blob is None:
        raise GitFailed(f"git lacks the content {sha[:12]} of a changed file", hint="git fsck")
    return blob.content if blob.size == len(blob.content) else None


def _skipped(entry: _Entry) -> Change:
    before, after = ("" if sha else None for sha in (entry.old, entry.new))
    return Change(entry.path, before, after, (), was_skipped=True)


def _change(entry: _Entry, old: bytes, new: bytes) -> Change:
    before, after = (side.decode("utf-8", "replace") for side in (old, new))
    return Change(
        entry.path,
        before if entry.old else None,
        after if entry.new else None,
        tuple(_added_lines(before, after)),
        mode_before=entry.old_mode if entry.old else "",
        mode_after=entry.new_mode if entry.new else "",
    )


def _added_lines(before: str, after: str) -> Iterator[tuple[int, str]]:
    """Lines that a diff would show as added, by a simple comparison in linear time.

    Common first and last lines are skipped, then each line that also exists before.
    """
    old, new = before.splitlines(), after.splitlines()
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    removed: dict[str, int] = {}
    for line in old[start : len(old) - end]:
        removed[line] = removed.get(line, 0) + 1
    for number, line in enumerate(new[start : len(new) - end], start=start + 1):
        if removed.get(line, 0) > 0:
            removed[line] -= 1
        else:
            yield number, line
