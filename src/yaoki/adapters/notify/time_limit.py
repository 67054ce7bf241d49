"""Bounds a call that has no time limit of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from threading import Thread


def run_with_timeout(limit: timedelta, call: Callable[[], None]) -> None:
    """Bound the whole call: a socket timeout bounds each read only.

    Re-raises the exception of the call; after `TimeoutError` the call continues in its thread.

    A daemon thread: a call that never ends does not keep the program from ending.
    """
    outcome: Future[None] = Future()
    Thread(target=_settle, args=(outcome, call), daemon=True).start()
    outcome.result(limit.total_seconds())


def _settle(outcome: Future[None], call: Callable[[], None]) -> None:
    try:
        call()
    except BaseException as fault:  # noqa: BLE001 - re-raised by the caller
        outcome.set_exception(fault)
    else:
        outcome.set_result(None)
