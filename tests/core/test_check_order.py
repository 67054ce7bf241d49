"""The order of checks: short ones first, judges last."""

from __future__ import annotations

import pytest

from yaoki.core.decide.check_order import order_checks
from yaoki.core.model import CheckSpec, CheckType

pytestmark = pytest.mark.spec("3.3", "17.7")


def test_checks_are_ordered_by_whole_seconds_and_judges_are_last() -> None:
    judge = CheckSpec("judge", CheckType.JUDGE)
    names = ("judge", "slow", "quick", "quicker")
    checks = [(n, judge if name == "judge" else CheckSpec(name)) for n, name in enumerate(names)]
    seconds = {"slow": 2.0, "quick": 0.9, "quicker": 0.1, "judge": 0.0}

    known = [spec.name for _, spec in order_checks(checks, seconds)]
    unknown = [n for n, _ in order_checks(checks, {})]

    assert known == ["quick", "quicker", "slow", "judge"]
    assert unknown == [1, 2, 3, 0]
