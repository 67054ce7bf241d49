"""Everything an agent left becomes a commit under a private ref before anything is removed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from yaoki.adapters.git.commits import Commits, add_trailers
from yaoki.adapters.git.refs import (
    SAVED_WORK,
    SNAPSHOTS,
    GitCommit,
    Ref,
    RefMove,
    Refs,
    candidate_ref,
    run_branch_ref,
    target_branch_ref,
    task_branch_ref,
    work_ref,
)
from yaoki.adapters.git.trees import FolderTree, TreeBuilder, digest_changes, printable_path
from yaoki.adapters.workspace.worktrees.agent_repository import AgentCommits, AgentRepositories
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.adapters.workspace.worktrees.ignored_files import IgnoredFileStore
from yaoki.adapters.workspace.worktrees.work_elsewhere import list_commits_made
from yaoki.adapters.workspace.worktrees.worktree import Worktree
from yaoki.core.model import Run, Task
from yaoki.core.scope import paths_outside_scope
from yaoki.core.text import format_count
from yaoki.errors import GitFailed, NotNow, Unknown
from yaoki.ports import CommittedAttempt, SavedWork

LABELS_MAX = 1000
# Labels of what is saved beside an attempt's work.
OUTSIDE, IGNORED = "outside", "ignored"

# Of an agent's commit message so much is kept.
WORDS_MAX = 4_000


@dataclass(frozen=True, slots=True)
class AttemptBase:
    """From where a worktree's content is measured: its HEAD, and the attempt's base.

    `kept` is what an earlier call kept of the same attempt; `merging` the commits of a merge that
    a person began in the worktree and has not committed.  `onto` is where an agent's work becomes
    one commit: its own commits were held against nothing, and none of them lands.
    """

    start: GitCommit
    base: GitCommit
    contains_base: bool
    saved_before: GitCommit | None
    merge_heads: tuple[str, ...] = ()
    squash_onto: GitCommit | None = None

    @property
    def parent(self) -> GitCommit:
        """An agent that threw history away gets its files committed on the base."""
        return self.squash_onto or (self.start if self.contains_base else self.base)

    @property
    def parents(self) -> tuple[str, ...]:
        return (self.parent.sha, *self.merge_heads)


class WorkSaver:
    """Keeps work, lists what is kept, gives it back."""

    def __init__(
        self,
        refs: Refs,
        commits: Commits,
        content: TreeBuilder,
        worktrees: Worktrees,
        ignored: IgnoredFileStore,
        lent: AgentRepositories,
    ) -> None:
        self._refs, self._commits, self._lent = refs, commits, lent
        self._content, self._worktrees, self._ignored = content, worktrees, ignored

    def commit_attempt(self, run: Run, task: Task) -> CommittedAttempt:
        """Commit all of it on the task's branch and under the attempt's own ref."""
        found = self._worktrees.find(task.id)
        self._worktrees.repair(found)
        taken = self._take(task, found)
        ground = self._squashing(run, task, self._ground(found, task, task.work.base or run.base))
        with self._content.temporary_index(task.id) as index:
            held = self._held(found, index, ground)
            left_out, excess = self._left_out(task, held), held.excess
            if left_out:
                self._save(task, self._commit(task, held.tree, ground, excess), OUTSIDE)
                held = self._content.read_folder_without(
                    found.path, index, left_out, ground.base.sha
                )
            words = self._agents_words(task, ground)
            head = self._commit(task, held.tree, ground, excess, words)
            self._store(task, found, head, ground)
            if found.exists:
                self._worktrees.set_head_and_index(found, index)
        changed = tuple(printable_path(change.path) for change in held.changes)
        told = (taken.warning,) if taken.warning else ()
        warnings = (*told, *self._keep_links(task, found, held))
        strays = tuple(printable_path(path) for path in left_out)
        return CommittedAttempt(
            head,
            held.tree,
            changed,
            warnings,
            worktree_missing=not found.exists,
            diff_digest=digest_changes(held.changes),
            left_out_files=strays,
            sandbox_refusals=taken.refused_acts,
            size_excess=excess,
        )

    def _take(self, task: Task, found: Worktree) -> AgentCommits:
        """What the agent committed in the sandbox stands on the task's branch as if it had done so
        there.  Its own repository goes at once: it must never be taken over later work.
        """
        taken = self._lent.import_commits(found)
        if taken.head and found.is_on_branch:
            self._refs.move_or_fail(RefMove(task_branch_ref(task.id), taken.head))
        for commit in (*taken.unbranched, *(() if found.is_on_branch else (taken.head,))):
            if commit:
                self._save(task, commit, "left")
        self._lent.delete_repository(task.id)
        return taken

    @staticmethod
    def _left_out(task: Task, held: FolderTree) -> tuple[str, ...]:
        """New files outside the scope; a person's own count as they are."""
        added = [change.path for change in held.changes if change.status == "A"]
        return () if task.taken_over else paths_outside_scope(added, task.spec.scope)

    def _keep_links(self, task: Task, found: Worktree, held: FolderTree) -> tuple[str, ...]:
        """Commits in submodules that nobody else has go with the worktree unless we keep them;
        each in a sentence that says how it gets to where others find it.
        """
        told = []
        for path in (change.path for change in held.changes if change.is_moved_gitlink):
            commit = self._content.unpublished_submodule_commit(found.path, held.tree, path)
            if commit and self._content.import_submodule_commit(found.path, path, commit):
                self._save(task, commit, "submodule")
                told.append(_stranded(path, commit, _way(path, commit, task.id)))
            elif commit:
                told.append(_stranded(path, commit, "its history is shallow: only files are kept"))
        return tuple(told)

    def save_everything(self, task: Task, why: str = "") -> None:
        """Make all that worktree and branch hold reachable from refs that stay."""
        found = self._worktrees.find(task.id)
        self._take(task, found)
        known = [
            commit.sha
            for commit in self._refs.read_commits(found.head, task_branch_ref(task.id))
            if commit
        ]
        if found.exists and not found.is_unfinished and not self._landed(task, found):
            known.insert(0, self.snapshot_commit(task, found, submodules=True))
        for commit in dict.fromkeys(known):
            self._save(task, commit, why)
        self._save_left_commits(task, found)
        if found.is_usable:
            self._save_ignored(task, found)

    def _save_left_commits(self, task: Task, found: Worktree) -> None:
        """Commits that the agent made and reset away: only the log of its HEAD names them."""
        wanted = list_commits_made(found)
        for commit in self._refs.read_commits(*wanted) if wanted else ():
            if commit is not None:
                self._save(task, commit.sha, "left")

    def _save_ignored(self, task: Task, found: Worktree) -> None:
        """What git ignores is in none of these commits, and goes with the worktree."""
        head = self._ignored_upon(task, found)
        if head is None:
            return
        with self._content.temporary_index("ignored") as index:
            index.unlink(missing_ok=True)
            files = self._ignored.select_unsaved(found, head.sha, index, task.spec.discard)
            if not files:
                return
            tree = self._ignored.write_tree(found, files, index)
        before = self._refs.read_commits(work_ref(task.id, f"{task.attempt}-{IGNORED}"))[0]
        if before is not None and before.tree == tree:
            return
        listing = self._ignored.describe_too_large(found, files)
        large = format_count(len(files.too_large), "is", "are")
        less = f"; {large} too large to save" if files.too_large else ""
        words = f"{task.spec.name}: ignored files{less}\n\n{listing}"
        message = add_trailers(words, Run=task.run_id, Task=task.id, Attempt=f"{task.attempt}")
        self._save(task, self._commits.make(tree, [head.sha], message), IGNORED)

    def _ignored_upon(self, task: Task, found: Worktree) -> GitCommit | None:
        names = (found.head, task_branch_ref(task.id), task.work.base, run_branch_ref(task.run_id))
        return next((commit for commit in self._refs.read_commits(*names) if commit), None)

    def ignored_files_too_large(self, task: Task) -> tuple[str, ...]:
        """Ignored files of a worktree that are over what is saved when it goes."""
        found = self._worktrees.find(task.id)
        head = self._ignored_upon(task, found) if found.is_usable else None
        if head is None:
            return ()
        with self._content.temporary_index("ignored") as index:
            index.unlink(missing_ok=True)
            files = self._ignored.select_unsaved(found, head.sha, index, task.spec.discard)
        return tuple(printable_path(path) for path in files.too_large)

    def _landed(self, task: Task, found: Worktree) -> bool:
        """Does it hold what was landed and nothing else?  We put it there ourselves."""
        if not task.landed_commit or not found.is_usable or (found.path / ".gitmodules").exists():
            return False
        head = self._refs.read_commits(found.head)[0]
        return (
            head is not None and head.sha == task.landed_commit and self._worktrees.is_clean(found)
        )

    def snapshot_commit(self, task: Task, found: Worktree, *, submodules: bool = False) -> str:
        """A commit of what the worktree holds now; index, files and branch stay as they are.

        Of a submodule it only has the link, so its files can be saved beside it.
        """
        ground = self._ground(found, task, task.work.base)
        with self._content.temporary_index(task.id) as index:
            held = self._held(found, index, ground)
            head = self._commit(task, held.tree, ground, held.excess)
            if submodules and (found.path / ".gitmodules").is_file():
                self._save_submodules(task, found, index, head)
                self._keep_links(task, found, held)
        return head

    def _save_submodules(self, task: Task, found: Worktree, index: Path, head: str) -> None:
        tree, excess = self._content.read_submodules(found.path, index)
        if tree:
            words = _with_excess(f"{task.id}: files in submodules", excess)
            message = add_trailers(words, Run=task.run_id, Task=task.id, Attempt=f"{task.attempt}")
            self._save(task, self._commits.make(tree, [head], message), "submodules")

    def _ground(self, found: Worktree, task: Task, base: str) -> AttemptBase:
        """HEAD wherever the agent left it; the branch when there is no HEAD; else the base."""
        attempt = work_ref(task.id, f"{task.attempt}")
        revisions = (
            found.head,
            task_branch_ref(task.id),
            base,
            run_branch_ref(task.run_id),
            attempt,
        )
        head, tip, known, run_head, kept = self._refs.read_commits(*revisions)
        start = head or tip or known or run_head
        if start is None:
            raise GitFailed(f"there is no commit that {task.id} started from")
        grown = known is None or self._refs.is_ancestor(known.sha, start.sha)
        ground = AttemptBase(start, known or start, grown, kept)
        return replace(ground, merge_heads=self._merging(task, found, ground.parent.sha))

    def _squashing(self, run: Run, task: Task, ground: AttemptBase) -> AttemptBase:
        """From the newest commit of the run branch that the work holds; a person's commits stay."""
        if task.taken_over or ground.start.sha == ground.base.sha:
            return ground
        onto, head = ground.base, self._refs.read_commits(target_branch_ref(run))[0]
        common = (
            self._commits.merge_base(ground.start.sha, head.sha)
            if ground.contains_base and head
            else ""
        )
        if common and common != onto.sha and self._refs.is_ancestor(onto.sha, common):
            onto = self._refs.require_commit(common, "what the work was merged with")
        return replace(ground, squash_onto=onto)

    def _agents_words(self, task: Task, ground: AttemptBase) -> str:
        """What the agent wrote on its last commit, without lines that only we write."""
        if ground.squash_onto is None:
            return ""
        said = self._commits.read_message(ground.start.sha)
        if f"Yaoki-Task: {task.id}" in said.splitlines():
            return ""
        lines = said[:WORDS_MAX].splitlines()
        return "\n".join(line for line in lines if not line.startswith("Yaoki-")).strip()

    def _merging(self, task: Task, found: Worktree, parent: str) -> tuple[str, ...]:
        """Only a person's merge counts: an agent may have given one up half-way."""
        begun = found.merge_heads if task.taken_over else ()
        there = (
            [commit.sha for commit in self._refs.read_commits(*begun) if commit] if begun else []
        )
        return tuple(sha for sha in dict.fromkeys(there) if not self._refs.is_ancestor(sha, parent))

    def last_known_commit(self, task: Task) -> str:
        """The best commit that is left of a task whose worktree is gone."""
        attempt = work_ref(task.id, f"{task.attempt}")
        names = (task.work.head, task_branch_ref(task.id), attempt, task.work.base)
        found = next((commit for commit in self._refs.read_commits(*names) if commit), None)
        if found is None:
            raise GitFailed(f"there is no commit that {task.id} started from")
        return found.sha

    def _held(self, found: Worktree, index: Path, ground: AttemptBase) -> FolderTree:
        if not found.exists:
            changes = self._content.diff_trees(ground.base.sha, ground.start.sha)
            return FolderTree(ground.start.tree, changes)
        return self._content.read_folder(found.path, index, ground.start.sha, ground.base.sha)

    def _commit(
        self,
        task: Task,
        tree: str,
        ground: AttemptBase,
        excess: Sequence[str] = (),
        words: str = "",
    ) -> str:
        """The commit that holds this tree; one made before a crash is found again."""
        if tree == ground.parent.tree and not ground.merge_heads:
            return ground.parent.sha
        if self._is_that(task, tree, ground):
            return ground.start.sha
        kept = ground.saved_before
        if kept and (kept.tree, kept.parents) == (tree, ground.parents):
            return kept.sha
        subject = f"{task.spec.name}: attempt {task.attempt}"
        text = _with_excess(f"{subject}\n\n{words}" if words else subject, excess)
        message = add_trailers(text, Run=task.run_id, Task=task.id, Attempt=f"{task.attempt}")
        return self._commits.make(tree, ground.parents, message)

    def _is_that(self, task: Task, tree: str, ground: AttemptBase) -> bool:
        """Does the worktree stand where an earlier attempt of ours was kept, with nothing new?"""
        start = ground.start
        if (start.tree, start.parents) != (tree, ground.parents):
            return False
        return f"Yaoki-Task: {task.id}" in self._commits.read_message(start.sha).splitlines()

    def _store(self, task: Task, found: Worktree, head: str, ground: AttemptBase) -> None:
        """Move branch and refs together; what an agent threw away stays reachable as well."""
        if not found.is_on_branch:
            self._refs.refuse_checked_out(task_branch_ref(task.id), except_at=found.path)
        moves = [
            RefMove(task_branch_ref(task.id), head),
            RefMove(self._free_ref(task, head, ""), head),
        ]
        start = ground.start.sha
        ours = self._refs.read_commits(candidate_ref(task.id))[0]
        known = {ground.parent.sha, ours.sha if ours else ""}
        if start not in known and not self._stays(task, start):
            moves.append(RefMove(self._free_ref(task, start, "history"), start))
        self._refs.move_or_fail(*moves)

    def _save(self, task: Task, commit: str, why: str) -> None:
        """Give the commit a ref of its own unless one that stays has it already."""
        if not self._stays(task, commit):
            ref = self._free_ref(task, commit, why)
            self._refs.move_or_fail(RefMove(ref, commit))

    def _free_ref(self, task: Task, commit: str, why: str) -> str:
        """The first name that is free, or whose commit this one contains: none is overwritten."""
        first = f"{task.attempt}-{why}" if why else f"{task.attempt}"
        if self._refs.read_commits(work_ref(task.id, first))[0] is None:
            return work_ref(task.id, first)
        taken = {ref.name: ref.commit for ref in self._refs.list_refs(f"{SAVED_WORK}/{task.id}")}
        for n in range(1, LABELS_MAX):
            ref = work_ref(task.id, first if n == 1 else f"{first}-{n}")
            if ref not in taken or self._refs.is_ancestor(taken[ref], commit):
                return ref
        raise GitFailed(f"attempt {task.attempt} of {task.id} was kept {LABELS_MAX} times")

    def delete_task_refs(self, task: Task, *others: str) -> None:
        """Delete the task's branch and helper refs where refs that stay hold their commits.

        One that somebody moves meanwhile stays: it holds something new.
        """
        names = (task_branch_ref(task.id), *others)
        found = self._refs.read_commits(*names)
        there = {name: c.sha for name, c in zip(names, found, strict=True) if c}
        held = {sha for sha in set(there.values()) if self._stays(task, sha)}
        gone = [RefMove(name, "", sha) for name, sha in there.items() if sha in held]
        if gone:
            self._refs.move(*gone)

    def _stays(self, task: Task, commit: str) -> bool:
        """Is it reachable from a ref that outlives the worktree?"""
        head = self._refs.read_commits(run_branch_ref(task.run_id))[0]
        if head is not None and commit in (head.sha, *head.parents):
            return True
        return bool(
            self._refs.refs_containing(
                commit, f"{SAVED_WORK}/{task.id}", run_branch_ref(task.run_id)
            )
        )

    def list_saved_work(self) -> list[SavedWork]:
        """All kept work, oldest first."""
        found = [_saved(ref) for ref in self._refs.list_refs(SAVED_WORK)]
        return sorted(found, key=lambda work: (work.at, work.ref))

    def recover_to_branch(self, ref: str, branch: str) -> str:
        """A new branch at kept work, so that a person can look at it."""
        inside = ref.startswith((f"{SAVED_WORK}/", f"{SNAPSHOTS}/"))
        commit = self._refs.read_commits(ref)[0] if inside else None
        if commit is None:
            raise Unknown(f"there is no kept work {ref!r}", hint="yaoki recover lists it")
        name = self._commits.branch_ref(branch)
        if not self._refs.move(RefMove(name, commit.sha, ""), why=f"yaoki: recover {ref}"):
            raise NotNow(f"there is a branch {branch!r} already", hint="choose another name")
        return branch


def _with_excess(text: str, excess: Sequence[str]) -> str:
    lines = "".join(f"\nnot saved: {words}" for words in excess)
    return f"{text}\n{lines}" if lines else text


def _stranded(path: str, commit: str, rest: str) -> str:
    return (
        f"submodule {printable_path(path)} points at {commit}, which none of its remotes "
        f"has; {rest}"
    )


def _way(path: str, commit: str, task_id: str) -> str:
    at = f"git -C {shlex.quote(printable_path(path))}"
    pushed = f"{at} push origin {commit}:refs/heads/{task_id}"
    return f'it is kept; push it: {at} fetch "$PWD" {commit} && {pushed}'


def _saved(ref: Ref) -> SavedWork:
    """A label begins with the number of its attempt."""
    task_id, _, label = ref.name.removeprefix(f"{SAVED_WORK}/").partition("/")
    attempt = label.partition("-")[0]
    return SavedWork(
        task_id,
        int(attempt) if attempt.isdecimal() else 0,
        ref.name,
        ref.commit,
        ref.at,
        ref.subject,
    )
