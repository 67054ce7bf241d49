"""The order of tasks: needs, phases, final tasks, and circles among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from yaoki.core.graph import find_cycle
from yaoki.formats.plan.defects import KeyPath

if TYPE_CHECKING:
    from yaoki.formats.plan.draft import Draft, PlacedTask
    from yaoki.formats.plan.model import PhaseModel

NEEDS_MAX = 500_000
CIRCLES_MAX = 20
SHOWN_MAX = 20

NeedsByName = dict[str, tuple[str, ...]]
LinkSources = dict[KeyPath, tuple[str, list[str]]]


def judge_order(draft: Draft) -> None:
    _phases(draft)
    names = {placed.task.id for placed in draft.tasks if placed.task.id}
    final = {placed.task.id for placed in draft.tasks if placed.is_final}
    inside = {one.task.id: one.group for one in draft.tasks if one.group}
    for placed in draft.tasks:
        _needs(draft, placed, names, final, inside)
    given = [placed.task.id for placed in draft.tasks if placed.task.id]
    # With an id that two tasks have, the need of one of them would look like that of the other.
    if not _too_many(draft) and len(given) == len(names):
        written: LinkSources = {p.path_of(): (p.task.id, p.task.needs) for p in draft.tasks}
        _circles(draft, collect_needs(draft), written, "tasks")


def _needs(
    draft: Draft, placed: PlacedTask, names: set[str], final: set[str], inside: Mapping[str, str]
) -> None:
    """`inside` maps each subtask to its group."""
    draft.add_references("task", placed.path_of("needs"), placed.task.needs, names)
    for index, name in enumerate(placed.task.needs):
        if name in final and not placed.is_final:
            reason = f"{name!r} is a final task and runs after this one"
            draft.defects.add(placed.path_of("needs", index), reason)
        elif inside.get(name, placed.group) != placed.group:
            reason = f"{name!r} is a subtask, whose work lands with its group {inside[name]!r}"
            draft.defects.add(placed.path_of("needs", index), f"{reason}; need the group")
        elif name == placed.group:
            draft.defects.add(placed.path_of("needs", index), "a subtask cannot need its own group")


# ------------------------------------------------------------------ phases


def _phases(draft: Draft) -> None:
    phases, defects = draft.plan.phases, draft.defects
    names = {phase.id for phase in phases if phase.id}
    filled, earlier = {placed.phase for placed in draft.tasks}, set[str]()
    for n, phase in enumerate(phases):
        at: KeyPath = ("phases", n)
        if not phase.id:
            defects.add_missing(at, "id is missing", "id")
        elif phase.id in earlier:
            defects.add((*at, "id"), f"phase {phase.id!r} appears a second time")
        elif phase.deferred and phase.tasks:
            defects.add(
                (*at, "tasks"),
                "a deferred phase has no tasks yet; remove the tasks or deferred: true",
            )
        elif phase.id not in filled:
            reason = f"phase {phase.id!r} has no tasks; deferred: true lets it be filled later"
            defects.add_missing(at, reason, "tasks")
        _only_deferred(draft, at, phase)
        earlier.add(phase.id)
        draft.add_references("phase", (*at, "needs"), phase.needs, names)
    for placed in draft.tasks:
        _phase_of(draft, placed, names)
    needs = {phase.id: tuple(phase.needs) for phase in phases if phase.id}
    written: LinkSources = {
        ("phases", n): (phase.id, phase.needs) for n, phase in enumerate(phases)
    }
    _circles(draft, needs, written, "phases")


def _only_deferred(draft: Draft, at: KeyPath, phase: PhaseModel) -> None:
    draft.add_references("agent", (*at, "agent"), phase.agent, draft.agent_names)
    if phase.deferred:
        return
    for key in ("goal", "agent", "constraints", "deadline"):
        if phase.is_given(key):
            draft.defects.add((*at, key), f"{key} is for a deferred phase; add deferred: true")


def _phase_of(draft: Draft, placed: PlacedTask, names: set[str]) -> None:
    named, path = placed.task.phase, placed.path_of("phase")
    if not placed.task.is_given("phase"):
        return
    if placed.is_final:
        draft.defects.add(path, "a final task belongs to no phase")
    elif named != placed.phase:
        draft.defects.add(path, f"is in phase {placed.phase!r} but names {named!r}")
    else:
        draft.add_reference("phase", path, named, names)


# ------------------------------------------------------------------ needs of every task


def collect_needs(draft: Draft) -> NeedsByName:
    """The needs of each task by name: its own, those of its phase, those of a final task."""
    needs_by_name: NeedsByName = {}
    for placed in draft.tasks:
        if placed.task.id:
            own = needs_by_name.get(placed.task.id, ())
            needs_by_name[placed.task.id] = tuple(dict.fromkeys((*own, *placed.task.needs)))
    for members, before in _groups(draft):
        inside = {placed.task.id for placed in members}
        for placed in members:
            if placed.task.id and inside.isdisjoint(placed.task.needs):
                own = needs_by_name[placed.task.id]
                needs_by_name[placed.task.id] = tuple(dict.fromkeys((*own, *before)))
    return _with_groups(draft, needs_by_name)


def _with_groups(draft: Draft, needs_by_name: NeedsByName) -> NeedsByName:
    """A subtask waits for everything its group waits for; the group waits for its subtasks."""
    members: dict[str, list[str]] = {}
    for placed in draft.tasks:
        if placed.group and placed.task.id:
            members.setdefault(placed.group, []).append(placed.task.id)
    for group, inside in members.items():
        before = needs_by_name.get(group, ())
        for name in inside:
            needs_by_name[name] = tuple(dict.fromkeys((*needs_by_name[name], *before)))
        needs_by_name[group] = tuple(dict.fromkeys((*before, *inside)))
    return needs_by_name


def _groups(draft: Draft) -> list[tuple[list[PlacedTask], list[str]]]:
    """Lists of tasks, each with the names of the tasks that all of them wait for."""
    usual = [placed for placed in draft.tasks if not placed.is_final and not placed.group]
    of_phase: dict[str, list[PlacedTask]] = {phase.id: [] for phase in draft.plan.phases}
    for placed in usual:
        of_phase.setdefault(placed.phase, []).append(placed)
    last_tasks = {name: frontier(group) for name, group in of_phase.items() if name}
    needs = {phase.id: phase.needs for phase in draft.plan.phases if phase.id}
    groups = [
        (
            of_phase[name],
            [end for need in dict.fromkeys(phase_needs) for end in last_tasks.get(need, ())],
        )
        for name, phase_needs in needs.items()
    ]
    final = [placed for placed in draft.tasks if placed.is_final and not placed.group]
    return [*groups, (final, frontier(usual) if final else [])]


def frontier(group: Sequence[PlacedTask]) -> list[str]:
    """The tasks that complete a group once they are done.

    Optional tasks block nothing, unless the group has no other task.
    """
    pool = [placed for placed in group if placed.task.required] or list(group)
    needed = {need for placed in pool for need in placed.task.needs}
    return [placed.task.id for placed in pool if placed.task.id and placed.task.id not in needed]


def _too_many(draft: Draft) -> bool:
    number = sum(len(members) * len(before) for members, before in _groups(draft))
    if number > NEEDS_MAX:
        reason = f"phases and final tasks make {number} needs, over the limit of {NEEDS_MAX}"
        draft.defects.add(("phases",), f"{reason}; add one task that needs all of them")
    return number > NEEDS_MAX


# ------------------------------------------------------------------ circles


def _circles(draft: Draft, needs: NeedsByName, written: LinkSources, noun: str) -> None:
    """Report each circle once: after each one, drop one of its links and search again."""
    known = {
        name: [need for need in task_needs if need in needs] for name, task_needs in needs.items()
    }
    for _ in range(CIRCLES_MAX):
        path = find_cycle(known)
        if path is None:
            return
        reason = f"{noun} need each other in a circle: {' needs '.join(path[:SHOWN_MAX])}"
        rest = "" if len(path) <= SHOWN_MAX else f" and {len(path) - SHOWN_MAX} more"
        draft.defects.add(_link(written, path[0], path[1]), reason + rest)
        known[path[0]] = [need for need in known[path[0]] if need != path[1]]


def _link(written: LinkSources, start: str, following: str) -> KeyPath:
    """The path of the need that closes the circle, or of the task if its phase adds the need."""
    for path, (name, needs) in written.items():
        if name == start and following in needs:
            return (*path, "needs", needs.index(following))
    return next(path for path, (name, _) in written.items() if name == start)
