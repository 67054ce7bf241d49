"""The sentences that refuse a merge: they name what failed, and blame only work that is there."""

from __future__ import annotations

import pytest

from tests.builders import a_finding, a_run
from yaoki.core.model import Outcome, Run
from yaoki.core.model.outcome import TIMED_OUT_PARAM
from yaoki.engine.commands.merge_refusals import refuse_unfinished_check
from yaoki.errors import NotNow
from yaoki.ports import MergeKind, MergeResult

LATE = a_finding(Outcome.FAILED, "whole", message="not done", params={TIMED_OUT_PARAM: True})


def refuse_late_check(run: Run, *, is_empty: bool) -> NotNow:
    merge = MergeResult("main", "c0ffee", MergeKind.FAST_FORWARD, onto="beef")
    return refuse_unfinished_check(run, merge, LATE, "yaoki merge R --partial", is_empty=is_empty)


@pytest.mark.spec("9.6", "16.6", "10.4")
def test_a_late_check_of_an_undo_of_all_work_names_no_landed_task() -> None:
    run = a_run()

    refused, beside = (refuse_late_check(run, is_empty=empty) for empty in (True, False))

    where = f"on {run.branch}, where no task is landed: not done"
    assert refused.sentence == f"check whole did not finish within its timeout {where}"
    assert "the landed tasks" not in refused.sentence + refused.hint
    assert "on the landed tasks: not done" in beside.sentence
