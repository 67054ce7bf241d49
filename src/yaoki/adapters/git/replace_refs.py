"""Replace refs: objects that git reads in place of others.  yaoki's own calls ignore them, a
person's git does not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.config_files import open_nonblocking, read_bounded
from yaoki.adapters.system.folders import walk_folders

REPLACE = "refs/replace"
LOOSE_MAX = 10_000
PACKED_CACHE_MAX = 16


def read_replace_refs(git: Git) -> dict[str, bytes]:
    """All replace refs as one entry; empty when nothing is replaced."""
    common = git.common_dir
    if (common / "reftable").is_dir():
        form = "--format=%(refname) %(objectname)"
        content = git.run("for-each-ref", form, f"{REPLACE}/").out
    else:
        pairs = dict(_read_packed(common / "packed-refs")) | dict(
            islice(_read_loose(common), LOOSE_MAX)
        )
        content = b"\n".join(b"%b %b" % pair for pair in sorted(pairs.items()))
    return {f"{common}/{REPLACE}": content} if content else {}


def _read_loose(common: Path) -> Iterator[tuple[bytes, bytes]]:
    start = len(str(common)) + 1
    for folder, folders, files in walk_folders(common / REPLACE):
        folders.sort()
        for file in (f"{folder}/{name}" for name in sorted(files)):
            yield os.fsencode(file[start:]), read_bounded(file).strip()


def _read_packed(file: Path) -> tuple[tuple[bytes, bytes], ...]:
    try:
        facts = file.stat()
    except OSError:
        return ()
    return _parse_packed(file, (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns))


@lru_cache(maxsize=PACKED_CACHE_MAX)
def _parse_packed(file: Path, _: tuple[int, ...]) -> tuple[tuple[bytes, bytes], ...]:
    """Cached by the facts of the file: git writes a new file whenever it changes."""
    start = f" {REPLACE}/".encode()
    with open(file, "rb", opener=open_nonblocking) as stream:
        rows = [line.strip().partition(b" ") for line in stream if start in line]
    return tuple((name, value) for value, _, name in rows)
