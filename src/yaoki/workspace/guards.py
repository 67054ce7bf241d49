"""Hashes of what an agent must leave alone: what makes git run programs, and the checkout."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from yaoki.workspace.git import Git, Site
from yaoki.workspace.repository import Repository

# A person may work in the checkout at any time, so a difference here is told and never blamed.
CHECKOUT = "checkout/"
TRACKED_MAX = 200_000
KNOWN_MAX = 16
OURS = b"ref: refs/heads/yaoki/"
CONFIGS = ("config", "config.worktree")
SINGLE = ("info/attributes", "info/exclude")

# What people, and git on their behalf, set while a run goes on, and what starts no program.
BENIGN = re.compile(
    rb"remote\..+\.(url|pushurl|fetch|tagopt|prune|skipfetchall)"
    rb"|branch\..+\.(remote|merge|rebase|pushremote|description)"
    rb"|(user|gui|color)\..+",
    re.DOTALL,
)


def guards(git: Git, remote: str = "") -> dict[str, str]:
    """Name and hash of each file that is there, so a new or missing one shows as well.

    The address of the remote that work is pushed to counts as well.
    """
    common = git.common_dir
    there = {name: file for name in CONFIGS if (file := common / name).is_file()}
    configs = {name: _settings(git, file, remote) for name, file in there.items()}
    files = {file.relative_to(common).as_posix(): file.read_bytes() for file in _guarded(common)}
    return {name: sha256(held).hexdigest() for name, held in (configs | files).items()}


def _settings(git: Git, file: Path, remote: str) -> bytes:
    """The settings that matter, in their order; the bytes of a file that git cannot read."""
    return _mattering(git, file.read_bytes(), remote)


@lru_cache(maxsize=KNOWN_MAX)
def _mattering(git: Git, held: bytes, remote: str) -> bytes:
    args = ("config", "--file", "-", "--no-includes", "-z", "--list")
    done = git.run(*args, given=held, ok=range(256))
    if done.code != 0:
        return held
    own = {f"remote.{remote}.{key}".encode() for key in ("url", "pushurl")} if remote else set()
    keys = ((entry, entry.partition(b"\n")[0]) for entry in done.out.split(b"\0"))
    return b"\0".join(e for e, key in keys if key in own or not BENIGN.fullmatch(key))


def _guarded(common_dir: Path) -> Iterator[Path]:
    yield from (file for name in SINGLE if (file := common_dir / name).is_file())
    yield from (file for file in sorted(common_dir.glob("hooks/**/*")) if file.is_file())


def checkout(git: Git, repository: Repository) -> dict[str, str]:
    """HEAD, index and tracked files of the user's checkout, each as a short hash.

    Cheap on purpose: entries of the index and facts of the files, no content.  git is not asked
    for its status: that may start the programs of filters, and would rewrite the index.
    """
    listed = _entries(git, repository, _inode(repository.git_dir / "index"))
    seen = {"HEAD": _head(git, repository), "index": listed}
    names = [entry.partition(b"\t")[2] for entry in listed.split(b"\0") if entry]
    if len(names) <= TRACKED_MAX:
        top = os.fsencode(repository.top)
        seen["files"] = b"\0".join(_facts(b"%b/%b" % (top, name)) for name in names)
    return {CHECKOUT + name: sha256(held).hexdigest()[:16] for name, held in seen.items()}


@lru_cache(maxsize=KNOWN_MAX)
def _entries(git: Git, repository: Repository, _: bytes) -> bytes:
    """Read again when the file is another one: git writes its index anew whenever it changes."""
    at = Site(repository.git_dir, repository.top)
    return git.run("ls-files", "-s", "-z", at=at, ok=range(256)).out


def _inode(file: Path) -> bytes:
    try:
        facts = file.lstat()
    except OSError:
        return b"gone"
    return b"%d %d %d %d" % (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)


def _head(git: Git, repository: Repository) -> bytes:
    """Where HEAD points, and to which commit; a branch of ours moves because we move it."""
    try:
        pointer = (repository.git_dir / "HEAD").read_bytes()
    except OSError as error:
        return str(error.errno).encode()
    if pointer.startswith(OURS):
        return pointer
    branch = pointer.strip().removeprefix(b"ref: ").decode("utf-8", "surrogateescape")
    commit = git.contents(branch)
    return pointer + (commit.name if commit else "").encode("ascii")


def _facts(path: bytes) -> bytes:
    try:
        facts = os.lstat(path)
    except OSError:
        return b"gone"
    return b"%d %d %d" % (facts.st_mode, facts.st_size, facts.st_mtime_ns)
