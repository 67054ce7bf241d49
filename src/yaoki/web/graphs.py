"""All tasks of a run and their needs, compact: written once for each view of the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yaoki.core.display import sound
from yaoki.core.model import TaskId
from yaoki.views import SCHEMA, RunView, TaskView
from yaoki.views.shape import Shape
from yaoki.web.asked import Asked
from yaoki.web.desk import Desk

FIELDS = (
    *("n", "name", "state", "stage", "kind", "attempt", "layer"),
    *("phase", "group", "blocked", "held", "required"),
)


@dataclass(frozen=True, slots=True)
class Written:
    """A document as it is sent; nothing in it is left to mask."""

    body: bytes


def graph(desk: Desk, asked: Asked) -> Written:
    cursor = desk.cursor
    return desk.made(asked.run, "graph", lambda view, shape: _written(desk, view, shape, cursor))


def _written(desk: Desk, view: RunView, shape: Shape, cursor: int) -> Written:
    numbers: dict[str, int] = {task.row.id: task.row.n for task in view.tasks}
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "cursor": cursor,
        "run": view.run.id,
        "layers": max(shape.layers.values(), default=-1) + 1,
        "fields": FIELDS,
        "nodes": [_node(desk, task, shape.layers, numbers) for task in view.tasks],
        "edges": [
            (numbers[need], numbers[task_id])
            for task_id, needs in shape.needs.items()
            for need in needs
            if need in numbers
        ],
    }
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return Written(sound(text).encode())


def _node(
    desk: Desk, task: TaskView, layers: Mapping[TaskId, int], numbers: Mapping[str, int]
) -> tuple[Any, ...]:
    row = task.row
    return (
        *(row.n, desk.clean(row.name), row.state.value, row.stage, row.kind, row.attempt),
        *(layers[row.id], desk.clean(row.phase) or None, numbers.get(row.parent)),
        *(task.blocked, row.held, row.required),
    )
