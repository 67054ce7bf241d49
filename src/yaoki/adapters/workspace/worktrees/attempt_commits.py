"""The content of a worktree as one commit on the base of its attempt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from yaoki.adapters.git.commits import SUBJECT_MAX, Commits, add_trailers, first_line
from yaoki.adapters.git.ref_names import (
    run_branch_ref,
    target_branch_ref,
    task_branch_ref,
    work_ref,
)
from yaoki.adapters.git.refs import GitCommit, Refs, require_commit
from yaoki.adapters.git.trees import FolderTree, TreeBuilder
from yaoki.adapters.workspace.worktrees.setup_files import SetupFileStore
from yaoki.adapters.workspace.worktrees.worktree import Worktree
from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import Run, Task
from yaoki.core.text import one_line
from yaoki.errors import GitFailed

# More of an agent's commit message is cut off.
MESSAGE_MAX = 4_000


@dataclass(frozen=True, slots=True)
class AttemptBase:
    """The state that a worktree's content is compared with: its HEAD, and the base of the attempt.

    `saved_before` is the commit that an earlier call saved of the same attempt; `merge_heads` are
    the commits of a merge that a person started in the worktree and has not committed.
    `squash_onto` is where an agent's work becomes one commit: nothing checked the agent's own
    commits, so none of them lands.
    """

    start: GitCommit
    base: GitCommit
    contains_base: bool
    saved_before: GitCommit | None
    merge_heads: tuple[str, ...] = ()
    squash_onto: GitCommit | None = None

    @property
    def parent(self) -> GitCommit:
        """The base if the agent rewrote the history: its files are then committed on the base."""
        return self.squash_onto or (self.start if self.contains_base else self.base)

    @property
    def parents(self) -> tuple[str, ...]:
        return (self.parent.sha, *self.merge_heads)


class AttemptCommits:
    """Finds the base of an attempt, reads its files, and commits them."""

    def __init__(
        self, refs: Refs, commits: Commits, trees: TreeBuilder, setup_files: SetupFileStore
    ) -> None:
        self._refs, self._commits, self._trees = refs, commits, trees
        self._setup_files = setup_files

    def find_base(self, worktree: Worktree, task: Task, base: str) -> AttemptBase:
        """The worktree's HEAD, wherever the agent left it; else the task branch; else the base."""
        names = (
            worktree.head,
            task_branch_ref(task.id),
            base,
            run_branch_ref(task.run_id),
            work_ref(task.id, f"{task.attempt}"),
        )
        head, branch, base_commit, run_head, saved = self._refs.read_commits(*names)
        start = head or branch or base_commit or run_head
        if start is None:
            raise GitFailed(f"there is no commit that {task.id} started from")
        contains_base = base_commit is None or self._refs.is_ancestor(base_commit.sha, start.sha)
        attempt_base = AttemptBase(start, base_commit or start, contains_base, saved)
        merge_heads = self._merge_heads(task, worktree, attempt_base.parent.sha)
        return replace(attempt_base, merge_heads=merge_heads)

    def _merge_heads(self, task: Task, worktree: Worktree, parent: str) -> tuple[str, ...]:
        """Only a person's merge counts: an agent may have abandoned one half-way."""
        names = worktree.merge_heads if task.taken_over else ()
        commits = self._refs.read_commits(*names) if names else []
        heads = dict.fromkeys(commit.sha for commit in commits if commit)
        return tuple(sha for sha in heads if not self._refs.is_ancestor(sha, parent))

    def squash_base(self, run: Run, task: Task, base: AttemptBase) -> AttemptBase:
        """Squash onto the newest commit of the run branch that the work contains.

        A person's commits are not squashed.
        """
        if task.taken_over or base.start.sha == base.base.sha:
            return base
        onto, head = base.base, self._refs.read_commits(target_branch_ref(run))[0]
        common = (
            self._commits.merge_base(base.start.sha, head.sha)
            if base.contains_base and head
            else ""
        )
        if common and common != onto.sha and self._refs.is_ancestor(onto.sha, common):
            onto = require_commit(self._refs, common, "the commit that the work was merged with")
        return replace(base, squash_onto=onto)

    def read_files(self, worktree: Worktree, index: Path, base: AttemptBase) -> FolderTree:
        if not worktree.exists:
            changes = self._trees.diff_trees(base.base.sha, base.start.sha)
            return FolderTree(base.start.tree, changes)
        made = self._setup_files.load_untracked(worktree.task_id, base.parent.sha)
        return self._trees.read_folder(worktree.path, index, base.start.sha, base.base.sha, made)

    def read_agent_message(self, task: Task, base: AttemptBase) -> str:
        """The message of the agent's last commit, without lines that only yaoki writes."""
        if base.squash_onto is None:
            return ""
        message = self._commits.read_message(base.start.sha)
        if f"Yaoki-Task: {task.id}" in message.splitlines():
            return ""
        lines = message[:MESSAGE_MAX].splitlines()
        return "\n".join(line for line in lines if not line.startswith("Yaoki-")).strip()

    def commit(
        self,
        task: Task,
        tree: str,
        base: AttemptBase,
        excess: Sequence[str] = (),
        agent_message: str = "",
    ) -> str:
        """The commit with this tree; a commit made before a crash is found again."""
        if tree == base.parent.tree and not base.merge_heads:
            return base.parent.sha
        if self._is_own_commit(task, tree, base):
            return base.start.sha
        saved = base.saved_before
        if saved and (saved.tree, saved.parents) == (tree, base.parents):
            return saved.sha
        subject = _attempt_subject(task)
        text = f"{subject}\n\n{agent_message}" if agent_message else subject
        message = compose_attempt_message(with_excess(text, excess), task)
        return self._commits.make(tree, base.parents, message)

    def _is_own_commit(self, task: Task, tree: str, base: AttemptBase) -> bool:
        """True when HEAD is yaoki's own commit of this task and nothing has changed since."""
        start = base.start
        if (start.tree, start.parents) != (tree, base.parents):
            return False
        return f"Yaoki-Task: {task.id}" in self._commits.read_message(start.sha).splitlines()


def _attempt_subject(task: Task) -> str:
    """`login: Add a login. (attempt 2)`: a landing and its attempt are told apart in the log."""
    attempt = f" (attempt {task.attempt})"
    words = f"{task.spec.name}: {first_line(task.spec.goal)}"
    return one_line(words, SUBJECT_MAX - len(attempt)) + attempt


def compose_attempt_message(text: str, task: Task) -> str:
    return add_trailers(text, Run=task.run_id, Task=task.id, Attempt=f"{task.attempt}")


def with_excess(text: str, excess: Sequence[str]) -> str:
    lines = "".join(f"\nnot saved: {sentence}" for sentence in excess)
    return f"{text}\n{lines}" if lines else text
