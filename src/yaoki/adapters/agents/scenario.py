"""Parses scenarios of the scripted agent: its acts per task and attempt; reports all defects."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from yaoki.errors import PlanInvalid

BYTES_MAX = 1 << 20
Scenario = dict[str, dict[str, list[list[dict[str, Any]]]]]
ArgumentRule = Callable[[Any], str]


def check_scenario(options: Mapping[str, Any]) -> Scenario:
    """The scenario in its full form; raises `PlanInvalid` with all defects.

    `options["scenario"]` is a mapping, or the path of a YAML or JSON file that holds one.
    """
    scenario_data = options.get("scenario")
    defects = [f"unknown option {key!r}" for key in options if key != "scenario"]
    if isinstance(scenario_data, str | Path):
        scenario_data = load_scenario(Path(scenario_data))
    scenario, scenario_defects = _parse_scenario(scenario_data)
    defects += scenario_defects
    if defects:
        raise PlanInvalid(
            f"the scenario is refused: {defects[0]}",
            hint="docs/rehearsal.md lists the acts and their shapes",
            defects=defects,
        )
    return scenario


def load_scenario(file: Path) -> Any:
    """Reads a scenario file; refuses aliases, tags and duplicate keys."""
    import yaml

    from yaoki.adapters.agents.strict_yaml import StrictLoader

    try:
        with file.open("rb") as stream:
            raw = stream.read(BYTES_MAX + 1)
        if len(raw) > BYTES_MAX:
            raise PlanInvalid(
                f"{file} is longer than {BYTES_MAX} bytes", hint="split the rehearsal"
            )
        return yaml.load(raw.decode("utf-8"), Loader=StrictLoader)  # noqa: S506 - it is a SafeLoader
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as fault:
        raise PlanInvalid(f"{file} cannot be read as YAML: {fault}", hint="correct it") from fault
    except OSError as fault:
        raise PlanInvalid(
            f"{file} cannot be read: {fault.strerror}", hint="name the file by its whole path"
        ) from fault


def _parse_scenario(data: Any) -> tuple[Scenario, list[str]]:
    if not isinstance(data, dict) or set(data) != {"tasks"} or not isinstance(data["tasks"], dict):
        return {}, ["a scenario is {tasks: {NAME: [acts of attempt 1, acts of attempt 2, …]}}"]
    tasks: dict[str, list[list[dict[str, Any]]]] = {}
    defects: list[str] = []
    for name, attempts in data["tasks"].items():
        if not isinstance(name, str) or not isinstance(attempts, list) or not attempts:
            defects.append(f"tasks.{name}: a list with one entry per attempt is needed")
            continue
        tasks[name] = []
        for n, acts in enumerate(attempts, 1):
            tasks[name].append(_parse_acts(acts, f"tasks.{name}, attempt {n}", defects))
    return {"tasks": tasks}, defects


def _parse_acts(data: Any, where: str, defects: list[str]) -> list[dict[str, Any]]:
    """Parse an attempt: a list of acts, or a single one."""
    acts = []
    for act in data if isinstance(data, list) else [data]:
        name, value, defect = _parse_act(act)
        if defect:
            defects.append(f"{where}: {defect}")
        acts.append({name: value})
    return acts


def _parse_act(data: Any) -> tuple[str, Any, str]:
    """An act is `name` or `{name: value}`."""
    if isinstance(data, str):
        data = {data: None}
    if not isinstance(data, dict) or len(data) != 1:
        return "", None, f"an act has one name and its value, not {data!r:.80}"
    [(name, value)] = data.items()
    shape = ACTS.get(name) if isinstance(name, str) else None
    if shape is None:
        close = get_close_matches(str(name), ACTS, n=1)
        return (
            "",
            None,
            f"unknown act {name!r}" + (f"; did you mean {close[0]!r}?" if close else ""),
        )
    requirement = shape(value)
    return name, value, f"{name} needs {requirement}, not {value!r:.80}" if requirement else ""


# ------------------------------------------------------------------ shapes: empty if valid


def _nothing(value: Any) -> str:
    return "" if value is None or value is True else "no value"


def _text(value: Any) -> str:
    return "" if isinstance(value, str) else "a string"


def _maybe_text(value: Any) -> str:
    return "" if value is None or isinstance(value, str) else "a string or nothing"


def _files(value: Any) -> str:
    fits = isinstance(value, dict) and value and _all_texts([*value, *value.values()])
    return "" if fits else "{path: text}"


def _paths(value: Any) -> str:
    fits = isinstance(value, list) and value and _all_texts(value)
    return "" if fits or (isinstance(value, str) and value) else "a list of paths"


def _argv(value: Any) -> str:
    fits = isinstance(value, list) and value and _all_texts(value)
    return "" if fits else "a command as a list of strings"


def _replacement(value: Any) -> str:
    fits = isinstance(value, dict) and set(value) == {"path", "old", "new"}
    return "" if fits and _all_texts(value.values()) and value["old"] else "{path, old, new}"


def _seconds(value: Any) -> str:
    fits = _number(value) and 0 <= value <= 86400
    return "" if fits else "seconds between 0 and 86400"


def _count(value: Any) -> str:
    return "" if _number(value) and isinstance(value, int) and value >= 0 else "a number of bytes"


def _code(value: Any) -> str:
    return "" if _number(value) and value in range(256) else "an exit code between 0 and 255"


def _wait(value: Any) -> str:
    if value is None:
        return ""
    fits = isinstance(value, dict) and set(value) == {"retry_after"}
    return "" if fits and not _count(value["retry_after"]) else "{retry_after: whole seconds}"


def _signal(value: Any) -> str:
    names = {n for s in signal.Signals for n in (s.name, s.name.removeprefix("SIG"), int(s))}
    is_known = isinstance(value, str | int) and not isinstance(value, bool) and value in names
    return "" if is_known else "a signal such as KILL"


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _all_texts(values: Any) -> bool:
    return all(isinstance(value, str) for value in values)


ACTS: Mapping[str, ArgumentRule] = {
    "write": _files,
    "append": _files,
    "replace": _replacement,
    "delete": _paths,
    "delete_tests": _nothing,
    "omit": _files,
    "conflict": _files,
    "resolve_conflict": _files,
    "run": _argv,
    "commit": _text,
    "tamper_config": _nothing,
    "say": _text,
    "complain": _text,
    "claim_done": _maybe_text,
    "talk_429": _nothing,
    "flood": _count,
    "ask": _text,
    "unsafe": _maybe_text,
    "rate_limit": _wait,
    "nothing": _nothing,
    "sleep": _seconds,
    "burn": _seconds,
    "hang": _nothing,
    "grandchild": _maybe_text,
    "die": _signal,
    "exit": _code,
    "record": _text,
}
