"""The lines of a run in a pipe about tasks that wait for a closed account."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from tests.builders import HOUR, MINUTE, NOW, SECOND
from tests.views.test_views import RUN, a_row
from yaoki.core.model import State
from yaoki.faces.cli.live.account_waits import AccountWaits
from yaoki.ports import AccountRow, TaskRow

pytestmark = pytest.mark.spec("18.6", "12.4")


@dataclass
class World:
    """The clock and the store of an app, as far as the lines need them."""

    time: datetime = NOW
    closed: list[AccountRow] = field(default_factory=list)
    tasks: list[TaskRow] = field(default_factory=list)

    @property
    def clock(self) -> World:
        return self

    @property
    def store(self) -> World:
        return self

    def now(self) -> datetime:
        return self.time

    def accounts(self) -> list[AccountRow]:
        return self.closed

    def rows(self, _: str) -> list[TaskRow]:
        return self.tasks


def lines_after(world: World, waits: AccountWaits, passed: timedelta) -> list[str]:
    """The lines without their time of day."""
    world.time += passed
    return [line.partition(" ")[2] for line in waits.new_lines()]


@pytest.mark.spec("18.1")
def test_a_task_that_another_account_takes_over_does_not_wait() -> None:
    """It is waiting only until a worker has a look at it."""
    world = World(tasks=[replace(a_row(1, account="a/w"), other_accounts=("a/h",))])
    closed = AccountRow("a/w", NOW + 2 * HOUR, "slower", is_avoided=True)
    waits = AccountWaits(cast("Any", world), RUN)

    world.closed = [closed]
    taken_over = lines_after(world, waits, SECOND)
    world.closed = [closed, AccountRow("a/h", NOW + 2 * HOUR, "slower", is_avoided=True)]
    both_closed = lines_after(world, waits, SECOND)
    world.closed = [replace(closed, name="a/h"), replace(closed, is_avoided=False)]
    world.tasks = [replace(world.tasks[0], other_accounts=("b",))]
    not_avoided = lines_after(world, AccountWaits(cast("Any", world), RUN), SECOND)

    assert taken_over == []
    assert len(both_closed) == len(not_avoided) == 1


def test_the_wait_for_an_account_is_reported_once_and_again_when_it_is_closed_again() -> None:
    world = World(tasks=[a_row(n, account="bot") for n in (1, 2, 3)])
    waits = AccountWaits(cast("Any", world), RUN)
    assert lines_after(world, waits, SECOND) == []

    world.closed = [AccountRow("bot", NOW + 5 * MINUTE, "slower")]
    begun = lines_after(world, waits, SECOND)
    repeated = lines_after(world, waits, MINUTE)
    world.closed = [AccountRow("bot", world.time, "slower", probe_task="run00001-1")]
    probed = lines_after(world, waits, SECOND)
    world.closed = [AccountRow("bot", world.time + 7 * MINUTE, "slower")]
    again = lines_after(world, waits, SECOND)

    line = "t1 and 2 more wait for their account bot for {}: yaoki retry run00001-1"
    assert begun == [line.format("4 min 58 s")]
    assert repeated == probed == []
    assert again == [line.format("6 min 59 s")]


def test_a_brief_wait_of_several_tasks_is_reported_at_most_once_a_minute() -> None:
    """Nothing said why only one task was at work while the others did not start."""
    world = World(tasks=[a_row(n, account="bot") for n in (1, 2)])
    waits = AccountWaits(cast("Any", world), RUN)
    lines = []
    for _ in range(5):
        world.closed = [AccountRow("bot", world.time + 20 * SECOND, "slower")]
        lines.append(lines_after(world, waits, 2 * SECOND))
        world.closed = []
        lines.append(lines_after(world, waits, 18 * SECOND))

    line = "t1 and 1 more wait for their account bot for 18 s"
    assert [n for n, said in enumerate(lines) if said] == [0, 6]
    assert lines[0] == lines[6] == [line]


@pytest.mark.parametrize(
    ("account", "task"),
    [
        (AccountRow("bot", NOW + 30 * SECOND, "slower"), a_row(1, account="bot")),
        (AccountRow("other", NOW + HOUR, "slower"), a_row(1, account="bot")),
        (AccountRow("bot", NOW + HOUR, "401", asking_task="x"), a_row(1, account="bot")),
        (AccountRow("bot", NOW + HOUR, "slower"), a_row(1, account="bot", open_needs=1)),
        (AccountRow("bot", NOW + HOUR, "slower"), a_row(1, account="bot", stage="VERIFY")),
        (AccountRow("bot", NOW + HOUR, "slower"), a_row(1, State.ACTIVE, account="bot")),
    ],
    ids=["short", "another account", "a question", "needs", "verifies", "active"],
)
def test_nothing_is_reported_of_a_task_that_does_not_wait_long_for_an_account(
    account: AccountRow, task: TaskRow
) -> None:
    world = World(closed=[account], tasks=[task])

    assert lines_after(world, AccountWaits(cast("Any", world), RUN), SECOND) == []
