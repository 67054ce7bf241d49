"""Everything an agent left becomes a commit under a private ref before anything is removed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from yaoki.adapters.git.commits import Commits, signed
from yaoki.adapters.git.refs import (
    SNAPSHOTS,
    WORK,
    Commit,
    Move,
    Ref,
    Refs,
    branch_of,
    candidate_ref,
    run_ref,
    task_ref,
    work_ref,
)
from yaoki.adapters.git.trees import Content, Held, digest_of, readable
from yaoki.adapters.workspace.protect.agent_repository import AgentRepositories, Taken
from yaoki.adapters.workspace.worktrees.allocation import Worktrees
from yaoki.adapters.workspace.worktrees.ignored_files import IgnoredFileStore
from yaoki.adapters.workspace.worktrees.work_elsewhere import commits_made
from yaoki.adapters.workspace.worktrees.worktree import Worktree
from yaoki.core.counting import count
from yaoki.core.model import Run, Task
from yaoki.core.scope import outside
from yaoki.errors import GitFailed, NotNow, Unknown
from yaoki.ports import Kept, SavedWork

LABELS_MAX = 1000
# Labels of what is saved beside an attempt's work.
OUTSIDE, IGNORED = "outside", "ignored"

# Of an agent's commit message so much is kept.
WORDS_MAX = 4_000


@dataclass(frozen=True, slots=True)
class Ground:
    """From where a worktree's content is measured: its HEAD, and the attempt's base.

    `kept` is what an earlier call kept of the same attempt; `merging` the commits of a merge that
    a person began in the worktree and has not committed.  `onto` is where an agent's work becomes
    one commit: its own commits were held against nothing, and none of them lands.
    """

    start: Commit
    base: Commit
    grown: bool
    kept: Commit | None
    merging: tuple[str, ...] = ()
    onto: Commit | None = None

    @property
    def parent(self) -> Commit:
        """An agent that threw history away gets its files committed on the base."""
        return self.onto or (self.start if self.grown else self.base)

    @property
    def parents(self) -> tuple[str, ...]:
        return (self.parent.sha, *self.merging)


class Keeping:
    """Keeps work, lists what is kept, gives it back."""

    def __init__(
        self,
        refs: Refs,
        commits: Commits,
        content: Content,
        worktrees: Worktrees,
        ignored: IgnoredFileStore,
        lent: AgentRepositories,
    ) -> None:
        self._refs, self._commits, self._lent = refs, commits, lent
        self._content, self._worktrees, self._ignored = content, worktrees, ignored

    def keep(self, run: Run, task: Task) -> Kept:
        """Commit all of it on the task's branch and under the attempt's own ref."""
        found = self._worktrees.find(task.id)
        self._worktrees.repair(found)
        taken = self._take(task, found)
        ground = self._squashing(run, task, self._ground(found, task, task.work.base or run.base))
        with self._content.index(task.id) as index:
            held = self._held(found, index, ground)
            left_out, excess = self._left_out(task, held), held.excess
            if left_out:
                self._save(task, self._commit(task, held.tree, ground, excess), OUTSIDE)
                held = self._content.without(found.path, index, left_out, ground.base.sha)
            words = self._agents_words(task, ground)
            head = self._commit(task, held.tree, ground, excess, words)
            self._store(task, found, head, ground)
            if found.there:
                self._worktrees.agree(found, index)
        changed = tuple(readable(change.path) for change in held.changes)
        told = (taken.warning,) if taken.warning else ()
        warnings = (*told, *self._keep_links(task, found, held))
        strays = tuple(readable(path) for path in left_out)
        return Kept(
            head,
            held.tree,
            changed,
            warnings,
            gone=not found.there,
            diff=digest_of(held.changes),
            left_out=strays,
            refused=taken.refused,
            excess=excess,
        )

    def _take(self, task: Task, found: Worktree) -> Taken:
        """What the agent committed in the sandbox stands on the task's branch as if it had done so
        there.  Its own repository goes at once: it must never be taken over later work.
        """
        taken = self._lent.take(found)
        if taken.head and found.on_branch:
            self._refs.set(Move(task_ref(task.id), taken.head))
        for commit in (*taken.left, *(() if found.on_branch else (taken.head,))):
            if commit:
                self._save(task, commit, "left")
        self._lent.forget(task.id)
        return taken

    @staticmethod
    def _left_out(task: Task, held: Held) -> tuple[str, ...]:
        """New files outside the scope; a person's own count as they are."""
        added = [change.path for change in held.changes if change.status == "A"]
        return () if task.take_over else outside(added, task.spec.scope)

    def _keep_links(self, task: Task, found: Worktree, held: Held) -> tuple[str, ...]:
        """Commits in submodules that nobody else has go with the worktree unless we keep them;
        each in a sentence that says how it gets to where others find it.
        """
        told = []
        for path in (change.path for change in held.changes if change.relinked):
            commit = self._content.own_link(found.path, held.tree, path)
            if commit and self._content.bring(found.path, path, commit):
                self._save(task, commit, "submodule")
                told.append(_stranded(path, commit, _way(path, commit, task.id)))
            elif commit:
                told.append(_stranded(path, commit, "its history is shallow: only files are kept"))
        return tuple(told)

    def secure(self, task: Task, why: str = "") -> None:
        """Make all that worktree and branch hold reachable from refs that stay."""
        found = self._worktrees.find(task.id)
        self._take(task, found)
        known = [
            commit.sha for commit in self._refs.commits(found.head, task_ref(task.id)) if commit
        ]
        if found.there and not found.unfinished and not self._landed(task, found):
            known.insert(0, self.whole(task, found, submodules=True))
        for commit in dict.fromkeys(known):
            self._save(task, commit, why)
        self._save_left_commits(task, found)
        if found.usable:
            self._save_ignored(task, found)

    def _save_left_commits(self, task: Task, found: Worktree) -> None:
        """Commits that the agent made and reset away: only the log of its HEAD names them."""
        wanted = commits_made(found)
        for commit in self._refs.commits(*wanted) if wanted else ():
            if commit is not None:
                self._save(task, commit.sha, "left")

    def _save_ignored(self, task: Task, found: Worktree) -> None:
        """What git ignores is in none of these commits, and goes with the worktree."""
        head = self._ignored_upon(task, found)
        if head is None:
            return
        with self._content.index("ignored") as index:
            index.unlink(missing_ok=True)
            files = self._ignored.left(found, head.sha, index, task.spec.discard)
            if not files:
                return
            tree = self._ignored.tree(found, files, index)
        before = self._refs.commits(work_ref(task.id, f"{task.attempt}-{IGNORED}"))[0]
        if before is not None and before.tree == tree:
            return
        listing = self._ignored.listing(found, files)
        large = count(len(files.too_large), "is", "are")
        less = f"; {large} too large to save" if files.too_large else ""
        words = f"{task.spec.name}: ignored files{less}\n\n{listing}"
        message = signed(words, Run=task.run_id, Task=task.id, Attempt=f"{task.attempt}")
        self._save(task, self._commits.make(tree, [head.sha], message), IGNORED)

    def _ignored_upon(self, task: Task, found: Worktree) -> Commit | None:
        names = (found.head, task_ref(task.id), task.work.base, run_ref(task.run_id))
        return next((commit for commit in self._refs.commits(*names) if commit), None)

    def too_large(self, task: Task) -> tuple[str, ...]:
        """Ignored files of a worktree that are over what is saved when it goes."""
        found = self._worktrees.find(task.id)
        head = self._ignored_upon(task, found) if found.usable else None
        if head is None:
            return ()
        with self._content.index("ignored") as index:
            index.unlink(missing_ok=True)
            files = self._ignored.left(found, head.sha, index, task.spec.discard)
        return tuple(readable(path) for path in files.too_large)

    def _landed(self, task: Task, found: Worktree) -> bool:
        """Does it hold what was landed and nothing else?  We put it there ourselves."""
        if not task.landed or not found.usable or (found.path / ".gitmodules").exists():
            return False
        head = self._refs.commits(found.head)[0]
        return head is not None and head.sha == task.landed and self._worktrees.clean(found)

    def whole(self, task: Task, found: Worktree, *, submodules: bool = False) -> str:
        """A commit of what the worktree holds now; index, files and branch stay as they are.

        Of a submodule it only has the link, so its files can be saved beside it.
        """
        ground = self._ground(found, task, task.work.base)
        with self._content.index(task.id) as index:
            held = self._held(found, index, ground)
            head = self._commit(task, held.tree, ground, held.excess)
            if submodules and (found.path / ".gitmodules").is_file():
                self._save_submodules(task, found, index, head)
                self._keep_links(task, found, held)
        return head

    def _save_submodules(self, task: Task, found: Worktree, index: Path, head: str) -> None:
        tree, excess = self._content.submodules(found.path, index)
        if tree:
            words = _with_excess(f"{task.id}: files in submodules", excess)
            message = signed(words, Run=task.run_id, Task=task.id, Attempt=f"{task.attempt}")
            self._save(task, self._commits.make(tree, [head], message), "submodules")

    def _ground(self, found: Worktree, task: Task, base: str) -> Ground:
        """HEAD wherever the agent left it; the branch when there is no HEAD; else the base."""
        attempt = work_ref(task.id, f"{task.attempt}")
        revisions = (found.head, task_ref(task.id), base, run_ref(task.run_id), attempt)
        head, tip, known, run_head, kept = self._refs.commits(*revisions)
        start = head or tip or known or run_head
        if start is None:
            raise GitFailed(f"there is no commit that {task.id} started from")
        grown = known is None or self._refs.contains(known.sha, start.sha)
        ground = Ground(start, known or start, grown, kept)
        return replace(ground, merging=self._merging(task, found, ground.parent.sha))

    def _squashing(self, run: Run, task: Task, ground: Ground) -> Ground:
        """From the newest commit of the run branch that the work holds; a person's commits stay."""
        if task.take_over or ground.start.sha == ground.base.sha:
            return ground
        onto, head = ground.base, self._refs.commits(branch_of(run))[0]
        common = self._commits.base(ground.start.sha, head.sha) if ground.grown and head else ""
        if common and common != onto.sha and self._refs.contains(onto.sha, common):
            onto = self._refs.commit(common, "what the work was merged with")
        return replace(ground, onto=onto)

    def _agents_words(self, task: Task, ground: Ground) -> str:
        """What the agent wrote on its last commit, without lines that only we write."""
        if ground.onto is None:
            return ""
        said = self._commits.words_of(ground.start.sha)
        if f"Yaoki-Task: {task.id}" in said.splitlines():
            return ""
        lines = said[:WORDS_MAX].splitlines()
        return "\n".join(line for line in lines if not line.startswith("Yaoki-")).strip()

    def _merging(self, task: Task, found: Worktree, parent: str) -> tuple[str, ...]:
        """Only a person's merge counts: an agent may have given one up half-way."""
        begun = found.merging if task.take_over else ()
        there = [commit.sha for commit in self._refs.commits(*begun) if commit] if begun else []
        return tuple(sha for sha in dict.fromkeys(there) if not self._refs.contains(sha, parent))

    def left(self, task: Task) -> str:
        """The best commit that is left of a task whose worktree is gone."""
        attempt = work_ref(task.id, f"{task.attempt}")
        names = (task.work.head, task_ref(task.id), attempt, task.work.base)
        found = next((commit for commit in self._refs.commits(*names) if commit), None)
        if found is None:
            raise GitFailed(f"there is no commit that {task.id} started from")
        return found.sha

    def _held(self, found: Worktree, index: Path, ground: Ground) -> Held:
        if not found.there:
            changes = self._content.between(ground.base.sha, ground.start.sha)
            return Held(ground.start.tree, changes)
        return self._content.read(found.path, index, ground.start.sha, ground.base.sha)

    def _commit(
        self, task: Task, tree: str, ground: Ground, excess: Sequence[str] = (), words: str = ""
    ) -> str:
        """The commit that holds this tree; one made before a crash is found again."""
        if tree == ground.parent.tree and not ground.merging:
            return ground.parent.sha
        if self._is_that(task, tree, ground):
            return ground.start.sha
        kept = ground.kept
        if kept and (kept.tree, kept.parents) == (tree, ground.parents):
            return kept.sha
        subject = f"{task.spec.name}: attempt {task.attempt}"
        text = _with_excess(f"{subject}\n\n{words}" if words else subject, excess)
        message = signed(text, Run=task.run_id, Task=task.id, Attempt=f"{task.attempt}")
        return self._commits.make(tree, ground.parents, message)

    def _is_that(self, task: Task, tree: str, ground: Ground) -> bool:
        """Does the worktree stand where an earlier attempt of ours was kept, with nothing new?"""
        start = ground.start
        if (start.tree, start.parents) != (tree, ground.parents):
            return False
        return f"Yaoki-Task: {task.id}" in self._commits.words_of(start.sha).splitlines()

    def _store(self, task: Task, found: Worktree, head: str, ground: Ground) -> None:
        """Move branch and refs together; what an agent threw away stays reachable as well."""
        if not found.on_branch:
            self._refs.refuse_checked_out(task_ref(task.id), but=found.path)
        moves = [Move(task_ref(task.id), head), Move(self._free_ref(task, head, ""), head)]
        start = ground.start.sha
        ours = self._refs.commits(candidate_ref(task.id))[0]
        known = {ground.parent.sha, ours.sha if ours else ""}
        if start not in known and not self._stays(task, start):
            moves.append(Move(self._free_ref(task, start, "history"), start))
        self._refs.set(*moves)

    def _save(self, task: Task, commit: str, why: str) -> None:
        """Give the commit a ref of its own unless one that stays has it already."""
        if not self._stays(task, commit):
            ref = self._free_ref(task, commit, why)
            self._refs.set(Move(ref, commit))

    def _free_ref(self, task: Task, commit: str, why: str) -> str:
        """The first name that is free, or whose commit this one contains: none is overwritten."""
        first = f"{task.attempt}-{why}" if why else f"{task.attempt}"
        if self._refs.commits(work_ref(task.id, first))[0] is None:
            return work_ref(task.id, first)
        taken = {ref.name: ref.commit for ref in self._refs.listed(f"{WORK}/{task.id}")}
        for n in range(1, LABELS_MAX):
            ref = work_ref(task.id, first if n == 1 else f"{first}-{n}")
            if ref not in taken or self._refs.contains(taken[ref], commit):
                return ref
        raise GitFailed(f"attempt {task.attempt} of {task.id} was kept {LABELS_MAX} times")

    def tidy(self, task: Task, *others: str) -> None:
        """Delete the task's branch and helper refs where refs that stay hold their commits.

        One that somebody moves meanwhile stays: it holds something new.
        """
        names = (task_ref(task.id), *others)
        found = self._refs.commits(*names)
        there = {name: c.sha for name, c in zip(names, found, strict=True) if c}
        held = {sha for sha in set(there.values()) if self._stays(task, sha)}
        gone = [Move(name, "", sha) for name, sha in there.items() if sha in held]
        if gone:
            self._refs.move(*gone)

    def _stays(self, task: Task, commit: str) -> bool:
        """Is it reachable from a ref that outlives the worktree?"""
        head = self._refs.commits(run_ref(task.run_id))[0]
        if head is not None and commit in (head.sha, *head.parents):
            return True
        return bool(self._refs.holding(commit, f"{WORK}/{task.id}", run_ref(task.run_id)))

    def saved(self) -> list[SavedWork]:
        """All kept work, oldest first."""
        found = [_saved(ref) for ref in self._refs.listed(WORK)]
        return sorted(found, key=lambda work: (work.at, work.ref))

    def recover(self, ref: str, branch: str) -> str:
        """A new branch at kept work, so that a person can look at it."""
        inside = ref.startswith((f"{WORK}/", f"{SNAPSHOTS}/"))
        commit = self._refs.commits(ref)[0] if inside else None
        if commit is None:
            raise Unknown(f"there is no kept work {ref!r}", hint="yaoki recover lists it")
        name = self._commits.branch_ref(branch)
        if not self._refs.move(Move(name, commit.sha, ""), why=f"yaoki: recover {ref}"):
            raise NotNow(f"there is a branch {branch!r} already", hint="choose another name")
        return branch


def _with_excess(text: str, excess: Sequence[str]) -> str:
    lines = "".join(f"\nnot saved: {words}" for words in excess)
    return f"{text}\n{lines}" if lines else text


def _stranded(path: str, commit: str, rest: str) -> str:
    return f"submodule {readable(path)} points at {commit}, which none of its remotes has; {rest}"


def _way(path: str, commit: str, task_id: str) -> str:
    at = f"git -C {shlex.quote(readable(path))}"
    pushed = f"{at} push origin {commit}:refs/heads/{task_id}"
    return f'it is kept; push it: {at} fetch "$PWD" {commit} && {pushed}'


def _saved(ref: Ref) -> SavedWork:
    """A label begins with the number of its attempt."""
    task_id, _, label = ref.name.removeprefix(f"{WORK}/").partition("/")
    attempt = label.partition("-")[0]
    return SavedWork(
        task_id,
        int(attempt) if attempt.isdecimal() else 0,
        ref.name,
        ref.commit,
        ref.at,
        ref.subject,
    )
