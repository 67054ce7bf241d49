"""Calls one check of the entry points: `python run_entry_point.py NAME REQUEST ANSWER`.

A process of its own: a check of somebody else's that hangs or crashes takes no worker along.
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
    """Leave `{"said": what it returned}` or `{"error": why there is nothing}`."""
    try:
        said = _called(name, json.loads(Path(request).read_text("utf-8")))
        told = json.dumps({"said": said}, allow_nan=False)
    except Exception as fault:  # noqa: BLE001 - whatever it raises is told, and proves nothing
        traceback.print_exc()
        told = json.dumps({"error": f"{type(fault).__name__}: {fault}"})
    Path(answer).write_text(told, encoding="utf-8")


def _called(name: str, given: dict[str, Any]) -> Any:
    found = {one.value: one for one in entry_points(group=GROUP, name=name)}
    if len(found) != 1:
        raise LookupError(f"{len(found)} entry points of {GROUP} are called {name!r}, not one")
    (one,) = found.values()
    return one.load()(Path(given["worktree"]), given["facts"], given["options"])


if __name__ == "__main__":
    main(*sys.argv[1:])
