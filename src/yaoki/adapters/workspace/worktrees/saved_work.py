"""Everything an agent left becomes a commit under a private ref before anything is removed."""

from __future__ import annotations

import shlex
from pathlib import Path

from yaoki.adapters.git.commits import Commits
from yaoki.adapters.git.ref_names import (
    candidate_ref,
    run_branch_ref,
    task_branch_ref,
    work_ref,
)
from yaoki.adapters.git.refs import (
    GitCommit,
    RefMove,
    Refs,
    move_or_fail,
    refuse_checked_out,
)
from yaoki.adapters.git.tree_diff import ChangeStatus, digest_changes, printable_path
from yaoki.adapters.git.trees import FolderTree, TreeBuilder
from yaoki.adapters.workspace.worktrees.agent_repository import AgentCommits, AgentRepositories
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.adapters.workspace.worktrees.attempt_commits import (
    AttemptBase,
    AttemptCommits,
    compose_attempt_message,
    with_excess,
)
from yaoki.adapters.workspace.worktrees.ignored_files import IgnoredFileStore
from yaoki.adapters.workspace.worktrees.saved_refs import SavedRefs
from yaoki.adapters.workspace.worktrees.work_elsewhere import list_commits_made
from yaoki.adapters.workspace.worktrees.worktree import Worktree, WorktreeStatus
from yaoki.core.model import Run, Task
from yaoki.core.scope import paths_outside_scope
from yaoki.core.text import format_count, list_some
from yaoki.ports import CommittedAttempt

# Labels of refs beside the ref of an attempt's work.
OUTSIDE, IGNORED, LEFT = "outside", "ignored", "left"
NAMES_SHOWN_MAX = 5
SUBMODULE, SUBMODULE_FILES, HISTORY = "submodule", "submodules", "history"


