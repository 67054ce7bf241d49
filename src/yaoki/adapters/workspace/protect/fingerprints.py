"""Hashes of what an agent must not change: settings that make git run programs, and the user's
checkout.
"""

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
    is_inside,
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
from yaoki.core.lazy_pattern import lazy_compile

# A person may work in the checkout at any time: a difference here is reported, never blamed.
CHECKOUT = "checkout/"
# Git ends a key with it where it lists settings.
NEWLINE = b"\n"
STASH = f"{CHECKOUT}stash"
TRACKED_MAX = 200_000
INDEX_CACHE_MAX = 16
OWN_BRANCHES = b"ref: refs/heads/yaoki/"
CONFIGS = ("config", "config.worktree")
SYSTEM_CONFIG = "/etc/gitconfig"
# Files that decide how git treats files, and where it finds settings, objects and history.
COMMON = "commondir"
GIT_FILES = ("info/attributes", "info/exclude", "info/grafts", "objects/info/alternates", COMMON)
GIT_FOLDERS = ("hooks", "info", "objects", "objects/info", "objects/pack", "refs", "worktrees")

# Settings that start a program, point git elsewhere, or change how it reads files.  People and
# editors change all other settings during a run, such as the base of a branch or how to pull.
SENSITIVE_SETTING = lazy_compile(
    rb"core\.(?!(?:abbrev|comment(?:char|string)|commitgraph|preloadindex|untrackedcache)\Z).+"
    rb"|(?:include|includeif|attr|filter|fsmonitor|transfer|url|http|protocol|ssh|safe|init)\..+"
    rb"|(?:alias|credential|gpg|pager|sequence|trailer|interactive|hook|tar|guitool)\..+"
    rb"|(?:browser|web|man|help|instaweb|sendemail|imap|difftool|mergetool)\..+"
    rb"|(?:uploadpack|receive|trace2|svn|svn-remote|git-p4|gitcvs|guitool|scalar)\..+"
    # The name of a tool or a strategy is that of a program; a line of a rebase may execute one.
    rb"|(?:diff|merge)\.(?:gui)?tool|pull\.(?:twohead|octopus)|rebase\.instructionformat"
    rb"|(?:extensions\.(?!worktreeconfig\Z)|lfs\.(?!repositoryformatversion\Z)).+"
    rb"|diff\.external|(?:diff|merge)\..+\.[^.]+|branch\..+\.mergeoptions|submodule\..+\.update"
    rb"|remote\.pushdefault"
    rb"|remote\..+\.(?!(?:url|pushurl|fetch|tagopt|prune|skipfetchall|gh-resolved)\Z)[^.]+"
    rb"|.+\.[^.]*(?:command|cmd|prog|program|helper|driver|process|hook|path|uri)",
    re.DOTALL,
)
# An address whose transport is a program: `ext::sh -c …`, or any `git-remote-NAME` there is.
TRANSPORT_HELPER = lazy_compile(
    rb"(?:remote\..+\.(?:push)?url|submodule\..+\.url|branch\..+\.(?:push)?remote)\n[\w+.-]+::.*",
    re.DOTALL,
)
# Settings that redirect the next fetch or push of a person; the remote of a branch only if it is an
# address, not a name.
REMOTE = lazy_compile(
    rb"remote\..+\.(?:url|pushurl|fetch|prune)\n.*|branch\..+\.(?:push)?remote\n.*[/:].*", re.DOTALL
)

# The author of the commits that a person makes in this repository.
IDENTITY = lazy_compile(rb"(?:user|author|committer)\.(?:name|email|signingkey)\n.*", re.DOTALL)


def hash_protected_files(
    git: Git, repository: GitRepository, remote: str = "", worktree: Path | None = None
) -> dict[str, str]:
    """Name and hash of each existing file, so that a new or missing one shows as well.

    Config files with their includes, the hooks that git runs, and files that point git to other
    settings or objects.  The address of the remote counts as well, and so do the settings of one
    worktree: `worktree` is git's folder about it.
    """
    common, home, top = str(git.common_dir), _home(), str(repository.top)
    own = [f"{common}/{name}" for name in CONFIGS]
    own += [f"{folder}/{CONFIGS[-1]}" for folder in (repository.git_dir, worktree) if folder]
    configs = read_with_includes(git, own, home)
    contents: dict[str, bytes] = {}
    for file, config in configs.items():
        contents |= _split_by_key(git, file, config, remote)
    settings = {**configs, **read_with_includes(git, _user_configs(home), home)}
    for name, folder in find_hook_folders(git, settings, top, home).items():
        hooks = read_hooks(folder, (top, common))
        contents.update(hook for hook in hooks if not _is_as_indexed(git, repository, *hook))
        contents.update({name: os.fsencode(folder)} if name != folder else {})
    contents.update(read_hooks(f"{common}/hooks"))
    contents.update(_read_pointers(repository, worktree))
    contents.update(read_replace_refs(git))
    return {_name(file, common): sha256(data).hexdigest() for file, data in contents.items()}


