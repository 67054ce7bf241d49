"""Responses from the journal: filtered pages, and single entries."""

from __future__ import annotations

import json
from collections.abc import Sequence

from yaoki.adapters.store.tables import journal_pages
from yaoki.errors import Unknown
from yaoki.faces.web.errors import bad_request
from yaoki.faces.web.parameters import PageRequest
from yaoki.faces.web.request_context import RequestContext
from yaoki.ports import JournalEntry
from yaoki.views import SCHEMA, describe_entry, entry_document
from yaoki.views.documents import Document

DATA_CHARS_MAX = 4096
# The most entries that one request reads; with a strict filter the cursor continues.
LOOKED_MAX = 10_000
LOOKED_AT_ONCE = 1_000
# The most entries that the database scans without an index.
SCANNED_MAX = 25_000


def get_journal(context: RequestContext, request: PageRequest) -> Document:
    if not context.has_store:
        return {"schema": SCHEMA, "cursor": 0, "entries": [], "next_cursor": None}
    end = context.cursor
    run = context.run(request.query["run"]).id if request.query["run"] else ""
    if request.query["after"] and request.query["cursor"]:
        raise bad_request("after and cursor exclude each other; give one of them")
    found, edge = _filter_entries(context, request, run, end)
    shown = [entry_with_words(context, entry) for entry in found]
    following = str(edge) if edge else None
    return {"schema": SCHEMA, "cursor": end, "entries": shown, "next_cursor": following}


def _filter_entries(
    context: RequestContext, request: PageRequest, run: str, end: int
) -> tuple[list[JournalEntry], int]:
    """A page, and the entry where the next one begins; 0 when there is none."""
    found: list[JournalEntry] = []
    limit, text = request.query["limit"], request.query["text"].casefold()
    scan = JournalScan(context, request, run, end)
    while scan.may_continue:
        for entry in scan.read(LOOKED_AT_ONCE if text else limit):
            if not text or text in _search_text(context, entry):
                found.append(entry)
            if len(found) == limit:
                return found, entry.seq
    return found, scan.next_edge


class JournalScan:
    """Limits the reading of one request: a journal may have a million entries."""

    def __init__(self, context: RequestContext, request: PageRequest, run: str, end: int) -> None:
        self._context, self._query, self._run, self._end = context, request.query, run, end
        self._forward = bool(request.query["after"])
        self.next_edge = (
            request.cursor_number("after")
            if self._forward
            else request.cursor_number("cursor") or end + 1
        )
        # Runs and tasks have an index; any other filter scans entry by entry.
        self._scans = bool(request.query["event"]) and not request.query["task"]
        self._looked = 0
        self.may_continue = True

    def read(self, limit: int) -> Sequence[JournalEntry]:
        """The next entries; `next_edge` is then where the following ones begin, 0 at the end."""
        query, far = self._query, self._scan_end()
        after, before = (self.next_edge, far) if self._forward else (far, self.next_edge)
        found = (journal_pages.read_forward if self._forward else journal_pages.read_newest)(
            self._context.app.store.database,
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
            self.next_edge, self.may_continue = self._edge_after(far), False
        return found

    def _scan_end(self) -> int:
        if not self._scans:
            return 0
        return (
            self.next_edge + SCANNED_MAX if self._forward else max(0, self.next_edge - SCANNED_MAX)
        )

    def _edge_after(self, far: int) -> int:
        """The edge after `far`, up to which every entry was scanned."""
        if self._forward:
            return far - 1 if far and far <= self._end else 0
        return far + 1 if far else 0


def _search_text(context: RequestContext, entry: JournalEntry) -> str:
    parts = (entry.event, entry.task_id, context.task_name(entry.task_id), describe_entry(entry))
    return " ".join(parts).casefold()


def get_entry(context: RequestContext, request: PageRequest) -> Document:
    text = request.path["seq"]
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise bad_request(f"{text[:40]!r} is not the number of an entry")
    entry = journal_pages.read_entry(context.app.store.database, int(text))
    if entry is None:
        raise Unknown(f"there is no journal entry {int(text)}", hint="yaoki trace")
    words = {
        "words": describe_entry(entry),
        "name": context.task_name(entry.task_id) or None,
        "cut": False,
    }
    return {"schema": SCHEMA, "entry": {**entry_document(entry), **words}}


def entry_with_words(context: RequestContext, entry: JournalEntry) -> Document:
    """The entry as in `trace --json`, with its words; long data is left out."""
    document = entry_document(entry)
    cut = len(json.dumps(document["data"], ensure_ascii=False)) > DATA_CHARS_MAX
    return {
        **document,
        "data": {} if cut else document["data"],
        "words": describe_entry(entry),
        "name": context.task_name(entry.task_id) or None,
        "cut": cut,
    }
