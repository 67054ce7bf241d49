"""What people may ask: submit, cancel, answer, undo, merge.  Refusals say why and what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from yaoki.core.display import sound
from yaoki.core.escalate import waivable_names
from yaoki.core.events import Answered, Event, RecallRequested, UndoRequested
from yaoki.core.graph import downstream
from yaoki.core.model import (
    Catalogue,
    Choice,
    Continuous,
    Run,
    RunId,
    Spec,
    State,
    Task,
    TaskId,
    TaskKind,
)
from yaoki.core.status import Status, stands_at
from yaoki.engine.branches import BRANCH, Guard, landed_on
from yaoki.engine.leftovers import Leftovers
from yaoki.errors import GitFailed, NotNow, RemoteAway, RepositoryUnfit, Unknown, WorkspaceError
from yaoki.ports import Clock, Merged, Row, Store, Workspace

TASK_ID = re.compile(r"[a-z0-9]{8}-\d+")
WORDS_MAX = 8_000


@dataclass(frozen=True, slots=True)
class Submission:
    """A plan that passed its checks, ready to be frozen in the store."""

    goal: str
    specs: Sequence[Spec]
    catalogue: Catalogue
    done_when: tuple[str, ...]
    source: str
    repo: str
    base_branch: str
    base: str
    parallel: int
    priority: int = 0
    planner: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    budget: Mapping[str, float] = field(default_factory=dict)
    continuous: Continuous | None = None
    language: str = "en"
    approved: bool = False


class Control:
    """Asked by every face; holds no state of its own."""

    def __init__(
        self,
        store: Store,
        workspace: Workspace,
        clock: Clock,
        *,
        dead: Callable[[str], bool],
        new_id: Callable[[], str],
        settle: Callable[[RunId], object] = lambda _: None,
        mask: Callable[[str], str] = lambda text: text,
        archived: Callable[[str], str] = lambda _: "",
        released: Callable[[Task], None] = lambda _: None,
        host: str = "",
        end: Callable[[Task], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._workspace = workspace
        self._guard = Guard(store, workspace)
        self._leftovers = Leftovers(
            store, workspace, host=host, end=end, released=released, archived=archived
        )
        self._clock = clock
        self._dead = dead
        self._new_id = new_id
        self._settle = settle
        self._mask = mask
        self._archived = archived

    # -------------------------------------------------------------- finding

    def find_run(self, text: str = "") -> Run:
        """By id or its beginning; the newest when nothing is named."""
        runs = self._store.runs()
        gone = self._archived(text)
        if not runs and not gone:
            raise Unknown("there is no run here yet", hint="yaoki run PLAN")
        if not text:
            return runs[-1]
        found = [run for run in runs if run.id == text or run.branch == text]
        found = found or [run for run in runs if run.id.startswith(text)]
        if len(found) != 1:
            what = "no run" if not found else f"{len(found)} runs"
            raise Unknown(f"{what} named {text!r}", hint=gone or "yaoki status --all")
        return found[0]

    def find_task(self, text: str, run: str = "") -> TaskId:
        """By id, or by number or name in the named or newest run."""
        if gone := self._archived(text):
            raise Unknown(f"there is no {text!r} here any more", hint=gone)
        if TASK_ID.fullmatch(text):
            return self._store.task(text).id
        rows = self._store.rows(self.find_run(run).id)
        found = [row for row in rows if row.name == text or str(row.n) == text]
        if found:
            return found[0].id
        near = difflib.get_close_matches(text, [row.name for row in rows], n=1)
        hint = f"did you mean {near[0]!r}?" if near else "yaoki status"
        raise Unknown(f"there is no task {text!r} in this run", hint=hint)

    # -------------------------------------------------------------- submit

    def submit(self, plan: Submission, request: Mapping[str, Any]) -> Run:
        """Freeze the plan as a new run; all of it or nothing."""
        run = Run(
            id=self._free_id(),
            goal=plan.goal,
            repo=plan.repo,
            base_branch=plan.base_branch,
            base=plan.base,
            created_at=self._clock.now(),
            catalogue=plan.catalogue,
            done_when=plan.done_when,
            source=plan.source,
            parallel=plan.parallel,
            priority=plan.priority,
            planner=plan.planner,
            chain=plan.chain,
            budget=plan.budget,
            continuous=plan.continuous,
            language=plan.language,
            approved=plan.approved,
        )
        self._store.submit(run, plan.specs, request)
        try:
            self._workspace.open_run(run)
        except RemoteAway as away:
            # The run is stored; its first task makes the branch when the remote answers.
            self._store.note(run.id, "WARNING", {"message": away.sentence})
        except WorkspaceError as refused:
            raise RepositoryUnfit(
                f"{refused.sentence}; run {run.id} is stored all the same",
                hint=f"{refused.hint}; then yaoki resume {run.id}, or yaoki cancel {run.id}",
            ) from refused
        return run

    def _free_id(self) -> RunId:
        taken = {run.id for run in self._store.runs()}
        for _ in range(100):
            made = RunId(self._new_id())
            if made not in taken:
                return made
        raise AssertionError("a hundred ids in a row were taken")

    # -------------------------------------------------------------- cancel

    def cancel(self, run: Run, why: str = "cancelled by a person") -> list[TaskId]:
        """The wish is durable before anything acts on it; returns the tasks still being ended.

        A run that is done is refused by name; one that is cancelled already stays as it is.
        """
        tally = self._store.tally(run.id)
        if run.cancel_wanted and self._store.resting(run.id):
            return []
        stands = stands_at(run, tally, resting=self._resting(run))
        if stands is Status.DONE:
            raise NotNow(f"run {run.id} is already DONE", hint=f"yaoki merge {run.id}")
        return self._store.cancel_run(run.id, why)

    def _resting(self, run: Run) -> bool:
        """Nothing can be claimed, and nothing waits for its re-run or to be taken back."""
        unsettled = self._store.held(run.id) or self._store.undo_wanted(run.id)
        return self._store.resting(run.id) and not unsettled

    def cancel_task(self, task_id: TaskId, why: str = "cancelled by a person") -> list[TaskId]:
        inside = [
            row.id
            for row in self._store.rows(self._store.task(task_id).run_id)
            if row.parent == task_id and not row.state.final
        ]
        ended = [self._store.cancel_task(one, why) for one in (*inside, task_id)]
        return [task.id for task in ended if not task.state.final]

    # -------------------------------------------------------------- answer

    def answer(self, task_id: TaskId, choice: Choice, words: str = "", check: str = "") -> Task:
        """Answer an escalation; the store refused further attempts until now."""
        words = self._mask(sound(words))[:WORDS_MAX]

        def decide(task: Task) -> Sequence[Event]:
            if task.state is not State.ESCALATED or task.question is None:
                raise NotNow(
                    f"{task.id} asks nothing: it is {task.state.value}",
                    hint=f"yaoki why {task.id}",
                )
            if choice not in task.question.choices:
                allowed = ", ".join(c.value for c in task.question.choices)
                raise NotNow(f"{choice.value} is no answer here", hint=f"answer one of: {allowed}")
            return (Answered(choice, words, self._waived(task, choice, check), task.counts),)

        task = self._store.amend(task_id, decide)
        self._settle(task.run_id)
        return task

    @staticmethod
    def _waived(task: Task, choice: Choice, check: str) -> str:
        if choice is not Choice.WAIVE:
            return ""
        failing = task.failure.check if task.failure else ""
        named = check or failing
        known = waivable_names(task)
        if named not in known:
            raise NotNow(
                f"{named or 'no check'} cannot be waived: it is not a check of {task.id}",
                hint=f"name one of: {', '.join(_own_first(task, known))}",
            )
        return named

    # -------------------------------------------------------------- undo, merge

    def undo(self, task_id: TaskId, *, cascade: bool = False) -> Task:
        """Take landed work back off its branch; what stands on it goes with it only if asked.

        The wish is durable before the branch moves; whoever finds everything at rest acts on it.
        """
        task = self._store.task(task_id)
        if task.state is not State.DONE:
            raise NotNow(f"{task.id} has not landed", hint=f"yaoki why {task.id}")
        if task.landed == task.work.onto or task.spec.kind is TaskKind.PLAN:
            raise NotNow(f"{task.id} landed nothing of its own", hint=f"yaoki why {task.id}")
        self._refuse_whole(task)
        run = self._store.run(task.run_id)
        if run.cancel_wanted:
            raise NotNow(f"run {run.id} was cancelled; it goes on no more", hint="yaoki status")
        standing = self._standing(task)
        if standing and not cascade:
            names = ", ".join(row.name for row in standing[:5])
            raise NotNow(
                f"{len(standing)} tasks stand on {task.spec.name}: {names}",
                hint=f"take them back as well: yaoki undo {task.id} --cascade",
            )
        if not task.undo_wanted:
            self._guard.refuse(run)
        self._wish_undo(task, standing)
        self._settle(run.id)
        return self._store.task(task_id)

    def _refuse_whole(self, task: Task) -> None:
        """A group lands as a whole: what it merged cannot be made anew from the same commits."""
        group = self._store.task(task.parent) if task.parent else task
        if group.spec.kind is TaskKind.GROUP and group.state is State.DONE:
            raise NotNow(
                f"{task.id} landed with its group {group.spec.name}, which is not taken back",
                hint=f"revert it by hand after the merge: git revert -m1 {group.landed[:12]}",
            )

    def _wish_undo(self, task: Task, standing: Sequence[Row]) -> None:
        """Those at work are interrupted, their work is kept."""
        busy = [row.id for row in standing if row.state is State.ACTIVE]
        why = f"{task.id}, on which it stands, is taken back"

        def recall(now: Task) -> Sequence[Event]:
            return (RecallRequested(why),) if now.state is State.ACTIVE else ()

        def wish(now: Task) -> Sequence[Event]:
            return () if now.undo_wanted else (UndoRequested(now.landed),)

        self._store.amend_all([(task.id, wish), *((one, recall) for one in busy)])

    def _standing(self, task: Task) -> list[Row]:
        needs = self._store.needs(task.run_id)
        below = set(downstream(task.id, needs))
        busy = {State.DONE, State.ACTIVE}
        return [r for r in self._store.rows(task.run_id) if r.id in below and r.state in busy]

    # -------------------------------------------------------------- pauses

    def go(self, run: Run, words: str = "", accept: str = "") -> Run:
        """A person's yes to a paused run; of a budget, as much again is granted.

        `accept` names a commit of its branch that no task landed and that may stay all the same.
        """
        if accept:
            self._guard.accept(run, accept)
            if not run.paused:
                return run
        if run.paused.startswith(BRANCH):
            self._guard.freed(run)
        return self._store.unpause(run.id, self._mask(sound(words))[:WORDS_MAX])

    def merge(
        self, run: Run, *, into: str = "", force_ref: bool = False, partial: bool = False
    ) -> Merged:
        """Move the base branch to the run branch; never with conflicts, never in a checkout."""
        tally = self._store.tally(run.id)
        stands = stands_at(run, tally, resting=self._resting(run))
        if stands is not Status.DONE and not partial:
            raise NotNow(
                f"run {run.id} is {stands.value}, so not all of it is proven",
                hint=f"yaoki status {run.id}, or merge what has landed: "
                f"yaoki merge {run.id} --partial",
            )
        rows = self._store.rows(run.id)
        lost = self._workspace.lacks(run, [row.landed for row in landed_on(rows)])
        if lost or not self._taken(run, into):
            by_hand = f"git switch {run.base_branch} && git merge {run.branch}"
            self._guard.refuse(run, "" if lost else f"or take it as it is: {by_hand}")
        if lost:
            names = ", ".join(row.name for row in rows if row.landed in lost)
            raise NotNow(
                f"{run.branch} no longer holds what landed: {names}",
                hint=f"git log --oneline {run.branch}; the work itself: yaoki recover",
            )
        cut_off = [row.id for row in rows if row.undo_wanted]
        if cut_off:
            raise NotNow(
                f"the undo of {cut_off[0]} was cut off in the middle",
                hint=f"finish it: yaoki undo {cut_off[0]}",
            )
        result = self._workspace.merge(run, into=into, force_ref=force_ref)
        data = {"branch": result.branch, "commit": result.commit, "how": result.how}
        # Of a run that goes on more is to come: its branch is not yet the user's.
        over = {"merged": result.commit} if stands in {Status.DONE, Status.CANCELLED} else {}
        self._store.update_run(run.id, "RUN_MERGED", data, **over)
        return result

    def _taken(self, run: Run, into: str) -> bool:
        """Did a person merge all of it by hand?  Who did knows what it holds."""
        try:
            rest = replace(run, base=f"refs/heads/{into or run.base_branch}")
            return not self._workspace.landings(rest)
        except GitFailed:
            return False

    # -------------------------------------------------------------- going on

    def resumed(self, run: Run) -> list[TaskId]:
        """A person goes on with a stopped run: claims of dead workers come back at once, and its
        branch must hold what landed.
        """
        self.look_after(run)
        back = self._store.expire(self._dead, counted=False, runs=[run.id])
        if back:
            data = {"mismatch": "stale lease", "tasks": list(back), "repair": "claims taken back"}
            self._store.note(run.id, "RECONCILED", data)
        return back

    def look_after(self, run: Run) -> None:
        """Before anything is begun: the run branch must hold what landed, else the run asks."""
        if run.paused or run.cancel_wanted or run.merged:
            return
        # Where the remote is away, whoever needs the branch waits for it, and looks then.
        with suppress(RemoteAway):
            self._guard.look(run)

    def sweep(self, run: Run) -> list[str]:
        """Remove worktrees in which nobody goes on; their work is reachable from refs."""
        return self._leftovers.sweep(run.id)

    def sweep_again(self) -> list[str]:
        """The same for any run, in a quiet moment of a worker."""
        return self._leftovers.sweep_again()


def _own_first(task: Task, known: frozenset[str]) -> list[str]:
    """The plan's own checks, then what must hold of any change."""
    own = [check.name for check in task.spec.checks]
    return [*own, *sorted(known.difference(own))]