def _read_pointers(repository: GitRepository, worktree: Path | None) -> Iterator[tuple[str, bytes]]:
    """Files that point git elsewhere, and folders that are links."""
    common = str(repository.common_dir)
    files = [f"{common}/{name}" for name in GIT_FILES]
    files += [f"{folder}/{COMMON}" for folder in (repository.git_dir, worktree) if folder]
    for file in (*files, f"{repository.top}/.git"):
        if is_file_or_link(file):
            yield file, read_link(file) + read_bounded(file)
    for name in GIT_FOLDERS:
        if target := read_link(folder := f"{common}/{name}"):
            yield folder, target


def _is_as_indexed(git: Git, repository: GitRepository, file: str, content: bytes) -> bool:
    """Tracked hooks change with a person's commits, pulls and branches."""
    top = str(repository.top)
    if not is_inside(file, top) or read_link(file):
        return False
    name = os.fsencode(file[len(top) + 1 :])
    tracked = _list_tracked(git, repository, _inode(repository.git_dir / "index")).get(name, b"")
    text, hash_type = content[1:], sha256 if len(tracked) == sha256().digest_size * 2 else sha1
    # git's blob id; SHA-1 is enough here, because a changed file is reported as well.
    return hash_type(b"blob %d\0%b" % (len(text), text)).hexdigest().encode() == tracked


@lru_cache(maxsize=1)
def _list_tracked(git: Git, repository: GitRepository, inode: bytes) -> dict[bytes, bytes]:
    lines = (entry.partition(b"\t") for entry in _list_index(git, repository, inode).split(b"\0"))
    return {name: facts.split(b" ")[1] for facts, _, name in lines if name}


def _name(file: str, common_dir: str) -> str:
    return file.removeprefix(f"{common_dir}/")


def _split_by_key(git: Git, file: str, config: bytes, remote: str) -> dict[str, bytes]:
    """The file, and each sensitive key of it with its values: a person is told which one changed.

    The whole content if git cannot parse it.
    """
    entries = _sensitive_entries(git, config, remote)
    contents = {file: read_link(file) + (config if entries is None else b"")}
    for entry in entries or ():
        name = f"{file} {printable_path(os.fsdecode(entry.partition(NEWLINE)[0]))}"
        contents[name] = contents.get(name, b"") + entry + b"\0"
    return contents


def _sensitive(git: Git, content: bytes) -> bytes:
    """The sensitive settings in order; the whole content if git cannot parse it."""
    entries = _sensitive_entries(git, content)
    return content if entries is None else b"\0".join(entries)


def _sensitive_entries(git: Git, content: bytes, remote: str = "") -> list[bytes] | None:
    entries = read_settings(git, content)
    if entries is None:
        return None
    own = {f"remote.{remote}.{key}".encode() for key in ("url", "pushurl")} if remote else set()
    keys = ((entry, entry.partition(NEWLINE)[0]) for entry in entries)
    return [
        entry
        for entry, key in keys
        if key in own or SENSITIVE_SETTING.fullmatch(key) or TRANSPORT_HELPER.fullmatch(entry)
    ]


def _home() -> str:
    home = os.environ.get("HOME", "")
    return os.path.normpath(home) if home.startswith("/") else ""


def _user_configs(home: str) -> Iterator[str]:
    """The config files of the machine and of the user."""
    yield SYSTEM_CONFIG
    config_home = os.environ.get("XDG_CONFIG_HOME", "")
    if folder := config_home.rstrip("/") or (home and f"{home}/.config"):
        yield f"{folder}/git/config"
    if home:
        yield f"{home}/.gitconfig"


