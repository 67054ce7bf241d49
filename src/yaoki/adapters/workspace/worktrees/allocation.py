"""Creates, finds, moves and removes worktrees: one per task, outside the repository."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from yaoki.adapters.git.checkout_list import list_link_files, read_gitdir
from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.ref_names import REF_COMPONENT, ref_component, task_branch_ref
from yaoki.adapters.git.refs import RefMove, Refs, refuse_checked_out
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.system.files import make_private_folder
from yaoki.adapters.system.folders import remove_tree
from yaoki.adapters.workspace.worktrees.registration import WorktreeRegistration
from yaoki.adapters.workspace.worktrees.setup_files import STATUS, SetupFileStore
from yaoki.adapters.workspace.worktrees.worktree import (
    UNFINISHED_MARK,
    Worktree,
    delete_path,
    is_real_folder,
)
from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import task_branch
from yaoki.errors import GitFailed, WorkspaceError

LOCK_WAIT_MAX = timedelta(seconds=60)
LOCK_PAUSE_MIN, LOCK_PAUSE_MAX = timedelta(milliseconds=1), timedelta(milliseconds=50)

# Left in git's folder by an unfinished rebase, bisect or commit of the agent.
UNFINISHED = frozenset(
    {
        *("index.lock", "HEAD.lock", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG"),
        *("BISECT_LOG", "BISECT_START", "rebase-merge", "rebase-apply", "sequencer"),
    }
)
# An unfinished merge stays until its content is saved: a person's merge counts.
MERGING = ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE")

RECORDS = ".prepared"
FOLDERS_KEPT = 1024


class Worktrees:
    """Adds, finds, repairs, moves and removes the worktrees below `root`."""

    def __init__(self, git: Git, root: Path) -> None:
        self._git, self._refs = git, Refs(git)
        self._registration = WorktreeRegistration(git)
        self.setup_files = SetupFileStore(git, root / RECORDS)
        self._root, self._trash = root, root / ".trash"
        self._clock, self._trash_emptied = SystemClock(), False
        self._lock = threading.Lock()

    def find(self, task_id: str) -> Worktree:
        path, usual = _usual_folders(self._root, self._git.common_dir, ref_component(task_id))
        link = f"{path}/.git"
        if read_gitdir(f"{usual}/gitdir") == link:
            return Worktree(task_id, path, usual)
        others = self._git.common_dir.glob("worktrees/*/gitdir")
        found = (file.parent for file in others if read_gitdir(str(file)) == link)
        return Worktree(task_id, path, next(found, None))

    def list_ids(self) -> frozenset[str]:
        """Tasks with a folder here, and tasks that only git still records: the process that removed
        their folder was killed.  Names with a dot are yaoki's own folders.
        """
        folders = [p.name for p in self._root.iterdir()] if self._root.is_dir() else []
        links = list_link_files(self._git.common_dir)
        recorded = [link.parent.name for link in links if link.parents[1] == self._root]
        return frozenset(name for name in (*folders, *recorded) if REF_COMPONENT.fullmatch(name))

    def require(self, task_id: str) -> Worktree:
        """The worktree, repaired; raises when it is gone."""
        worktree = self.find(task_id)
        if not worktree.exists or not worktree.admin:
            raise GitFailed(
                f"the worktree of {task_id} is gone", transient=True, hint=f"yaoki retry {task_id}"
            )
        self.repair(worktree)
        return worktree

    def repair(self, worktree: Worktree) -> None:
        """Remove what killed processes left, and restore the `.git` link of the worktree."""
        if not worktree.exists or not worktree.admin:
            return
        link, text = worktree.path / ".git", f"gitdir: {worktree.admin}\n"
        if is_real_folder(link):
            remove_tree(link)
        if not _is_plain_file_with(link, os.fsencode(text)):
            link.unlink(missing_ok=True)
            link.write_bytes(os.fsencode(text))
        with os.scandir(worktree.admin) as entries:
            present = {entry.name for entry in entries}
        for name in UNFINISHED & present:
            delete_path(worktree.admin / name)
        (self._git.common_dir / f"{task_branch_ref(worktree.task_id)}.lock").unlink(missing_ok=True)

    def add(self, task_id: str, commit: str) -> Worktree:
        """A new worktree on the task's branch, which is set to `commit`."""
        self._empty_trash_once()
        path, branch = self._root / ref_component(task_id), task_branch(task_id)
        ref = task_branch_ref(task_id)
        with self._locked():
            self._refs.delete_symbolic_ref(ref)
            refuse_checked_out(self._refs, ref)
            # Not by `-B`: git would start a process for the branch.
            self._refs.overwrite(RefMove(ref, commit))
            self._registration.add_on_branch(path, branch)
        return self._fill(self.find(task_id))

    def add_detached(self, name: str, commit: str) -> Path:
        """A worktree on no branch."""
        path = self._root / ref_component(name)
        with self._locked():
            self._registration.add_detached(path, commit)
        return self._fill(self.find(name)).path

    def _fill(self, worktree: Worktree) -> Worktree:
        """Check the files out without the lock; git's own lock file marks it as unfinished."""
        if not worktree.admin:
            raise GitFailed(f"{worktree.path} was removed while it was made", transient=True)
        self._git.run("reset", "-q", "--hard", "--no-recurse-submodules", at=worktree.location)
        worktree.mark_finished()
        return worktree

    def hand_over(self, name: str, task_id: str, commit: str, digest: bytes) -> Worktree:
        """Give an unused prepared worktree to the task, at `commit`.

        `digest` is that of git's folder about it when it was made.
        """
        with self._locked():
            worktree = self.find(name)
            moved = replace(worktree, task_id=task_id, path=self._root / ref_component(task_id))
            unused = worktree.is_usable and worktree.admin_digest() == digest
            usable = unused and not os.path.lexists(moved.path)
            if not worktree.admin or not usable:
                raise GitFailed(f"{name} cannot become the worktree of {task_id}")
            self._refs.delete_symbolic_ref(task_branch_ref(task_id))
            # Marked first: after a kill it is removed, wherever it is by then.
            (worktree.admin / "locked").write_bytes(UNFINISHED_MARK)
        try:
            self._move(worktree, moved)
            self._check_out_handed_over(moved, commit)
        except (WorkspaceError, OSError):
            self.remove(task_id)
            raise
        return moved

    def _move(self, worktree: Worktree, moved: Worktree) -> None:
        with self._locked():
            assert worktree.admin
            file = worktree.admin / "gitdir.yaoki"
            file.write_bytes(os.fsencode(f"{moved.path / '.git'}\n"))
            file.replace(worktree.admin / "gitdir")
            worktree.path.rename(moved.path)

    def _check_out_handed_over(self, worktree: Worktree, commit: str) -> None:
        """Move it from an older commit to this one, and refuse any other content."""
        branch = task_branch(worktree.task_id)
        self.repair(worktree)
        self._git.run(
            "checkout", "-q", "-f", "--no-track", "-B", branch, commit, at=worktree.location
        )
        options = ("--untracked-files=normal", "--ignored")
        if self._git.run(*STATUS, *options, at=worktree.location).out:
            raise GitFailed(f"{worktree.path} contains more than its commit")
        worktree.mark_finished()

    def remove(self, task_id: str) -> None:
        """Rename the worktree to the trash, then delete its files.

        Not by `git worktree remove`, which refuses broken worktrees.
        """
        worktree = self.find(task_id)
        if not worktree.admin and not os.path.lexists(worktree.path):
            return
        with self._locked():
            worktree = self.find(task_id)
            trash = self._trash / f"{task_id}.{uuid4().hex}"
            self._trash.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                worktree.path.rename(trash)
            if worktree.admin:
                _delete_admin(worktree.admin)
        delete_path(trash)

    def check_out(self, worktree: Worktree, commit: str) -> None:
        """Check out exactly this commit on the task's branch; ignored files stay."""
        self.move_to(worktree, commit)
        self._remove_untracked(worktree)

    def move_to(self, worktree: Worktree, commit: str) -> None:
        """Check the commit out on the task's branch, in a worktree without untracked files."""
        branch = task_branch(worktree.task_id)
        self._refs.delete_symbolic_ref(task_branch_ref(worktree.task_id))
        self._git.run(
            "checkout", "-q", "-f", "--no-track", "-B", branch, commit, at=worktree.location
        )

    def _remove_untracked(self, worktree: Worktree) -> None:
        """Remove untracked files and empty folders; ignored files and those of set-up stay."""
        made = self.setup_files.load(worktree.task_id)
        self._git.run("clean", "-q", "-ffd", *made.ignore_options, at=worktree.location)

    def set_head_and_index(self, worktree: Worktree, index: Path) -> None:
        """Point HEAD and index at the commit that was just made of the files."""
        if not worktree.admin:
            return
        head, ref = worktree.admin / "HEAD", task_branch_ref(worktree.task_id)
        if not head.is_file() or not _is_valid_head(head.read_bytes()):
            head.write_text(f"ref: {ref}\n", encoding="ascii")
        if not worktree.is_on_branch:
            self._git.run("symbolic-ref", "HEAD", ref, at=GitLocation(worktree.admin))
        # Keep the modification time: git trusts files that are older than the index.
        shutil.copy2(index, worktree.admin / "index.yaoki")
        (worktree.admin / "index.yaoki").replace(worktree.admin / "index")
        self.forget_merge(worktree)

    def forget_merge(self, worktree: Worktree) -> None:
        """Drop an unfinished merge whose content is committed or does not count."""
        if worktree.admin:
            for name in MERGING:
                delete_path(worktree.admin / name)

    def is_clean(self, worktree: Worktree) -> bool:
        """True when the worktree equals its HEAD, apart from what set-up made.

        Only for worktrees that no agent has touched since `set_head_and_index`.
        """
        return self.setup_files.is_clean(worktree)

    def _empty_trash_once(self) -> None:
        """Delete what killed processes left in the trash; other processes may do so as well."""
        if not self._trash_emptied and self._trash.is_dir():
            for folder in self._trash.iterdir():
                remove_tree(folder)
        self._trash_emptied = True

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Only one thread of one process at a time adds or removes worktrees of a repository."""
        make_private_folder(self._root)
        with self._lock, (self._root / ".lock").open("ab") as file:
            self._acquire(file)
            yield

    def _acquire(self, lock: BinaryIO) -> None:
        deadline, pause = self._clock.now() + LOCK_WAIT_MAX, LOCK_PAUSE_MIN
        while True:
            with suppress(BlockingIOError):
                return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._clock.now() > deadline:
                raise GitFailed(f"{lock.name} is locked by another process", transient=True)
            self._clock.sleep(pause)
            pause = min(pause * 2, LOCK_PAUSE_MAX)


@lru_cache(maxsize=FOLDERS_KEPT)
def _usual_folders(root: Path, common_dir: Path, name: str) -> tuple[Path, Path]:
    """The worktree, and git's folder about it: git gives it the same name unless one has it.

    The result is kept, because it is needed a dozen times for each task.
    """
    return root / name, common_dir / "worktrees" / name


def _is_plain_file_with(file: Path, content: bytes) -> bool:
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    with os.fdopen(handle, "rb") as stream:
        is_plain = stat.S_ISREG(os.fstat(handle).st_mode)
        return is_plain and stream.read(len(content) + 1) == content


def _delete_admin(admin: Path) -> None:
    """Delete `gitdir` last: after a crash it is how the rest is found."""
    with os.scandir(admin) as entries:
        others = [entry for entry in entries if entry.name != "gitdir"]
    for entry in others:
        if entry.is_dir(follow_symlinks=False):
            delete_path(Path(entry.path))
        else:
            with suppress(FileNotFoundError):
                os.unlink(entry.path)  # noqa: PTH108  a dozen for each task
    delete_path(admin)


def _is_valid_head(head: bytes) -> bool:
    return head.startswith(b"ref: refs/") or len(head.strip()) in {40, 64}
