"""The tasks that a screen shows."""

from __future__ import annotations

from datetime import datetime

import pytest

from tests.builders import MINUTE, NOW, SECOND
from tests.views.test_views import RUN, a_row
from yaoki.core.model import State
from yaoki.faces.text.render import most_important_tasks, task_lines
from yaoki.views import build_run_view

pytestmark = pytest.mark.spec("12.4")


def test_a_final_check_that_a_later_one_replaced_is_not_shown() -> None:
    rows = [
        a_row(1, State.DONE),
        a_row(2, State.REPLACED),
        a_row(3, State.REPLACED, kind="check", name="done_when"),
        a_row(4, State.DONE, kind="check", name="done_when-2"),
    ]
    view = build_run_view(RUN, rows, {}, is_idle=True)

    assert [task.row.n for task in most_important_tasks(view)] == [1, 2, 4]


def test_of_a_big_run_the_tasks_that_need_attention_are_shown_in_their_order() -> None:
    rows = [a_row(1, State.DONE), a_row(2, State.WAITING), a_row(3, State.ESCALATED)]
    view = build_run_view(RUN, rows, {}, is_idle=True)

    assert [task.row.n for task in most_important_tasks(view, limit=2)] == [2, 3]


def test_an_active_task_says_when_something_was_last_recorded_about_it() -> None:
    rows = [a_row(n, State.ACTIVE, stage="VERIFY", attempt=1) for n in (1, 2)]
    view = build_run_view(RUN, rows, {}, is_idle=False)
    last: dict[str, datetime] = {rows[0].id: NOW - 59 * SECOND, rows[1].id: NOW - 6 * MINUTE}

    busy, silent = task_lines(view.tasks, NOW, {}, last)

    assert "last event" not in busy
    assert silent.rstrip().endswith("last event 6 min ago")


def test_a_verified_task_in_the_queue_says_what_it_waits_for() -> None:
    rows = [
        a_row(n, State.ACTIVE, stage="LAND", attempt=1, is_queued=queued)
        for n, queued in ((1, True), (2, False))
    ]
    view = build_run_view(RUN, rows, {}, is_idle=False, is_carried=True)

    queued, alone = task_lines(view.tasks, NOW, {})

    assert queued.rstrip().endswith("lands after the tasks it was verified with")
    assert alone.rstrip().endswith("verified; lands together with the next task, or alone")


def test_the_row_of_a_task_shows_only_the_first_sentences_of_its_question() -> None:
    question = f"It is not done: {'a' * 90}. {'Change it in the plan. ' * 9}Try again or abort?"
    view = build_run_view(RUN, [a_row(1, State.ESCALATED, question=question)], {}, is_idle=True)

    (line,) = task_lines(view.tasks, NOW, {})

    assert line.endswith(f"{'a' * 90}. Change it in the plan. Change it in the plan. …")
