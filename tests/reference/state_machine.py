"""docs/reference/state-machine.md: the states and stages of a task, explored by `legal`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from tests.builders import a_spec, a_task
from tests.core.event_makers import EVENT_MAKERS
from tests.reference.diagram import draw
from yaoki.core.machine.events import RowRefused, Submitted, event_name
from yaoki.core.machine.evolution import evolve
from yaoki.core.machine.legality import legal
from yaoki.core.model import Stage, State, Task, TaskKind

Step = tuple[str, Task, Task]
EVERYWHERE = RowRefused.NAME
HEAD = """\
# The state machine of a task

A task is in one of six states. While it is active, its stage names the next piece of work. Only
the [events](events.md) below change a task; each is a line of the journal, and applying these lines
in order yields the task. This page is generated from the code by `python -m tests.reference`, which
tries every event on every reachable task, and a test compares it.

## States

A column is a state. An arrow leads from the state before to the state after, and its label lists
the events that cause it. A task begins in `WAITING`, with `{first}`. `{everywhere}` is not
drawn: it leads from every state to `WAITING`, and a question to a person follows in the same
transaction.

![Six states, and the events that lead from one to another](../images/states.svg)
"""
STAGES = """
## Stages of an active task

A column is a stage. A task begins in `PREPARE`; a later claim continues at the stage where the
last claim ended.

![Four stages, and the events that lead from one to another](../images/stages.svg)
"""
TABLE = """
## Events

`same` means that the event does not change the state.

| event | happens in | leads to |
|---|---|---|
"""


def page() -> str:
    head = HEAD.format(everywhere=EVERYWHERE, first=Submitted.NAME)
    return head + STAGES + TABLE + "".join(_rows())


def states_image() -> str:
    return draw("The states of a task", [*State.__members__], _sorted(_state_arrows()))


def stages_image() -> str:
    return draw("The stages of an active task", [*Stage.__members__], _sorted(_stage_arrows()))


@cache
def steps() -> tuple[Step, ...]:
    """Every legal step from every situation that a task can be in, one example each."""
    kinds = (TaskKind.CHANGE, TaskKind.CHECK, TaskKind.PLAN, TaskKind.GROUP)
    found: list[Step] = []
    waiting = [a_task(spec=a_spec(kind=kind)) for kind in kinds]
    known = {_situation(task) for task in waiting}
    while waiting:
        before = waiting.pop()
        for event in (make(before) for make in EVENT_MAKERS):
            if not legal(before, event):
                continue
            after = evolve(before, event)
            found.append((event_name(event), before, after))
            if _situation(after) not in known:
                known.add(_situation(after))
                waiting.append(after)
    return tuple(found)


def _situation(task: Task) -> tuple[object, ...]:
    """The fields that `legal` reads."""
    place = task.state, task.stage, task.waiting_for, task.request
    return *place, task.spec.kind, bool(task.work.verified_commit)


def _state_arrows() -> Mapping[tuple[str, str], list[str]]:
    drawn = (step for step in steps() if step[0] != EVERYWHERE)
    return _by_arrow((name, before.state, after.state) for name, before, after in drawn)


def _stage_arrows() -> Mapping[tuple[str, str], list[str]]:
    active = (
        (name, before.stage, after.stage)
        for name, before, after in steps()
        if before.state is after.state is State.ACTIVE
    )
    return _by_arrow(active)


def _by_arrow(
    moves: Iterable[tuple[str, State | Stage, State | Stage]],
) -> Mapping[tuple[str, str], list[str]]:
    arrows: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, start, end in moves:
        if start is not end and name not in arrows[start.value, end.value]:
            arrows[start.value, end.value].append(name)
    return arrows


def _sorted(arrows: Mapping[tuple[str, str], list[str]]) -> Mapping[tuple[str, str], list[str]]:
    order = [*State.__members__, *Stage.__members__]
    by_place = sorted(arrows, key=lambda arrow: [order.index(word) for word in arrow])
    return {arrow: sorted(arrows[arrow]) for arrow in by_place if arrows[arrow]}


def _rows() -> Iterator[str]:
    names = sorted({name for name, _, _ in steps()})
    for name in names:
        mine = [(before, after) for other, before, after in steps() if other == name]
        starts = {state: _stages(mine, state) for state in State}
        places = ", ".join(f"{state}{where}" for state, where in starts.items() if where != "-")
        yield f"| [`{name}`](events.md#{name.lower()}) | {places} | {_ends(mine)} |\n"


def _stages(mine: Iterable[tuple[Task, Task]], state: State) -> str:
    """The stages, where an active task must be in a certain one."""
    stages = {before.stage for before, _ in mine if before.state is state}
    if not stages:
        return "-"
    if state is not State.ACTIVE or stages == set(Stage):
        return ""
    return f" ({', '.join(stage for stage in Stage if stage in stages)})"


def _ends(mine: Iterable[tuple[Task, Task]]) -> str:
    ends = {after.state if after.state is not before.state else None for before, after in mine}
    named = [state.value for state in State if state in ends]
    return ", ".join((*named, *(["same"] if None in ends else [])))
