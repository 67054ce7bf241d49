"""Hashes of what an agent must leave alone: what makes git run programs, and what is the user's."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha1, sha256
from pathlib import Path

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.config_files import (
    find_hook_folders,
    is_file_or_link,
    read_bounded,
    read_hooks,
    read_link,
    read_settings,
    read_with_includes,
)
from yaoki.adapters.git.replace_refs import read_replace_refs
from yaoki.adapters.git.repository import GitRepository
from yaoki.adapters.git.tree_diff import printable_path
from yaoki.adapters.workspace.protect.agent_settings import read_agent_settings
from yaoki.adapters.workspace.protect.user_state import find_untracked, read_user_refs

# A person may work in the checkout at any time, so a difference here is told and never blamed.
CHECKOUT = "checkout/"
STASH = f"{CHECKOUT}stash"
TRACKED_MAX = 200_000
KNOWN_MAX = 16
OURS = b"ref: refs/heads/yaoki/"
CONFIGS = ("config", "config.worktree")
SYSTEM = Path("/etc/gitconfig")
# What git does with files, and where it finds its settings, its objects and their past.
COMMON = "commondir"
SINGLE = ("info/attributes", "info/exclude", "info/grafts", "objects/info/alternates", COMMON)
FOLDERS = ("hooks", "info", "objects", "objects/info", "objects/pack", "refs", "worktrees")

# What starts a program, leads git elsewhere, or changes how it reads files.  Everything else people
# and their editors set while a run goes on: they note the base of a branch, or how to pull.
SENSITIVE_SETTING = re.compile(
    rb"core\.(?!(?:abbrev|comment(?:char|string)|commitgraph|preloadindex|untrackedcache)\Z).+"
    rb"|(?:include|includeif|attr|filter|fsmonitor|transfer|url|http|protocol|ssh|safe|init)\..+"
    rb"|(?:alias|credential|gpg|pager|sequence|trailer|interactive|hook|tar|guitool)\..+"
    rb"|(?:browser|web|man|help|instaweb|sendemail|imap|difftool|mergetool)\..+"
    rb"|(?:uploadpack|receive|trace2|svn|svn-remote|git-p4|gitcvs|guitool|scalar)\..+"
    # The name of a tool or a strategy is that of a script or a program; a line of a rebase may be
    # one that executes.
    rb"|(?:diff|merge)\.(?:gui)?tool|pull\.(?:twohead|octopus)|rebase\.instructionformat"
    rb"|(?:extensions\.(?!worktreeconfig\Z)|lfs\.(?!repositoryformatversion\Z)).+"
    rb"|diff\.external|(?:diff|merge)\..+\.[^.]+|branch\..+\.mergeoptions|submodule\..+\.update"
    rb"|remote\.pushdefault"
    rb"|remote\..+\.(?!(?:url|pushurl|fetch|tagopt|prune|skipfetchall|gh-resolved)\Z)[^.]+"
    rb"|.+\.[^.]*(?:command|cmd|prog|program|helper|driver|process|hook|path|uri)",
    re.DOTALL,
)
# An address whose transport is a program: `ext::sh -c …`, or any `git-remote-NAME` there is.
TRANSPORT_HELPER = re.compile(
    rb"(?:remote\..+\.(?:push)?url|submodule\..+\.url|branch\..+\.(?:push)?remote)\n[\w+.-]+::.*",
    re.DOTALL,
)
# Where the next fetch or push of a person goes; of a branch's remote only an address, not a name.
REMOTE = re.compile(
    rb"remote\..+\.(?:url|pushurl|fetch|prune)\n.*|branch\..+\.(?:push)?remote\n.*[/:].*", re.DOTALL
)


def hash_protected_files(
    git: Git, repository: GitRepository, remote: str = "", worktree: Path | None = None
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
    configs = read_with_includes(git, own, home)
    held = {file: read_link(file) + _mattering(git, one, remote) for file, one in configs.items()}
    settings = {**configs, **read_with_includes(git, _personal(home), home)}
    for named, folder in find_hook_folders(git, settings, repository.top, home).items():
        found = read_hooks(folder, (repository.top, common))
        held.update(one for one in found if not _as_in_the_index(git, repository, *one))
        held.update({named: os.fsencode(folder)} if named != folder else {})
    held.update(read_hooks(common / "hooks"))
    held.update(_leading(repository, worktree))
    held.update(read_replace_refs(git))
    return {_name(file, common): sha256(one).hexdigest() for file, one in held.items()}


def _leading(repository: GitRepository, worktree: Path | None) -> Iterator[tuple[Path, bytes]]:
    """What leads git elsewhere: each file that is there, and each folder that is a link."""
    common = repository.common_dir
    files = [common / name for name in SINGLE]
    files += [folder / COMMON for folder in (repository.git_dir, worktree) if folder]
    for file in (*files, repository.top / ".git"):
        if is_file_or_link(file):
            yield file, read_link(file) + read_bounded(file)
    for folder in (common / name for name in FOLDERS):
        if where := read_link(folder):
            yield folder, where


def _as_in_the_index(git: Git, repository: GitRepository, file: Path, held: bytes) -> bool:
    """Hooks that a project tracks come and go with a person's commits, pulls and branches."""
    if not file.is_relative_to(repository.top) or file.is_symlink():
        return False
    name = os.fsencode(file.relative_to(repository.top))
    tracked = _tracked(git, repository, _inode(repository.git_dir / "index")).get(name, b"")
    text, make = held[1:], sha256 if len(tracked) == sha256().digest_size * 2 else sha1
    # git's name of the content, which needs no strong hash here: a changed file is told as well.
    return make(b"blob %d\0%b" % (len(text), text)).hexdigest().encode() == tracked


