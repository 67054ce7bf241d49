"""A terminal that is closed: what runs in it is asked to stop, as by SIGTERM, and loses nothing."""

from __future__ import annotations

import os
import signal

OUTPUTS = (1, 2)


def outlive_terminal() -> None:
    """Whoever asked that hanging up be ignored, as `nohup` does, is not stopped by it either."""
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL:
        return
    terminals = [output for output in OUTPUTS if os.isatty(output)]
    heard: list[int] = []

    def hung_up(number: int, _: object) -> None:
        """The shell may say it once more; only a person's second wish means at once."""
        if not heard:
            heard.append(number)
            _mute(terminals)
            signal.raise_signal(signal.SIGTERM)

    signal.signal(signal.SIGHUP, hung_up)


def _mute(terminals: list[int]) -> None:
    """Writing to a terminal that is gone is an error, and nobody is there to read."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for output in terminals:
        os.dup2(nowhere, output)
    os.close(nowhere)
