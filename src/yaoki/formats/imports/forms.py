"""Detects the format of a list, and calls its reader."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from yaoki.core.graph import find_cycle
from yaoki.core.lazy_dataclass import replace
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.errors import PlanInvalid
from yaoki.formats.imports import checklist, issues, speckit, taskmaster
from yaoki.formats.imports.model import (
    BYTES_MAX,
    ITEMS_MAX,
    ImportedList,
    ImportedTask,
    ImportOptions,
)

FORMS: Mapping[str, Callable[[str, ImportedList, ImportOptions], None]] = {
    speckit.NAME: speckit.read_speckit,
    taskmaster.NAME: taskmaster.read_taskmaster,
    issues.NAME: issues.read_issues,
    checklist.NAME: checklist.read_checklist,
}
_NAME = lazy_compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_CONTROL = lazy_compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def detect_form(text: str) -> str:
    """The format of a text, by its content; empty when it has none of them."""
    if text.lstrip().startswith(("{", "[")) and not checklist.looks_like(text):
        return _form_of_json(text)
    if speckit.looks_like(text):
        return speckit.NAME
    return checklist.NAME if checklist.looks_like(text) else ""


def _form_of_json(text: str) -> str:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    if taskmaster.looks_like(data):
        return taskmaster.NAME
    return issues.NAME if issues.looks_like(data) else ""


def read_list(
    text: str, name: str, form: str = "", options: ImportOptions | None = None
) -> ImportedList:
    """The tasks of a list; `PlanInvalid` when the text is no list at all."""
    chosen = options or ImportOptions()
    if (size := len(text.encode(errors="replace"))) > BYTES_MAX:
        raise _refusal(name, f"{size} bytes are over the limit of {BYTES_MAX}")
    form = form or detect_form(text)
    if not form:
        known = ", ".join(FORMS)
        raise _refusal(name, f"this is not a list that can be imported ({known})")
    result = ImportedList(form, name)
    FORMS[form](text, result, chosen)
    result.items = _valid_items(result, chosen)
    return result


def _refusal(name: str, why: str) -> PlanInvalid:
    return PlanInvalid(f"{name}: {why}", hint="yaoki plan import --help", defects=())


def _valid_items(result: ImportedList, options: ImportOptions) -> list[ImportedTask]:
    """Report here, with its line, whatever would make the plan invalid."""
    valid = []
    for item in result.items[:ITEMS_MAX]:
        goal = _CONTROL.sub("�", item.goal)
        if (size := len(goal.encode())) > options.text_bytes_max:
            limit = options.text_bytes_max
            result.add_unreadable(
                item.line, f"the text of {item.id} has {size} bytes; the limit is {limit}"
            )
        elif not _NAME.fullmatch(item.id):
            result.add_unreadable(item.line, f"{item.id[:80]!r} is not a valid task name")
        else:
            valid.append(replace(item, goal=goal))
    if len(result.items) > ITEMS_MAX:
        over = result.items[ITEMS_MAX]
        result.add_unreadable(
            over.line, f"more than {ITEMS_MAX} tasks; this is the first over the limit"
        )
    names = {item.id for item in valid}
    valid = [replace(one, needs=tuple(n for n in one.needs if n in names)) for one in valid]
    _refuse_circle(valid, result)
    return valid


def _refuse_circle(items: list[ImportedTask], result: ImportedList) -> None:
    cycle = find_cycle({item.id: item.needs for item in items})
    if cycle:
        lines = {item.id: item.line for item in items}
        path = " needs ".join(cycle)
        raise PlanInvalid(
            f"{result.name}: tasks need each other in a circle: {path}",
            hint=f"fix the list; {cycle[0]} is in line {lines[cycle[0]]}",
        )
