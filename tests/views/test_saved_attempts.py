"""How far the work of an attempt came, by its journal."""

from __future__ import annotations

import pytest

from tests.views.test_history import FAILURE, entry
from yaoki.views.history import build_history
from yaoki.views.saved_attempts import SavedAttempt, WorkEnd, judge_attempt


def judge(*outcomes: str) -> SavedAttempt:
    """The attempt after these verifications, with the entries that `recover` reads."""
    story = [entry(1, "TASK_CLAIMED"), entry(2, "ATTEMPT_STARTED", 1, attempt=1, agent="a")]
    story.append(entry(3, "AGENT_FINISHED", 1, exit={}))
    for outcome in outcomes:
        check = {"check": "few", "outcome": outcome, "commit": "c", "seconds": 1.0}
        n = len(story) + 1
        story += [
            entry(n, "CHECK_FINISHED", 1, **check),
            entry(n + 1, "QUALITY_JUDGMENT", 1, passed=outcome == "PASSED", commit="c"),
        ]
    if outcomes[-1] == "FAILED":
        told = {"failure": FAILURE, "blocked": "MAX_RETRIES", "stage": "VERIFY"}
        story.append(entry(len(story) + 1, "ESCALATE_DECISION", 1, **told))
    return judge_attempt(build_history(story).attempts[-1])


@pytest.mark.spec("9.7", "12.1")
def test_work_that_failed_on_a_run_branch_that_had_moved_has_not_passed() -> None:
    """`recover` said of such an attempt that its checks had passed."""
    failed, proven = judge("PASSED", "FAILED"), judge("PASSED")

    assert (failed.end, failed.words) == (WorkEnd.FAILED, "few")
    assert proven.end is WorkEnd.PASSED
