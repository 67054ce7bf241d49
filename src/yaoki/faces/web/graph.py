"""All tasks of a run and their needs in compact form, encoded once per view of the run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import State, TaskId
from yaoki.core.text import replace_lone_surrogates
from yaoki.faces.web.parameters import PageRequest
from yaoki.faces.web.request_context import RequestContext
from yaoki.views import SCHEMA, RunView, TaskView
from yaoki.views.dependency_graph import DependencyGraph
from yaoki.views.tasks import is_proof

NODE_FIELDS = (
    *("n", "name", "state", "stage", "kind", "attempt", "layer"),
    *("phase", "group", "blocked", "held", "required", "proof"),
)


@dataclass(frozen=True, slots=True)
class EncodedDocument:
    """A document in its sent form, already masked."""

    body: bytes


def get_graph(context: RequestContext, request: PageRequest) -> EncodedDocument:
    cursor = context.cursor
    return context.cached(
        request.run, "graph", lambda view, shape: _encode(context, view, shape, cursor)
    )


def _encode(
    context: RequestContext, view: RunView, shape: DependencyGraph, cursor: int
) -> EncodedDocument:
    numbers: dict[str, int] = {task.row.id: task.row.n for task in view.tasks}
    proofs = proof_needs(view, shape)
    layers = {**shape.layers, **proof_layers(proofs, shape)}
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "cursor": cursor,
        "run": view.run.id,
        "layers": max(layers.values(), default=-1) + 1,
        "fields": NODE_FIELDS,
        "nodes": [_node(context, task, layers, numbers) for task in view.tasks],
        "edges": [
            (numbers[need], numbers[task_id])
            for task_id, needs in (*{**shape.needs, **proofs}.items(), *dropped_parts(view, shape))
            for need in needs
            if need in numbers
        ],
    }
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return EncodedDocument(replace_lone_surrogates(text).encode())


def proof_needs(view: RunView, shape: DependencyGraph) -> dict[TaskId, tuple[TaskId, ...]]:
    """The tasks before each final check, which depends on all tasks; no plan says so."""
    found: dict[TaskId, tuple[TaskId, ...]] = {}
    needed = {need for needs in shape.needs.values() for need in needs}
    ends = [t.row for t in view.tasks if t.row.id not in needed and not is_proof(t)]
    ends = [row for row in ends if row.state is not State.REPLACED and not row.parent]
    for proof in sorted((t.row for t in view.tasks if is_proof(t)), key=lambda row: row.n):
        before = [row.id for row in ends if row.n < proof.n]
        found[proof.id] = (*before, *list(found)[-1:])
    return found


def dropped_parts(
    view: RunView, shape: DependencyGraph
) -> Iterator[tuple[TaskId, tuple[TaskId, ...]]]:
    """Subtasks that their group landed without: no longer needed, but still part of it."""
    needed = {need for needs in shape.needs.values() for need in needs}
    for row in (task.row for task in view.tasks):
        alone = row.parent and row.id not in needed and row.state is State.CANCELLED
        group = TaskId(row.parent)
        if alone and shape.layers.get(group, 0) > shape.layers[row.id]:
            yield group, (row.id,)


def proof_layers(proofs: Iterable[TaskId], shape: DependencyGraph) -> dict[TaskId, int]:
    others = [layer for task_id, layer in shape.layers.items() if task_id not in set(proofs)]
    first = max(others, default=-1) + 1
    return {task_id: first + place for place, task_id in enumerate(proofs)}


def _node(
    context: RequestContext,
    task: TaskView,
    layers: Mapping[TaskId, int],
    numbers: Mapping[str, int],
) -> tuple[Any, ...]:
    row = task.row
    return (
        *(row.n, context.clean_text(row.name), row.state.value, row.stage, row.kind, row.attempt),
        *(layers[row.id], context.clean_text(row.phase) or None, numbers.get(row.parent)),
        *(task.blocked, row.awaiting_rerun, row.required, is_proof(task)),
    )
