"""Reads Task Master's tasks.json: tasks with dependencies, subtasks, status; a list for each tag.

A task with open subtasks is only their parent: its dependents wait for all of them, and they wait
for what it depends on.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.formats.imports.located_json import LocatedValue, NotJson, parse_json
from yaoki.formats.imports.model import ImportedList, ImportedTask, ImportOptions, join_paragraphs

NAME = "task-master"
DONE = frozenset(("done", "completed"))
OPEN = frozenset(("pending", "in-progress", "in_progress", "review", "blocked", ""))
SKIPPED_STATES = frozenset(("deferred", "cancelled", "canceled"))
PRIORITIES = {"critical": 20, "high": 10, "medium": 0, "low": -10}


@dataclass(slots=True)
class _Task:
    """A task or subtask of the list; `key` is its name in dependencies: `2`, `2.1`."""

    key: str
    value: LocatedValue
    status: str
    title: str
    above: _Task | None = None
    inside: list[_Task] = field(default_factory=list)

    @property
    def open(self) -> bool:
        return self.status in OPEN

    @property
    def works(self) -> list[_Task]:
        """The tasks that do the work: its open subtasks, or itself."""
        return [one for one in self.inside if one.open] or [self]

    def text(self, key: str) -> str:
        entry = self.value.data.get(key)
        if isinstance(entry, list):
            return "\n".join(f"- {one}" for one in entry if isinstance(one, str))
        return entry.strip() if isinstance(entry, str) else ""


def looks_like(data: Any) -> bool:
    if not isinstance(data, dict):
        return False
    return _has_tasks(data) or any(_has_tasks(entry) for entry in data.values())


def _has_tasks(entry: Any) -> bool:
    """Task Master's tasks have titles; tasks of a native plan have goals."""
    tasks = entry.get("tasks") if isinstance(entry, dict) else None
    return isinstance(tasks, list) and any(
        isinstance(one, dict) and "title" in one and "goal" not in one for one in tasks
    )


def read_taskmaster(text: str, result: ImportedList, options: ImportOptions) -> None:
    try:
        document = parse_json(text)
    except NotJson as fault:
        result.add_unreadable(fault.line, fault.reason)
        return
    listed = _choose_tag(document, result, options)
    if listed is None:
        return
    tasks = _tasks(listed, result)
    known = {one.key: one for task in tasks for one in (task, *task.inside)}
    for task in tasks:
        _take(task, known, result)


def _choose_tag(
    document: LocatedValue, result: ImportedList, options: ImportOptions
) -> LocatedValue | None:
    """The list of the chosen tag; `master` is Task Master's own default."""
    tags = {name: entry for name, entry in document.members() if isinstance(entry.data, dict)}
    tags = {
        name: entry for name, entry in tags.items() if isinstance(entry.data.get("tasks"), list)
    }
    if (
        isinstance(document.data, dict)
        and isinstance(document.data.get("tasks"), list)
        and not options.tag
    ):
        result.goal = _project(document)
        return document.get("tasks")
    name = options.tag or ("master" if "master" in tags else next(iter(tags), ""))
    if name not in tags:
        there = ", ".join(tags) or "none"
        result.add_unreadable(
            1, f"there is no list of tasks under {name or 'tasks'!r}; tags: {there}"
        )
        return None
    others = [tag for tag in tags if tag != name]
    if others and not options.tag:
        result.add_note(
            tags[name].line,
            f"the tag {name} was imported; choose another with --tag: {', '.join(others)}",
        )
    result.goal = _project(tags[name]) or ("" if name == "master" else name)
    return tags[name].get("tasks")


def _project(value: LocatedValue) -> str:
    for key in ("metadata", "meta"):
        entry = value.data.get(key)
        for name in ("projectName", "description"):
            if isinstance(entry, dict) and isinstance(entry.get(name), str) and entry[name].strip():
                return str(entry[name]).strip()
    return ""


def _tasks(listed: LocatedValue, result: ImportedList, above: _Task | None = None) -> list[_Task]:
    tasks: dict[str, _Task] = {}
    for value in listed.elements():
        task = _task(value, result, above)
        if task is not None and task.key in tasks:
            result.add_unreadable(value.line, f"task {task.key} is already in the list")
        elif task is not None:
            tasks[task.key] = task
            inside = value.get("subtasks") if above is None else None
            if inside is not None:
                task.inside = _tasks(inside, result, task)
    return list(tasks.values())


