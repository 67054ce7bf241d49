"""A closed terminal: its run is asked to stop, as by SIGTERM, and finished work is saved."""

from __future__ import annotations

import os
import signal

OUTPUTS = (1, 2)


def outlive_terminal() -> None:
    """A process that ignores the hang-up, as with `nohup`, is not stopped by it."""
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL:
        return
    terminals = [output for output in OUTPUTS if os.isatty(output)]
    heard: list[int] = []

    def hung_up(number: int, _: object) -> None:
        """The shell may repeat the signal; only a person's second interrupt stops at once."""
        if not heard:
            heard.append(number)
            _mute(terminals)
            signal.raise_signal(signal.SIGTERM)

    signal.signal(signal.SIGHUP, hung_up)


def _mute(terminals: list[int]) -> None:
    """Discard output: writing to a closed terminal fails, and nobody would read it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for output in terminals:
        os.dup2(nowhere, output)
    os.close(nowhere)
