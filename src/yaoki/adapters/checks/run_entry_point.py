"""Calls one check of the entry points: `python run_entry_point.py NAME REQUEST ANSWER`.

Runs in its own process: a third-party check that hangs or crashes does not affect the worker.
"""

from __future__ import annotations

import json
import sys
import traceback
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

GROUP = "yaoki.checks"


def main(name: str, request: str, answer: str) -> None:
    """Writes `{"said": return value}` or `{"error": reason}`."""
    try:
        value = _call_check(name, json.loads(Path(request).read_text("utf-8")))
        document = json.dumps({"said": value}, allow_nan=False)
    except Exception as fault:  # noqa: BLE001 - any exception is reported as a broken check
        traceback.print_exc()
        document = json.dumps({"error": f"{type(fault).__name__}: {fault}"})
    Path(answer).write_text(document, encoding="utf-8")


def _call_check(name: str, request_data: dict[str, Any]) -> Any:
    candidates = {candidate.value: candidate for candidate in entry_points(group=GROUP, name=name)}
    if len(candidates) != 1:
        raise LookupError(f"{len(candidates)} entry points of {GROUP} are called {name!r}, not one")
    (candidate,) = candidates.values()
    return candidate.load()(
        Path(request_data["worktree"]), request_data["facts"], request_data["options"]
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
