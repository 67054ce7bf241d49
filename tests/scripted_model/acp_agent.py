"""A small agent that speaks ACP and plays a script: `python acp_agent.py SCRIPT.json`.

It logs every frame that it gets beside the script, one JSON line each, and speaks the protocol as
real programs do, and as broken ones might.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

HANG_S = 60.0
SESSION = "ses_scripted-1"


class Agent:
    def __init__(self, script: Path) -> None:
        self._script: dict[str, Any] = json.loads(script.read_text())
        self._heard = script.with_suffix(".heard")
        self._asked = 100
        if self._script.get("deaf"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def serve(self) -> None:
        while frame := self._read():
            method, known = frame.get("method"), frame.get("id")
            if known is None or method is None:
                continue
            error = self._script.get("errors", {}).get(method)
            if error:
                self._send({"id": known, "error": error})
            elif method == "initialize":
                self._send({"id": known, "result": self._hello()})
            elif method == "session/prompt":
                self._turn(known)
            else:
                self._send({"id": known, "result": self._session(method)})

    def _hello(self) -> dict[str, Any]:
        return {
            "protocolVersion": self._script.get("version", 1),
            "agentCapabilities": {"loadSession": self._script.get("loads", True)},
            "agentInfo": {"name": "scripted", "version": "1"},
        }

    def _session(self, method: str) -> dict[str, Any]:
        if method == "session/load":
            self._update({"sessionUpdate": "agent_message_chunk", "content": _text("of before")})
            return {}
        option = {"id": "model", "category": "model", "type": "select", "options": []}
        return {"sessionId": SESSION, "configOptions": [option]} if "new" in method else {}

    def _turn(self, known: Any) -> None:
        answer: dict[str, Any] = {"stopReason": "end_turn"}
        for act in self._script.get("turn", ()):
            [(name, value)] = act.items()
            match name:
                case "say":
                    update = {"sessionUpdate": "agent_message_chunk", "content": _text(value)}
                    self._update(update)
                case "update":
                    self._update(value)
                case "raw":
                    sys.stdout.write(value)
                    sys.stdout.flush()
                case "ask":
                    self._ask("session/request_permission", value)
                case "write":
                    self._ask("fs/write_text_file", value)
                case "call":
                    self._ask(*value)
                case "touch":
                    Path(value).write_text("touched\n")
                case "until":
                    give_up = time.monotonic() + HANG_S
                    while not Path(value).exists() and time.monotonic() < give_up:
                        time.sleep(0.05)
                case "complain":
                    print(value, file=sys.stderr, flush=True)
                case "hang":
                    time.sleep(HANG_S)
                case "until_cancelled":
                    while (frame := self._read()) and frame.get("method") != "session/cancel":
                        pass
                    answer = {"stopReason": "cancelled"}
                case "die":
                    os._exit(value)
                case "answer":
                    answer = value
                case "fail":
                    self._send({"id": known, "error": value})
                    return
                case _:
                    raise ValueError(f"there is no act {name!r}")
        self._send({"id": known, "result": answer})

    def _ask(self, method: str, params: dict[str, Any]) -> None:
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        while (frame := self._read()) and frame.get("id") != self._asked:
            pass

    def _update(self, update: dict[str, Any]) -> None:
        params = {"sessionId": SESSION, "update": update}
        self._send({"method": "session/update", "params": params})

    def _send(self, frame: dict[str, Any]) -> None:
        print(json.dumps({"jsonrpc": "2.0", **frame}), flush=True)

    def _read(self) -> dict[str, Any] | None:
        line = sys.stdin.readline()
        if not line:
            return None
        with self._heard.open("a") as heard:
            heard.write(line)
        frame: dict[str, Any] = json.loads(line)
        return frame


def _text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


if __name__ == "__main__":
    Agent(Path(sys.argv[1])).serve()
