"""What lies between two commits, file by file, as text; bounded, binaries left out.

Every file that differs is named.  Where the change as a whole is too large to be read, the files
beyond the bound come as unread, so that whoever judges can say so instead of passing them over.
"""

from __future__ import annotations

from collections.abc import Iterator

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.trees import read_raw_diff
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
    """Renames are a file that went and one that came; links and submodules are left out."""
    found: list[Change] = []
    room = bytes_max
    for n, entry in enumerate(_entries(git, old, new)):
        sides = None if n >= files_max or room < 0 else _sides(git, entry)
        room -= sum(len(side) for side in sides or () if side)
        if sides is None or room < 0:
            found.append(_unread(entry))
        elif all(side is not None and b"\0" not in side for side in sides):
            found.append(_change(entry, *(side or b"" for side in sides)))
    return tuple(found)


def _entries(git: Git, old: str, new: str) -> Iterator[_Entry]:
    fields = read_raw_diff(git, old, new).split(b"\0")
    for head, name in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old_sha, new_sha, _ = head.decode("ascii").lstrip(":").split(" ")
        before = old_sha if old_mode in REGULAR else ""
        after = new_sha if new_mode in REGULAR else ""
        if before or after:
            path = name.decode("utf-8", "surrogateescape")
            yield _Entry(path, before, after, old_mode, new_mode)


def _sides(git: Git, entry: _Entry) -> tuple[bytes | None, bytes | None]:
    """The content before and after; None for a file that is too large to be source."""
    return _blob(git, entry.old), _blob(git, entry.new)


def _blob(git: Git, sha: str) -> bytes | None:
    if not sha:
        return b""
    found = git.read_object(sha, FILE_BYTES_MAX)
    if found is None:
        raise GitFailed(f"git lacks the content {sha[:12]} of a changed file", hint="git fsck")
    return found.content if found.size == len(found.content) else None


def _unread(entry: _Entry) -> Change:
    before, after = ("" if sha else None for sha in (entry.old, entry.new))
    return Change(entry.path, before, after, (), was_skipped=True)


def _change(entry: _Entry, old: bytes, new: bytes) -> Change:
    before, after = (side.decode("utf-8", "replace") for side in (old, new))
    return Change(
        entry.path,
        before if entry.old else None,
        after if entry.new else None,
        tuple(_added(before, after)),
        mode_before=entry.old_mode if entry.old else "",
        mode_after=entry.new_mode if entry.new else "",
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