def hash_checkout(git: Git, repository: GitRepository) -> dict[str, str]:
    """Short hashes of the user's HEAD, index, files, refs and settings.

    Cheap on purpose: index entries and file facts, no content.  Without `git status`, which may
    start filter programs and rewrite the index.
    """
    index = _list_index(git, repository, _inode(repository.git_dir / "index"))
    pointer = _read_head(repository)
    branch = pointer.partition(b"\n")[0].strip().removeprefix(b"ref: ")
    head, stash = git.read_refs(branch.decode("utf-8", "surrogateescape"), "refs/stash")
    if not pointer.startswith(OWN_BRANCHES):  # yaoki moves those itself
        pointer += head.encode("ascii")
    state = {"HEAD": pointer, "index": index}
    names = [entry.partition(b"\t")[2] for entry in index.split(b"\0") if entry]
    if len(names) <= TRACKED_MAX:
        top = os.fsencode(repository.top)
        state["files"] = b"\0".join(_facts(b"%b/%b" % (top, name)) for name in names)
    state |= _read_user_settings(git) | _read_own_settings(git)
    hashes = {CHECKOUT + name: sha256(data).hexdigest()[:16] for name, data in state.items()}
    # The commit itself: all worktrees share one stash, and `stash pop` takes the user's.
    hashes |= {STASH: stash} if stash else {}
    return hashes | _read_untracked(git, repository)


def find_edited_files(git: Git, repository: GitRepository, since: float) -> tuple[str, ...]:
    """The tracked files that were changed or deleted since then."""
    index = _list_index(git, repository, _inode(repository.git_dir / "index"))
    names = [entry.partition(b"\t")[2] for entry in index.split(b"\0") if entry]
    top = os.fsencode(repository.top)
    edited = (name for name in names if _changed_at(b"%b/%b" % (top, name)) >= since)
    return tuple(printable_path(os.fsdecode(name)) for name in edited)


def _changed_at(path: bytes) -> float:
    """The ctime, which no tool can set back; a deleted file counts as just changed."""
    try:
        return os.lstat(path).st_ctime
    except OSError:
        return math.inf


def _read_untracked(git: Git, repository: GitRepository) -> dict[str, str]:
    """Refs and untracked files that an agent may change without touching tracked files."""
    index = _inode(repository.git_dir / "index")
    tracked = _list_tracked(git, repository, index)
    files = find_untracked(git, repository, tracked, index) if len(tracked) <= TRACKED_MAX else {}
    return {CHECKOUT + name: value for name, value in (read_user_refs(git) | files).items()}


def _read_user_settings(git: Git) -> dict[str, bytes]:
    """Settings of git and agents outside of the repository: a person may change them any time."""
    home = _home()
    configs = read_with_includes(git, _user_configs(home), home)
    settings = {file: read_link(file) + _sensitive(git, data) for file, data in configs.items()}
    settings |= read_agent_settings(home)
    return {_short_name(file, home): data for file, data in settings.items()}


def _read_own_settings(git: Git) -> dict[str, bytes]:
    """The repository's remotes, identity and shallow boundary: people change all three."""
    common = str(git.common_dir)
    configs = read_with_includes(git, [f"{common}/{name}" for name in CONFIGS], _home())
    entries = [entry for data in configs.values() for entry in read_settings(git, data) or ()]
    state = {
        name: b"\0".join(entry for entry in entries if shape.fullmatch(entry))
        for name, shape in (("remotes", REMOTE), ("identity", IDENTITY))
    }
    if is_file_or_link(shallow := f"{common}/shallow"):
        state["shallow"] = read_bounded(shallow)
    return {name: data for name, data in state.items() if data}


def _short_name(file: str, home: str) -> str:
    return f"~{file[len(home) :]}" if home and is_inside(file, home) else file


@lru_cache(maxsize=INDEX_CACHE_MAX)
def _list_index(git: Git, repository: GitRepository, _: bytes) -> bytes:
    """Cached by the facts of the index file: git writes a new file whenever it changes."""
    at = GitLocation(repository.git_dir, repository.top)
    return git.run("ls-files", "-s", "-z", at=at, ok=range(256)).out


def _inode(file: Path) -> bytes:
    try:
        facts = file.lstat()
    except OSError:
        return b"gone"
    return b"%d %d %d %d" % (facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)


def _read_head(repository: GitRepository) -> bytes:
    """The target of HEAD."""
    try:
        return (repository.git_dir / "HEAD").read_bytes()
    except OSError as error:
        return str(error.errno).encode()


def _facts(path: bytes) -> bytes:
    try:
        facts = os.lstat(path)
    except OSError:
        return b"gone"
    return b"%d %d %d" % (facts.st_mode, facts.st_size, facts.st_mtime_ns)
