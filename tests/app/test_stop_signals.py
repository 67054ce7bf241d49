"""A worker that computes for ever hears no request to stop, and can be ended all the same."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from yaoki.app.serve import INTERRUPTED

STUCK = """
from yaoki.app.serve import _handle_signals
from yaoki.engine.loop.pool import StopRequest

_handle_signals(StopRequest(), lambda stop: print("now" if stop.now else "drain", flush=True), str)
print("ready", flush=True)
while True:
    pass
"""


@pytest.mark.spec("0.4", "3.6")
def test_the_third_signal_ends_a_worker_that_does_not_react() -> None:
    stuck = subprocess.Popen(
        [sys.executable, "-c", STUCK], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert stuck.stdout is not None
        said = [stuck.stdout.readline().strip()]
        for _ in range(2):
            stuck.send_signal(signal.SIGINT)
            said.append(stuck.stdout.readline().strip())
        assert stuck.poll() is None
        stuck.send_signal(signal.SIGINT)

        assert stuck.wait(timeout=30) == INTERRUPTED
        assert said == ["ready", "drain", "now"]
    finally:
        stuck.kill()
        stuck.communicate()
