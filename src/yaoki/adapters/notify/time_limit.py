"""A bound on a call that has none: sockets bound each read, not a receiver that drips."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from threading import Thread


def run_with_timeout(bound: timedelta, call: Callable[[], None]) -> None:
    """Its end or its exception, or `TimeoutError`; then the call is left to itself.

    A daemon thread: a call that never ends does not keep the program from its own end.
    """
    ended: Future[None] = Future()
    Thread(target=_settle, args=(ended, call), daemon=True).start()
    ended.result(bound.total_seconds())


def _settle(ended: Future[None], call: Callable[[], None]) -> None:
    try:
        call()
    except BaseException as fault:  # noqa: BLE001 - raised where the call is waited for
        ended.set_exception(fault)
    else:
        ended.set_result(None)
