"""Responses from the journal: filtered pages, and single entries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from yaoki.adapters.store.tables import journal_pages
from yaoki.errors import Unknown
from yaoki.faces.web.errors import bad_request
from yaoki.faces.web.parameters import PageRequest
from yaoki.faces.web.request_context import RequestContext
from yaoki.ports import JournalEntry
from yaoki.views import SCHEMA, describe_entry, entry_document

DATA_CHARS_MAX = 4096
# The most entries that one request reads; with a strict filter the cursor continues.
LOOKED_MAX = 10_000
LOOKED_AT_ONCE = 1_000
# The most entries that the database scans without an index.
SCANNED_MAX = 25_000
Document = dict[str, Any]


def get_journal(desk: RequestContext, asked: PageRequest) -> Document:
    if not desk.has_store:
        return {"schema": SCHEMA, "cursor": 0, "entries": [], "next_cursor": None}
    end = desk.cursor
    run = desk.run(asked.query["run"]).id if asked.query["run"] else ""
    if asked.query["after"] and asked.query["cursor"]:
        raise bad_request("after and cursor exclude each other; give one of them")
    found, edge = _sieved(desk, asked, run, end)
    shown = [entry_with_words(desk, entry) for entry in found]
    following = str(edge) if edge else None
    return {"schema": SCHEMA, "cursor": end, "entries": shown, "next_cursor": following}


def _sieved(
    desk: RequestContext, asked: PageRequest, run: str, end: int
) -> tuple[list[JournalEntry], int]:
    """A page, and the entry where the next one begins; 0 when there is none."""
    found: list[JournalEntry] = []
    limit, text = asked.query["limit"], asked.query["text"].casefold()
    look = JournalScan(desk, asked, run, end)
    while look.may_continue:
        for entry in look.read(LOOKED_AT_ONCE if text else limit):
            if not text or text in _words(desk, entry):
                found.append(entry)
            if len(found) == limit:
                return found, entry.seq
    return found, look.next_edge


class JournalScan:
    """Limits the reading of one request: a journal may have a million entries."""

    def __init__(self, desk: RequestContext, asked: PageRequest, run: str, end: int) -> None:
        self._desk, self._query, self._run, self._end = desk, asked.query, run, end
        self._forward = bool(asked.query["after"])
        self.next_edge = (
            asked.cursor_number("after")
            if self._forward
            else asked.cursor_number("cursor") or end + 1
        )
        # Runs and tasks have an index; any other filter scans entry by entry.
        self._scans = bool(asked.query["event"]) and not asked.query["task"]
        self._looked = 0
        self.may_continue = True

    def read(self, limit: int) -> Sequence[JournalEntry]:
        """The next entries; `next_edge` is then where the following ones begin, 0 at the end."""
        query, far = self._query, self._far()
        after, before = (self.next_edge, far) if self._forward else (far, self.next_edge)
        found = (journal_pages.read_forward if self._forward else journal_pages.read_newest)(
            self._desk.app.store.database,
            run_id=self._run,
            task_id=query["task"],
            events=query["event"],
            after=after,
            before=before,
            limit=limit,
        )
        self._looked += len(found)
        if len(found) == limit:
            self.next_edge = found[-1].seq
            self.may_continue = bool(query["text"]) and self._looked < LOOKED_MAX
        else:
            self.next_edge, self.may_continue = self._beyond(far), False
        return found

    def _far(self) -> int:
        if not self._scans:
            return 0
        return (
            self.next_edge + SCANNED_MAX if self._forward else max(0, self.next_edge - SCANNED_MAX)
        )

    def _beyond(self, far: int) -> int:
        """The edge after `far`, up to which every entry was scanned."""
        if self._forward:
            return far - 1 if far and far <= self._end else 0
        return far + 1 if far else 0


def _words(desk: RequestContext, entry: JournalEntry) -> str:
    parts = (entry.event, entry.task_id, desk.task_name(entry.task_id), describe_entry(entry))
    return " ".join(parts).casefold()


def get_entry(desk: RequestContext, asked: PageRequest) -> Document:
    text = asked.path["seq"]
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise bad_request(f"{text[:40]!r} is not the number of an entry")
    entry = journal_pages.read_entry(desk.app.store.database, int(text))
    if entry is None:
        raise Unknown(f"there is no journal entry {int(text)}", hint="yaoki trace")
    words = {
        "words": describe_entry(entry),
        "name": desk.task_name(entry.task_id) or None,
        "cut": False,
    }
    return {"schema": SCHEMA, "entry": {**entry_document(entry), **words}}


def entry_with_words(desk: RequestContext, entry: JournalEntry) -> Document:
    """The entry as in `trace --json`, with its words; long data is left out."""
    document = entry_document(entry)
    cut = len(json.dumps(document["data"], ensure_ascii=False)) > DATA_CHARS_MAX
    return {
        **document,
        "data": {} if cut else document["data"],
        "words": describe_entry(entry),
        "name": desk.task_name(entry.task_id) or None,
        "cut": cut,
    }