@lru_cache(maxsize=1)
def _tracked(git: Git, repository: GitRepository, inode: bytes) -> dict[bytes, bytes]:
    lines = (entry.partition(b"\t") for entry in _entries(git, repository, inode).split(b"\0"))
    return {name: facts.split(b" ")[1] for facts, _, name in lines if name}


def _name(file: Path, common_dir: Path) -> str:
    inside = file.is_relative_to(common_dir)
    return file.relative_to(common_dir).as_posix() if inside else str(file)


def _mattering(git: Git, held: bytes, remote: str = "") -> bytes:
    """The settings that matter, in their order; the bytes of a file that git cannot read."""
    found = read_settings(git, held)
    if found is None:
        return held
    own = {f"remote.{remote}.{key}".encode() for key in ("url", "pushurl")} if remote else set()
    keys = ((entry, entry.partition(b"\n")[0]) for entry in found)
    return b"\0".join(
        entry
        for entry, key in keys
        if key in own or SENSITIVE_SETTING.fullmatch(key) or TRANSPORT_HELPER.fullmatch(entry)
    )


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


def hash_checkout(git: Git, repository: GitRepository) -> dict[str, str]:
    """HEAD, index, files and refs of the user's, and their own settings, hashed short.

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
    hashed = {CHECKOUT + name: sha256(held).hexdigest()[:16] for name, held in seen.items()}
    return hashed | _stash(git) | _beside(git, repository)


def find_edited_files(git: Git, repository: GitRepository, since: float) -> tuple[str, ...]:
    """The tracked files that changed or went since that instant, by git's own list of them."""
    listed = _entries(git, repository, _inode(repository.git_dir / "index"))
    names = [entry.partition(b"\t")[2] for entry in listed.split(b"\0") if entry]
    top = os.fsencode(repository.top)
    found = (name for name in names if _changed_at(b"%b/%b" % (top, name)) >= since)
    return tuple(printable_path(os.fsdecode(name)) for name in found)


def _changed_at(path: bytes) -> float:
    """When facts or content changed, which no tool sets back; a file that went counts as new."""
    try:
        return os.lstat(path).st_ctime
    except OSError:
        return math.inf


def _beside(git: Git, repository: GitRepository) -> dict[str, str]:
    """What an agent may move or write outside of its worktree without touching the checkout."""
    index = _inode(repository.git_dir / "index")
    tracked = _tracked(git, repository, index)
    files = find_untracked(git, repository, tracked, index) if len(tracked) <= TRACKED_MAX else {}
    return {CHECKOUT + name: held for name, held in (read_user_refs(git) | files).items()}


def _stash(git: Git) -> dict[str, str]:
    """The commit itself: all worktrees share one stash, and whoever pops it takes the user's."""
    found = git.look_up("refs/stash")[0]
    return {STASH: found.name} if found else {}


def _told(git: Git) -> dict[str, bytes]:
    """What git and agents are told outside of the repository: a person may change it any time."""
    home = _home()
    held = read_with_includes(git, _personal(home), home)
    told = {file: read_link(file) + _mattering(git, one) for file, one in held.items()}
    told |= read_agent_settings(home)
    return {_short(file, home): one for file, one in told.items()}


def _reaching(git: Git) -> dict[str, bytes]:
    """Where the next fetch or push goes, and how much of the past is known: people change both."""
    configs = read_with_includes(git, [git.common_dir / name for name in CONFIGS], _home())
    found = (entry for one in configs.values() for entry in read_settings(git, one) or ())
    urls = [entry for entry in found if REMOTE.fullmatch(entry)]
    shallow = git.common_dir / "shallow"
    seen = {"remotes": b"\0".join(urls)} if urls else {}
    return seen | ({"shallow": read_bounded(shallow)} if is_file_or_link(shallow) else {})


def _short(file: Path, home: Path | None) -> str:
    inside = home and file.is_relative_to(home)
    return f"~/{file.relative_to(home)}" if home and inside else str(file)


@lru_cache(maxsize=KNOWN_MAX)
def _entries(git: Git, repository: GitRepository, _: bytes) -> bytes:
    """Read again when the file is another one: git writes its index anew whenever it changes."""
    at = GitLocation(repository.git_dir, repository.top)
    return git.run("ls-files", "-s", "-z", at=at, ok=range(256)).out


def _inode(file: Path) -> bytes:
    try:
        facts = file.lstat()
    except OSError:
        return b"gone"
    return b"%d %d %d %d" % (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)


def _head(git: Git, repository: GitRepository) -> bytes:
    """Where HEAD points, and to which commit; a branch of ours moves because we move it."""
    try:
        pointer = (repository.git_dir / "HEAD").read_bytes()
    except OSError as error:
        return str(error.errno).encode()
    if pointer.startswith(OURS):
        return pointer
    branch = pointer.strip().removeprefix(b"ref: ").decode("utf-8", "surrogateescape")
    commit = git.look_up(branch)[0]
    return pointer + (commit.name if commit else "").encode("ascii")


def _facts(path: bytes) -> bytes:
    try:
        facts = os.lstat(path)
    except OSError:
        return b"gone"
    return b"%d %d %d" % (facts.st_mode, facts.st_size, facts.st_mtime_ns)
