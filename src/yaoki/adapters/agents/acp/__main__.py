"""`python -m yaoki.adapters.agents.acp OPTIONS -- PROGRAM …`: one ACP agent as events."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from yaoki.adapters.agents.acp.client import AcpClient, PromptRequest
from yaoki.adapters.agents.acp.event_log import AcpEventLog
from yaoki.adapters.agents.acp.policy import ToolPolicy
from yaoki.adapters.agents.acp.rpc import RpcConnection
from yaoki.adapters.processes.pipe import PipedProcess, watch_signal

# An agent may still have a conversation to write down.
CLOSE_S = 5.0


def main(given: Sequence[str]) -> int:
    """0 for a turn that the agent says it ended, 127 when there is no agent, else 1."""
    options = _options(given)
    prompt = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    telling = AcpEventLog(sys.stdout.fileno())
    asked = PromptRequest(prompt, options.session, options.model, options.mode)
    policy = ToolPolicy(frozenset(filter(None, options.allow.split(","))), Path.cwd())
    try:
        child = PipedProcess(options.command, cwd=Path.cwd(), env=os.environ)
    except OSError as error:
        print(f"error: cannot run {options.command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    with watch_signal(signal.SIGTERM) as rings:
        ended = AcpClient(RpcConnection(child, telling, rings), telling, policy).run_turn(asked)
        code = child.close(CLOSE_S if ended else CLOSE_S / 10)
    if not ended and code:
        print(f"yaoki: the agent ended with exit code {code}", file=sys.stderr)
    return 0 if ended else 1


def _options(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="yaoki.adapters.agents.acp", allow_abbrev=False)
    for name in ("--allow", "--session", "--model", "--mode"):
        parser.add_argument(name, default="")
    parser.add_argument("command", nargs="+")
    return parser.parse_args(given)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
