"""Invariants that hold after any number of kills, and comparable endings of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tests.simulation.fake_workspace import DictWorkspace
from tests.simulation.worker_lives import RUN, Scene, WorkerLife
from tests.simulation.world import Accesses
from yaoki.adapters.store import SqlStore
from yaoki.core.decide.cures import judge_treatment
from yaoki.core.machine.codec import event_from_data
from yaoki.core.machine.events import PromptSent
from yaoki.core.model import Catalogue, State, TaskKind
from yaoki.core.model.treatment import Treatment
from yaoki.ports import JournalEntry, without_undone

# The events that can end an attempt.
ENDS = frozenset({"RETRY_DECISION", "ESCALATE_DECISION", "RERUN_HELD", "TASK_LANDED"})
# Kills must not change the number of these entries.
ONCE = frozenset(
    {
        *("USER_REQUEST", "PLAN_SUBMITTED", "PLAN_EXTENDED", "TASK_SUBMITTED", "TASKS_PLANNED"),
        *("PHASE_FILLED", "PHASE_REOPENED", "PHASE_REFUSED", "PHASE_TIMED_OUT"),
        *("TASK_LANDED", "TASK_UNLANDED", "TASK_UNDONE", "UNDO_REQUESTED", "UNDO_DROPPED"),
        *("TASK_BLAMED", "TASK_BLOCKED", "TASK_REVIVED", "TASK_REPLACED", "TASK_CANCELLED"),
        *("RERUN_HELD", "RERUN_GRANTED", "RECOVERY_START", "RECOVERY_COMPLETE"),
        *("SNAPSHOT_RESTORE", "REPLAN_REQUESTED", "ITERATION_FINISHED", "AGENT_FINISHED"),
        *("RUN_PAUSED", "RUN_RESUMED", "RUN_REOPENED", "BUDGET_WARNING", "FINAL_SUMMARY"),
        *("ESCALATE_DECISION", "ESCALATE_EXECUTED", "ESCALATION_ANSWERED", "NOTICE_SENT"),
        *("RACE_STARTED", "RACE_DECIDED", "CANDIDATE_SETTLED", "CANDIDATE_RETIRED"),
        *("JUDGE_CALLED", "JUDGE_ENDED", "JUDGE_SETTLED"),
    }
)


@dataclass(frozen=True)
class Ending:
    """Names in place of ids and commits, so that endings can be compared."""

    states: Mapping[str, str]
    tree: Mapping[str, str]
    lines: Mapping[str, Mapping[str, str]]
    tries: Mapping[str, int]
    counts: Mapping[str, tuple[int, int]]
    needs: Mapping[str, frozenset[str]]
    told: Mapping[tuple[str, str], int]
    run: tuple[Any, ...]
    cascades: Sequence[tuple[str, str, tuple[str, ...]]]
    touches: tuple[str, ...]

    def differs(self, other: Ending) -> list[str]:
        """In words; the touches of a shorter life are no difference."""
        found = []
        for name in (
            "states",
            "tree",
            "lines",
            "tries",
            "counts",
            "needs",
            "told",
            "run",
            "cascades",
        ):
            mine, its = getattr(self, name), getattr(other, name)
            if mine != its:
                found.append(f"{name}: {_between(mine, its)}")
        return found


def _between(mine: Any, its: Any) -> str:
    if not isinstance(mine, Mapping):
        return f"{mine} against {its}"
    keys = [key for key in {**mine, **its} if mine.get(key) != its.get(key)]
    return ", ".join(f"{key}: {mine.get(key)} against {its.get(key)}" for key in keys)


def ending(life: WorkerLife) -> Ending:
    """Check every invariant; then a further reconciliation must change nothing."""
    lines = check_invariants(life)
    check_idle(life)
    store, world = life.real, life.world
    rows = store.rows(RUN)
    names: dict[str, str] = {row.id: row.name for row in rows}
    tasks = {row.name: store.task(row.id) for row in rows}
    run = store.run(RUN)
    told = Counter((e.event, names.get(e.task_id, "")) for e in lines if e.event in ONCE)
    return Ending(
        states={row.name: row.state.value for row in rows},
        tree=dict(world.tree(world.refs[run.branch])),
        lines={
            ref: dict(world.tree(commit)) for ref, commit in world.refs.items() if ref != run.branch
        },
        tries={name: t.counts.attempts - t.counts.interruptions for name, t in tasks.items()},
        counts={name: (t.counts.reruns, t.counts.replans) for name, t in tasks.items()},
        needs={
            names[task_id]: frozenset(names[n] for n in wanted)
            for task_id, wanted in store.needs(RUN).items()
        },
        told=told,
        run=(run.iteration, run.failures_in_row, run.budget_grants, run.revision, run.pause_reason),
        cascades=sorted(
            (e.event, names[e.task_id], tuple(names[one] for one in e.data["tasks"]))
            for e in lines
            if e.event in {"TASK_BLOCKED", "TASK_REVIVED"}
        ),
        touches=tuple(life.touch.names),
    )


def journal(store: SqlStore) -> list[JournalEntry]:
    return store.journal(run_id=RUN, limit=100_000)


def check_invariants(life: WorkerLife) -> list[JournalEntry]:
    """What must hold however often the worker died; the journal, read once."""
    world, store = life.world, life.real
    misfolded = store.audit(RUN)
    assert not misfolded, f"the journal does not fold to the rows: {misfolded}"
    assert all(n == 1 for n in world.starts.values()), "no attempt's agent starts twice"
    assert len(set(world.landings)) == len(world.landings), "no commit lands twice"
    assert set(world.landings) <= world.proven, "nothing lands unproven"
    check_reverts(life)
    told = journal(store)
    bugs = [e.data["traceback"] for e in told if "traceback" in e.data]
    assert not bugs, bugs
    check_rows(store, told)
    check_order(store, told)
    check_bounds(store, told)
    check_notices(life, told)
    check_treatments(store, told)
    return told


def check_reverts(life: WorkerLife) -> None:
    """A revert on the run branch was verified, unless it left nothing to verify; a commit with the
    same files counts, as its verdict is reused.
    """
    world = life.world
    proven = [world.tree(commit) for commit in world.proven]
    steps = DictWorkspace(world, Accesses()).list_landings(life.run())
    for at, revert in enumerate(steps):
        last = at + 1 == len(steps) or steps[at + 1].commit != revert.commit
        if revert.undoes and last and without_undone(steps[: at + 1]):
            assert world.tree(revert.commit) in proven, f"{revert.commit} reverts unproven"


def check_rows(store: SqlStore, told: Sequence[JournalEntry]) -> None:
    paused = bool(store.run(RUN).pause_reason)
    for row in store.rows(RUN):
        mine = [entry for entry in told if entry.task_id == row.id]
        assert row.state is not State.ACTIVE, f"{row.name} is in limbo"
        assert not row.awaiting_rerun, f"{row.name} is held for ever"
        assert not row.undo_requested, f"{row.name} waits to be taken back for ever"
        waits = row.state is State.WAITING
        assert not waits or row.open_needs or paused, f"{row.name} waits for nothing"
        epochs = [entry.data["epoch"] for entry in mine if entry.event == "TASK_CLAIMED"]
        assert epochs == list(range(1, len(epochs) + 1)), "epochs never fall"
        by_hand = any(e.event == "TASKS_PLANNED" and e.data.get("by") for e in mine)
        landed = current_rows(mine) or by_hand
        # A final check is replaced when the branch has moved.
        replaced = row.state is State.REPLACED and row.kind == TaskKind.CHECK
        done = row.state is State.DONE or (replaced and landed)
        assert landed == done, f"{row.name}: one landing per task"


def current_rows(entries: Sequence[JournalEntry]) -> bool:
    """Landings without reverted ones."""
    count = 0
    for entry in entries:
        count += entry.event == "TASK_LANDED"
        count -= entry.event in {"TASK_UNLANDED", "TASK_UNDONE"}
        assert count in {0, 1}, f"{entry.task_id} landed twice, or was taken back twice"
    return bool(count)


def check_order(store: SqlStore, told: Sequence[JournalEntry]) -> None:
    """No task lands before its needs, nor on a reverted landing."""
    by_task: dict[str, list[JournalEntry]] = {}
    for entry in told:
        by_task.setdefault(entry.task_id, []).append(entry)
    for task_id, needs in store.needs(RUN).items():
        landings = [e.seq for e in by_task.get(task_id, ()) if e.event == "TASK_LANDED"]
        for seq in landings:
            for need in needs:
                assert _done_by(by_task[need], seq), f"{task_id} landed before {need}"


def _done_by(entries: Sequence[JournalEntry], seq: int) -> bool:
    before = [entry for entry in entries if entry.seq < seq]
    return current_rows(before) or any(
        e.event == "TASKS_PLANNED" and e.data.get("by") for e in before
    )


def check_bounds(store: SqlStore, told: Sequence[JournalEntry]) -> None:
    """Re-runs once per lineage, replans at most three times, each iteration once."""
    tasks = [store.task(row.id) for row in store.rows(RUN)]
    granted: Counter[str] = Counter()
    for task in tasks:
        own = [e for e in told if e.task_id == task.id and e.event == "RERUN_GRANTED"]
        granted[task.lineage or task.id] += len(own)
        if task.spec.kind is TaskKind.GROUP:
            assert task.counts.reruns <= 2, f"{task.spec.name} was recovered again and again"
    assert max(granted.values(), default=0) <= 1, f"a second re-run: {granted}"
    assert sum(task.spec.name.startswith("replan-") for task in tasks) <= 3
    ended = [e.data for e in told if e.event == "ITERATION_FINISHED"]
    numbers = [data["iteration"] for data in ended if data["decision"] == "next"]
    assert numbers == list(range(1, len(numbers) + 1)), "an iteration was counted twice"


def check_notices(life: WorkerLife, told: Sequence[JournalEntry]) -> None:
    """Delivered at least once, marked once."""
    sent = [entry.data["notice"] for entry in told if entry.event == "NOTICE_SENT"]
    assert sorted(set(life.world.heard)) == sorted(sent), "every notice heard is marked once"
    assert life.real.count_waiting_notices() == 0


def check_treatments(store: SqlStore, told: Sequence[JournalEntry]) -> None:
    """Each retry is counted once, and decided as its journal says."""
    sent: Counter[Treatment] = Counter()
    results: Counter[tuple[Treatment, bool]] = Counter()
    open_: dict[str, Treatment | None] = {}
    for entry in told:
        if entry.event == PromptSent.NAME:
            event = event_from_data(entry.event, entry.data, Catalogue())
            assert isinstance(event, PromptSent)
            treatment = open_[entry.task_id] = event.treatment
            sent.update([treatment] if treatment else [])
        elif entry.event in ENDS and (treatment := open_.get(entry.task_id)):
            event = event_from_data(entry.event, entry.data, Catalogue())
            cured = judge_treatment(treatment, event)
            if cured is not None:
                results[treatment, cured] += 1
                open_[entry.task_id] = None
    assert {
        one.treatment: (one.sent, one.cured, one.failed) for one in store.treatment_counts()
    } == {one: (count, results[one, True], results[one, False]) for one, count in sent.items()}


def check_idle(life: WorkerLife) -> None:
    """By another process an hour later: a reconcile may clear worktrees away, a second one changes
    no row and adds no line.
    """
    refs, seen = dict(life.world.refs), _written(life)
    life.world.time += timedelta(hours=1)
    scene = Scene(life.world, life.home)
    later = WorkerLife(scene, "later:1", Accesses(), store=life.real)
    _reconcile(later)
    once = _written(life)
    more = [entry.event for entry in life.real.journal(after=seen.lines)]
    assert set(more) <= {"RECONCILED"}, f"a reconcile at the end told {more}"
    assert once.rows - seen.rows == len(more), "a reconcile at the end changed more than it told"
    _reconcile(later)
    assert _written(life) == once, "a second reconcile changed something"
    assert life.world.refs == refs, "a reconcile at the end moved a branch"


def _reconcile(later: WorkerLife) -> None:
    later.reconcile()
    assert later.worker.claim(9, [RUN]) == []
    assert later.closing.complete(RUN)
    assert later.sending.deliver() == 0


@dataclass(frozen=True)
class Written:
    """How many rows this connection has changed so far, and where the journal ends."""

    rows: int
    lines: int


def _written(life: WorkerLife) -> Written:
    changes = life.real.database.write(lambda link: link.row("SELECT total_changes() AS n"))
    assert changes is not None
    return Written(changes["n"], life.real.last_seq())
