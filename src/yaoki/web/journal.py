"""Answers from the journal: pages with filters, one entry whole, and entries as events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from yaoki.errors import Unknown
from yaoki.ports import Entry
from yaoki.store import pages
from yaoki.views import SCHEMA, entry_document, told
from yaoki.web.asked import Asked
from yaoki.web.desk import Desk
from yaoki.web.refusals import bad

DATA_CHARS_MAX = 4096
# How many entries one request looks at; a sieve that lets little through goes on with the cursor.
LOOKED_MAX = 10_000
Document = dict[str, Any]


def listed(desk: Desk, asked: Asked) -> Document:
    if not desk.has_store:
        return {"schema": SCHEMA, "cursor": 0, "entries": [], "next_cursor": None}
    end = desk.cursor
    run = desk.run(asked.query["run"]).id if asked.query["run"] else ""
    if asked.query["after"] and asked.query["cursor"]:
        raise bad("after and cursor are two directions; give one of them")
    found, edge = _sieved(desk, asked, run)
    shown = [entry_shown(desk, entry) for entry in found]
    following = str(edge) if edge else None
    return {"schema": SCHEMA, "cursor": end, "entries": shown, "next_cursor": following}


def _sieved(desk: Desk, asked: Asked, run: str) -> tuple[list[Entry], int]:
    """A page, and the edge where the next one begins; zero when there is none."""
    found: list[Entry] = []
    limit, text = asked.query["limit"], asked.query["text"].casefold()
    forward = bool(asked.query["after"])
    edge = asked.number("after") if forward else asked.number("cursor")
    looked = 0
    while looked < LOOKED_MAX:
        page = _page(desk, asked, run, edge, limit, forward=forward)
        looked += max(len(page), 1)
        for entry in page:
            edge = entry.seq
            if not text or text in _words(desk, entry):
                found.append(entry)
            if len(found) == limit:
                return found, edge
        if len(page) < limit:
            return found, 0
    return found, edge


def _page(
    desk: Desk, asked: Asked, run: str, edge: int, limit: int, *, forward: bool
) -> Sequence[Entry]:
    task, events = asked.query["task"], asked.query["event"]
    database = desk.app.store.database
    if forward:
        return pages.onward(
            database, run_id=run, task_id=task, events=events, after=edge, limit=limit
        )
    return pages.newest(database, run_id=run, task_id=task, events=events, before=edge, limit=limit)


def _words(desk: Desk, entry: Entry) -> str:
    parts = (entry.event, entry.task_id, desk.name(entry.task_id), told(entry))
    return " ".join(parts).casefold()


def one(desk: Desk, asked: Asked) -> Document:
    text = asked.path["seq"]
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise bad(f"{text[:40]!r} is no number of an entry")
    entry = pages.line(desk.app.store.database, int(text))
    if entry is None:
        raise Unknown(f"there is no journal entry {int(text)}", hint="yaoki trace")
    words = {"words": told(entry), "name": desk.name(entry.task_id) or None, "cut": False}
    return {"schema": SCHEMA, "entry": {**entry_document(entry), **words}}


def entry_shown(desk: Desk, entry: Entry) -> Document:
    """As `trace --json` has it, with its words; long data are left to who asks for them."""
    document = entry_document(entry)
    cut = len(json.dumps(document["data"], ensure_ascii=False)) > DATA_CHARS_MAX
    return {
        **document,
        "data": {} if cut else document["data"],
        "words": told(entry),
        "name": desk.name(entry.task_id) or None,
        "cut": cut,
    }
