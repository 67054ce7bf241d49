"""A git repository for each agent that works inside the sandbox.

The user's repository is read-only there, and agents fail when they cannot commit.  So a small
repository is mounted over the worktree's own: it uses the user's objects as alternates, has copies
of branches and tags, and stores new objects itself.  When the agent has ended, its commits are
imported: packed by a git inside the sandbox, because the agent's settings can name programs, and
unpacked by yaoki's git, which checks them like objects from a stranger.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection, Iterator
from datetime import timedelta
from functools import cached_property
from pathlib import Path

from yaoki.adapters.git.batch import OBJECT_ID
from yaoki.adapters.git.command import Git
from yaoki.adapters.git.ref_names import ref_component
from yaoki.adapters.git.refs import Refs
from yaoki.adapters.processes.sandbox import Sandbox
from yaoki.adapters.system.files import make_private_folder
from yaoki.adapters.workspace.protect.user_state import read_all_refs
from yaoki.adapters.workspace.worktrees.agent_git_folder import (
    find_unsafe_file,
    has_objects,
    read_head,
    read_printable_lines,
    read_reflogs,
    read_refs,
)
from yaoki.adapters.workspace.worktrees.agent_hooks import (
    REFUSALS_FILE,
    push_settings,
    quote_config,
    write_hooks,
)
from yaoki.adapters.workspace.worktrees.worktree import Worktree, delete_path
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import task_branch
from yaoki.errors import Fault, WorkspaceError
from yaoki.ports import SANDBOX_FOLDERS_NAME, SandboxFolders

# Limits on commits outside of the branch, and on reported refusals.
UNBRANCHED_MAX, REFUSALS_MAX = 50, 100
PACK_TIMEOUT = timedelta(minutes=5)
# As git does: few objects are stored one by one, many as a pack.
UNPACK_MAX = 100
# The user's refs that an agent may see; those of other tasks are left out.
SHOWN_REFS = ("refs/heads/", "refs/tags/", "refs/remotes/")
OWN_BRANCHES = "refs/heads/yaoki/"
# Compressed objects can be very large: objects above these sizes are not imported.
OBJECT_BYTES_MAX, OBJECTS_BYTES_MAX = 512 << 20, 2 << 30
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
    """The commits of an agent's repository.

    `head` is empty if there is no commit.  `unbranched` are commits that its branch lacks.
    """

    head: str = ""
    unbranched: tuple[str, ...] = ()
    refused_acts: tuple[str, ...] = ()
    warning: str = ""


class AgentRepositories:
    """Creates a repository for each sandboxed agent, and imports its commits."""

    def __init__(
        self, git: Git, refs: Refs, root: Path, sandbox: Callable[[], Sandbox | None]
    ) -> None:
        """`sandbox` is a function because finding out whether one is available takes time."""
        self._git, self._refs, self._root, self._sandbox = (
            git,
            refs,
            root / SANDBOX_FOLDERS_NAME,
            sandbox,
        )

    def folder_of(self, task_id: str) -> Path:
        """The private folder of the task's agent: its repository, caches, conversation."""
        return self._root / ref_component(task_id)

    def create(self, worktree: Worktree) -> SandboxFolders:
        """A new repository at the worktree's commit."""
        assert worktree.admin, f"git does not know the worktree of {worktree.task_id}"
        folder = self.folder_of(worktree.task_id)
        make_private_folder(self._root)
        make_private_folder(folder)
        own = folder / "git"
        delete_path(own)
        (own / "objects" / "info").mkdir(parents=True)
        (own / "objects" / "pack").mkdir()
        alternates = folder / "alternates"
        alternates.write_bytes(os.fsencode(f"{self._git.common_dir / 'objects'}\n"))
        (own / "objects" / "info" / "alternates").touch()
        link = folder / "gitfile"
        link.write_bytes(os.fsencode(f"gitdir: {own}\n"))
        self._write_refs(own, worktree)
        self._copy_index_and_rules(own, worktree)
        write_hooks(own / "hooks", self._user_hooks(worktree), task_branch(worktree.task_id))
        (own / "config").write_text(self._compose_config(own, worktree), encoding="utf-8")
        mounts = {
            worktree.path / ".git": link,
            own / "objects" / "info" / "alternates": alternates,
            own / "hooks": own / "hooks",
        }
        return SandboxFolders(folder, (own,), mounts)

    def _write_refs(self, own: Path, worktree: Worktree) -> None:
        head, branch = self._refs.read_commits(worktree.head)[0], task_branch(worktree.task_id)
        assert head, f"the worktree of {worktree.task_id} has no commit"
        file = own / "refs" / "heads" / branch
        file.parent.mkdir(parents=True)
        file.write_text(f"{head.sha}\n", encoding="ascii")
        (own / "HEAD").write_text(f"ref: refs/heads/{branch}\n", encoding="ascii")
        rows = sorted(
            f"{sha} {name}"
            for name, sha in read_all_refs(self._git).items()
            if name.startswith(SHOWN_REFS)
            and not name.startswith(OWN_BRANCHES)
            and OBJECT_ID.fullmatch(sha)
        )
        rows.sort(key=lambda row: row.partition(" ")[2])
        text = "\n".join(("# pack-refs with: sorted", *rows, ""))
        (own / "packed-refs").write_bytes(os.fsencode(text))

    def _copy_index_and_rules(self, own: Path, worktree: Worktree) -> None:
        """Copy the index, and the user's ignore and attribute rules."""
        assert worktree.admin
        common, admin = self._git.common_dir, worktree.admin
        sources = {
            "index": admin / "index",
            "shallow": common / "shallow",
            "info/exclude": common / "info" / "exclude",
            "info/attributes": common / "info" / "attributes",
            "info/sparse-checkout": admin / "info" / "sparse-checkout",
        }
        (own / "info").mkdir()
        for name, source in sources.items():
            if source.is_file():
                # Keep the modification time: git trusts files that are older than the index.
                shutil.copy2(source, own / name)

    def _compose_config(self, own: Path, worktree: Worktree) -> str:
        """The user's settings by include, then overrides; git reads some only from this file."""
        assert worktree.admin
        lines = ["[core]", "\trepositoryformatversion = 1", "[extensions]"]
        lines += [f"\t{name} = {quote_config(value)}" for name, value in self._extensions]
        for file in (self._git.common_dir / "config", worktree.admin / "config.worktree"):
            if file.is_file():
                lines += ["[include]", f"\tpath = {quote_config(str(file))}"]
        lines += [
            "[core]",
            "\tbare = false",
            f"\tworktree = {quote_config(str(worktree.path))}",
            f"\thooksPath = {quote_config(str(own / 'hooks'))}",
            "\tlogAllRefUpdates = true",
            "[gc]",
            "\tauto = 0",
            "[maintenance]",
            "\tauto = false",
            "[lfs]",
            f"\tstorage = {quote_config(str(self._git.common_dir / 'lfs'))}",
            *push_settings(own / "hooks", self._remotes()),
        ]
        return "\n".join(lines) + "\n"

    @cached_property
    def _extensions(self) -> tuple[tuple[str, str], ...]:
        """The extensions that are needed to read the objects."""
        args = ("config", "--local", "-z", "--get-regexp", r"^extensions\.")
        rows = self._git.run(*args, ok=(0, 1)).out.decode("utf-8", "replace").split("\0")
        pairs = (row.partition("\n") for row in rows if row)
        known = ("objectformat", "partialclone", "preciousobjects")
        named = ((name.removeprefix("extensions."), value) for name, _, value in pairs)
        return tuple((name, value) for name, value in named if name in known)

    def _remotes(self) -> Iterator[tuple[str, str]]:
        args = ("config", "-z", "--get-regexp", r"^remote\..*\.url$")
        rows = self._git.run(*args, ok=(0, 1)).out.decode("utf-8", "replace").split("\0")
        for key, _, address in (row.partition("\n") for row in rows if row):
            yield key.removeprefix("remote.").removesuffix(".url"), address

    def _user_hooks(self, worktree: Worktree) -> Path:
        args = ("config", "--type=path", "--get-all", "core.hooksPath")
        values = self._git.run(*args, ok=(0, 1)).out.decode("utf-8", "replace").splitlines()
        # yaoki's own calls disable hooks with this value.
        paths = [value for value in values if value != os.devnull]
        return worktree.path / paths[-1] if paths else self._git.common_dir / "hooks"

    def import_commits(self, worktree: Worktree) -> AgentCommits:
        """Import the agent's commits as objects of the user's repository.

        Can be repeated until `delete_repository` is called.
        """
        own = self.folder_of(worktree.task_id) / "git"
        if own.is_symlink() or not own.is_dir():
            return AgentCommits()
        branch = f"refs/heads/{task_branch(worktree.task_id)}"
        refused = tuple(read_printable_lines(own / REFUSALS_FILE))[:REFUSALS_MAX]
        if not has_objects(own / "objects"):
            return AgentCommits(refused_acts=refused)
        try:
            self._import_objects(own)
        except (Fault, WorkspaceError) as error:
            warning = f"the agent's commits cannot be read; its files are saved: {error.sentence}"
            return AgentCommits(refused_acts=refused, warning=warning)
        refs = dict(read_refs(own))
        head = read_head(own, refs)
        tips = (sha for name, sha in refs.items() if name != branch)
        others = [sha for sha in dict.fromkeys((*tips, *read_reflogs(own))) if sha != head]
        commits = self._refs.read_commits(*others[-UNBRANCHED_MAX:])
        unbranched = tuple(commit.sha for commit in commits if commit)
        head_commit = self._refs.read_commits(head)[0] if head else None
        return AgentCommits(head_commit.sha if head_commit else "", unbranched, refused)

    def _import_objects(self, own: Path) -> None:
        sandbox = self._sandbox()
        assert sandbox, "a sandboxed agent had a repository, but there is no sandbox to read it"
        if problem := find_unsafe_file(own / "objects"):
            raise Fault(problem, transient=False)
        plain = self._make_plain_folder(own)
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
        folders = (plain, own / "objects")
        packed = sandbox.run_isolated(
            ("sh", "-c", PACK), env=env, read_only=folders, timeout=PACK_TIMEOUT
        )
        count = int.from_bytes(packed.out[8:12], "big")
        if packed.code != 0 or packed.out[:4] != b"PACK":
            lines = packed.err.decode("utf-8", "replace").strip().splitlines() or ["no answer"]
            raise Fault(lines[-1][:300], transient=False)
        as_pack = ("index-pack", "--stdin", "--strict")
        as_objects = ("unpack-objects", "--strict", "-q")
        self._git.run(*(as_pack if count >= UNPACK_MAX else as_objects), stdin=packed.out)

    def _make_plain_folder(self, own: Path) -> Path:
        """A clean git folder for the agent's objects: its own settings and refs could block git on
        a pipe, or let it read without end.
        """
        folder = own.with_name("plain")
        delete_path(folder)
        for name in ("objects", "refs"):
            (folder / name).mkdir(parents=True)
        (folder / "HEAD").write_text("ref: refs/heads/none\n", encoding="ascii")
        form = [f"\t{n} = {quote_config(v)}" for n, v in self._extensions if n == "objectformat"]
        lines = ("[core]", "\trepositoryformatversion = 1", "\tbare = true", "[extensions]", *form)
        (folder / "config").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return folder

    def delete_repository(self, task_id: str) -> None:
        """Delete the imported repository; caches and conversation stay for the next attempt."""
        delete_path(self.folder_of(task_id) / "git")

    def delete_orphans(self, tasks: Collection[str]) -> None:
        """Delete the folders of tasks without a worktree."""
        for folder in sorted(self._root.iterdir()) if self._root.is_dir() else ():
            if folder.name not in tasks:
                delete_path(folder)

    def delete_folder(self, task_id: str) -> None:
        """Delete everything of a finished task."""
        delete_path(self.folder_of(task_id))
