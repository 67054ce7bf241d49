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
from yaoki.core.model.outcome import bound_items
from yaoki.core.redact import mask
from yaoki.core.text import one_line, strip_terminal_codes
from yaoki.ports import CheckFacts, Launch, outbox

REQUEST, ANSWER = "request.json", "answer.json"
OUTPUT_BYTES_MAX = 64 << 20
ANSWER_BYTES_MAX = 1 << 20
PARAMS_BYTES_MAX = 64 * 1024
ITEM_CHARS_MAX = 500
SCRIPT = Path(__file__).with_name("run_entry_point.py")
# Facts for such a check; the other facts are for built-in checks only.
FACTS = ("commit", "base", "onto", "branch", "changed", "scope", "goal", "task", "attempt")


def check_entry_point(
    spec: CheckSpec, worktree: Path, runner: CheckProcesses, facts: CheckFacts
) -> Finding:
    folder = runner.next_free_folder()
    outbox(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    visible_facts = {name: to_data(getattr(facts, name)) for name in FACTS}
    request = {"worktree": str(worktree), "facts": visible_facts, "options": dict(spec.options)}
    write_atomically(folder / REQUEST, json.dumps(request).encode())
    env = {**build_check_environment(runner, facts.room), **facts.environment}
    result = runner.run(folder, _launch(spec, worktree, runner, folder, env))
    secrets = runner.secrets(spec.env)
    evidence = {
        "exit_code": result.state.code,
        "output": read_excerpt(folder, secrets),
        "log": str(folder / OUT),
        "seconds": result.state.seconds,
    }
    finding = _find_interruption(spec, result, evidence)
    return finding or _read_finding(spec, outbox(folder) / ANSWER, secrets, evidence)


def _launch(
    spec: CheckSpec, worktree: Path, runner: CheckProcesses, folder: Path, env: Mapping[str, str]
) -> Launch:
    """Runs in our own Python, where the package is installed; imports nothing from the worktree."""
    env = {
        **env,
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


def _find_interruption(
    spec: CheckSpec, result: ProcessResult, evidence: Mapping[str, Any]
) -> Finding | None:
    state, interruption = result.state, result.find_interruption(spec.timeout)
    if interruption is not None:
        reason, is_transient = interruption
    elif state.ended_by:
        reason, is_transient = f"ended by {state.ended_by}", False
    elif state.signal:
        reason, is_transient = f"crashed with signal {state.signal}", True
    elif state.code:
        reason, is_transient = f"ended with exit code {state.code} and no answer", False
    else:
        return None
    return make_broken(
        spec, f"python check {spec.entry!r}: {reason}", transient=is_transient, **evidence
    )


# ------------------------------------------------------------------ its answer


def _read_finding(
    spec: CheckSpec, file: Path, secrets: tuple[str, ...], evidence: Mapping[str, Any]
) -> Finding:
    """A malformed answer proves nothing."""
    try:
        answer = mask_data(_load_answer(file), secrets)
        passed, message = answer["passed"], one_line(answer.get("message", ""))
        items = [_parse_item(item) for item in answer.get("items", [])]
    except (ValueError, RecursionError) as defect:
        reason = one_line(mask(strip_terminal_codes(str(defect)), secrets))
        return make_broken(spec, f"python check {spec.entry!r}: {reason}", **evidence)
    fields = {
        "items": bound_items(items, len(items)),
        "params": answer.get("params", {}),
        **evidence,
    }
    if passed:
        return make_passed(spec, message, params=fields["params"], **evidence)
    return make_failed(spec, message or f"python check {spec.entry!r} failed", **fields)


def _load_answer(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise ValueError("it left no answer")
    if file.stat().st_size > ANSWER_BYTES_MAX:
        raise ValueError(f"its answer is over the limit of {ANSWER_BYTES_MAX} bytes")
    match json.loads(file.read_text("utf-8")):
        case {"error": str(reason)}:
            raise ValueError(reason)
        case {"said": {"passed": bool()} as answer}:
            _validate_shape(answer)
            return dict(answer)
        case _:
            raise ValueError('it must return {"passed": true or false, …}')


def _validate_shape(answer: Mapping[str, Any]) -> None:
    shapes = {"passed": bool, "message": str, "items": list, "params": dict}
    for key, value in answer.items():
        if key not in shapes:
            raise ValueError(f"its answer has an unknown key {key[:40]!r}")
        if not isinstance(value, shapes[key]):
            raise ValueError(f"{key} of its answer is not a {shapes[key].__name__}")
    if len(json.dumps(answer.get("params", {}))) > PARAMS_BYTES_MAX:
        raise ValueError(f"params of its answer are over the limit of {PARAMS_BYTES_MAX} bytes")


def _parse_item(item: Any) -> FindingItem:
    match item:
        case str():
            return FindingItem(one_line(item, ITEM_CHARS_MAX))
        case {"name": str(), **rest} if set(rest) <= {"message", "where"}:
            if all(isinstance(part, str) for part in item.values()):
                parts = (item.get(key, "") for key in ("name", "message", "where"))
                name, message, where = (one_line(part, ITEM_CHARS_MAX) for part in parts)
                return FindingItem(name, message, where)
    raise ValueError("an item of its answer is neither a string nor {name, message, where}")
