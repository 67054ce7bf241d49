"""The rest of a running run, as its forecast simulates it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import NOW, a_check, a_spec, an_agent
from tests.views.test_views import a_row
from yaoki.app.forecast import forecast_open
from yaoki.core.forecast.planned_task import ForecastTask
from yaoki.core.model import State
from yaoki.views.tasks import TaskView

pytestmark = pytest.mark.spec("18.9")


def rest_of_task(state: State = State.WAITING, **more: Any) -> ForecastTask:
    spec = a_spec(agents=(an_agent(),), checks=(a_check("tests"),))
    return forecast_open(TaskView(a_row(1, state, attempt=1, **more)), spec, {}, None, NOW)


@pytest.mark.parametrize("state", [State.WAITING, State.ACTIVE])
def test_a_task_that_a_person_answered_needs_no_agent(state: State) -> None:
    """Answered `done`, its work is the person's; with a waiver, another failure asks again."""
    done = rest_of_task(state, worktree_host="here")
    waived = rest_of_task(state, stage="VERIFY", waivers=("tests",))
    retried = rest_of_task(state, waivers=("tests",))

    assert (done.agents, done.checks) == ((), ("tests",))
    assert (waived.agents, waived.checks) == ((), ("tests",))
    assert retried.agents, "its next attempt starts an agent"
