"""Our ACP client against an agent on the official package, which validates every frame."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest

AGENT = str(Path(__file__).parents[2] / "scripted_model" / "official_acp_agent.py")
# Not imported from there: the official package takes a second, and only the agent needs it.
SESSION = "ses_official-1"
SECONDS_MAX = 60.0


class Attempt:
    """Our client as the shim runs it: a prompt on standard input, events on standard output."""

    def __init__(self, folder: Path, prompt: str, *options: str) -> None:
        self.tree, self._log = folder / "tree", folder / "agent.log"
        self.tree.mkdir()
        client = (sys.executable, "-m", "yaoki.adapters.agents.acp", *options)
        agent = (sys.executable, AGENT, str(self._log))
        self._client = Popen((*client, "--", *agent), cwd=self.tree, stdin=PIPE, stdout=PIPE)
        assert self._client.stdin, "started with pipes"
        assert self._client.stdout, "started with pipes"
        self._out = self._client.stdout
        self._client.stdin.write(prompt.encode())
        self._client.stdin.close()

    def stop(self) -> None:
        self._client.send_signal(signal.SIGTERM)

    def next_event(self) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(self._out.readline())
        return event

    def finish(self) -> tuple[int, list[dict[str, Any]]]:
        with self._out:
            events = [json.loads(line) for line in self._out]
        return self._client.wait(SECONDS_MAX), events

    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines()]


@pytest.mark.spec("12.8")
def test_the_official_agent_accepts_every_frame_of_a_turn(tmp_path: Path) -> None:
    options = ("--allow", "edit", "--model", "big", "--mode", "code")
    attempt = Attempt(tmp_path, "Do it.", *options)

    code, events = attempt.finish()

    assert code == 0, events
    assert attempt.requests() == [
        {"what": "initialize", "name": "yaoki", "writes": True},
        {"what": "new_session", "cwd": str(attempt.tree)},
        {"what": "set_session_mode", "session": SESSION, "mode": "code"},
        {"what": "set_config_option", "session": SESSION, "option": "model", "value": "big"},
        {"what": "prompt", "session": SESSION, "text": "Do it."},
        {"what": "permission", "outcome": "selected", "option_id": "once"},
        {"what": "refused", "code": -32602},
    ]
    assert (attempt.tree / "a.txt").read_text() == "x\n"
    assert not (tmp_path / "b.txt").exists()
    assert events[-1]["stop_reason"] == "end_turn"


@pytest.mark.full
@pytest.mark.spec("3.7")
def test_the_official_agent_loads_a_session(tmp_path: Path) -> None:
    options = ("--allow", "edit", "--session", "ses_before")
    attempt = Attempt(tmp_path, "Continue.", *options)

    code, events = attempt.finish()

    assert code == 0, events
    assert {"what": "load_session", "session": "ses_before"} in attempt.requests()
    assert "replayed" not in json.dumps(events)


@pytest.mark.full
@pytest.mark.spec("3.8")
def test_the_official_agent_is_cancelled_by_its_own_message(tmp_path: Path) -> None:
    attempt = Attempt(tmp_path, "wait")
    while attempt.next_event()["type"] != "acp.update":
        pass
    attempt.stop()

    _, events = attempt.finish()

    assert {"what": "cancel", "session": SESSION} in attempt.requests()
    assert events[-1]["stop_reason"] == "cancelled"
