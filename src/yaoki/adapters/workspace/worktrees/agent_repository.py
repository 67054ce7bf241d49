"""A git repository of an agent's own, for its work inside the sandbox.

The user's repository cannot be written there, and an agent that cannot commit stumbles.  So a small
repository is laid over the worktree's own: it borrows the user's objects, has their branches and
tags as they were, and takes new objects itself.  When the agent has ended its commits are taken
over: packed by a git inside the sandbox, for the repository is the agent's by then and its settings
can name programs, and unpacked by ours, which checks what comes like anything from a stranger.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import timedelta
from functools import cached_property
from pathlib import Path

from yaoki.adapters.git.command import Git
from yaoki.adapters.git.refs import Refs, ref_component
from yaoki.adapters.processes.sandbox import Sandbox
from yaoki.adapters.system.files import make_private_folder, read_plain_bytes
from yaoki.adapters.system.folders import walk_folders, walk_tree
from yaoki.adapters.workspace.protect.user_state import read_all_refs
from yaoki.adapters.workspace.worktrees.agent_hooks import (
    REFUSALS_FILE,
    push_settings,
    quoted,
    write_hooks,
)
from yaoki.adapters.workspace.worktrees.worktree import Worktree, delete_path
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import task_branch
from yaoki.errors import Fault, WorkspaceError
from yaoki.ports import SANDBOX_FOLDERS_NAME, SandboxFolders

OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
FILE_BYTES_MAX = 4 << 20
LOG_BYTES_MAX = 1 << 20
# So many commits that no branch holds any more are kept, and so many refusals are told.
LEFT_MAX, REFUSALS_MAX = 50, 100
PACKING = timedelta(minutes=5)
# As git does it: few objects are stored one by one, many as they came.
UNPACK_MAX = 100
# What an agent may see of the user's refs; those of other tasks are nobody's business.
SHOWN_REFS = ("refs/heads/", "refs/tags/", "refs/remotes/")
OURS = "refs/heads/yaoki/"
# A few bytes can stand for very many: what would take more than this unpacked is not taken.
OBJECT_BYTES_MAX, OBJECTS_BYTES_MAX = 512 << 20, 2 << 30
FILES_MAX = 200_000
REFS_MAX = 2_000
PACK = f"""\
names=$(git cat-file --batch-all-objects --batch-check='%(objectname) %(objectsize)' | {{
    sum=0
    while read -r name size; do
        sum=$((sum + size))
        [ $size -le {OBJECT_BYTES_MAX} ] && [ $sum -le {OBJECTS_BYTES_MAX} ] || exit 1
        echo $name
    done
}}) || {{ echo "they are too large, or no objects" >&2; exit 1; }}
printf '%s\\n' "$names" | git pack-objects -q --stdout
"""


@dataclass(frozen=True, slots=True)
class AgentCommits:
    """What an agent's own repository held when it had ended.

    `head` is empty where it made no commit.  `left` are commits that its branch does not hold.
    """

    head: str = ""
    unbranched: tuple[str, ...] = ()
    refused_acts: tuple[str, ...] = ()
    warning: str = ""


class AgentRepositories:
    """Lends one to each task whose agent works in the sandbox, and takes it back."""

    def __init__(
        self, git: Git, refs: Refs, root: Path, sandbox: Callable[[], Sandbox | None]
    ) -> None:
        """Whether a sandbox can be had is asked only where one is needed: the answer costs."""
        self._git, self._refs, self._root, self._sandbox = (
            git,
            refs,
            root / SANDBOX_FOLDERS_NAME,
            sandbox,
        )

    def folder_of(self, task_id: str) -> Path:
        """What the agent of this task has for itself: its repository, caches, conversation."""
        return self._root / ref_component(task_id)

    def create(self, found: Worktree) -> SandboxFolders:
        """A new one at the worktree's own commit."""
        assert found.admin, f"git does not know the worktree of {found.task_id}"
        folder = self.folder_of(found.task_id)
        make_private_folder(self._root)
        make_private_folder(folder)
        own = folder / "git"
        delete_path(own)
        (own / "objects" / "info").mkdir(parents=True)
        (own / "objects" / "pack").mkdir()
        borrowed = folder / "alternates"
        borrowed.write_bytes(os.fsencode(f"{self._git.common_dir / 'objects'}\n"))
        (own / "objects" / "info" / "alternates").touch()
        link = folder / "gitfile"
        link.write_bytes(os.fsencode(f"gitdir: {own}\n"))
        self._write_refs(own, found)
        self._copy(own, found)
        write_hooks(own / "hooks", self._users_hooks(found), task_branch(found.task_id))
        (own / "config").write_text(self._settings(own, found), encoding="utf-8")
        laid = {
            found.path / ".git": link,
            own / "objects" / "info" / "alternates": borrowed,
            own / "hooks": own / "hooks",
        }
        return SandboxFolders(folder, (own,), laid)

    def _write_refs(self, own: Path, found: Worktree) -> None:
        head, branch = self._refs.read_commits(found.head)[0], task_branch(found.task_id)
        assert head, f"the worktree of {found.task_id} has no commit"
        at = own / "refs" / "heads" / branch
        at.parent.mkdir(parents=True)
        at.write_text(f"{head.sha}\n", encoding="ascii")
        (own / "HEAD").write_text(f"ref: refs/heads/{branch}\n", encoding="ascii")
        known = sorted(
            f"{sha} {name}"
            for name, sha in read_all_refs(self._git).items()
            if name.startswith(SHOWN_REFS)
            and not name.startswith(OURS)
            and OBJECT_ID.fullmatch(sha)
        )
        known.sort(key=lambda row: row.partition(" ")[2])
        text = "\n".join(("# pack-refs with: sorted", *known, ""))
        (own / "packed-refs").write_bytes(os.fsencode(text))

    def _copy(self, own: Path, found: Worktree) -> None:
        """What git knows of the files, and the user's own rules about them."""
        assert found.admin
        common, admin = self._git.common_dir, found.admin
        wanted = {
            "index": admin / "index",
            "shallow": common / "shallow",
            "info/exclude": common / "info" / "exclude",
            "info/attributes": common / "info" / "attributes",
            "info/sparse-checkout": admin / "info" / "sparse-checkout",
        }
        (own / "info").mkdir()
        for name, source in wanted.items():
            if source.is_file():
                # With its time: git trusts files that are older than its index.
                shutil.copy2(source, own / name)

    def _settings(self, own: Path, found: Worktree) -> str:
        """The user's own settings, and what must differ; git reads some from the file alone."""
        assert found.admin
        lines = ["[core]", "\trepositoryformatversion = 1", "[extensions]"]
        lines += [f"\t{name} = {quoted(value)}" for name, value in self._extensions]
        for file in (self._git.common_dir / "config", found.admin / "config.worktree"):
            if file.is_file():
                lines += ["[include]", f"\tpath = {quoted(str(file))}"]
        lines += [
            "[core]",
            "\tbare = false",
            f"\tworktree = {quoted(str(found.path))}",
            f"\thooksPath = {quoted(str(own / 'hooks'))}",
            "\tlogAllRefUpdates = true",
            "[gc]",
            "\tauto = 0",
            "[maintenance]",
            "\tauto = false",
            "[lfs]",
            f"\tstorage = {quoted(str(self._git.common_dir / 'lfs'))}",
            *push_settings(own / "hooks", self._remotes()),
        ]
        return "\n".join(lines) + "\n"

    @cached_property
    def _extensions(self) -> tuple[tuple[str, str], ...]:
        """Those without which the objects could not be read."""
        asked = ("config", "--local", "-z", "--get-regexp", r"^extensions\.")
        rows = self._git.run(*asked, ok=(0, 1)).out.decode("utf-8", "replace").split("\0")
        pairs = (row.partition("\n") for row in rows if row)
        known = ("objectformat", "partialclone", "preciousobjects")
        named = ((name.removeprefix("extensions."), value) for name, _, value in pairs)
        return tuple((name, value) for name, value in named if name in known)

    def _remotes(self) -> Iterator[tuple[str, str]]:
        asked = ("config", "-z", "--get-regexp", r"^remote\..*\.url$")
        rows = self._git.run(*asked, ok=(0, 1)).out.decode("utf-8", "replace").split("\0")
        for key, _, address in (row.partition("\n") for row in rows if row):
            yield key.removeprefix("remote.").removesuffix(".url"), address

    def _users_hooks(self, found: Worktree) -> Path:
        asked = ("config", "--type=path", "--get-all", "core.hooksPath")
        said = self._git.run(*asked, ok=(0, 1)).out.decode("utf-8", "replace").splitlines()
        # Our own call switches hooks off, which is not the user's word.
        named = [word for word in said if word != os.devnull]
        return found.path / named[-1] if named else self._git.common_dir / "hooks"

    def import_commits(self, found: Worktree) -> AgentCommits:
        """What the agent committed, as objects of ours.

        Until it is put away with `forget`, it can be taken again.
        """
        own = self.folder_of(found.task_id) / "git"
        if own.is_symlink() or not own.is_dir():
            return AgentCommits()
        branch = f"refs/heads/{task_branch(found.task_id)}"
        refused = tuple(_lines(own / REFUSALS_FILE))[:REFUSALS_MAX]
        if not _has_objects(own / "objects"):
            return AgentCommits(refused_acts=refused)
        try:
            self._bring(own)
        except (Fault, WorkspaceError) as failed:
            words = f"the agent's own commits cannot be read, its files are kept: {failed.sentence}"
            return AgentCommits(refused_acts=refused, warning=words)
        named = dict(_refs_of(own))
        head = _head(own, named)
        tips = (sha for name, sha in named.items() if name != branch)
        left = [sha for sha in dict.fromkeys((*tips, *_logged(own))) if sha != head]
        there = [commit.sha for commit in self._refs.read_commits(*left[-LEFT_MAX:]) if commit]
        known = self._refs.read_commits(head)[0] if head else None
        return AgentCommits(known.sha if known else "", tuple(there), refused)

    def _bring(self, own: Path) -> None:
        sandbox = self._sandbox()
        assert sandbox, "a repository was lent, and there is no sandbox to look into it"
        if strange := _strange(own / "objects"):
            raise Fault(strange, transient=False)
        plain = self._plain(own)
        env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": "/nonexistent",
            "LC_ALL": "C",
            "GIT_DIR": str(plain),
            "GIT_OBJECT_DIRECTORY": str(own / "objects"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_NO_LAZY_FETCH": "1",
        }
        seen = (plain, own / "objects")
        packed = sandbox.run_isolated(("sh", "-c", PACK), env=env, read_only=seen, timeout=PACKING)
        count = int.from_bytes(packed.out[8:12], "big")
        if packed.code != 0 or packed.out[:4] != b"PACK":
            said = packed.err.decode("utf-8", "replace").strip().splitlines() or ["no answer"]
            raise Fault(said[-1][:300], transient=False)
        many = count >= UNPACK_MAX
        words = ("index-pack", "--stdin", "--strict") if many else ("unpack-objects", "--strict")
        self._git.run(*words, *(() if many else ("-q",)), stdin=packed.out)

    def _plain(self, own: Path) -> Path:
        """A git folder of ours for the agent's objects: its own settings and refs could keep git
        waiting at a pipe, or reading for ever.
        """
        made = own.with_name("plain")
        delete_path(made)
        for name in ("objects", "refs"):
            (made / name).mkdir(parents=True)
        (made / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
        form = [f"\t{n} = {quoted(v)}" for n, v in self._extensions if n == "objectformat"]
        lines = ("[core]", "\trepositoryformatversion = 1", "\tbare = true", "[extensions]", *form)
        (made / "config").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return made

    def delete_repository(self, task_id: str) -> None:
        """Its commits are ours by now; caches and conversation stay for the next attempt."""
        delete_path(self.folder_of(task_id) / "git")

    def delete_orphans(self, tasks: Collection[str]) -> None:
        """Delete what is left of tasks that have no worktree any more."""
        for folder in sorted(self._root.iterdir()) if self._root.is_dir() else ():
            if folder.name not in tasks:
                delete_path(folder)

    def delete_folder(self, task_id: str) -> None:
        """The task is over."""
        delete_path(self.folder_of(task_id))


def _lines(file: Path) -> Iterator[str]:
    for row in (read_plain_bytes(file, FILE_BYTES_MAX) or b"").splitlines():
        yield "".join(c for c in row.decode("utf-8", "replace") if c.isprintable())[:200]


def _has_objects(objects: Path) -> bool:
    """Did the agent's git write any?  Names alone are looked at."""
    if objects.is_symlink() or not objects.is_dir():
        return False
    with os.scandir(objects) as entries:
        loose = any(len(entry.name) == 2 for entry in entries)
    return loose or any((objects / "pack").glob("*.pack"))


def _strange(objects: Path) -> str:
    """What git must not meet there, in words: a pipe, a device, a way to other objects."""
    alternates = objects / "info" / "alternates"
    if not alternates.is_symlink() and alternates.is_file() and alternates.stat().st_size:
        return "its objects lead to others"
    for n, entry in enumerate(walk_tree(objects.parent, objects.name)):
        if n > FILES_MAX:
            return f"there are more than {FILES_MAX} files"
        if entry.is_too_deep or not (stat.S_ISDIR(entry.mode) or stat.S_ISREG(entry.mode)):
            return f"{Path(entry.path).name} is no plain file"
    return ""


def _refs_of(own: Path) -> Iterator[tuple[str, str]]:
    """Refs that the agent made or moved; those that were lent stand in the packed file as well."""
    looked = 0
    if (own / "refs").is_symlink():  # it would lead through the whole machine
        return
    for folder, folders, names in walk_folders(own / "refs"):
        del folders[LEFT_MAX:]
        looked += 1 + len(names)
        if looked > REFS_MAX:
            return
        for name in names[:LEFT_MAX]:
            file = Path(folder) / name
            text = (read_plain_bytes(file, 100) or b"").decode("ascii", "replace").strip()
            if OBJECT_ID.fullmatch(text):
                yield file.relative_to(own).as_posix(), text


def _head(own: Path, named: dict[str, str]) -> str:
    said = (read_plain_bytes(own / "HEAD", 4096) or b"").decode("utf-8", "replace").strip()
    if OBJECT_ID.fullmatch(said):
        return said
    ref = said.removeprefix("ref: ")
    if ref in named:
        return named[ref]
    if ref.startswith("refs/heads/") and ".." not in ref:
        alone = (read_plain_bytes(own / ref, 100) or b"").decode("ascii", "replace").strip()
        if OBJECT_ID.fullmatch(alone):
            return alone
    packed: Iterable[bytes] = (
        read_plain_bytes(own / "packed-refs", FILE_BYTES_MAX) or b""
    ).splitlines()
    rows = (row.decode("utf-8", "replace").split(" ", 1) for row in packed)
    return next(
        (r[0] for r in rows if len(r) == 2 and r[1] == ref and OBJECT_ID.fullmatch(r[0])), ""
    )


def _logged(own: Path) -> Iterator[str]:
    """Every commit that its HEAD was at."""
    for name in ("logs/HEAD", "logs/refs/stash"):
        for row in (read_plain_bytes(own / name, LOG_BYTES_MAX) or b"").splitlines():
            words = row.decode("ascii", "replace").split()
            if len(words) > 1 and OBJECT_ID.fullmatch(words[1]):
                yield words[1]
