"""Refs and untracked files of the user: what an agent outside of the sandbox can write unseen.

Read twice an attempt, so no git is started as long as nothing new is there: refs are read from
their files, and whether a name is ignored is asked once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.repository import GitRepository
from yaoki.adapters.system.folders import walk_folders

# More of a sort than this are told as one: which of them changed is then not known.
NAMED_MAX = 40
FOLDERS_MAX = 5_000
LOOSE_BYTES_MAX = 1 << 12
# Ours, and what git's own housekeeping moves; the stash is told with the way back to it.
NOT_THEIRS = re.compile(
    r"refs/(?:heads/yaoki/|yaoki/|remotes/[^/]+/yaoki/|stash$|prefetch/|bisect/|worktree/)"
)
OWN = frozenset({b".git", b".yaoki"})
UNTRACKED = "untracked"


def read_all_refs(git: Git) -> dict[str, str]:
    """Every ref of the repository with its commit."""
    common = git.common_dir
    return _asked(git) if (common / "reftable").is_dir() else _read(common)


def read_user_refs(git: Git) -> dict[str, str]:
    """Every branch, tag and remote-tracking ref of the user's, with its commit."""
    theirs = {name: sha for name, sha in read_all_refs(git).items() if not NOT_THEIRS.match(name)}
    groups: dict[str, dict[str, str]] = {}
    for name, sha in theirs.items():
        groups.setdefault("/".join(name.split("/")[: 3 if "/remotes/" in name else 2]), {})[
            name
        ] = sha
    told: dict[str, str] = {}
    for group, held in groups.items():
        told |= held if len(held) <= NAMED_MAX else {f"{group}/*": _hash(sorted(held.items()))}
    return told


def _read(common: Path) -> dict[str, str]:
    """Loose ones first: one that is packed meanwhile stands in the file that is read later."""
    loose = dict(_loose(common))
    packed = _text(common / "packed-refs", 1 << 26)
    lines = (line.split(" ") for line in packed.splitlines() if line[:1] not in {"#", "^"})
    return {parts[1]: parts[0] for parts in lines if len(parts) == 2} | loose


def _loose(common: Path) -> Iterator[tuple[str, str]]:
    for folder, _, names in walk_folders(common / "refs"):
        for name in names:
            file = Path(folder) / name
            if not name.endswith(".lock") and (held := _text(file, LOOSE_BYTES_MAX).strip()):
                yield file.relative_to(common).as_posix(), held


def _text(file: Path, most: int) -> str:
    try:
        with file.open("rb") as stream:
            return stream.read(most).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _asked(git: Git) -> dict[str, str]:
    lines = git.read_text("for-each-ref", "--format=%(objectname) %(refname)").splitlines()
    return {name: sha for sha, _, name in (line.partition(" ") for line in lines)}


def find_untracked(
    git: Git, repository: GitRepository, tracked: Mapping[bytes, object], index: bytes
) -> dict[str, str]:
    """Files and folders beside the tracked ones that git does not ignore, with their facts.

    Of a folder that is not tracked only what is added or removed right in it shows.
    """
    folders = _folders(frozenset(tracked), index)
    if len(folders) > FOLDERS_MAX:
        return {}
    top = os.fsencode(repository.top)
    beside = sorted(_beside(top, folders, tracked))
    ignored = _ignored(git, repository, tuple(name for name, _ in beside), _rules(repository))
    seen = {os.fsdecode(name): facts for name, facts in beside if name not in ignored}
    if len(seen) > NAMED_MAX:
        return {f"{UNTRACKED} files": _hash(sorted(seen.items()))}
    return {f"{UNTRACKED} {name}": facts for name, facts in seen.items()}


@lru_cache(maxsize=1)
def _folders(tracked: frozenset[bytes], _: bytes) -> frozenset[bytes]:
    """The top, and every folder that holds something tracked."""
    found = {b""}
    for name in tracked:
        while b"/" in name and (name := name.rpartition(b"/")[0]) not in found:
            found.add(name)
    return frozenset(found)


def _beside(
    top: bytes, folders: Iterable[bytes], tracked: Mapping[bytes, object]
) -> Iterator[tuple[bytes, str]]:
    known = frozenset(folders)
    for folder in known:
        try:
            entries = list(os.scandir(b"%b/%b" % (top, folder)))
        except OSError:
            continue
        for entry in entries:
            name = b"%b/%b" % (folder, entry.name) if folder else entry.name
            if name not in known and name not in tracked and entry.name not in OWN:
                yield name, _facts(entry)


def _facts(entry: os.DirEntry[bytes]) -> str:
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return "gone"
    return _hash((facts.st_mode, facts.st_size, facts.st_mtime_ns))


def _rules(repository: GitRepository) -> str:
    """When the rules of the top or of the clone change, names are asked again."""
    files = (repository.top / ".gitignore", repository.common_dir / "info" / "exclude")
    return "\0".join(_text(file, 1 << 20) for file in files)


@lru_cache(maxsize=8)
def _ignored(
    git: Git, repository: GitRepository, names: tuple[bytes, ...], _: str
) -> frozenset[bytes]:
    if not names:
        return frozenset()
    at = GitLocation(repository.git_dir, repository.top)
    given = b"".join(b"%b\0" % name for name in names)
    found = git.run("check-ignore", "-z", "--stdin", at=at, stdin=given, ok=(0, 1, 128)).out
    return frozenset(found.split(b"\0"))


def _hash(value: object) -> str:
    return sha256(repr(value).encode("utf-8", "surrogateescape")).hexdigest()[:16]
