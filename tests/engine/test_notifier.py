"""When a notice that its channel refused is sent again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.adapters.store.store_actions import open_test_store, submit
from tests.builders import RUN_ID, HandClock, a_spec
from yaoki.adapters.store import SqlStore
from yaoki.adapters.store.tables.outbox import RETRY_AFTER_MAX, RETRY_FIRST, NoticeSelection
from yaoki.core.model import Pause, PauseCause
from yaoki.engine.loop.notifier import Notifier
from yaoki.errors import NoticeFailed
from yaoki.ports import Notice

SECOND = timedelta(seconds=1)


class Busy:
    """A receiver that refuses every notice with a `Retry-After`."""

    def __init__(self, wait: timedelta | None) -> None:
        self.wait, self.asked = wait, 0

    def send(self, notice: Notice) -> None:
        self.asked += 1
        raise NoticeFailed("the receiver answered 429", retry_after=self.wait)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def store(tmp_path: Path, clock: HandClock) -> Iterator[SqlStore]:
    made = open_test_store(
        tmp_path / "state.db", clock, limits={"notices": NoticeSelection(("ear",))}
    )
    submit(made, a_spec("a"))
    made.pause(
        RUN_ID,
        Pause(PauseCause.BUDGET, "a test asks"),
        event="BUDGET_WARNING",
        data={"message": "80 %"},
    )
    yield made
    made.close()


@pytest.mark.spec("10.5")
@pytest.mark.parametrize(
    ("asked", "wait"),
    [
        (timedelta(minutes=30), timedelta(minutes=30)),
        (timedelta(days=9), RETRY_AFTER_MAX),
        (timedelta(0), RETRY_FIRST),
    ],
    ids=["as asked", "at most a day", "not at once"],
)
def test_a_refused_notice_waits_for_its_retry_after(
    store: SqlStore, clock: HandClock, asked: timedelta, wait: timedelta
) -> None:
    """`Retry-After` was parsed and promised in the guide, but ignored: a busy receiver got the
    notice again after ten seconds.
    """
    receiver = Busy(asked)
    notifier = Notifier(store, {"ear": receiver}, clock)
    notifier.deliver()
    first = receiver.asked

    clock.advance(wait - SECOND)
    notifier.deliver()
    early = receiver.asked
    clock.advance(2 * SECOND)
    notifier.deliver()

    assert first > 0
    assert (early, receiver.asked) == (first, 2 * first)


@pytest.mark.spec("10.5")
def test_without_retry_after_the_default_wait_applies(store: SqlStore, clock: HandClock) -> None:
    receiver = Busy(None)
    notifier = Notifier(store, {"ear": receiver}, clock)
    notifier.deliver()
    first = receiver.asked

    clock.advance(2 * RETRY_FIRST + SECOND)
    notifier.deliver()

    assert receiver.asked == 2 * first > 0
