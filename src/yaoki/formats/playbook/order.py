"""The order of the phases, and the tasks that complete each phase."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from yaoki.formats.playbook.model import PlaybookPhaseModel


def known_needs(phases: Sequence[PlaybookPhaseModel]) -> dict[str, list[str]]:
    """The needs of each phase by id, without unknown names; p_final waits for all phases anyway."""
    known = {phase.id for phase in phases if not phase.is_final}
    return {
        phase.id: [need for need in phase.depends_on if need in known]
        for phase in phases
        if not phase.is_final
    }


def order_phases(phases: Sequence[PlaybookPhaseModel]) -> dict[str, list[str]]:
    """The needs of each phase, in topological order; a circle is already a defect."""
    needs = known_needs(phases)
    try:
        return {name: needs[name] for name in TopologicalSorter(needs).static_order()}
    except CycleError:
        return {name: [] for name in needs}


def phase_ends(
    phases: Sequence[PlaybookPhaseModel], needs: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """The tasks that complete each phase: its last open task, or those of its needs."""
    open_ = {phase.id: [box.id for box in phase.open_subtasks] for phase in phases}
    last_tasks: dict[str, list[str]] = {}
    for name, phase_needs in needs.items():
        before: Iterable[str] = (end for need in phase_needs for end in last_tasks[need])
        last_tasks[name] = open_[name][-1:] or list(dict.fromkeys(before))
    return last_tasks
