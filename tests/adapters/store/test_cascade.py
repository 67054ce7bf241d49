"""A failed task blocks its dependents in one transaction; its replacement revives them."""

from __future__ import annotations

import pytest

from tests.adapters.store.store_actions import (
    claim_one,
    escalate,
    events_of,
    finish,
    names,
    plan,
    submit,
)
from tests.builders import MINUTE, RUN_ID, a_spec
from yaoki.adapters.store import SqlStore
from yaoki.core.machine.events import LandingReverted, Planned
from yaoki.core.machine.request_events import Answered, UndoRequested
from yaoki.core.model import (
    Choice,
    PlannedBy,
    PlanningBrief,
    PlanningRole,
    RunId,
    State,
    TaskId,
    TaskKind,
)
from yaoki.ports import Claimant

RUN = RunId(RUN_ID)
DIAMOND = plan(root=[], left=["root"], right=["root"], low=["left", "right"], last=["low"])


def ready(store: SqlStore) -> list[str]:
    return sorted(names(store.claim(Claimant("looker:1", MINUTE), 1_000)))


@pytest.mark.full
@pytest.mark.spec("8.5", "0.3")
def test_ten_thousand_dependents_are_blocked_in_one_entry_and_revived_by_one_answer(
    store: SqlStore,
) -> None:
    fan = [a_spec(f"d{n}", needs=("root",)) for n in range(10_000)]
    (root, *_) = submit(store, a_spec("root"), *fan)
    before = store.last_seq()

    escalate(store, claim_one(store))

    (blocked,) = [e for e in store.journal(after=before) if e.event == "TASK_BLOCKED"]
    assert blocked.data["dependents"] == 10_000
    assert blocked.data["cause"] == root
    assert store.is_idle(RUN)

    store.amend(root, lambda task: (Answered(Choice.RETRY, "", "", task.counts),))
    finish(store, claim_one(store))

    assert events_of(store, root).count("TASK_REVIVED") == 1
    assert len(ready(store)) == 1_000


@pytest.mark.spec("8.5", "9.2", "5.2")
def test_a_replacement_takes_over_the_dependents_and_the_counts(store: SqlStore) -> None:
    """Four levels and a diamond: exactly the dependents of the replaced task continue."""
    root, *_ = submit(store, *DIAMOND, a_spec("other"))
    failed = escalate(store, claim_one(store))

    (heir,) = store.add_tasks(RUN, [a_spec("heir")], replaces={"heir": root}, event="PLAN_EXTENDED")

    assert store.task(root).state is State.REPLACED
    new = store.task(heir)
    assert (new.lineage, new.counts) == (root, failed.counts)
    assert store.needs(RUN)[TaskId(f"{RUN_ID}-2")] == (heir,)
    assert events_of(store, root)[-2:] == ["TASK_REPLACED", "TASK_REVIVED"]
    assert ready(store) == ["heir", "other"]
    for task in (store.task(heir), store.task(f"{RUN_ID}-6")):
        finish(store, task)
    assert ready(store) == ["left", "right"]
    assert store.audit(RUN) == []


@pytest.mark.spec("9.1", "1.2")
def test_dependents_of_a_plan_task_depend_on_the_tasks_that_it_plans(store: SqlStore) -> None:
    """They wait only for required new tasks that no other new task needs."""
    new_specs = (
        a_spec("first"),
        a_spec("second", needs=("first",)),
        a_spec("extra", required=False),
    )
    fill = a_spec(
        "fill",
        kind=TaskKind.PLAN,
        planning_brief=PlanningBrief(role=PlanningRole.PHASE, phase="build"),
    )
    plan_id, after = submit(store, fill, a_spec("after", needs=("fill",)))

    spec_names = tuple(spec.name for spec in new_specs)
    store.amend(plan_id, lambda _: (Planned(spec_names, by=PlannedBy.PERSON, specs=new_specs),))

    assert store.task(plan_id).state is State.DONE
    second = store.task(f"{RUN_ID}-4")
    assert store.needs(RUN)[after] == (plan_id, second.id)
    assert ready(store) == ["extra", "first"]
    finish(store, store.task(f"{RUN_ID}-3"))
    assert ready(store) == ["second"]
    finish(store, store.task(second.id))
    assert ready(store) == ["after"]
    assert store.audit(RUN) == []


@pytest.mark.spec("8.5", "9.6")
def test_no_task_starts_on_work_that_is_about_to_be_reverted(store: SqlStore) -> None:
    one, _ = submit(store, *plan(one=[], two=["one"]))
    finish(store, claim_one(store))

    store.amend(one, lambda task: (UndoRequested(task.landed_commit),))

    assert ready(store) == []
    store.amend(one, lambda _: (LandingReverted("head", "taken back"),))
    assert ready(store) == ["one"]
    finish(store, store.task(one))
    assert ready(store) == ["two"]
    assert store.audit(RUN) == []
