"""The worktrees: one per task, outside the repository; how they come, go and move."""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from yaoki.adapters.git.command import Git, GitLocation
from yaoki.adapters.git.refs import REF_COMPONENT, Refs, ref_component, task_branch_ref
from yaoki.adapters.system.clock import SystemClock
from yaoki.adapters.system.files import make_private_folder
from yaoki.adapters.system.folders import remove_tree
from yaoki.adapters.workspace.worktrees.worktree import UNFINISHED_MARK, Worktree, delete_path
from yaoki.core.model import task_branch
from yaoki.errors import GitFailed, WorkspaceError

LOCK_WAIT_MAX = timedelta(seconds=60)
LOCK_PAUSE_MIN, LOCK_PAUSE_MAX = timedelta(milliseconds=1), timedelta(milliseconds=50)

# What an unfinished rebase, bisect or commit of the agent leaves in git's folder.
UNFINISHED = (
    *("index.lock", "HEAD.lock", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG"),
    *("BISECT_LOG", "BISECT_START", "rebase-merge", "rebase-apply", "sequencer"),
)
# An unfinished merge stays until its content is kept: a person's counts.
MERGING = ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE")

# How we have git mark a worktree while it is made.
ADD = ("worktree", "add", "-q", "--no-checkout", "--lock", "--reason", UNFINISHED_MARK.decode())

# Said, because the user's settings may hide files that are not tracked.
STATUS = ("status", "--untracked-files=normal", "--no-renames", "--ignore-submodules=dirty", "-z")


class Worktrees:
    """Adds, finds, repairs, moves and removes the worktrees below `root`."""

    def __init__(self, git: Git, root: Path) -> None:
        self._git, self._refs = git, Refs(git)
        self._root, self._trash = root, root / ".trash"
        self._clock, self._swept = SystemClock(), False
        self._turn = threading.Lock()

    def find(self, task_id: str) -> Worktree:
        path = self._root / ref_component(task_id)
        admins = self._git.common_dir.glob("worktrees/*/gitdir")
        admin = next((file.parent for file in admins if _names(file, path / ".git")), None)
        return Worktree(task_id, path, admin)

    def list_ids(self) -> frozenset[str]:
        """The tasks whose folder stands here, names with a dot are our own; and those of which only
        git still knows: whoever removed theirs was killed in the middle.
        """
        folders = [p.name for p in self._root.iterdir()] if self._root.is_dir() else []
        noted = (_place(file) for file in self._git.common_dir.glob("worktrees/*/gitdir"))
        known = [place.parent.name for place in noted if place and place.parents[1] == self._root]
        return frozenset(name for name in (*folders, *known) if REF_COMPONENT.fullmatch(name))

    def require(self, task_id: str) -> Worktree:
        """The worktree, ready for git; refused when it is gone."""
        found = self.find(task_id)
        if not found.exists or not found.admin:
            raise GitFailed(
                f"the worktree of {task_id} is gone", transient=True, hint=f"yaoki retry {task_id}"
            )
        self.repair(found)
        return found

    def repair(self, found: Worktree) -> None:
        """Clear what killed processes left, and let the agent's own git find its way again."""
        if not found.exists or not found.admin:
            return
        link, said = found.path / ".git", f"gitdir: {found.admin}\n"
        if link.is_dir() and not link.is_symlink():
            remove_tree(link)
        if not link.is_file() or link.is_symlink() or link.read_bytes() != os.fsencode(said):
            link.unlink(missing_ok=True)
            link.write_bytes(os.fsencode(said))
        for name in UNFINISHED:
            delete_path(found.admin / name)
        (self._git.common_dir / f"{task_branch_ref(found.task_id)}.lock").unlink(missing_ok=True)

    def add(self, task_id: str, commit: str) -> Worktree:
        """A new worktree on the task's branch, which is set to `commit`."""
        self._sweep_once()
        path, branch = self._root / ref_component(task_id), task_branch(task_id)
        with self._alone():
            self._refs.delete_symbolic_ref(task_branch_ref(task_id))
            self._git.run(*ADD, "--no-track", "-B", branch, str(path), commit)
        return self._filled(self.find(task_id))

    def add_detached(self, name: str, commit: str) -> Path:
        """A worktree on no branch."""
        path = self._root / ref_component(name)
        with self._alone():
            self._git.run(*ADD, "--detach", str(path), commit)
        return self._filled(self.find(name)).path

    def _filled(self, found: Worktree) -> Worktree:
        """Its files, while others add theirs: until they are there git's own mark says so."""
        if not found.admin:
            raise GitFailed(f"{found.path} went while it was made", transient=True)
        self._git.run("reset", "-q", "--hard", "--no-recurse-submodules", at=found.location)
        found.mark_finished()
        return found

    def hand_over(self, name: str, task_id: str, commit: str, seal: bytes) -> Worktree:
        """A worktree of ours that nobody has worked in becomes the task's, at `commit`.

        `seal`: what git knew of it when it was made.
        """
        with self._alone():
            found = self.find(name)
            moved = replace(found, task_id=task_id, path=self._root / ref_component(task_id))
            usable = (
                found.is_usable and found.admin_digest() == seal and not os.path.lexists(moved.path)
            )
            if not found.admin or not usable:
                raise GitFailed(f"{name} cannot become the worktree of {task_id}")
            self._refs.delete_symbolic_ref(task_branch_ref(task_id))
            # Marked first: whoever comes after a kill throws it away, wherever it stands by then.
            (found.admin / "locked").write_bytes(UNFINISHED_MARK)
        try:
            self._move(found, moved)
            self._set_out(moved, commit)
        except (WorkspaceError, OSError):
            self.remove(task_id)
            raise
        return moved

    def _move(self, found: Worktree, moved: Worktree) -> None:
        with self._alone():
            assert found.admin
            note = found.admin / "gitdir.yaoki"
            note.write_bytes(os.fsencode(f"{moved.path / '.git'}\n"))
            note.replace(found.admin / "gitdir")
            found.path.rename(moved.path)

    def _set_out(self, found: Worktree, commit: str) -> None:
        """It was made of an older commit; with this one in it, it holds nothing else."""
        branch = task_branch(found.task_id)
        self.repair(found)
        self._git.run("checkout", "-q", "-f", "--no-track", "-B", branch, commit, at=found.location)
        if self._git.run(*STATUS, "--porcelain", "--ignored", at=found.location).out:
            raise GitFailed(f"{found.path} holds more than its commit")
        found.mark_finished()

    def remove(self, task_id: str) -> None:
        """Remove it at once for everybody, and its files as fast as the disk allows.

        By hand and not by `git worktree remove`, which refuses broken ones.
        """
        with self._alone():
            found = self.find(task_id)
            trash = self._trash / f"{task_id}.{uuid4().hex}"
            self._trash.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                found.path.rename(trash)
            if found.admin:
                _forget(found.admin)
        delete_path(trash)

    def check_out(self, found: Worktree, commit: str) -> None:
        """Make it exactly this commit, on the task's branch; ignored files stay."""
        branch = task_branch(found.task_id)
        self._refs.delete_symbolic_ref(task_branch_ref(found.task_id))
        self._git.run("checkout", "-q", "-f", "--no-track", "-B", branch, commit, at=found.location)
        self.remove_untracked(found)

    def remove_untracked(self, found: Worktree) -> None:
        """Remove what git does not track, empty folders as well; ignored files stay."""
        self._git.run("clean", "-q", "-ffd", at=found.location)

    def set_head_and_index(self, found: Worktree, index: Path) -> None:
        """Its files were just committed on the task's branch: let HEAD and index say so."""
        if not found.admin:
            return
        head, ref = found.admin / "HEAD", task_branch_ref(found.task_id)
        if not head.is_file() or not _sane(head.read_bytes()):
            head.write_text(f"ref: {ref}\n", encoding="ascii")
        if not found.is_on_branch:
            self._git.run("symbolic-ref", "HEAD", ref, at=GitLocation(found.admin))
        # The time of the copy must be the original's: git trusts files older than its index.
        shutil.copy2(index, found.admin / "index.yaoki")
        (found.admin / "index.yaoki").replace(found.admin / "index")
        self.forget_merge(found)

    def forget_merge(self, found: Worktree) -> None:
        """Its content is committed, or counts for nothing."""
        if found.admin:
            for name in MERGING:
                delete_path(found.admin / name)

    def is_clean(self, found: Worktree) -> bool:
        """Does it hold nothing but its HEAD?  For worktrees no agent has touched since `agree`."""
        return not self._git.run(*STATUS, "--porcelain", at=found.location).out

    def _sweep_once(self) -> None:
        """Delete what killed processes had thrown away; others may be doing so as well."""
        if not self._swept and self._trash.is_dir():
            for folder in self._trash.iterdir():
                remove_tree(folder)
        self._swept = True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One at a time adds or removes worktrees of this repository, here and anywhere else."""
        make_private_folder(self._root)
        with self._turn, (self._root / ".lock").open("ab") as file:
            self._take(file)
            yield

    def _take(self, lock: BinaryIO) -> None:
        give_up, pause = self._clock.now() + LOCK_WAIT_MAX, LOCK_PAUSE_MIN
        while True:
            with suppress(BlockingIOError):
                return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._clock.now() > give_up:
                raise GitFailed(f"{lock.name} is held by another process", transient=True)
            self._clock.sleep(pause)
            pause = min(pause * 2, LOCK_PAUSE_MAX)


def _names(file: Path, link: Path) -> bool:
    """Does git's note of where a worktree is name this one?"""
    return _place(file) == link


def _place(note: Path) -> Path | None:
    """Where a worktree is by git's note of it; other processes remove theirs."""
    try:
        said = os.fsdecode(note.read_bytes().rstrip(b"\n"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    return Path(os.path.normpath(note.parent / said))


def _forget(admin: Path) -> None:
    """The note goes last: by it whoever comes after a kill finds the rest."""
    for file in admin.iterdir():
        if file.name != "gitdir":
            delete_path(file)
    delete_path(admin)


def _sane(head: bytes) -> bool:
    return head.startswith(b"ref: refs/") or len(head.strip()) in {40, 64}