def _task(value: LocatedValue, result: ImportedList, above: _Task | None) -> _Task | None:
    data = value.data
    name = data.get("id") if isinstance(data, dict) else None
    if not isinstance(name, int | str) or isinstance(name, bool) or not str(name).strip():
        result.add_unreadable(value.line, "a task without an id")
        return None
    key = str(name).strip()
    if above is not None:
        key = f"{above.key}.{key.removeprefix(f'{above.key}.')}"
    title = data.get("title")
    if not isinstance(title, str) or not title.strip():
        result.add_unreadable(value.line, f"task {key} has no title")
        return None
    status = data.get("status", "")
    task = _Task(key, value, str(status).strip().lower(), title.strip(), above)
    if task.status not in DONE | OPEN | SKIPPED_STATES:
        result.add_unreadable(
            value.line, f"task {key} has the status {str(status)[:40]!r}, which is unknown"
        )
        return None
    return task


def _take(task: _Task, known: dict[str, _Task], result: ImportedList) -> None:
    for one in (task, *task.inside):
        if not one.open:
            result.add_skipped(f"{one.key} {one.title}"[:120], one.value.line, one.status)
    if task.open:
        result.items += [_item(one, known, result) for one in task.works]
    else:
        for one in task.inside:
            if one.open:
                words = f"subtask {one.key} is open, and task {task.key} is {task.status}"
                result.add_note(one.value.line, words)
                result.items.append(_item(one, known, result))


def _item(task: _Task, known: dict[str, _Task], result: ImportedList) -> ImportedTask:
    needs = dict.fromkeys(name for one in _frames(task) for name in _needs(one, known, result))
    outer = task.above or task
    priority = PRIORITIES.get((task.text("priority") or outer.text("priority")).lower(), 0)
    return ImportedTask(_id(task), _goal(task), task.value.line, tuple(needs), priority)


def _frames(task: _Task) -> list[_Task]:
    return [task, task.above] if task.above is not None else [task]


def _goal(task: _Task) -> str:
    tests, accepted = task.text("testStrategy"), task.text("acceptanceCriteria")
    parts = [task.title, task.text("description"), task.text("details")]
    parts += [f"How it is tested: {tests}" if tests else ""]
    parts += [f"Accepted when: {accepted}" if accepted else ""]
    if task.above is not None:
        frame = task.above
        parts += [f"Part of: {frame.title}. {frame.text('description')}", frame.text("details")]
        outer_tests = frame.text("testStrategy")
        parts += [f"How the parent task is tested: {outer_tests}" if outer_tests else ""]
    return join_paragraphs(*parts)


def _needs(task: _Task, known: dict[str, _Task], result: ImportedList) -> list[str]:
    """The ids of the tasks that it depends on."""
    entry = task.value.get("dependencies")
    if entry is None or entry.data is None:
        return []
    if not isinstance(entry.data, list):
        result.add_unreadable(entry.line, f"the dependencies of task {task.key} are not a list")
        return []
    needed_ids: list[str] = []
    for value in entry.elements():
        other = _other(task, str(value.data).strip(), known)
        if other is None:
            words = f"task {task.key} depends on {value.data!r}, which is not in this list"
            _once(result, value.line, words)
        elif other.status in SKIPPED_STATES:
            _once(result, value.line, f"task {task.key} depends on {other.key}: {other.status}")
        elif other.open and other is not task:
            needed_ids += [_id(one) for one in other.works if one is not task]
    return needed_ids


def _other(task: _Task, name: str, known: dict[str, _Task]) -> _Task | None:
    """The dependency of this name; in a subtask a plain number means a sibling, if there is one."""
    sibling = known.get(f"{task.above.key}.{name}") if task.above is not None else None
    return sibling or known.get(name)


def _once(result: ImportedList, line: int, words: str) -> None:
    """A parent is read once for each of its subtasks; report its problems once."""
    if (line, words) not in result.unreadable:
        result.add_unreadable(line, words)


def _id(task: _Task) -> str:
    return f"task-{task.key}"
