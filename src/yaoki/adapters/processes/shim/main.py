"""The whole: from the lock on the folder to the recorded exit."""

from __future__ import annotations

import errno
import json
import os
import time

from yaoki.adapters.processes.shim.agent import Agent, open_stdin
from yaoki.adapters.processes.shim.files import discard, record, say, take_lock
from yaoki.adapters.processes.shim.process_table import PROC, become_subreaper, stat_fields
from yaoki.adapters.processes.shim.secret_mask import star_all
from yaoki.adapters.processes.shim.signals import POLL_S_MAX, Bell
from yaoki.adapters.processes.shim.termination import end_tree
from yaoki.adapters.processes.shim.watch import Watch, asked_to_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

RECORD_S_MAX = 60.0


def started_facts(launch: dict[str, Any], mark: str) -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "start": int(stat_fields("self")[19]) if PROC else 0,
        "boot": launch["boot"],
        "at": time.time(),
        "mark": mark,
        "grace_s": launch["grace_s"],
    }


def carry(launch: dict[str, Any], agent: Agent, stdin: int, bell: Bell) -> dict[str, Any]:
    """From the start of the agent to the end of its tree, whatever happens between."""
    ended_by, left = asked_to_end(bell), []
    try:
        if not ended_by:
            agent.start(stdin)
            discard("launch.json")
            ended_by = Watch(launch, agent, bell).until_ended()
    finally:
        left = end_tree(agent, bell, launch["grace_s"])
        star_all(launch.get("secrets", []))
    return agent.facts(ended_by, left)


def main(folder: str) -> None:
    os.chdir(folder)
    if not take_lock() or os.path.exists("started.json"):
        return
    bell = Bell()
    become_subreaper()
    with open("launch.json", encoding="utf-8") as file:
        launch = json.load(file)
    mark = os.urandom(16).hex()
    # Whatever can fail for want of space comes before the promise that the agent was started.
    agent, stdin = Agent(launch, mark), open_stdin(launch["stdin"])
    record("started.json", started_facts(launch, mark))
    facts = carry(launch, agent, stdin, bell)
    discard("launch.json")  # it holds the environment; a second starter may have left it again
    record_exit(facts)


def record_exit(facts: dict[str, Any]) -> None:
    """The exit is the one fact nobody can find out again: wait a bounded time for a full disk."""
    give_up = time.monotonic() + RECORD_S_MAX
    while True:
        try:
            return record("exit.json", facts)
        except OSError as error:
            # In a folder that was deleted there is nobody to record it for.
            if error.errno == errno.ENOENT or time.monotonic() > give_up:
                raise
            say(f"exit.json: {error}; trying again")
            time.sleep(POLL_S_MAX)


def leave(code: int = 0) -> NoReturn:
    """At once: until we are gone nobody believes what we recorded."""
    os._exit(code)
