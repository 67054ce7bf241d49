"""Checks of installed packages (entry points `yaoki.checks`), each called in its own process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yaoki.adapters.checks.environment import build_check_environment
from yaoki.adapters.checks.findings import (
    bound_items,
    make_broken,
    make_failed,
    make_passed,
    mask_data,
)
from yaoki.adapters.checks.output import OUT, read_excerpt
from yaoki.adapters.checks.runner import CheckProcesses, ProcessResult
from yaoki.adapters.system.files import write_atomically
from yaoki.core.machine.codec import to_data
from yaoki.core.model import CheckSpec, Finding, FindingItem
from yaoki.core.redact import mask
from yaoki.core.text import one_line, strip_terminal_codes
from yaoki.ports import Launch, outbox

REQUEST, ANSWER = "request.json", "answer.json"
OUTPUT_BYTES_MAX = 64 << 20
ANSWER_BYTES_MAX = 1 << 20
PARAMS_BYTES_MAX = 64 * 1024
ITEM_CHARS_MAX = 500
SCRIPT = Path(__file__).with_name("run_entry_point.py")
# What such a check may know; the rest of the facts is for checks of our own.
FACTS = ("commit", "base", "onto", "branch", "changed", "scope", "goal", "task", "attempt")


def check_entry_point(
    spec: CheckSpec, worktree: Path, runner: CheckProcesses, facts: Mapping[str, Any]
) -> Finding:
    folder = runner.next_free_folder()
    outbox(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    known = {name: to_data(facts[name]) for name in FACTS if name in facts}
    request = {"worktree": str(worktree), "facts": known, "options": dict(spec.options)}
    write_atomically(folder / REQUEST, json.dumps(request).encode())
    given = {**build_check_environment(runner, facts.get("room")), **facts.get("environment", {})}
    ran = runner.run(folder, _launch(spec, worktree, runner, folder, given))
    secrets = runner.secrets(spec.env)
    seen = {
        "exit_code": ran.state.code,
        "output": read_excerpt(folder, secrets),
        "log": str(folder / OUT),
        "seconds": ran.state.seconds,
    }
    finding = _not_run(spec, ran, seen)
    return finding or _read(spec, outbox(folder) / ANSWER, secrets, seen)


def _launch(
    spec: CheckSpec, worktree: Path, runner: CheckProcesses, folder: Path, given: Mapping[str, str]
) -> Launch:
    """In our own Python, where the package is installed; nothing is imported from the worktree."""
    env = {
        **given,
        "PYTHONPATH": _absolute(runner.environ.get("PYTHONPATH", "")),
        **spec.env,
    }
    files = (str(folder / REQUEST), str(outbox(folder) / ANSWER))
    return Launch(
        argv=(sys.executable, "-P", str(SCRIPT), spec.entry, *files),
        cwd=str(worktree),
        env=env,
        deadline=spec.timeout,
        lease=runner.lease,
        output_bytes_max=OUTPUT_BYTES_MAX,
        secrets=runner.visible_secrets(env),
    )


def _absolute(paths: str) -> str:
    """A relative part would lead into the worktree, whose files the agent wrote."""
    parts = (str(Path(part).absolute()) for part in paths.split(os.pathsep) if part)
    return os.pathsep.join(parts)


def _not_run(spec: CheckSpec, ran: ProcessResult, seen: Mapping[str, Any]) -> Finding | None:
    look, cut = ran.state, ran.find_interruption(spec.timeout)
    if cut is not None:
        why, later = cut
    elif look.ended_by:
        why, later = f"ended by {look.ended_by}", False
    elif look.signal:
        why, later = f"crashed with signal {look.signal}", True
    elif look.code:
        why, later = f"ended with exit code {look.code} and no answer", False
    else:
        return None
    return make_broken(spec, f"python check {spec.entry!r}: {why}", transient=later, **seen)


# ------------------------------------------------------------------ its answer


def _read(
    spec: CheckSpec, file: Path, secrets: tuple[str, ...], seen: Mapping[str, Any]
) -> Finding:
    """Whatever is not exactly an answer proves nothing."""
    try:
        said = mask_data(_said(file), secrets)
        holds, message = said["passed"], one_line(said.get("message", ""))
        items = [_item(one) for one in said.get("items", [])]
    except (ValueError, RecursionError) as defect:
        words = one_line(mask(strip_terminal_codes(str(defect)), secrets))
        return make_broken(spec, f"python check {spec.entry!r}: {words}", **seen)
    found = {"items": bound_items(items, len(items)), "params": said.get("params", {}), **seen}
    if holds:
        return make_passed(spec, message, params=found["params"], **seen)
    return make_failed(spec, message or f"python check {spec.entry!r} does not hold", **found)


def _said(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise ValueError("it left no answer")
    if file.stat().st_size > ANSWER_BYTES_MAX:
        raise ValueError(f"its answer is over the limit of {ANSWER_BYTES_MAX} bytes")
    match json.loads(file.read_text("utf-8")):
        case {"error": str(why)}:
            raise ValueError(why)
        case {"said": {"passed": bool()} as said}:
            _shaped(said)
            return dict(said)
        case _:
            raise ValueError('it must return {"passed": true or false, …}')


def _shaped(said: Mapping[str, Any]) -> None:
    shapes = {"passed": bool, "message": str, "items": list, "params": dict}
    for key, value in said.items():
        if key not in shapes:
            raise ValueError(f"its answer has an unknown key {key[:40]!r}")
        if not isinstance(value, shapes[key]):
            raise ValueError(f"{key} of its answer is no {shapes[key].__name__}")
    if len(json.dumps(said.get("params", {}))) > PARAMS_BYTES_MAX:
        raise ValueError(f"params of its answer are over the limit of {PARAMS_BYTES_MAX} bytes")


def _item(given: Any) -> FindingItem:
    match given:
        case str():
            return FindingItem(one_line(given, ITEM_CHARS_MAX))
        case {"name": str(), **rest} if set(rest) <= {"message", "where"}:
            if all(isinstance(part, str) for part in given.values()):
                parts = (given.get(key, "") for key in ("name", "message", "where"))
                name, message, where = (one_line(part, ITEM_CHARS_MAX) for part in parts)
                return FindingItem(name, message, where)
    raise ValueError("an item of its answer is neither a text nor {name, message, where}")
