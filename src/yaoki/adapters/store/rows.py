"""Rows of runs and of the journal to values and back, and the codecs of every row (times, JSON)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Protocol

from yaoki.core.machine.value_codec import fields_from_data, fields_to_data, from_data, to_data
from yaoki.core.model import (
    Catalogue,
    Pause,
    Run,
    RunId,
)
from yaoki.errors import StoreCorrupt
from yaoki.ports import JournalEntry

# Fields of a run that no statement searches; only its revised checks change after submit.
RUN_DOC_FIELDS = (
    *("planner", "default_agents", "budget", "continuous", "language", "approved"),
    *("revised_checks", "reuse_verdicts"),
)
# Errors that reading a row or an entry may raise if yaoki did not write it.
ROW_READ_ERRORS = (AssertionError, AttributeError, LookupError, TypeError, ValueError)
# A worker has few runs at a time.
CATALOGUES_KEPT = 32
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class SqlRow(Protocol):
    """A row of either database: values by column name."""

    def __getitem__(self, key: str, /) -> Any: ...
    def keys(self) -> Iterable[str]: ...


def to_ms(instant: datetime | None) -> int:
    return 0 if instant is None else round(instant.timestamp() * 1000)


def from_ms(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def dump_json(value: Any) -> str:
    """Compact JSON; characters that UTF-8 cannot encode, as in odd file names, are escaped."""
    text = _JSON.encode(value)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def as_mappings(rows: Sequence[Any]) -> Iterable[SqlRow]:
    """Dictionaries, for rows of which every column is read: SQLite's rows search each name."""
    if not rows or isinstance(rows[0], Mapping):
        return rows
    names = tuple(rows[0].keys())
    return (dict(zip(names, row, strict=True)) for row in rows)


def run_columns(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "goal": run.goal,
        "repo": run.repo,
        "base_branch": run.base_branch,
        "base": run.base,
        "created_ms": to_ms(run.created_at),
        "catalogue": dump_json(to_data(run.catalogue)),
        "done_when": dump_json(list(run.done_when)),
        "source": run.source,
        "parallel": run.parallel,
        "revision": run.revision,
        "priority": run.priority,
        "doc": run_document(run),
    }


def run_document(run: Run) -> str:
    """The fields of a run in one column."""
    return dump_json(fields_to_data(run, RUN_DOC_FIELDS))


def run_from_row(row: SqlRow) -> Run:
    return Run(
        id=RunId(row["id"]),
        goal=row["goal"],
        repo=row["repo"],
        base_branch=row["base_branch"],
        base=row["base"],
        created_at=from_ms(row["created_ms"]),
        catalogue=_parse_catalogue(row["catalogue"]),
        done_when=tuple(json.loads(row["done_when"])),
        source=row["source"],
        parallel=row["parallel"],
        revision=row["revision"],
        priority=row["priority"],
        cancel_requested=bool(row["cancel_wanted"]),
        merged_commit=row["merged"],
        finished_at=from_ms(row["summed_ms"]) if row["summed_ms"] else None,
        pause=Pause.parse(row["paused"]),
        iteration=row["iteration"],
        failures_in_row=row["failures_in_row"],
        budget_grants=row["grants"],
        acknowledged_iteration=row["acknowledged"],
        **fields_from_data(Run, RUN_DOC_FIELDS, json.loads(row["doc"])),
    )


@lru_cache(CATALOGUES_KEPT)
def _parse_catalogue(text: str) -> Catalogue:
    """The row of a run is read at every step, and its catalogue is by far its longest value."""
    return from_data(Catalogue, json.loads(text))


def entry_from_row(row: SqlRow) -> JournalEntry:
    """Raises `StoreCorrupt` for a line whose data is no JSON object."""
    try:
        data = json.loads(row["data"])
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise StoreCorrupt(f"line {row['seq']} of the journal cannot be read", hint="yaoki doctor")
    return JournalEntry(
        seq=row["seq"],
        at=from_ms(row["at_ms"]),
        run_id=row["run_id"],
        task_id=row["task_id"],
        attempt=row["attempt"],
        event=row["event"],
        data=data,
        subtask=row["subtask"],
    )
