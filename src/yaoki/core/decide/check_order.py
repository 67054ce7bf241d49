"""The order in which the checks of a candidate run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from yaoki.core.model import CheckSpec
from yaoki.core.model.check_types import AGENT_CHECKS


def order_checks(
    checks: Iterable[tuple[int, CheckSpec]], seconds: Mapping[str, float]
) -> list[tuple[int, CheckSpec]]:
    """Short checks first, then judges, which read the results of the others.

    Durations are compared in whole seconds: for less the order of the plan is kept, and without a
    known duration as well.
    """
    return sorted(
        checks,
        key=lambda one: (one[1].type in AGENT_CHECKS, int(seconds.get(one[1].name, 0.0))),
    )
