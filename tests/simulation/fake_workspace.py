"""`ports.Workspace` over a world of dictionaries: git, as far as the engine can tell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from tests.simulation.world import Accesses, World, merged
from yaoki.core.leaks import Leak, LeakSearch
from yaoki.core.model import FailureKind, Run, Task, TaskId, TaskKind
from yaoki.core.model.change import Change
from yaoki.core.model.check_definition import TreeView
from yaoki.errors import GitFailed, NotNow
from yaoki.ports import (
    Candidate,
    CommittedAttempt,
    Companions,
    IgnoredFile,
    JointCommit,
    LandedStep,
    MergeResult,
    PreparedWorktree,
    QueueMembers,
    SetupChanges,
)


class DictBranches:
    """The run branch and the branches of groups."""

    def __init__(self, world: World, touch: Accesses) -> None:
        self.world, self.touch = world, touch

    def open_run_branch(self, run: Run) -> None:
        if run.branch not in self.world.refs:
            self.touch("open_run")
            self.world.refs[run.branch] = run.base
            self.touch("run opened")

    def push_existing_run(self, run: Run) -> None:
        """There is no remote here."""

    def head(self, run: Run) -> str:
        if run.branch not in self.world.refs:
            raise GitFailed(f"the run branch {run.branch} is gone")
        return self.world.refs[run.branch]

    def refresh_group_branch(self, run: Run, group: str) -> Run:
        """No subtask here needs a task outside its group."""
        return self.open_group_branch(run, group)

    def open_group_branch(self, run: Run, group: str) -> Run:
        world, branch = self.world, run.on_group_branch(group).branch
        if branch not in world.refs:
            self.touch("open_line")
            world.refs[branch] = world.bases[branch] = self.head(run)
            self.touch("line opened")
        return run.on_group_branch(group, world.bases[branch])

    def roll_back_group_branch(self, run: Run, group: str, head: str) -> tuple[str, str]:
        self.touch("roll_back")
        world, line = self.world, self.open_group_branch(run, group)
        held, to = self.head(line), self.head(run)
        if held == to == line.base:
            return held, to
        if held != head:
            raise GitFailed(f"{line.branch} moved", transient=True)
        world.kept[f"{group}/rollback"] = held
        world.refs[line.branch] = world.bases[line.branch] = to
        self.touch("rolled back")
        return held, to

    def close_group_branch(self, run: Run, group: str) -> None:
        self.touch("close_line")
        branch = run.on_group_branch(group).branch
        held = self.world.refs.get(branch)
        if held is not None and held in self.world.ancestors(self.head(run)):
            del self.world.refs[branch], self.world.bases[branch]
        self.touch("line closed")

    def list_landings(self, run: Run) -> tuple[LandedStep, ...]:
        """Along the first parents, oldest first."""
        steps: list[LandedStep] = []
        at = self.head(run)
        # A ref is the base branch, which nobody moves here.
        base = self.world.base if run.base.startswith("refs/") else run.base
        while at != base:
            commit = self.world.commits[at]
            task = TaskId("" if commit.undo else commit.task)
            # Landings by others in a scenario are no foreign commits.
            if task or commit.undo:
                steps.extend(LandedStep(task, at, undone) for undone in commit.undo or ("",))
            for other, part in self._parts(at).items():
                steps.append(LandedStep(other, part, joint_commit=at))
            at = commit.parents[0]
        return tuple(reversed(steps))

    def combine_landings(self, base: str, chosen: Sequence[str]) -> str:
        world, made = self.world, base
        for landing in chosen:
            before = world.tree(self._own_base(landing))
            tree, clashes = merged(before, world.tree(made), world.tree(landing))
            if clashes:
                return ""
            made = world.commit(tree, (made,))
        return made

    def files_between(self, old: str, new: str) -> tuple[tuple[str, str], ...]:
        before, after = self.world.tree(old), self.world.tree(new)
        paths = (p for p in sorted({*before, *after}) if before.get(p) != after.get(p))
        return tuple((_status(p in before, p in after), p) for p in paths)

    def land(self, run: Run, commit: str, onto: str) -> str:
        self.touch("land")
        joint = self.read_joint(commit)
        if self.world.refs[run.branch] == (joint.predecessor if joint else onto):
            self.world.refs[run.branch] = commit
            if commit != onto:
                self.world.landings.append(commit)
        self.touch("landed")
        return self.head(run)

    def undo(
        self, run: Run, landings: Mapping[TaskId, str], approve: Callable[[str, str], None]
    ) -> str:
        """One commit that takes all of them back; twice is once."""
        self.touch("undo")
        world, head = self.world, self.head(run)
        undone = {step.undoes for step in self.list_landings(run)}
        left = {task_id: landed for task_id, landed in landings.items() if landed not in undone}
        tree = self._tree_without(run, left, head)
        if left:
            made = world.commit(tree, (head,), task=[*left][-1], undo=tuple(left.values()))
            approve(made, head)
            self.touch("approved")
            if world.refs[run.branch] != head:
                return self.undo(run, landings, approve)
            world.refs[run.branch] = made
        self.touch("undone")
        return self.head(run)

    def refuse_undo(self, run: Run, landings: Mapping[TaskId, str]) -> None:
        self._tree_without(run, landings, self.head(run))

    def _tree_without(
        self, run: Run, landings: Mapping[TaskId, str], head: str
    ) -> Mapping[str, str]:
        world, tree = self.world, self.world.tree(head)
        for task_id, landed in landings.items():
            if landed not in world.ancestors(head):
                raise NotNow(f"{run.branch} does not hold {task_id}")
            before = world.tree(self._own_base(landed))
            tree, clashes = merged(world.tree(landed), tree, before)
            if clashes:
                raise NotNow(f"later work builds on {task_id}: {', '.join(clashes)}")
        return tree

    def _own_base(self, commit: str) -> str:
        parents = self.world.commits[commit].parents
        return parents[1] if len(parents) == 3 else parents[0]

    def _parts(self, commit: str) -> dict[TaskId, str]:
        """The commits of other tasks that a joint commit lands."""
        parents = self.world.commits[commit].parents
        joined = self.world.commits[parents[1]].parents[1:] if len(parents) == 3 else ()
        return {TaskId(self.world.commits[part].task): part for part in joined}

    def read_joint(self, commit: str) -> JointCommit | None:
        parts = self._parts(commit)
        return JointCommit(self.world.commits[commit].parents[0], parts) if parts else None

    def branch_contains(self, run: Run, commit: str) -> bool:
        return bool(commit) and commit in self.world.ancestors(self.head(run))

    def missing_commits(self, run: Run, commits: Sequence[str]) -> tuple[str, ...]:
        held = self.world.ancestors(self.head(run))
        return tuple(commit for commit in commits if commit not in held)

    def describe_drift(self, run: Run) -> str:
        return ""

    def refuse_checked_out(self, run: Run) -> None:
        """There are no checkouts in the simulation."""

    def refuse_drift(self, run: Run, landed: Sequence[str] = ()) -> None:
        """No other process moves the branch, but landed commits must still exist."""
        lost = [commit for commit in landed if commit not in self.world.ancestors(self.head(run))]
        assert not lost, f"{run.branch} lacks {lost}"

    def way_back(self, run: Run, commit: str) -> str:
        raise AssertionError(f"nobody moves {run.branch}, to {commit} or elsewhere")

    def merge(
        self,
        run: Run,
        *,
        into: str = "",
        force_ref: bool = False,
        approve: Callable[[MergeResult], None],
    ) -> MergeResult:
        raise AssertionError("nobody merges here")


class DictWorkspace(DictBranches):
    """Worktrees as well.  One object plays every role of `ports.Workspace`."""

    def __init__(self, world: World, touch: Accesses) -> None:
        super().__init__(world, touch)
        self.branches = self.groups = self.landings = self.worktrees = self
        self.uncommitted = self.contents = self.protection = self

    def prepare(self, run: Run, task: Task, attempt: int) -> PreparedWorktree:
        self.touch("prepare")
        world, name, head = self.world, task.id, self.head(run)
        fresh = task.attempt == 0 or task.needs_fresh_worktree or name not in world.worktrees
        if fresh:
            world.worktrees[name] = dict(world.tree(head))
            world.heads[name] = head
        elif task.feedback and task.feedback.kind is FailureKind.CONFLICT:
            marked = {**world.tree(head), task.spec.name: "good", "shared": "<<<<<<<"}
            world.worktrees[name] = marked
            world.heads[name] = world.commit(marked, (world.heads[name], head))
        self.touch("prepared")
        base = head if fresh else world.common(world.heads[name], head)
        return PreparedWorktree(Path("/w") / name, base, "", fresh)

    def take_snapshot(self, task: Task, attempt: int, *, untouched: bool = False) -> str:
        self.touch("snapshot")
        return f"{task.id}-{attempt}"

    def commit_attempt(self, run: Run, task: Task) -> CommittedAttempt:
        self.touch("keep")
        world, name = self.world, task.id
        if name not in world.worktrees:
            # Another worker went on with the task and has removed it.
            return CommittedAttempt(task.work.head or task.work.base, "", (), worktree_missing=True)
        there, before = world.worktrees[name], world.heads[name]
        if dict(there) != dict(world.tree(before)):
            world.heads[name] = world.commit(there, (before,))
        world.kept[f"{task.id}/{task.attempt}"] = world.heads[name]
        self.touch("kept")
        head = world.heads[name]
        tree = repr(sorted(world.tree(head).items()))
        return CommittedAttempt(head, tree, (name,) if head != task.work.base else ())

    def build_candidate(
        self,
        run: Run,
        task: Task,
        queue_members: QueueMembers = frozenset,
        companions: Companions = tuple,
    ) -> Candidate:
        self.touch("candidate")
        world, cars = (
            self.world,
            self._cars(run, queue_members) if task.work.is_queued else [],
        )
        ahead = takewhile(lambda car: world.commits[car].task != task.id, cars)
        predecessor = [self.head(run), *ahead][-1]
        if task.spec.kind is TaskKind.CHECK:
            return Candidate(predecessor, predecessor, "", predecessor=predecessor)
        onto = self._joined(predecessor, companions()) if task.work.is_queued else predecessor
        tree, clashes = self._merge(task.work.head, onto)
        if clashes or tree == world.tree(onto):
            onto = predecessor
            tree, clashes = self._merge(task.work.head, onto)
        if clashes:
            return Candidate("", onto, "", conflicts=clashes, predecessor=onto)
        if tree == world.tree(onto):
            return Candidate(onto, onto, "", predecessor=onto)
        parents = dict.fromkeys((predecessor, onto, task.work.head))
        commit = self._proposed(task, tree, tuple(parents))
        if task.work.is_queued and commit not in cars:
            world.trains[run.branch] = commit
        world.worktrees[task.id] = dict(tree)
        world.heads[task.id] = commit
        self.touch("candidate made")
        return Candidate(
            commit,
            onto,
            "",
            changed=(task.spec.name,),
            tracked_count=9,
            predecessor=predecessor,
            companions=tuple(self._parts(commit)),
        )

    def withdraw_candidate(self, run: Run, task: Task) -> None:
        world, head = self.world, self.world.heads.get(task.id, "")
        self.touch("candidate withdrawn")
        if head and task.work.head in world.commits[head].parents[1:]:
            onto = world.commits[head].parents[0]
            has_landed = self.branch_contains(run, onto)
            merged = (task.work.head, onto) if has_landed else ()
            again = world.commit(world.tree(head), merged) if merged else task.work.head
            world.heads[task.id] = again

    def _merge(self, work: str, onto: str) -> tuple[dict[str, str], tuple[str, ...]]:
        world = self.world
        return merged(world.tree(world.common(work, onto)), world.tree(work), world.tree(onto))

    def _joined(self, predecessor: str, others: Sequence[Task]) -> str:
        """A commit with the verified work of these tasks, as far as it merges."""
        world, joined, parts = self.world, predecessor, []
        for other in others:
            part = other.work.verified_commit
            fits = len(world.commits[part].parents) == 2
            below = world.commits[part].parents[0] in world.ancestors(predecessor)
            if not fits or not below or part in world.ancestors(predecessor):
                continue
            tree, clashes = self._merge(part, joined)
            if not clashes and tree != world.tree(joined):
                parts.append(part)
                joined = world.commit(tree, (predecessor, *parts))
        return joined

    def is_in_merge_queue(self, run: Run, commit: str, queue_members: QueueMembers) -> bool:
        cars = self._cars(run, queue_members)
        return any(commit == car or commit in self._parts(car).values() for car in cars)

    def _cars(self, run: Run, queue_members: QueueMembers) -> list[str]:
        """The candidates of queue_members that follow each other from the head on, oldest first."""
        cars: list[str] = []
        car, head = self.world.trains.get(run.branch, ""), self.head(run)
        while car != head:
            if not car or not self.world.commits[car].parents:
                return []
            cars.insert(0, car)
            car = self.world.commits[car].parents[0]
        known = queue_members()
        return list(takewhile(lambda car: self.world.commits[car].task in known, cars))

    def _proposed(self, task: Task, tree: dict[str, str], parents: tuple[str, ...]) -> str:
        """The same commit however often it is asked for."""
        before = self.world.candidates.get(task.id)
        if before is not None and self.world.commits[before].parents == parents:
            return before
        made = self.world.commit(tree, parents, task=task.id)
        self.world.candidates[task.id] = made
        return made

    def rebuild_worktree(self, task: Task) -> bool:
        """Worktrees may go missing between two lives."""
        world, name = self.world, task.id
        if name in world.worktrees:
            return False
        world.heads[name] = task.work.head or task.work.base
        world.worktrees[name] = dict(world.tree(world.heads[name]))
        return True

    def remove_worktree(self, task: Task, *, continued_elsewhere: bool = False) -> None:
        self.touch("release")
        there = self.world.worktrees.get(task.id)
        # As the real one: what no commit holds yet is saved before the files go.
        if there is not None and f"{task.id}/{task.attempt}" not in self.world.kept:
            late = self.world.commit(there, (self.world.heads[task.id],))
            self.world.kept[f"{task.id}/{task.attempt}"] = late
            self.touch("kept")
        self.world.worktrees.pop(task.id, None)
        self.touch("released")

    def save_worktree(self, task: Task) -> None:
        self.touch("saved")

    def tasks_with_worktree(self) -> frozenset[str]:
        return frozenset(self.world.worktrees)

    # -------------------------------------------------------------- checks leave nothing here

    def ignored_sources(
        self, task: Task, since: float, committed: Collection[str]
    ) -> tuple[str, ...]:
        return ()

    def ignored_folders(self, names: Sequence[str]) -> tuple[str, ...]:
        return ()

    def edited_files(self, since: float) -> tuple[str, ...]:
        return ()

    def find_work_elsewhere(self, task: Task) -> tuple[str, ...]:
        return ()

    def has_path(self, commit: str, path: str) -> bool:
        return path in self.world.tree(commit)

    def uncommitted_files(self, task: Task, since: float) -> tuple[IgnoredFile, ...]:
        return ()

    def copy_uncommitted_files(self, task: Task, names: Sequence[str], to: Path) -> None:
        raise AssertionError("git ignores nothing here")

    def begin_setup(self, task: Task) -> None:
        raise AssertionError("there is no set-up here")

    def record_setup_files(self, task: Task) -> SetupChanges:
        raise AssertionError("there is no set-up here")

    def protected_state(self, task: Task, *, strict: bool) -> Mapping[str, str]:
        return {}

    def hash_checkout(self) -> Mapping[str, str]:
        return {}

    def hash_protected_files(self, task_id: str = "") -> Mapping[str, str]:
        return {}

    def count_changed_lines(self, old: str, new: str) -> int:
        before, after = self.world.tree(old), self.world.tree(new)
        return sum(before.get(path) != after.get(path) for path in {*before, *after})

    def file_sizes(self, commit: str, paths: Sequence[str]) -> dict[str, int]:
        return {}

    def read_changes(self, old: str, new: str) -> tuple[Change, ...]:
        return ()

    def find_leaks(self, old: str, new: str, search: LeakSearch) -> tuple[Leak, ...]:
        raise AssertionError("there is nothing to hide here")

    def contains_text(self, commit: str, value: str) -> bool:
        raise AssertionError("there is nothing to hide here")

    def tree_view(self, commit: str) -> TreeView:
        return TreeView(frozenset(), lambda _: None)

    def commit_with_files_of(self, commit: str, other: str, paths: Sequence[str]) -> str:
        raise AssertionError("no check has a definition here")

    def is_pushed(self, commit: str) -> bool:
        return False

    def diff(self, old: str, new: str) -> str:
        before, after = self.world.tree(old), self.world.tree(new)
        paths = sorted({*before, *after})
        return "\n".join(f"+{path}: {after.get(path)}" for path in paths)


def _status(was: bool, is_: bool) -> str:
    return "M" if was and is_ else "A" if is_ else "D"
