"""A long journal: every page is found by an index, or by a limited scan."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project
from tests.builders import RUN_ID
from tests.faces.web.browser.large_runs import store_large_run
from yaoki.adapters.store.tables.journal_pages import JournalQuery as Lines
from yaoki.faces.web import journal
from yaoki.faces.web.parameters import PageRequest, read_query
from yaoki.faces.web.request_context import RequestContext
from yaoki.faces.web.routes import JOURNAL

# More than two scans.
LONG = 60_000
FAILURE = {"kind": "QUALITY_FAILURE", "pattern": "test-failed", "message": "no", "items": []}
RARE, USUAL = "LEASE_EXPIRED", "RETRY_DECISION"
EVERY = 28_000


def lengthen(file: Path, until: int) -> None:
    """Entries as workers write them, few of them rare, inserted directly into the table."""
    told = json.dumps({"failure": FAILURE, "stage": "PREPARE", "delay_ms": 1000, "due_at": None})
    gone = json.dumps({"holder": "host:1", "why": "its worker was gone"})
    with closing(sqlite3.connect(file)) as link, link:
        ((last, at),) = link.execute("SELECT max(seq), max(at_ms) FROM journal").fetchall()
        link.executemany(
            "INSERT INTO journal (seq, at_ms, run_id, task_id, attempt, event, data)"
            " VALUES (?, ?, ?, ?, 1, ?, ?)",
            (
                (seq, at + seq, RUN_ID, f"{RUN_ID}-{seq % 40 + 1}", *line(seq, told, gone))
                for seq in range(last + 1, until + 1)
            ),
        )


def line(seq: int, told: str, gone: str) -> tuple[str, str]:
    return (RARE, gone) if seq % EVERY == 0 else (USUAL, told)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, pycache: Path) -> Iterator[RequestContext]:
    project = Project(tmp_path_factory.mktemp("long"), pycache)
    store_large_run(project, 40, wide=8, done=10)
    lengthen(project.repo / ".yaoki" / "state.db", LONG)
    desk = RequestContext(project.repo)
    yield desk
    desk.close()


def ask(desk: RequestContext, **given: object) -> dict[str, Any]:
    query = read_query(JOURNAL, [(name, str(value)) for name, value in given.items()])
    return journal.get_journal(desk, PageRequest({}, query))


def pages(desk: RequestContext, way: str, **given: object) -> Iterator[dict[str, Any]]:
    """One page after another, as a browser requests them."""
    edge = "0" if way == "after" else ""
    for _ in range(1_000):
        page = ask(desk, **given, **({way: edge} if edge else {}))
        yield page
        edge = page["next_cursor"]
        if edge is None:
            return
    raise AssertionError("the pages do not end")


@pytest.mark.full
@pytest.mark.spec("12.5")
@pytest.mark.parametrize("way", ["cursor", "after"])
def test_every_entry_is_listed_once_for_any_filter(desk: RequestContext, way: str) -> None:
    """Also where a scan ends between two entries, or finds none."""
    rare = list(range(EVERY, LONG + 1, EVERY))

    assert LONG > 2 * journal.SCANNED_MAX

    listed = list(pages(desk, way, event=RARE, limit=2))
    found = [entry["seq"] for page in listed for entry in page["entries"]]
    both = [
        entry["seq"]
        for page in pages(desk, way, event=f"{RARE},TASK_LANDED", run=RUN_ID, limit=1000)
        for entry in page["entries"]
    ]
    worded = [
        entry["seq"]
        for page in pages(desk, way, text="worker was gone", limit=3)
        for entry in page["entries"]
    ]

    assert found == (rare if way == "after" else rare[::-1])
    assert len(listed) > len(rare) / 2, "stretches end, and the next page goes on"
    assert set(rare) < set(both)
    assert both == sorted(both, reverse=way == "cursor")
    assert sorted(worded) == rare


@pytest.mark.full
@pytest.mark.spec("12.5")
def test_the_oldest_and_newest_entries_need_one_request_each(desk: RequestContext) -> None:
    oldest, newest = ask(desk, after=0, limit=200), ask(desk, limit=200)

    assert [entry["seq"] for entry in oldest["entries"]] == list(range(1, 201))
    assert [entry["seq"] for entry in newest["entries"]] == list(range(LONG, LONG - 200, -1))
    assert (oldest["next_cursor"], newest["next_cursor"]) == ("200", str(LONG - 199))


@pytest.mark.spec("12.5")
@pytest.mark.parametrize("newest_first", [False, True])
def test_every_page_is_read_through_an_index_without_sorting(
    desk: RequestContext, newest_first: bool
) -> None:
    """The database seeks by an index and reads in the wanted order."""
    chosen = product(("", RUN_ID), ("", f"{RUN_ID}-7"), ((), (RARE, USUAL)))
    for run, task, events in chosen:
        wanted = Lines(run, task, events, 1_000, 30_000, 200, newest_first)
        with desk.app.store.database.read() as link:
            plan = link.rows(f"EXPLAIN QUERY PLAN {wanted.statement}", wanted.params)
        (step,) = [row["detail"] for row in plan]
        index = "journal_by_task" if task else "journal_by_run" if run else "PRIMARY KEY"
        assert step.startswith("SEARCH journal USING"), step
        assert index in step, (wanted, step)
        # Limited on both ends: a filter without a match costs one scan, not the whole journal.
        assert step.count(">?") == step.count("<?") == 1, step
