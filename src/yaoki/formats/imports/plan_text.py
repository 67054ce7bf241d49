"""Writes an import as a native plan: comments for people, then YAML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from yaoki.core.text import first_line, one_line, shorten, strip_terminal_codes
from yaoki.formats.imports.model import ImportedList, ImportedTask

LEFT_OUT_LISTED_MAX = 200


class _Dumper(yaml.SafeDumper):
    """Writes long texts line by line."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, data: str) -> yaml.ScalarNode:
    style = "|" if "\n" in data else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(str, _text)


def _default_goal(imported: ImportedList) -> str:
    """The first tasks by name: a file name says nothing about the goal."""
    return shorten(f"Do: {'; '.join(first_line(item.goal, 60) for item in imported.items)}", 120)


def plan_text(imported: ImportedList, goal: str = "") -> str:
    """The plan, with comments on its origin and on what was left out."""
    plan: dict[str, Any] = {"goal": goal or imported.goal or _default_goal(imported)}
    if imported.phases:
        plan["phases"] = [
            {
                "id": phase.id,
                **({"needs": list(phase.needs)} if phase.needs else {}),
                "tasks": [_task(item) for item in imported.items if item.phase == phase.id],
            }
            for phase in imported.phases
        ]
    else:
        plan["tasks"] = [_task(item) for item in imported.items]
    return dump_plan(plan, _comments(imported))


def dump_plan(plan: Mapping[str, Any], comments: Iterable[str]) -> str:
    """A plan as YAML below its comments."""
    dumped: str = yaml.dump(
        dict(plan), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
    )
    return "".join(f"# {line}\n" for line in comments) + dumped


def _comments(imported: ImportedList) -> list[str]:
    lines = [f"Imported from {_line(imported.name)} ({imported.form}) by yaoki plan import."]
    lines.append(
        "Agents and checks are those of yaoki.toml; add agent: or checks: to a task as needed."
    )
    shown = imported.skipped[:LEFT_OUT_LISTED_MAX]
    if shown:
        lines.append("Left out:")
        lines += [f"  line {one.line}, {one.reason}: {_line(one.name)}" for one in shown]
    if more := len(imported.skipped) - len(shown):
        lines.append(f"  and {more} more")
    unread = imported.unreadable[:LEFT_OUT_LISTED_MAX]
    if unread:
        lines.append("Left out because it was not understood:")
        lines += [f"  line {line}: {_line(words)}" for line, words in sorted(unread)]
    return lines


def _line(text: str) -> str:
    return one_line(strip_terminal_codes(text), 120)


def _task(item: ImportedTask) -> dict[str, Any]:
    task: dict[str, Any] = {"id": item.id, "goal": item.goal}
    if item.needs:
        task["needs"] = list(item.needs)
    if item.priority:
        task["priority"] = item.priority
    return task
