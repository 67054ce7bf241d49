"""Hashes of what an agent must leave alone: what makes git run programs, and what is the user's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from yaoki.workspace.git import Git, Site
from yaoki.workspace.gitconfig import (
    content,
    entries,
    hook_folders,
    hooks,
    is_there,
    linked,
    reached,
)
from yaoki.workspace.replaced import replaced
from yaoki.workspace.repository import Repository
from yaoki.workspace.sessions import session_settings

# A person may work in the checkout at any time, so a difference here is told and never blamed.
CHECKOUT = "checkout/"
TRACKED_MAX = 200_000
KNOWN_MAX = 16
OURS = b"ref: refs/heads/yaoki/"
CONFIGS = ("config", "config.worktree")
SYSTEM = Path("/etc/gitconfig")
# What git does with files, and where it finds its settings, its objects and their past.
COMMON = "commondir"
SINGLE = ("info/attributes", "info/exclude", "info/grafts", "objects/info/alternates", COMMON)
FOLDERS = ("hooks", "info", "objects", "objects/info", "objects/pack", "refs", "worktrees")

# What people, and git on their behalf, set while a run goes on, and what starts no program.
BENIGN = re.compile(
    rb"remote\..+\.(url|pushurl|fetch|tagopt|prune|skipfetchall)"
    rb"|branch\..+\.(remote|merge|rebase|pushremote|description)"
    rb"|(user|gui|color)\..+",
    re.DOTALL,
)
REMOTE = re.compile(rb"remote\..+\.(url|pushurl)", re.DOTALL)


def guards(
    git: Git, repository: Repository, remote: str = "", worktree: Path | None = None
) -> dict[str, str]:
    """Name and hash of each file that is there, so a new or missing one shows as well.

    Config with all that it includes, the hooks that git runs, wherever they are, and what leads
    git to other settings or objects.  The address of the remote that work is pushed to counts as
    well, and so do the settings that hold in one worktree alone: `worktree` is git's own folder
    about it.
    """
    common, home = git.common_dir, _home()
    own = [common / name for name in CONFIGS]
    own += [folder / CONFIGS[-1] for folder in (repository.git_dir, worktree) if folder]
    configs = reached(git, own, home)
    held = {file: linked(file) + _mattering(git, one, remote) for file, one in configs.items()}
    settings = {**configs, **reached(git, _personal(home), home)}
    for named, folder in hook_folders(git, settings, repository.top, home).items():
        held.update(hooks(folder, (repository.top, common)))
        held.update({named: os.fsencode(folder)} if named != folder else {})
    held.update(hooks(common / "hooks"))
    held.update(_leading(repository, worktree))
    held.update(replaced(git))
    return {_name(file, common): sha256(one).hexdigest() for file, one in held.items()}


def _leading(repository: Repository, worktree: Path | None) -> Iterator[tuple[Path, bytes]]:
    """What leads git elsewhere: each file that is there, and each folder that is a link."""
    common = repository.common_dir
    files = [common / name for name in SINGLE]
    files += [folder / COMMON for folder in (repository.git_dir, worktree) if folder]
    for file in (*files, repository.top / ".git"):
        if is_there(file):
            yield file, linked(file) + content(file)
    for folder in (common / name for name in FOLDERS):
        if where := linked(folder):
            yield folder, where


def _name(file: Path, common_dir: Path) -> str:
    inside = file.is_relative_to(common_dir)
    return file.relative_to(common_dir).as_posix() if inside else str(file)


def _mattering(git: Git, held: bytes, remote: str = "") -> bytes:
    """The settings that matter, in their order; the bytes of a file that git cannot read."""
    found = entries(git, held)
    if found is None:
        return held
    own = {f"remote.{remote}.{key}".encode() for key in ("url", "pushurl")} if remote else set()
    keys = ((entry, entry.partition(b"\n")[0]) for entry in found)
    return b"\0".join(e for e, key in keys if key in own or not BENIGN.fullmatch(key))


def _home() -> Path | None:
    home = os.environ.get("HOME", "")
    return Path(home) if home.startswith("/") else None


def _personal(home: Path | None) -> Iterator[Path]:
    """A person's own settings, which hold for all of their repositories, and the machine's."""
    yield SYSTEM
    moved = os.environ.get("XDG_CONFIG_HOME", "")
    if folder := Path(moved) if moved else home and home / ".config":
        yield folder / "git" / "config"
    if home:
        yield home / ".gitconfig"


def checkout(git: Git, repository: Repository) -> dict[str, str]:
    """HEAD, index and tracked files of the user's checkout, and their own settings, hashed short.

    Cheap on purpose: entries of the index and facts of the files, no content.  git is not asked
    for its status: that may start the programs of filters, and would rewrite the index.
    """
    listed = _entries(git, repository, _inode(repository.git_dir / "index"))
    seen = {"HEAD": _head(git, repository), "index": listed}
    names = [entry.partition(b"\t")[2] for entry in listed.split(b"\0") if entry]
    if len(names) <= TRACKED_MAX:
        top = os.fsencode(repository.top)
        seen["files"] = b"\0".join(_facts(b"%b/%b" % (top, name)) for name in names)
    seen |= _told(git) | _reaching(git)
    return {CHECKOUT + name: sha256(held).hexdigest()[:16] for name, held in seen.items()}


def _told(git: Git) -> dict[str, bytes]:
    """What git and agents are told outside of the repository: a person may change it any time."""
    home = _home()
    held = reached(git, _personal(home), home)
    told = {file: linked(file) + _mattering(git, one) for file, one in held.items()}
    told |= session_settings(home)
    return {_short(file, home): one for file, one in told.items()}


def _reaching(git: Git) -> dict[str, bytes]:
    """Where the next fetch or push goes, and how much of the past is known: people change both."""
    configs = reached(git, [git.common_dir / name for name in CONFIGS], _home())
    found = (entry for one in configs.values() for entry in entries(git, one) or ())
    urls = [entry for entry in found if REMOTE.fullmatch(entry.partition(b"\n")[0])]
    shallow = git.common_dir / "shallow"
    seen = {"remotes": b"\0".join(urls)} if urls else {}
    return seen | ({"shallow": content(shallow)} if is_there(shallow) else {})


def _short(file: Path, home: Path | None) -> str:
    inside = home and file.is_relative_to(home)
    return f"~/{file.relative_to(home)}" if home and inside else str(file)


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
