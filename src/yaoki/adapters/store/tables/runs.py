"""Changes of a run: submit, more tasks, pauses, its summary.  Each public method is one
transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from yaoki.adapters.store.rows import run_document, to_ms
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables.accounts import try_refused_accounts
from yaoki.adapters.store.tables.apply_events import insert_run
from yaoki.adapters.store.tables.task_loader import (
    TaskLoader,
    has_task_named,
    load_ids_by_name,
    load_run,
)
from yaoki.adapters.store.tables.writes import EventWriter, task_count
from yaoki.adapters.store.task_rows import tally_from_rows
from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.events import Replaced
from yaoki.core.machine.request_events import ChecksRevised
from yaoki.core.machine.value_codec import to_data
from yaoki.core.model import (
    CheckRevision,
    CheckSpec,
    Pause,
    PauseCause,
    Run,
    RunId,
    Stage,
    State,
    Task,
    TaskId,
    TaskSpec,
)
from yaoki.core.text import list_some
from yaoki.errors import NotNow, OverLimit

if TYPE_CHECKING:
    from yaoki.adapters.store.clock import StoreClock
    from yaoki.adapters.store.database import Database, Transaction
    from yaoki.core.run_status import StateCounts

NAMES_SHOWN = 5


class RunQueries:
    """Submit, extend, pause, finish."""

    def __init__(
        self,
        database: Database,
        clock: StoreClock,
        loader: TaskLoader,
        writer: EventWriter,
        *,
        pending_runs_max: int,
        pending_tasks_max: int,
    ) -> None:
        self._db, self._clock = database, clock
        self._loader, self._writer = loader, writer
        self._pending_runs_max, self._pending_tasks_max = pending_runs_max, pending_tasks_max

    # -------------------------------------------------------------- submit and extend

    def submit(
        self, run: Run, specs: Sequence[TaskSpec], request: Mapping[str, Any]
    ) -> list[TaskId]:
        """A run with all its tasks, or nothing at all."""

        def work(tx: Transaction) -> list[TaskId]:
            tx.lock_by_name("submit")
            self._refuse_too_many_runs(tx)
            self._refuse_too_many_tasks(len(specs))
            insert_run(tx, run)
            try_refused_accounts(tx, self._clock.row_time())
            self._writer.append_event(tx, run.id, "USER_REQUEST", request)
            summary = {"goal": run.goal, "tasks": len(specs), "revision": run.revision}
            # The whole run: the journal alone must be enough to rebuild every row.
            data = {**summary, "base": run.base, "run": to_data(run)}
            self._writer.append_event(tx, run.id, "PLAN_SUBMITTED", data)
            return self._writer.submit_tasks(tx, run, specs, first=1)

        return self._db.write(work)

    def add_tasks(
        self,
        run_id: RunId,
        specs: Sequence[TaskSpec],
        *,
        unless: str = "",
        replaces: Mapping[str, str] | None = None,
        retire: Sequence[TaskId] = (),
        event: str = "",
        data: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> list[TaskId]:
        """Add tasks to a run, some of them replacements; all of it or nothing."""

        def work(tx: Transaction) -> list[TaskId]:
            run = load_run(tx, run_id, lock=True)
            if run.cancel_requested or (unless and has_task_named(tx, run_id, unless)):
                return []
            if not unless:
                # A run's own final checks and replans are no tasks of the plan: not counted.
                self._refuse_more(tx, run_id, specs)
            if event:
                entry = {**(data or {}), "tasks": [spec.name for spec in specs]}
                self._writer.update_run(tx, run_id, event, entry, fields)
            new_ids = self._writer.add_tasks(tx, run, specs, replaces or {}, by_planner=False)
            for old in (self._loader.task(tx, task_id) for task_id in retire):
                if old.awaiting_rerun or old.state is State.ESCALATED:
                    replaced = Replaced(new_ids[0], "what came later takes its place")
                    self._writer.write(tx, old, (replaced,))
            return new_ids

        return self._db.write(work)

    def extend(
        self,
        run_id: RunId,
        specs: Sequence[TaskSpec],
        replaces: Mapping[str, str],
        refuse: Callable[[Run], None],
        *,
        by_planner: bool = False,
    ) -> tuple[list[TaskId], int]:
        """The next revision of the plan, with these tasks; all of it or nothing.

        The number and the refusal follow from the run as it is inside the transaction: two
        extensions at once make two revisions.
        """

        def work(tx: Transaction) -> tuple[list[TaskId], int]:
            run = load_run(tx, run_id, lock=True)
            refuse(run)
            self._refuse_more(tx, run_id, specs)
            revision = run.revision + 1
            data = {
                "replaces": dict(replaces),
                "revision": revision,
                "tasks": [spec.name for spec in specs],
            }
            self._writer.update_run(tx, run_id, "PLAN_EXTENDED", data, {"revision": revision})
            new_ids = self._writer.add_tasks(tx, run, specs, replaces, by_planner=by_planner)
            return new_ids, revision

        return self._db.write(work)

    def revise_checks(
        self,
        run_id: RunId,
        checks: Mapping[str, CheckSpec],
        revise: Callable[[Run, Sequence[Task]], Mapping[TaskId, CheckRevision]],
        how: str,
    ) -> tuple[list[TaskId], int]:
        """The next revision of the plan, with other checks; all of it or nothing.

        `revise` gets the run and its tasks as they are inside the transaction, and may refuse.
        """

        from yaoki.core.decide.candidate import is_proven

        def work(tx: Transaction) -> tuple[list[TaskId], int]:
            run = load_run(tx, run_id, lock=True)
            select = f"SELECT * FROM tasks WHERE run_id = :id ORDER BY n{tx.for_update}"
            rows = tx.rows(select, {"id": run_id})
            tasks = [self._loader.from_row(tx, row) for row in rows]
            revised = revise(run, tasks)
            number = run.revision + 1
            data = {
                "revision": number,
                "checks": sorted(checks),
                "tasks": [task.spec.name for task in tasks if task.id in revised],
                "rules": _list_changed_rules(tasks, revised),
                "landed_before": _list_proven_before(sorted(checks), tasks, revised),
                "message": _recheck_message(number, sorted(checks), tasks, revised),
                "how": how,
            }
            changed = replace(run, revised_checks={**run.revised_checks, **checks})
            fields = {"revision": number, "doc": run_document(changed)}
            self._writer.update_run(tx, run_id, "PLAN_RECHECKED", data, fields)
            for task in tasks:
                if (revision := revised.get(task.id)) is not None:
                    ended = _list_ended_waivers(task, revision)
                    event = ChecksRevised(
                        replace(revision, number=number),
                        ended,
                        proof_is_void=is_proven(task),
                        feedback_is_void=_is_feedback_void(task, revision),
                    )
                    self._writer.write(tx, task, (event,))
            if not _is_cancelled(run, tasks):
                self._writer.reopen_run(tx, run_id)
            return list(revised), number

        return self._db.write(work)

    def _refuse_too_many_runs(self, tx: Transaction) -> None:
        row = tx.row("SELECT count(*) AS n FROM runs WHERE summed_ms IS NULL")
        pending = int(row["n"]) if row else 0
        if pending >= self._pending_runs_max:
            raise OverLimit(
                "runs that are not finished",
                pending + 1,
                self._pending_runs_max,
                hint="finish or cancel one first: yaoki status --all",
            )

    def _refuse_too_many_tasks(self, tasks: int) -> None:
        if tasks > self._pending_tasks_max:
            raise OverLimit(
                "tasks of one run",
                tasks,
                self._pending_tasks_max,
                hint="split the plan, or raise limits.pending_tasks in yaoki.toml",
            )

    def _refuse_more(self, tx: Transaction, run_id: RunId, specs: Sequence[TaskSpec]) -> None:
        """Another transaction may have taken a name since the caller looked it up."""
        self._refuse_too_many_tasks(task_count(tx, run_id) + len(specs))
        ids = load_ids_by_name(tx, run_id)
        taken_name = next((spec.name for spec in specs if spec.name in ids), "")
        if taken_name:
            sentence = f"run {run_id} has a task {taken_name!r} already: {ids[taken_name]}"
            raise NotNow(sentence, hint=f"yaoki status {run_id}")

    # -------------------------------------------------------------- pause

    def pause(
        self,
        run_id: RunId,
        pause: Pause,
        *,
        event: str = "",
        data: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        """Journal the cause and pause the run, both or neither."""

        def work(tx: Transaction) -> None:
            run = load_run(tx, run_id, lock=True)
            if run.pause_reason or run.finished_at is not None:
                return
            if event:
                self._writer.update_run(tx, run_id, event, data or {}, fields)
            self._writer.pause_run(tx, run_id, str(pause))

        self._db.write(work)

    def unpause(self, run_id: RunId, words: str, how: str = "") -> Run:
        """A person lets the run continue; after a budget pause the same budget is granted again."""

        def work(tx: Transaction) -> Run:
            run = load_run(tx, run_id, lock=True)
            if not run.pause_reason:
                raise NotNow(f"run {run.id} is not paused", hint=f"yaoki status {run.id}")
            fields: dict[str, Any] = {"paused": ""}
            if run.pause_cause is PauseCause.BUDGET:
                fields["grants"] = run.budget_grants + 1
            if run.pause_cause is PauseCause.FAILURE:
                fields |= {"failures_in_row": 0, "acknowledged": run.iteration or 1}
            data = {"was": run.pause_reason, "words": words, "how": how}
            self._writer.update_run(tx, run_id, "RUN_RESUMED", data, fields)
            return load_run(tx, run_id)

        return self._db.write(work)

    # -------------------------------------------------------------- progress and end

    def end_iterations(
        self, run_id: RunId, number: int, event: str, data: Mapping[str, Any]
    ) -> None:
        """Journal once why the iteration `number` was the last one.

        Another worker may have journalled it, or gone on, since the caller read the run.
        """

        def work(tx: Transaction) -> None:
            run = load_run(tx, run_id, lock=True)
            row = tx.row(sql.LAST_ENTRY, {"run_id": run_id, "event": event})
            last = json.loads(row["data"]) if row else {}
            same = all(last.get(key) == data[key] for key in ("iteration", "decision", "reason"))
            if not same and run.finished_at is None and (run.iteration or 1) == number:
                self._writer.append_event(tx, run_id, event, data)

        self._db.write(work)

    def update_run(self, run_id: RunId, event: str, data: Mapping[str, Any], **fields: Any) -> Run:
        """Journal an event of the run and change its columns `fields`."""

        def work(tx: Transaction) -> Run:
            run = load_run(tx, run_id, lock=True)
            if fields.get("summed_ms") and _cannot_be_summarized(tx, run):
                return run
            self._writer.update_run(tx, run_id, event, data, fields)
            return load_run(tx, run_id)

        return self._db.write(work)

    def summarize_run(
        self, run_id: RunId, summarize: Callable[[StateCounts], Mapping[str, Any] | None]
    ) -> None:
        """Finish a run with a summary of its tasks as they are in this transaction.

        Nothing happens when the run continues, already has its summary, or `summarize` gives None.
        """

        def work(tx: Transaction) -> None:
            run = load_run(tx, run_id, lock=True)
            rows = tx.rows(sql.TALLY, {"run_id": run_id})
            end = not _cannot_be_summarized(tx, run)
            data = summarize(tally_from_rows(rows)) if end else None
            if data is not None:
                fields = {"summed_ms": to_ms(self._clock.row_time())}
                self._writer.update_run(tx, run_id, "FINAL_SUMMARY", data, fields)

        self._db.write(work)


def _is_cancelled(run: Run, tasks: Sequence[Task]) -> bool:
    """A cancelled run cannot continue; any other that has ended must be proven again."""
    given_up = (task.state is State.CANCELLED for task in tasks if task.spec.required)
    return run.cancel_requested or any(given_up)


def _is_feedback_void(task: Task, revision: CheckRevision) -> bool:
    """The next agent must not do what a replaced check wanted."""
    failures = task.feedback.single_failures if task.feedback is not None else ()
    failed = [failure.check for failure in failures if failure.check]
    return bool(_list_changed_checks(task, revision, failed))


def _list_ended_waivers(task: Task, revision: CheckRevision) -> tuple[str, ...]:
    """A person who waived a check has not seen the new one; landed work keeps its waivers."""
    if task.state.is_final or (task.state is State.ACTIVE and task.stage is Stage.LAND):
        return ()
    return _list_changed_checks(task, revision, task.waivers)


def _list_changed_checks(
    task: Task, revision: CheckRevision, names: Sequence[str]
) -> tuple[str, ...]:
    """Those of the names whose checks are others in this revision; the built-in checks follow the
    rules.
    """
    old = {check.name: check for check in task.spec.checks}
    new = {check.name: check for check in revision.checks}
    rules = revision.list_changed_rules(task.spec)
    return tuple(
        name for name in names if old.get(name) != new.get(name) or (rules and name not in old)
    )


def _list_changed_rules(
    tasks: Sequence[Task], revised: Mapping[TaskId, CheckRevision]
) -> dict[str, tuple[str, ...]]:
    """The changed keys of each task whose rules change, by its name."""
    pairs = ((task.spec, revised[task.id]) for task in tasks if task.id in revised)
    rules = {spec.name: revision.list_changed_rules(spec) for spec, revision in pairs}
    return {name: keys for name, keys in rules.items() if keys}


def _recheck_message(
    number: int,
    checks: Sequence[str],
    tasks: Sequence[Task],
    revised: Mapping[TaskId, CheckRevision],
) -> str:
    rules = _list_changed_rules(tasks, revised)
    keys = [f"{name} ({', '.join(keys)})" for name, keys in rules.items()]
    subjects = [f"the checks {', '.join(checks)}"] if checks else []
    if not checks and _is_setup_changed(tasks, revised):
        subjects.append("the set-up")
    if keys:
        subjects.append(f"the rules of {list_some(keys, NAMES_SHOWN)}")
    verb = "was" if subjects == ["the set-up"] else "were"
    landed = _list_proven_before(checks, tasks, revised)
    before = f"; proven before that: {list_some(landed, NAMES_SHOWN)}" if landed else ""
    what = f"{' and '.join(subjects)} {verb}"
    return f"revision {number}: {what} taken over from the changed plan{before}"


def _list_proven_before(
    checks: Sequence[str], tasks: Sequence[Task], revised: Mapping[TaskId, CheckRevision]
) -> list[str]:
    """The tasks that landed with the earlier checks, or with the earlier set-up.

    Rules change only for work that has not landed.
    """
    if not checks and not _is_setup_changed(tasks, revised):
        return []
    return [
        task.spec.name
        for task in tasks
        if task.landed_commit and (not checks or any(c.name in checks for c in task.spec.checks))
    ]


def _is_setup_changed(tasks: Sequence[Task], revised: Mapping[TaskId, CheckRevision]) -> bool:
    return any(one.changes_setup(t.spec) for t in tasks if (one := revised.get(t.id)))


def _cannot_be_summarized(tx: Transaction, run: Run) -> bool:
    """A run is summarized once, by the first process that sees its end, and only at its end."""
    unfinished = tx.row(sql.UNFINISHED_WORK, {"run_id": run.id}) is not None
    return run.finished_at is not None or unfinished
