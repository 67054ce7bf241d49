"""`python -m yaoki.adapters.agents.acp OPTIONS -- PROGRAM …`: runs one turn of an ACP agent."""

from __future__ import annotations

import argparse
import json
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

# The agent may still have to save its conversation.
CLOSE_S = 5.0


def main(arguments: Sequence[str]) -> int:
    """Returns 0 if the agent claims the end of its turn, 127 if it cannot start, otherwise 1."""
    options = _parse_options(arguments)
    prompt = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    event_log = AcpEventLog(sys.stdout.fileno())
    request = PromptRequest(
        prompt, options.session, options.model, options.mode, tuple(json.loads(options.tool_server))
    )
    policy = ToolPolicy(
        frozenset(filter(None, options.allow.split(","))),
        Path.cwd(),
        frozenset(options.allow_command),
    )
    try:
        child = PipedProcess(options.command, cwd=Path.cwd(), env=os.environ)
    except OSError as error:
        print(f"error: cannot run {options.command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    with watch_signal(signal.SIGTERM) as signal_fd:
        stop_reason = AcpClient(
            RpcConnection(child, event_log, signal_fd), event_log, policy
        ).run_turn(request)
        code = child.close(CLOSE_S if stop_reason else CLOSE_S / 10)
    if not stop_reason and code:
        print(f"yaoki: the agent ended with exit code {code}", file=sys.stderr)
    return 0 if stop_reason else 1


def _parse_options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="yaoki.adapters.agents.acp", allow_abbrev=False)
    for name in ("--allow", "--session", "--model", "--mode"):
        parser.add_argument(name, default="")
    parser.add_argument("--allow-command", action="append", default=[])
    parser.add_argument("--tool-server", default="[]")
    parser.add_argument("command", nargs="+")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
