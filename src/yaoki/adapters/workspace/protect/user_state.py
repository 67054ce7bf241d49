"""Refs and untracked files of the user, which an agent outside of the sandbox can write.

Read twice per attempt, so no git is started as long as nothing is new: refs are read from their
files, and the ignore rules of a name are evaluated once.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.repository import GitRepository
from yaoki.adapters.system.folders import walk_folders
from yaoki.core.lazy_pattern import lazy_compile

# Larger groups are hashed as one: which member changed is then not known.
NAMED_MAX = 40
FOLDERS_MAX = 5_000
LOOSE_BYTES_MAX = 1 << 12
# Refs of yaoki's and of git's own maintenance; the stash is reported separately.
OTHER_REFS = lazy_compile(
    r"refs/(?:heads/yaoki/|yaoki/|remotes/[^/]+/yaoki/|stash$|prefetch/|bisect/|worktree/)"
)
NO_REFS = lazy_compile("(?!)")
SKIPPED_NAMES = frozenset({b".git", b".yaoki"})
UNTRACKED = "untracked"


def read_all_refs(git: Git) -> dict[str, str]:
    """Every ref of the repository with its commit."""
    return _read_refs(git, NO_REFS)


def read_user_refs(git: Git) -> dict[str, str]:
    """Every branch, tag and remote-tracking ref of the user's, with its commit.

    Other refs are not even read: a run makes several of them for each of its tasks.
    """
    refs = _read_refs(git, OTHER_REFS)
    groups: dict[str, dict[str, str]] = {}
    for name, sha in refs.items():
        groups.setdefault("/".join(name.split("/")[: 3 if "/remotes/" in name else 2]), {})[
            name
        ] = sha
    state: dict[str, str] = {}
    for group, members in groups.items():
        is_small = len(members) <= NAMED_MAX
        state |= members if is_small else {f"{group}/*": _hash(sorted(members.items()))}
    return state


def _read_refs(git: Git, left_out: re.Pattern[str]) -> dict[str, str]:
    common = git.common_dir
    read = _ask_git(git) if (common / "reftable").is_dir() else _read_files(common, left_out)
    return {name: sha for name, sha in read.items() if not left_out.match(name)}


def _read_files(common: Path, left_out: re.Pattern[str]) -> dict[str, str]:
    """Loose refs first: a ref that is packed meanwhile is in the file that is read later."""
    loose = dict(_read_loose(common, left_out))
    packed = _read_text(common / "packed-refs", 1 << 26)
    lines = (line.split(" ") for line in packed.splitlines() if line[:1] not in {"#", "^"})
    return {parts[1]: parts[0] for parts in lines if len(parts) == 2} | loose


def _read_loose(common: Path, left_out: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    start = len(str(common)) + 1
    for folder, folders, names in walk_folders(common / "refs"):
        place = folder[start:]
        folders[:] = [name for name in folders if not left_out.match(f"{place}/{name}/")]
        for name in names:
            ref = f"{place}/{name}"
            if name.endswith(".lock") or left_out.match(ref):
                continue
            if text := _read_text(Path(folder, name), LOOSE_BYTES_MAX).strip():
                yield ref, text


def _read_text(file: Path, bytes_max: int) -> str:
    try:
        with file.open("rb") as stream:
            return stream.read(bytes_max).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _ask_git(git: Git) -> dict[str, str]:
    lines = git.read_text("for-each-ref", "--format=%(objectname) %(refname)").splitlines()
    return {name: sha for sha, _, name in (line.partition(" ") for line in lines)}


def find_untracked(
    git: Git, repository: GitRepository, tracked: Mapping[bytes, object], index: bytes
) -> dict[str, str]:
    """Untracked files and folders that git does not ignore, with a hash of their facts.

    In an untracked folder only files added or removed at its top level show.  The files of yaoki's
    own output do not: it writes them while the agent works.
    """
    folders = _tracked_folders(frozenset(tracked), index)
    if len(folders) > FOLDERS_MAX:
        return {}
    top = os.fsencode(repository.top)
    entries = sorted(_list_untracked(top, folders, tracked))
    names = tuple(name for name, _ in entries)
    ignored = _find_ignored(git, repository, names, _read_rules(repository))
    files = {os.fsdecode(name): facts for name, facts in entries if name not in ignored}
    if len(files) > NAMED_MAX:
        return {f"{UNTRACKED} files": _hash(sorted(files.items()))}
    return {f"{UNTRACKED} {name}": facts for name, facts in files.items()}


@lru_cache(maxsize=1)
def _tracked_folders(tracked: frozenset[bytes], _: bytes) -> frozenset[bytes]:
    """The top folder, and every folder that contains a tracked file."""
    folders = {b""}
    for name in tracked:
        while b"/" in name and (name := name.rpartition(b"/")[0]) not in folders:
            folders.add(name)
    return frozenset(folders)


def _list_untracked(
    top: bytes, folders: Iterable[bytes], tracked: Mapping[bytes, object]
) -> Iterator[tuple[bytes, str]]:
    known, own = frozenset(folders), frozenset(_find_own_output())
    for folder in known:
        try:
            entries = list(os.scandir(b"%b/%b" % (top, folder)))
        except OSError:
            continue
        for entry in entries:
            name = b"%b/%b" % (folder, entry.name) if folder else entry.name
            is_untracked = name not in known and name not in tracked
            if is_untracked and entry.name not in SKIPPED_NAMES and not _is_one_of(own, entry):
                yield name, _facts(entry)


def _find_own_output() -> Iterator[tuple[int, int]]:
    """The files that this process writes its output to, as in `yaoki run > run.log`."""
    for channel in (1, 2):
        try:
            facts = os.fstat(channel)
        except OSError:
            continue
        if stat.S_ISREG(facts.st_mode):
            yield facts.st_dev, facts.st_ino


def _is_one_of(files: Collection[tuple[int, int]], entry: os.DirEntry[bytes]) -> bool:
    if not files:
        return False
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return (facts.st_dev, facts.st_ino) in files


def _facts(entry: os.DirEntry[bytes]) -> str:
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return "gone"
    return _hash((facts.st_mode, facts.st_size, facts.st_mtime_ns))


def _read_rules(repository: GitRepository) -> str:
    """The ignore rules of the top folder and of the clone; part of the cache key."""
    files = (repository.top / ".gitignore", repository.common_dir / "info" / "exclude")
    return "\0".join(_read_text(file, 1 << 20) for file in files)


@lru_cache(maxsize=8)
def _find_ignored(
    git: Git, repository: GitRepository, names: tuple[bytes, ...], _: str
) -> frozenset[bytes]:
    if not names:
        return frozenset()
    at = GitLocation(repository.git_dir, repository.top)
    stdin = b"".join(b"%b\0" % name for name in names)
    out = git.run("check-ignore", "-z", "--stdin", at=at, stdin=stdin, ok=(0, 1, 128)).out
    return frozenset(out.split(b"\0"))


def _hash(value: object) -> str:
    return sha256(repr(value).encode("utf-8", "surrogateescape")).hexdigest()[:16]
