"""Lines that say what a command of the user waits for, for a terminal and for a pipe."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from yaoki.core.progress import next_report_after
from yaoki.core.text import format_duration
from yaoki.faces.text.render import clean_line

WORDS_CHARS_MAX = 120


@contextmanager
def report_progress(words: str, step: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Print `words` and the seconds to standard error, in growing intervals, until it is done.

    `step` names what is being done at the moment.
    """
    over = threading.Event()

    def report() -> None:
        seconds = 0.0
        while not over.wait(next_report_after(seconds) - seconds):
            seconds = next_report_after(seconds)
            with suppress(OSError, ValueError):  # nobody reads it any more
                now = ": ".join(filter(None, (words, step())))
                print(progress_line(now, seconds), file=sys.stderr, flush=True)

    thread = threading.Thread(target=report, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def progress_line(words: str, seconds: float) -> str:
    return f"{clean_line(words, WORDS_CHARS_MAX)} ... {format_duration(seconds)}"
