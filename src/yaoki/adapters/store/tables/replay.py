"""Lines of the journal file made into rows again, by the code that wrote them first.

A line that cannot be applied, because one before it is lost, is kept as a note and never guessed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from yaoki.adapters.store.database import Link
from yaoki.adapters.store.journal_file.checksummed_line import UNAPPLIED
from yaoki.adapters.store.sql import SqlStore
from yaoki.adapters.store.tables import statements as sql
from yaoki.adapters.store.tables.apply_events import CHANGING
from yaoki.adapters.store.tables.outbox import post
from yaoki.adapters.store.tables.retention import RUN_ARCHIVED, drop_run
from yaoki.adapters.store.tables.rows import dumps, instant
from yaoki.core.machine.codec import event_from_data, from_data
from yaoki.core.machine.events import Submitted
from yaoki.core.model import Run
from yaoki.errors import RowIllegal, Unknown

Line = Mapping[str, Any]
AT_ONCE = 2000
SUBMITTED = Submitted.NAME


@dataclass(slots=True)
class Replayed:
    """What became of the lines: applied, kept as a note, or known to be missing."""

    lines: int = 0
    unapplied: list[str] = field(default_factory=list)
    missing: int = 0


class Replays(SqlStore):
    """A store that is being made again."""

    def replay(self, lines: Iterable[Line]) -> Replayed:
        """All that follow what is stored; gaps in their numbers are lines that are lost."""
        done = Replayed()
        last = self.cursor()
        batch: list[list[Line]] = []
        for group in _together(lines, last):
            done.missing += group[-1]["seq"] - last - len(group)
            last = group[-1]["seq"]
            batch.append(group)
            if len(batch) >= AT_ONCE:
                self._replay_all(batch, done)
                batch = []
        self._replay_all(batch, done)
        return done

    def _replay_all(self, batch: list[list[Line]], done: Replayed) -> None:
        def work(link: Link) -> None:
            for group in batch:
                self._replay_group(link, group, done)

        self._db.write(work)

    def _replay_group(self, link: Link, group: list[Line], done: Replayed) -> None:
        done.lines += len(group)
        link.run("SAVEPOINT line")
        try:
            self._redo(link, group)
            link.flush()
            kept = group
        except (AssertionError, LookupError, TypeError, ValueError, Unknown, RowIllegal) as error:
            link.run("ROLLBACK TO line")
            done.unapplied += [f"line {line['seq']}: {error}" for line in group]
            kept = [_noted(line, error) for line in group]
        link.run("RELEASE line")
        link.many(sql.KEEP_ENTRY, kept)
        post(link, kept, self._posting)

    def incomplete(self) -> list[str]:
        """Runs whose plan is not here whole: to carry them on would call a part the whole."""
        with self._db.read() as link:
            return [row["run_id"] for row in link.rows(sql.INCOMPLETE)]

    def _redo(self, link: Link, group: list[Line]) -> None:
        """One way for each kind of line; whatever else a line says changes no row."""
        line, data = group[0], json.loads(group[0]["data"])
        now, run_id = instant(line["at_ms"]), line["run_id"]
        if line["event"] == "PLAN_SUBMITTED":
            self._open_run(link, from_data(Run, data["run"]))
        elif line["event"] == SUBMITTED:
            self._place(link, run_id, [self._submitted(link, each) for each in group], now)
        elif line["event"] == RUN_ARCHIVED:
            drop_run(link, run_id)
        elif line["event"] == "NOTICE_SENT":
            link.run(sql.NOTICE_WAS_SENT, {**line, **data})
        elif line["task_id"]:
            event = event_from_data(line["event"], data, self._catalogue(link, run_id))
            self._apply(link, self._task(link, line["task_id"]), (event,), now)
        elif isinstance(data, dict) and CHANGING.issuperset(data.get("set", ())):
            self._set_run(link, run_id, data.get("set", {}))

    def _submitted(self, link: Link, line: Line) -> Submitted:
        catalogue = self._catalogue(link, line["run_id"])
        event = event_from_data(line["event"], json.loads(line["data"]), catalogue)
        assert isinstance(event, Submitted), line["event"]
        return event


def _together(lines: Iterable[Line], last: int) -> Iterator[list[Line]]:
    """Tasks that were submitted together may need each other, so they are placed together."""

    def ascending() -> Iterator[Line]:
        before = last
        for line in lines:
            if line["seq"] > before:
                before = line["seq"]
                yield line

    def belongs(line: Line) -> tuple[Any, ...]:
        if line["event"] == SUBMITTED:
            return (line["run_id"], line["at_ms"])
        return (line["seq"],)

    for _, group in groupby(ascending(), key=belongs):
        yield list(group)


def _noted(line: Line, error: Exception) -> dict[str, Any]:
    told = {"event": line["event"], "data": json.loads(line["data"]), "why": str(error)}
    return {**line, "event": UNAPPLIED, "data": dumps(told)}
