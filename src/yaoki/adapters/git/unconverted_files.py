"""Files that git refuses to read, because they are not in the encoding that `.gitattributes` names.

An agent wrote the attribute or the file.  The files are stored as they are, so that its work is
saved all the same, and the refusal is reported to it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import GitFailed

ATTRIBUTE, UNSPECIFIED = "working-tree-encoding", "unspecified"
NAMES_AT_ONCE = 500
_REFUSAL = lazy_compile(
    r"fatal: (?:BOM is (?:required|prohibited) in '|failed to encode '"
    r"|true/false are no valid working-tree-encodings)"
)


def is_encoding_refusal(error: GitFailed) -> bool:
    return _REFUSAL.search(str(error)) is not None


def add_unconverted(git: Git, at: GitLocation, names: Sequence[str]) -> list[str]:
    """Add those of the files that have an encoding, as they are; returns all others."""
    encoded = _list_encoded(git, at, names)
    modes = {name: mode for name in encoded if (mode := _file_mode(at, name))}
    rows = b"".join(
        b"%b %b\t%b\0" % (modes[name].encode(), blob, os.fsencode(name))
        for part in _chunks(list(modes))
        for name, blob in zip(part, _store(git, at, part), strict=True)
    )
    git.run("update-index", "-z", "--index-info", at=at, stdin=rows)
    return [name for name in names if name not in modes]


def _list_encoded(git: Git, at: GitLocation, names: Iterable[str]) -> list[str]:
    stdin = b"".join(os.fsencode(name) + b"\0" for name in names)
    out = git.run("check-attr", "-z", "--stdin", ATTRIBUTE, at=at, stdin=stdin).out
    fields = [os.fsdecode(field) for field in out.split(b"\0")]
    values = zip(fields[::3], fields[2::3], strict=False)
    return [name for name, value in values if value != UNSPECIFIED]


def _file_mode(at: GitLocation, name: str) -> str:
    """Empty for anything but a regular file: nothing else is converted."""
    assert at.work_tree
    try:
        mode = os.lstat(at.work_tree / name).st_mode
    except OSError:
        return ""
    executable = "100755" if mode & stat.S_IXUSR else "100644"
    return executable if stat.S_ISREG(mode) else ""


def _store(git: Git, at: GitLocation, names: Sequence[str]) -> list[bytes]:
    return git.run("hash-object", "-w", "--no-filters", "--", *names, at=at).out.split()


def _chunks(names: Sequence[str]) -> Iterable[Sequence[str]]:
    return (names[n : n + NAMES_AT_ONCE] for n in range(0, len(names), NAMES_AT_ONCE))
