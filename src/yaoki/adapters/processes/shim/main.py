"""The whole run of a shim: from the lock on the folder to the recorded exit."""

from __future__ import annotations

import errno
import json
import os
import time

from yaoki.adapters.processes.shim.agent import AgentProcess, open_stdin
from yaoki.adapters.processes.shim.files import (
    delete_folder,
    discard,
    log_line,
    record,
    take_lock,
)
from yaoki.adapters.processes.shim.process_table import PROC, become_subreaper, read_stat_fields
from yaoki.adapters.processes.shim.secret_mask import mask_output_files
from yaoki.adapters.processes.shim.signals import POLL_S_MAX, SignalWaiter
from yaoki.adapters.processes.shim.termination import end_tree
from yaoki.adapters.processes.shim.watch import AgentWatch, read_end_request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

RECORD_S_MAX = 60.0


def started_facts(launch: dict[str, Any], mark: str) -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "start": int(read_stat_fields("self")[19]) if PROC else 0,
        "boot": launch["boot"],
        "at": time.time(),
        "mark": mark,
        "grace_s": launch["grace_s"],
    }


def run_agent(
    launch: dict[str, Any], agent: AgentProcess, stdin: int, bell: SignalWaiter
) -> dict[str, Any]:
    """Run the agent until its process tree has ended, also after an error."""
    ended_by, remaining_pids = read_end_request(bell), []
    try:
        if not ended_by:
            agent.start(stdin)
            discard("launch.json")
            ended_by = AgentWatch(launch, agent, bell).wait_until_ended()
    finally:
        remaining_pids = end_tree(agent, bell, launch["grace_s"])
        mask_output_files(launch.get("secrets", []))
        delete_folder(agent.temporary)
    return agent.exit_facts(ended_by, remaining_pids)


def main(folder: str) -> None:
    os.chdir(folder)
    if not take_lock() or os.path.exists("started.json"):
        return
    bell = SignalWaiter()
    become_subreaper()
    with open("launch.json", encoding="utf-8") as file:
        launch = json.load(file)
    mark = os.urandom(16).hex()
    # Everything that can fail on a full disk comes before the record that the agent was started.
    agent, stdin = AgentProcess(launch, mark), open_stdin(launch["stdin"])
    record("started.json", started_facts(launch, mark))
    facts = run_agent(launch, agent, stdin, bell)
    discard("launch.json")  # it holds the environment; a second starter may have written it again
    record_exit(facts)


def record_exit(facts: dict[str, Any]) -> None:
    """The exit cannot be found out again, so a full disk is waited for, with a limit."""
    deadline = time.monotonic() + RECORD_S_MAX
    while True:
        try:
            return record("exit.json", facts)
        except OSError as error:
            # Nobody reads the record in a deleted folder.
            if error.errno == errno.ENOENT or time.monotonic() > deadline:
                raise
            log_line(f"exit.json: {error}; trying again")
            time.sleep(POLL_S_MAX)


def exit_now(code: int = 0) -> NoReturn:
    """Exit without clean-up: the record counts only after this process has ended."""
    os._exit(code)
