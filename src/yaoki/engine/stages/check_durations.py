"""How long each check took last, and the order of checks that follows from it."""

from __future__ import annotations

from yaoki.core.bounded_cache import BoundedCache
from yaoki.core.decide.baseline import command_key
from yaoki.core.decide.check_order import order_checks
from yaoki.core.model import CheckSpec, Finding, Outcome, Task
from yaoki.core.model.check_types import PROGRAM_CHECKS
from yaoki.ports import Baselines


class CheckDurations:
    """Remembers durations in this process; the stored findings of landed commits have more."""

    def __init__(self, baselines: Baselines) -> None:
        self._baselines = baselines
        self._seconds: BoundedCache[str, float] = BoundedCache()

    def record(self, task: Task, spec: CheckSpec, finding: Finding) -> None:
        if finding.outcome is not Outcome.BROKEN:
            self._seconds[command_key(spec, task.spec.setup)] = finding.seconds

    def in_order(self, task: Task, onto: str) -> list[tuple[int, CheckSpec]]:
        """The checks with their numbers in the plan; in its order while a duration is unknown."""
        numbered = list(enumerate(task.spec.checks, start=1))
        known: dict[str, float] = {}
        for _, spec in numbered if len(numbered) > 1 else ():
            seconds = self._last(task, spec, onto)
            if seconds is None:
                return order_checks(numbered, {})
            known[spec.name] = seconds
        return order_checks(numbered, known)

    def _last(self, task: Task, spec: CheckSpec, onto: str) -> float | None:
        """The duration in this process, or on `onto`, the commit below the candidate."""
        if spec.type not in PROGRAM_CHECKS:
            return 0.0
        key = command_key(spec, task.spec.setup)
        if key not in self._seconds:
            stored = self._baselines.baseline(onto, key)
            return stored.seconds if stored is not None else None
        return self._seconds[key]
