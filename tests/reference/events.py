"""docs/reference/events.md: every event with its fields, as the code has them."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Union, get_args, get_origin

from tests.reference.event_descriptions import CLASSES, NOTE_DESCRIPTIONS
from tests.reference.journal_notes import journal_note_events
from yaoki.core.machine.codec import EVENT_CLASSES
from yaoki.core.machine.value_codec import field_types
from yaoki.core.model import TaskSpec
from yaoki.core.model.stored_word import stored_word
from yaoki.faces.hooks import state as sessions
from yaoki.ports import JournalEntry

PLAIN = {str: "text", int: "number", float: "number", bool: "true or false", Any: "anything"}
ELSEWHERE = {TaskSpec: "a [task of the plan](plan.md#a-task)"}
HEAD = """\
# Events

Every event is a line of the journal: `yaoki trace --jsonl`, `GET /api/v1/events`, `run.events()` in
Python. This page is generated from the code by `python -m tests.reference`, and a test compares it.

"""
BEFORE = """
New events and fields may be added at any time, so ignore those that you do not know. A field with
its default value is left out, except in `RETRY_DECISION`, `ESCALATE_DECISION`, `RERUN_HELD` and
`PROMPT_SENT`, which are always complete. `set` contains the fields of the run that change with the
event; only the store uses it.

## Events that change a task

Applying these events in order yields the row of a task; `yaoki doctor` compares the two.
"""
BETWEEN = """
## Events that only inform

These events change no task. Fields that an event does not need are left out.

| event | meaning | fields |
|---|---|---|
"""
AFTER = """
## Events of hook mode

[Hook mode](../guides/hooks.md) keeps a journal for each of your own sessions, which
`yaoki hook status` reads. Its events:
"""


def page() -> str:
    return "".join(_parts()).rstrip() + "\n"


def undescribed() -> set[str]:
    """Events of the code without words here, and words without an event."""
    silent = {
        name for name, kind in EVENT_CLASSES.items() if not (CLASSES.get(name) or _said(kind))
    }
    told = set(journal_note_events()) - set(EVENT_CLASSES)
    return silent | (set(CLASSES) - set(EVENT_CLASSES)) | (told ^ set(NOTE_DESCRIPTIONS))


def unlisted_fields() -> dict[str, set[str]]:
    """Fields in the code that the table lacks."""
    found = {
        name: held - set(NOTE_DESCRIPTIONS[name][1])
        for name, held in journal_note_events().items()
        if name in NOTE_DESCRIPTIONS
    }
    return {name: missing for name, missing in found.items() if missing}


def _parts() -> Iterator[str]:
    yield HEAD
    yield "| field of a line | type |\n|---|---|\n"
    hints = field_types(JournalEntry)
    wire = {"run_id": "run", "task_id": "task"}
    yield from (
        f"| `{wire.get(f.name, f.name)}` | {_form(hints[f.name])} |\n" for f in fields(JournalEntry)
    )
    yield BEFORE
    for name, kind in EVENT_CLASSES.items():
        yield f"\n### `{name}`\n\n{CLASSES.get(name) or _said(kind)}\n{_table(kind)}"
    yield BETWEEN
    for name, (words, held) in sorted(NOTE_DESCRIPTIONS.items()):
        yield f"| `{name}` | {words} | {', '.join(f'`{one}`' for one in held)} |\n"
    yield AFTER
    yield ", ".join(f"`{name}`" for name in session_events()) + ".\n"
    yield "\n## Values\n"
    values = _values(EVENT_CLASSES.values())
    for kind in sorted((v for v in values if is_dataclass(v)), key=lambda v: v.__name__):
        yield f"\n### {kind.__name__}\n\n{_said(kind)}\n{_table(kind)}"
    yield "\n### Enumerations\n\n| type | one of |\n|---|---|\n"
    for kind in sorted((v for v in values if issubclass(v, Enum)), key=lambda v: v.__name__):
        yield f"| {kind.__name__} | {', '.join(f'`{one.value}`' for one in kind)} |\n"


def session_events() -> tuple[str, ...]:
    return tuple(
        value for name, value in vars(sessions).items() if name.isupper() and name == value
    )


def _said(kind: type) -> str:
    """The words of the class itself; a signature that Python made up says nothing."""
    words = inspect.cleandoc(kind.__doc__ or "").replace(".  ", ". ")
    if words.startswith(f"{kind.__name__}("):
        return ""
    # The docstring names the fields of the code; the page names the words of the journal.
    for field in fields(kind) if is_dataclass(kind) else ():
        words = words.replace(f"`{field.name}`", f"`{stored_word(field)}`")
    return words


def _table(kind: type) -> str:
    hints = field_types(kind)
    rows = [
        f"| `{stored_word(held)}` | {_form(hints[held.name])} | {_default(held)} |\n"
        for held in fields(kind)
    ]
    return "\n| field | type | default |\n|---|---|---|\n" + "".join(rows)


def _default(held: Field[Any]) -> str:
    if held.default is MISSING and held.default_factory is MISSING:
        return "always given"
    value = held.default if held.default is not MISSING else None
    if value is None or value == "" or value == ():
        return "nothing"
    return f"`{value.value if isinstance(value, Enum) else _lower(value)}`"


def _lower(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _form(hint: Any) -> str:
    if hint in PLAIN or hint in ELSEWHERE:
        return PLAIN.get(hint) or ELSEWHERE[hint]
    if hint in {datetime, timedelta}:
        return "time" if hint is datetime else "seconds"
    if getattr(hint, "__supertype__", None) is str:
        return "text"
    origin, inner = get_origin(hint), get_args(hint)
    if origin in {Union, types.UnionType}:
        return " or ".join("nothing" if one is type(None) else _form(one) for one in inner)
    if origin is tuple:
        return f"list of {_form(inner[0])}"
    if origin is not None and issubclass(origin, Mapping):
        return f"table of {_form(inner[1])}"
    return (
        f"[{hint.__name__}](#{'enumerations' if issubclass(hint, Enum) else hint.__name__.lower()})"
    )


def _values(kinds: Iterable[type]) -> list[type]:
    """Every class of yaoki that a field can contain, recursively."""
    found: list[type] = []
    waiting = [hint for kind in kinds for hint in _hints(kind)]
    while waiting:
        hint = waiting.pop()
        waiting += get_args(hint)
        ours = isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, Enum))
        if ours and hint not in found and hint not in ELSEWHERE:
            found.append(hint)
            waiting += _hints(hint)
    return found


def _hints(kind: type) -> list[Any]:
    if not is_dataclass(kind):
        return []
    known = field_types(kind)
    return [known[held.name] for held in fields(kind)]
