"""Refs of saved work: each saved commit gets a ref below `refs/yaoki/work`, none is overwritten."""

from __future__ import annotations

from yaoki.adapters.git.commits import Commits
from yaoki.adapters.git.ref_names import (
    SAVED_WORK,
    SNAPSHOTS,
    run_branch_ref,
    task_branch_ref,
    work_ref,
)
from yaoki.adapters.git.refs import Ref, RefMove, Refs, move_or_fail
from yaoki.core.model import Task
from yaoki.errors import GitFailed, NotNow, Unknown
from yaoki.ports import SavedWork

LABELS_MAX = 1000
# As many tasks as usually land while one is being cleaned up.
LAST_LANDINGS = 8


class SavedRefs:
    """Saves commits, lists what is saved, and makes branches of it."""

    def __init__(self, refs: Refs, commits: Commits) -> None:
        self._refs, self._commits = refs, commits

    def save(self, task: Task, commit: str, label: str) -> None:
        """Give the commit a ref unless a permanent ref contains it already."""
        if not self.is_saved(task, commit):
            move_or_fail(self._refs, RefMove(self.free_ref(task, commit, label), commit))

    def find_equal(self, task: Task, commit: str) -> str:
        """The saved commit with the same content and parents, so that saving a worktree twice adds
        no ref; the commit itself if there is none.
        """
        refs = self._refs.list_refs(f"{SAVED_WORK}/{task.id}")
        new, *saved = self._refs.read_commits(commit, *(ref.commit for ref in refs))
        content = (new.tree, new.parents) if new else None
        equal = (one.sha for one in saved if one and (one.tree, one.parents) == content)
        return next(equal, commit)

    def free_ref(self, task: Task, commit: str, label: str = "") -> str:
        """The first name that is free, or whose commit this one contains."""
        first = f"{task.attempt}-{label}" if label else f"{task.attempt}"
        if self._refs.read_commits(work_ref(task.id, first))[0] is None:
            return work_ref(task.id, first)
        used = {ref.name: ref.commit for ref in self._refs.list_refs(f"{SAVED_WORK}/{task.id}")}
        for n in range(1, LABELS_MAX):
            ref = work_ref(task.id, first if n == 1 else f"{first}-{n}")
            if ref not in used or self._refs.is_ancestor(used[ref], commit):
                return ref
        raise GitFailed(f"attempt {task.attempt} of {task.id} was saved {LABELS_MAX} times")

    def is_saved(self, task: Task, commit: str) -> bool:
        """True when a ref that outlives the worktree contains the commit."""
        run_branch = run_branch_ref(task.run_id)
        if self._landed_lately(run_branch, commit):
            return True
        return bool(self._refs.refs_containing(commit, f"{SAVED_WORK}/{task.id}", run_branch))

    def _landed_lately(self, run_branch: str, commit: str) -> bool:
        """Is it among the last landings?  They are found without a new git process."""
        revision = run_branch
        for _ in range(LAST_LANDINGS):
            landed = self._refs.read_commits(revision)[0]
            if landed is None or not landed.parents:
                return False
            if commit in (landed.sha, *landed.parents):
                return True
            revision = landed.parents[0]
        return False

    def delete_task_refs(self, task: Task, *others: str) -> None:
        """Delete the task's branch and other refs of it whose commits are saved.

        A ref that is moved meanwhile stays: it holds something new.
        """
        names = (task_branch_ref(task.id), *others)
        commits = self._refs.read_commits(*names)
        heads = {name: c.sha for name, c in zip(names, commits, strict=True) if c}
        saved = {sha for sha in set(heads.values()) if self.is_saved(task, sha)}
        deletions = [RefMove(name, "", sha) for name, sha in heads.items() if sha in saved]
        if deletions:
            self._refs.move(*deletions)

    def last_known_commit(self, task: Task) -> str:
        """The best commit that is left of a task whose worktree is gone."""
        attempt = work_ref(task.id, f"{task.attempt}")
        names = (task.work.head, task_branch_ref(task.id), attempt, task.work.base)
        commit = next((commit for commit in self._refs.read_commits(*names) if commit), None)
        if commit is None:
            raise GitFailed(f"there is no commit that {task.id} started from")
        return commit.sha

    def list_saved_work(self) -> list[SavedWork]:
        """All saved work, oldest first."""
        works = [_parse(ref) for ref in self._refs.list_refs(SAVED_WORK)]
        return sorted(works, key=lambda work: (work.at, work.ref))

    def recover_to_branch(self, ref: str, branch: str) -> str:
        """Create a branch at saved work, so that a person can inspect it."""
        is_ours = ref.startswith((f"{SAVED_WORK}/", f"{SNAPSHOTS}/"))
        commit = self._refs.read_commits(ref)[0] if is_ours else None
        if commit is None:
            raise Unknown(f"there is no saved work {ref!r}", hint="yaoki recover lists it")
        move = RefMove(self._commits.branch_ref(branch), commit.sha, "")
        if not self._refs.move(move, reason=f"yaoki: recover {ref}"):
            raise NotNow(f"a branch {branch!r} exists already", hint="choose another name")
        return branch


def _parse(ref: Ref) -> SavedWork:
    """A label starts with the number of its attempt."""
    task_id, _, label = ref.name.removeprefix(f"{SAVED_WORK}/").partition("/")
    number = label.partition("-")[0]
    attempt = int(number) if number.isdecimal() else 0
    return SavedWork(task_id, attempt, ref.name, ref.commit, ref.at, ref.subject)
