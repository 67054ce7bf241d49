"""Objects that git reads in place of others: yaoki's own calls do not, a person's do."""

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
KNOWN_MAX = 16


def read_replace_refs(git: Git) -> dict[Path, bytes]:
    """All of them as one, wherever git keeps them; nothing where nothing is replaced."""
    common = git.common_dir
    if (common / "reftable").is_dir():
        form = "--format=%(refname) %(objectname)"
        held = git.run("for-each-ref", form, f"{REPLACE}/").out
    else:
        pairs = dict(_packed(common / "packed-refs")) | dict(islice(_loose(common), LOOSE_MAX))
        held = b"\n".join(b"%b %b" % pair for pair in sorted(pairs.items()))
    return {common / REPLACE: held} if held else {}


def _loose(common: Path) -> Iterator[tuple[bytes, bytes]]:
    for place, folders, files in walk_folders(common / REPLACE):
        folders.sort()
        for file in (Path(place, name) for name in sorted(files)):
            yield os.fsencode(file.relative_to(common)), read_bounded(file).strip()


def _packed(file: Path) -> tuple[tuple[bytes, bytes], ...]:
    try:
        facts = file.stat()
    except OSError:
        return ()
    return _lines(file, (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns))


@lru_cache(maxsize=KNOWN_MAX)
def _lines(file: Path, _: tuple[int, ...]) -> tuple[tuple[bytes, bytes], ...]:
    """Read again when it is another file: git writes it anew whenever it changes."""
    start = f" {REPLACE}/".encode()
    with open(file, "rb", opener=open_nonblocking) as opened:
        found = [line.strip().partition(b" ") for line in opened if start in line]
    return tuple((name, value) for value, _, name in found)