class WorkSaver:
    """Commits attempts, and saves all content of worktrees that are about to change or go."""

    def __init__(
        self,
        *,
        refs: Refs,
        commits: Commits,
        trees: TreeBuilder,
        worktrees: Worktrees,
        ignored: IgnoredFileStore,
        agent_repositories: AgentRepositories,
        saved_refs: SavedRefs,
    ) -> None:
        self._refs, self._commits, self._trees = refs, commits, trees
        self._worktrees, self._ignored, self._saved_refs = worktrees, ignored, saved_refs
        self._agent_repositories = agent_repositories
        self._attempts = AttemptCommits(refs, commits, trees, worktrees.setup_files)

    # -------------------------------------------------------------- the end of an attempt

    def commit_attempt(self, run: Run, task: Task) -> CommittedAttempt:
        """Commit all content of the worktree on the task's branch and under the attempt's ref."""
        worktree = self._worktrees.find(task.id)
        self._worktrees.repair(worktree)
        imported = self._import_agent_commits(task, worktree)
        base = self._attempts.find_base(worktree, task, task.work.base or run.base)
        base = self._attempts.squash_base(run, task, base)
        with self._trees.temporary_index(task.id) as index:
            files = self._attempts.read_files(worktree, index, base)
            left_out, excess = _new_files_outside_scope(task, files), files.excess
            refusal = files.refusal
            if left_out:
                full_commit = self._attempts.commit(task, files.tree, base, excess)
                self._saved_refs.save(task, full_commit, OUTSIDE)
                files = self._trees.read_folder_without(
                    worktree.path, index, left_out, base.base.sha
                )
            message = self._attempts.read_agent_message(task, base)
            head = self._attempts.commit(task, files.tree, base, excess, message)
            self._move_refs(task, worktree, head, base)
            if worktree.exists:
                self._worktrees.set_head_and_index(worktree, index)
        import_warning = (imported.warning,) if imported.warning else ()
        return CommittedAttempt(
            head,
            files.tree,
            tuple(printable_path(change.path) for change in files.changes),
            (
                *import_warning,
                *self._save_submodule_commits(task, worktree, files),
                *_setup_warning(self._worktrees.setup_files.list_edited(worktree), task),
            ),
            worktree_missing=not worktree.exists,
            diff_digest=digest_changes(files.changes),
            left_out_files=tuple(printable_path(path) for path in left_out),
            sandbox_refusals=imported.refused_acts,
            size_excess=excess,
            git_refusal=refusal,
            person_file_count=self._count_person_files(task, files),
        )

    def _count_person_files(self, task: Task, files: FolderTree) -> int | None:
        """The files that a person changed since the last attempt; None for an agent's attempt."""
        if not task.taken_over:
            return None
        if not task.work.tree:
            return len(files.changes)
        return len(self._trees.diff_trees(task.work.tree, files.tree))

    def _import_agent_commits(self, task: Task, worktree: Worktree) -> AgentCommits:
        """Put commits that the agent made in the sandbox on the task's branch.

        The agent's repository is deleted at once: imported later, it would replace later work.
        """
        imported = self._agent_repositories.import_commits(worktree)
        if imported.head and worktree.is_on_branch:
            move_or_fail(self._refs, RefMove(task_branch_ref(task.id), imported.head))
        unplaced = () if worktree.is_on_branch else (imported.head,)
        for commit in (*imported.unbranched, *unplaced):
            if commit:
                self._saved_refs.save(task, commit, LEFT)
        self._agent_repositories.delete_repository(task.id)
        return imported

    def _save_submodule_commits(
        self, task: Task, worktree: Worktree, files: FolderTree
    ) -> tuple[str, ...]:
        """Save commits of submodules that no remote has: they would go with the worktree.

        Returns one sentence for each, with the command that publishes it.
        """
        warnings = []
        for path in (change.path for change in files.changes if change.is_moved_gitlink):
            commit = self._trees.unpublished_submodule_commit(worktree.path, files.tree, path)
            if commit and self._trees.import_submodule_commit(worktree.path, path, commit):
                self._saved_refs.save(task, commit, SUBMODULE)
                remedy = _publish_command(path, commit, task.id)
                warnings.append(_unpublished(path, commit, f"it is saved; push it: {remedy}"))
            elif commit:
                consequence = "its history is shallow: only its files are saved"
                warnings.append(_unpublished(path, commit, consequence))
        return tuple(warnings)

    def _move_refs(self, task: Task, worktree: Worktree, head: str, base: AttemptBase) -> None:
        """Move branch and refs in one transaction; commits that the agent dropped are saved."""
        if not worktree.is_on_branch:
            refuse_checked_out(self._refs, task_branch_ref(task.id), except_at=worktree.path)
        moves = [
            RefMove(task_branch_ref(task.id), head),
            RefMove(self._saved_refs.free_ref(task, head), head),
        ]
        start = base.start.sha
        candidate = self._refs.read_commits(candidate_ref(task.id))[0]
        known = {base.parent.sha, candidate.sha if candidate else ""}
        if start not in known and not self._saved_refs.is_saved(task, start):
            moves.append(RefMove(self._saved_refs.free_ref(task, start, HISTORY), start))
        move_or_fail(self._refs, *moves)

    # -------------------------------------------------------------- before a worktree goes

    def save_everything(self, task: Task, label: str = "") -> None:
        """Make all content of worktree and branch reachable from refs that stay."""
        worktree = self._worktrees.find(task.id)
        self._import_agent_commits(task, worktree)
        names = (worktree.head, task_branch_ref(task.id))
        commits = [commit.sha for commit in self._refs.read_commits(*names) if commit]
        landed = self._read_landed_status(task, worktree)
        if worktree.exists and not worktree.is_unfinished and landed is None:
            snapshot = self.snapshot_commit(task, worktree, submodules=True)
            known = snapshot in commits
            commits.insert(0, snapshot if known else self._saved_refs.find_equal(task, snapshot))
        for commit in dict.fromkeys(commits):
            self._saved_refs.save(task, commit, label)
        self._save_dropped_commits(task, worktree)
        if worktree.is_usable:
            self._save_ignored(task, worktree, landed)

    def _save_dropped_commits(self, task: Task, worktree: Worktree) -> None:
        """Commits that the agent made and reset away: only the reflog of its HEAD names them."""
        names = list_commits_made(worktree)
        for commit in self._refs.read_commits(*names) if names else ():
            if commit is not None:
                self._saved_refs.save(task, commit.sha, LEFT)

    def _read_landed_status(self, task: Task, worktree: Worktree) -> WorktreeStatus | None:
        """The status when the worktree is exactly the landed commit, which yaoki checked out."""
        has_submodules = (worktree.path / ".gitmodules").exists()
        if not task.landed_commit or not worktree.is_usable or has_submodules:
            return None
        head = self._refs.read_commits(worktree.head)[0]
        if head is None or head.sha != task.landed_commit:
            return None
        status = self._worktrees.setup_files.inspect(worktree, ignored=True)
        return status if status.is_clean else None

    def snapshot_commit(self, task: Task, worktree: Worktree, *, submodules: bool = False) -> str:
        """A commit of the worktree's content; index, files and branch stay as they are.

        A commit holds only the link of a submodule; `submodules` saves its files as well.
        """
        base = self._attempts.find_base(worktree, task, task.work.base)
        with self._trees.temporary_index(task.id) as index:
            files = self._attempts.read_files(worktree, index, base)
            head = self._attempts.commit(task, files.tree, base, files.excess)
            if submodules and (worktree.path / ".gitmodules").is_file():
                self._save_submodule_files(task, worktree, index, head)
                self._save_submodule_commits(task, worktree, files)
        return head

    def _save_submodule_files(self, task: Task, worktree: Worktree, index: Path, head: str) -> None:
        tree, excess = self._trees.read_submodules(worktree.path, index)
        if tree:
            text = with_excess(f"{task.id}: files in submodules", excess)
            message = compose_attempt_message(text, task)
            commit = self._commits.make(tree, [head], message)
            self._saved_refs.save(task, commit, SUBMODULE_FILES)

    # -------------------------------------------------------------- ignored files

    def _save_ignored(self, task: Task, worktree: Worktree, landed: WorktreeStatus | None) -> None:
        """Save ignored files: no other commit holds them, and they go with the worktree."""
        if landed and not self._ignored.select_unsaved(
            worktree, worktree.location, task.spec.discard, landed.ignored
        ):
            return
        parent = self._ignored_parent(task, worktree)
        if parent is None:
            return
        with self._trees.temporary_index("ignored") as index:
            at = self._ignored.fill_index(worktree, parent.sha, index)
            files = self._ignored.select_unsaved(worktree, at, task.spec.discard)
            if not files:
                return
            tree = self._ignored.write_tree(files, at)
        saved = self._refs.read_commits(work_ref(task.id, f"{task.attempt}-{IGNORED}"))[0]
        if saved is not None and saved.tree == tree:
            return
        listing = self._ignored.describe_too_large(worktree, files)
        count = format_count(len(files.too_large), "is", "are")
        rest = f"; {count} too large to save" if files.too_large else ""
        text = f"{task.spec.name}: ignored files{rest}\n\n{listing}"
        message = compose_attempt_message(text, task)
        commit = self._commits.make(tree, [parent.sha], message)
        self._saved_refs.save(task, commit, IGNORED)

    def ignored_files_too_large(self, task: Task) -> tuple[str, ...]:
        """Ignored files of the worktree that exceed what is saved before it goes.

        Not through the worktree's own index: an agent may have left it unreadable.
        """
        worktree = self._worktrees.find(task.id)
        parent = self._ignored_parent(task, worktree) if worktree.is_usable else None
        if parent is None:
            return ()
        with self._trees.temporary_index("ignored") as index:
            at = self._ignored.fill_index(worktree, parent.sha, index)
            files = self._ignored.select_unsaved(worktree, at, task.spec.discard)
        return tuple(printable_path(path) for path in files.too_large)

    def _ignored_parent(self, task: Task, worktree: Worktree) -> GitCommit | None:
        branch, run_branch = task_branch_ref(task.id), run_branch_ref(task.run_id)
        names = (worktree.head, branch, task.work.base, run_branch)
        return next((commit for commit in self._refs.read_commits(*names) if commit), None)


def _new_files_outside_scope(task: Task, files: FolderTree) -> tuple[str, ...]:
    """Files of a person who took over are part of the work wherever they are."""
    added = [change.path for change in files.changes if change.status is ChangeStatus.ADDED]
    return () if task.taken_over else paths_outside_scope(added, task.spec.scope)


def _setup_warning(names: tuple[str, ...], task: Task) -> tuple[str, ...]:
    """The proof runs set-up itself, so another version of its files cannot be proven."""
    if not names:
        return ()
    return (
        "set-up makes these files, so the agent's changes to them will not land: "
        f"{list_some(names, NAMES_SHOWN_MAX)}; they are saved when the worktree is removed, "
        f"see: yaoki recover {task.id}",
    )


def _unpublished(path: str, commit: str, rest: str) -> str:
    name = printable_path(path)
    return f"submodule {name} points at {commit}, which none of its remotes has; {rest}"


def _publish_command(path: str, commit: str, task_id: str) -> str:
    git = f"git -C {shlex.quote(printable_path(path))}"
    return f'{git} fetch "$PWD" {commit} && {git} push origin {commit}:refs/heads/{task_id}'
