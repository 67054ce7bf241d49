"""Group commit: one thread commits the waiting transactions of all threads together.

Transactions that arrive during a commit share the next one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic

from yaoki.adapters.store.database import ResultT, Transaction
from yaoki.core.lazy_dataclass import dataclass

BATCH_MAX = 512


@dataclass(slots=True)
class WriteRequest(Generic[ResultT]):
    """A transaction whose caller waits."""

    work: Callable[[Transaction], ResultT]
    task_ids: Collection[str] = ()
    result: ResultT | None = None
    error: BaseException | None = None
    done: bool = False


def requested_task_ids(batch: Sequence[WriteRequest[Any]]) -> set[str]:
    return {task_id for request in batch for task_id in request.task_ids}


class GroupCommit:
    """`commit` sets the result or the error of every request in a batch."""

    def __init__(self, commit: Callable[[list[WriteRequest[Any]]], None]) -> None:
        self._commit = commit
        self._turn = threading.Condition()
        self._waiting: list[WriteRequest[Any]] = []
        self._committing = False

    @property
    def waiting_count(self) -> int:
        return len(self._waiting)

    def write(self, work: Callable[[Transaction], ResultT], task_ids: Collection[str]) -> ResultT:
        """An exception in `work` rolls back just that work and is raised here."""
        request: WriteRequest[ResultT] = WriteRequest(work, task_ids)
        with self._turn:
            self._waiting.append(request)
        while not request.done:
            self._take_turn(request)
        if request.error is not None:
            raise request.error
        return request.result  # type: ignore[return-value]  # set whenever error is not

    def _take_turn(self, request: WriteRequest[Any]) -> None:
        """Wait until another thread has committed this request, or commit all waiting ones."""
        with self._turn:
            self._turn.wait_for(lambda: request.done or not self._committing)
            if request.done:
                return
            self._committing = True
            batch, self._waiting = self._waiting[:BATCH_MAX], self._waiting[BATCH_MAX:]
        try:
            self._commit(batch)
        except BaseException as error:  # noqa: BLE001 - raised again by every caller
            # Nothing of the batch is stored, so every caller must get the error, not only this one.
            for each in batch:
                each.error = error
        finally:
            with self._turn:
                self._committing = False
                for each in batch:
                    each.done = True
                self._turn.notify_all()

    @contextmanager
    def block_commits(self) -> Iterator[None]:
        """Inside, no commit is running and none starts."""
        with self._turn:
            self._turn.wait_for(lambda: not self._committing)
            yield
