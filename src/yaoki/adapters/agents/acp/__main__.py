"""`python -m yaoki.adapters.agents.acp OPTIONS -- PROGRAM …`: one ACP agent as events."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from yaoki.adapters.agents.acp.client import Asked, Client
from yaoki.adapters.agents.acp.event_log import Telling
from yaoki.adapters.agents.acp.policy import Policy
from yaoki.adapters.agents.acp.rpc import Link
from yaoki.adapters.processes.pipe import Piped, bell

# An agent may still have a conversation to write down.
CLOSE_S = 5.0


def main(given: Sequence[str]) -> int:
    """0 for a turn that the agent says it ended, 127 when there is no agent, else 1."""
    options = _options(given)
    prompt = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    telling = Telling(sys.stdout.fileno())
    asked = Asked(prompt, options.session, options.model, options.mode)
    policy = Policy(frozenset(filter(None, options.allow.split(","))), Path.cwd())
    try:
        child = Piped(options.command, cwd=Path.cwd(), env=os.environ)
    except OSError as error:
        print(f"error: cannot run {options.command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    with bell(signal.SIGTERM) as rings:
        ended = Client(Link(child, telling, rings), telling, policy).carry(asked)
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
