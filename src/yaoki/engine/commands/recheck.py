"""Takes over the checks, the set-up and the rules of a changed plan as the next revision of a run.

The rules are the keys of a task that say what yaoki itself requires of its change, such as `scope`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from yaoki.core.decide.failure_response import ask_after_revision
from yaoki.core.lazy_dataclass import dataclass, field, replace
from yaoki.core.machine.events import Event
from yaoki.core.model import (
    FINAL_CHECK_NAME,
    AcceptanceRules,
    CheckRevision,
    CheckSpec,
    Run,
    Stage,
    State,
    Task,
    TaskId,
    TaskKind,
    TaskSpec,
)
from yaoki.core.text import list_some
from yaoki.engine.clock_and_chance import read_clock_and_chance
from yaoki.engine.run_status import has_open_work
from yaoki.errors import BranchMovedExternally, NotNow
from yaoki.ports import Clock, CompletionStore, RunBranches

# The keys of a task that are fixed for the run, by their field.
IGNORED_KEYS = {
    "goal": "goal",
    "kind": "kind",
    "needs": "needs",
    "required": "required",
    "timeout": "timeout",
    "policy": "retry",
    "race": "race",
    "budget": "budget",
}
_OUT = frozenset({State.CANCELLED, State.REPLACED})


@dataclass(frozen=True, slots=True)
class Recheck:
    """The changes that a new revision of the plan makes in a run.

    `tasks` use the changed checks, other set-up or other rules; `rules` has the changed keys of a
    task by its name, and `ignored` those that count only in another run.
    """

    revision: int
    checks: tuple[str, ...]
    tasks: tuple[TaskId, ...]
    setup: bool = False
    rules: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ignored: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class RecheckCommand:
    """A run keeps the checks it began with until a person says otherwise."""

    def __init__(self, store: CompletionStore, branches: RunBranches, clock: Clock) -> None:
        self._store, self._branches, self._clock = store, branches, clock

    def recheck(
        self,
        run: Run,
        checks: Mapping[str, CheckSpec],
        specs: Sequence[TaskSpec],
        how: str,
        fixed: Mapping[str, tuple[str, ...]],
    ) -> Recheck:
        """`checks` and `specs` are those of the plan as it is now; `fixed` is what else changed.

        A task that the plan has keeps its place in the run: only its checks, its set-up and its
        rules change.
        In a run that is over, landed tasks and `done_when` get them, and its merge runs them.
        """
        new = {name: c for name, c in checks.items() if run.checks.get(name) != c}
        # git is asked before the transaction.
        unmerged = self._has_unmerged_commits(run)
        continues = unmerged or has_open_work(self._store, run)
        before: dict[TaskId, Task] = {}
        revisions: dict[TaskId, CheckRevision] = {}

        def revise(now: Run, tasks: Sequence[Task]) -> Mapping[TaskId, CheckRevision]:
            if now.merged_commit and not (continues and now.merged_commit == run.merged_commit):
                raise NotNow(f"run {run.id} is already merged", hint="yaoki run PLAN")
            _refuse_while_ending(now, tasks)
            revised = _revise(tasks, {**now.checks, **checks}, specs)
            before.update((task.id, task) for task in tasks)
            revisions.update(revised)
            if _is_over(tasks):
                if not unmerged:
                    _refuse_without_landings(now, tasks)
                counted = {*now.done_when, *(_checks_given_up(tasks) if unmerged else ())}
                changed = bool(revised) or not new.keys().isdisjoint(counted)
            else:
                changed = bool(revised or new)
            if not changed:
                _refuse_without_change(now, {**fixed, **list_ignored_keys(tasks, specs)})
            return revised

        tasks, number = self._store.revise_checks(run.id, new, revise, how)
        for task_id in tasks:
            what = revisions[task_id].describe_change(before[task_id].spec)
            self._ask_about_failed(task_id, what)
        changes = [(before[one].spec, revisions[one]) for one in tasks]
        rules = {spec.name: revision.list_changed_rules(spec) for spec, revision in changes}
        return Recheck(
            number,
            tuple(sorted(new)),
            tuple(tasks),
            setup=any(revision.changes_setup(spec) for spec, revision in changes),
            rules={name: keys for name, keys in rules.items() if keys},
            ignored={**fixed, **list_ignored_keys(tuple(before.values()), specs)},
        )

    def _has_unmerged_commits(self, run: Run) -> bool:
        """Does the branch of a merged run have landings or undos that the merge lacks?"""
        if not run.merged_commit:
            return False
        try:
            self._branches.head(run)
        except BranchMovedExternally:
            return False
        return bool(self._branches.list_landings(replace(run, base=run.merged_commit)))

    def _ask_about_failed(self, task_id: TaskId, what: str) -> None:
        """Ask about a task that awaits its re-run: the work that failed may pass the new checks."""

        def ask(task: Task) -> Sequence[Event]:
            failed_check = task.failure is not None and bool(task.failure.check)
            if not task.awaiting_rerun or task.parent or not failed_check:
                return ()
            moment = read_clock_and_chance(self._clock)
            return ask_after_revision(task, moment, what)

        self._store.amend(task_id, ask)


def list_ignored_keys(
    tasks: Sequence[Task], specs: Sequence[TaskSpec]
) -> dict[str, tuple[str, ...]]:
    """The changed keys of each task of the plan that no revision takes over, by its name."""
    rows = {task.spec.name: task for task in tasks if not task.race_task}
    ignored: dict[str, tuple[str, ...]] = {}
    for planned in specs:
        if (task := rows.get(planned.name)) is None:
            ignored[planned.name] = ("the task itself",)
        elif task.state not in _OUT and (keys := _ignored_keys(task, planned)):
            ignored[planned.name] = keys
    return ignored


def _ignored_keys(task: Task, planned: TaskSpec) -> tuple[str, ...]:
    own = tuple(
        key
        for name, key in IGNORED_KEYS.items()
        if getattr(planned, name) != getattr(task.spec, name)
    )
    kept = AcceptanceRules.of(planned).list_changes(task.spec) if _is_accepted(task) else ()
    return (*own, *kept)


def list_differences(task: Task, specs: Sequence[TaskSpec]) -> list[str]:
    """The checks of a task, `set-up` and the rules that the plan has otherwise than the run.

    The files of hidden checks are frozen only when a plan is taken over, so these are left out.
    """
    planned = next((spec for spec in specs if spec.name == task.spec.name), None)
    if planned is None:
        return []
    here, there = (
        {check.name: check for check in spec.checks if check.hidden is None}
        for spec in (task.spec, planned)
    )
    names = [name for name in {**here, **there} if here.get(name) != there.get(name)]
    revision = CheckRevision.of(planned)
    setup = ["set-up"] if revision.changes_setup(task.spec) else []
    rules = () if _is_accepted(task) else revision.list_changed_rules(task.spec)
    return [*names, *setup, *rules]


def _refuse_without_change(run: Run, ignored: Mapping[str, Sequence[str]]) -> None:
    kept = [f"{name} ({', '.join(keys)})" for name, keys in ignored.items()]
    others = f"; only a new run applies what else changed: {list_some(kept, 5)}" if kept else ""
    raise NotNow(
        f"run {run.id} already has the checks, the set-up and the rules of its plan{others}",
        hint="change yaoki.toml or the plan first; another plan file: --plan FILE",
    )


def _refuse_while_ending(run: Run, tasks: Sequence[Task]) -> None:
    """The last tasks of a run that is being cancelled are proven by the checks that they have."""
    if run.cancel_requested and not _is_over(tasks):
        raise NotNow(
            f"run {run.id} is being cancelled; its last tasks have not ended yet",
            hint=f"wait for them: yaoki status {run.id}",
        )


def _refuse_without_landings(run: Run, tasks: Sequence[Task]) -> None:
    """Only a merge runs the checks of a run that is over."""
    if not any(task.state is State.DONE and task.landed_commit for task in tasks):
        raise NotNow(
            f"nothing of run {run.id} has landed, so nothing would be checked again",
            hint="start another run with the changed checks: yaoki run PLAN",
        )


def _checks_given_up(tasks: Sequence[Task]) -> set[str]:
    """The checks of tasks that were given up: they prove the merge of an undo that leaves nothing
    landed, and count nowhere else.
    """
    if any(task.state is State.DONE and task.landed_commit for task in tasks):
        return set()
    given_up = (task for task in tasks if task.state is State.CANCELLED)
    return {check.name for task in given_up for check in task.spec.checks}


def _is_over(tasks: Sequence[Task]) -> bool:
    return all(task.state.is_final for task in tasks)


def _revise(
    tasks: Sequence[Task], checks: Mapping[str, CheckSpec], specs: Sequence[TaskSpec]
) -> dict[TaskId, CheckRevision]:
    """The revision of each task whose checks or set-up change."""
    planned = {spec.name: spec for spec in specs}
    # Tasks that a planner or a person added have the set-up of a task of the plan.
    setups = {t.spec.setup: planned[t.spec.name] for t in tasks if t.spec.name in planned}
    names = {task.id: task.spec.name for task in tasks}
    revised: dict[TaskId, CheckRevision] = {}
    for task in tasks:
        if task.state in _OUT:
            continue
        # A candidate is proven by the checks of its racing task.
        is_candidate = bool(task.race_task) and task.spec.kind is not TaskKind.JUDGE
        name = names[task.race_task] if is_candidate else task.spec.name
        if name in planned:
            revision = _keep_rules_of_proof(task, CheckRevision.of(planned[name]))
        elif _is_final_check(task):
            revision = _revise_final_check(task, checks, specs)
        else:
            named = tuple(checks.get(check.name, check) for check in task.spec.checks)
            like = setups.get(task.spec.setup, task.spec)
            revision = replace(
                CheckRevision.of(task.spec),
                checks=named,
                setup=like.setup,
                setup_inputs=like.setup_inputs,
            )
        if revision.apply_to(task.spec) != task.spec:
            revised[task.id] = revision
    return revised


def _keep_rules_of_proof(task: Task, revision: CheckRevision) -> CheckRevision:
    """A landed change is not judged again, so it keeps the rules that accepted it."""
    accepted = _is_accepted(task)
    return replace(revision, rules=AcceptanceRules.of(task.spec)) if accepted else revision


def _is_accepted(task: Task) -> bool:
    """Has its change landed, or is a worker landing it at this moment?"""
    landing = task.state is State.ACTIVE and task.stage is Stage.LAND
    return task.state is State.DONE or landing


def _is_final_check(task: Task) -> bool:
    return task.spec.kind is TaskKind.CHECK and task.spec.name.startswith(FINAL_CHECK_NAME)


def _revise_final_check(
    task: Task, checks: Mapping[str, CheckSpec], specs: Sequence[TaskSpec]
) -> CheckRevision:
    """A final check runs the checks of all tasks, after the set-up of all."""
    own = CheckRevision.of(task.spec)
    if task.state is State.DONE:
        return own
    return replace(
        own,
        checks=tuple(replace(checks.get(c.name, c), required=True) for c in task.spec.checks),
        setup=tuple(dict.fromkeys(command for spec in specs for command in spec.setup)),
        setup_inputs=tuple(dict.fromkeys(glob for spec in specs for glob in spec.setup_inputs)),
    )
