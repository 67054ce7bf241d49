"""Folds of the journal, tokens, hosts and logs, without a server."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaoki.core.graph import downstream
from yaoki.core.model import TaskId
from yaoki.faces.web import incremental_fold
from yaoki.faces.web.access_tokens import ACT, COOKIE, LINK, LOOK, AccessTokens, open_access_tokens
from yaoki.faces.web.incremental_fold import IncrementalFold
from yaoki.faces.web.listen_address import ListenAddress, bind, host_name, is_loopback
from yaoki.faces.web.logs import read_piece
from yaoki.faces.web.timeline import build_timeline, timeline_document
from yaoki.ports import JournalEntry
from yaoki.views.dependency_graph import DependencyGraph
from yaoki.views.history.faults import Reliability
from yaoki.views.history.progress import POINTS_MAX, Burndown, BurndownPoint, thin_points

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FAILURE = {"kind": "QUALITY_FAILURE", "message": "no", "pattern": "test-failed"}


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def entry(seq: int, event: str, seconds: float = 0.0, **data: Any) -> JournalEntry:
    return JournalEntry(seq, at(seconds), "r", "r-1", data.get("attempt", 0), event, data)


def retried(seq: int, seconds: float, delay: float) -> JournalEntry:
    due = at(seconds + delay).isoformat()
    told = {"failure": FAILURE, "stage": "PREPARE", "due_at": due, "delay_ms": delay * 1000}
    return entry(seq, "RETRY_DECISION", seconds, **told)


LIFE = (
    entry(1, "TASK_SUBMITTED", 0),
    entry(2, "TASK_CLAIMED", 5),
    entry(3, "ATTEMPT_STARTED", 6, attempt=1, agent="small"),
    entry(4, "AGENT_FINISHED", 9),
    retried(5, 10, 2),
    entry(6, "TASK_CLAIMED", 15),
    entry(7, "ATTEMPT_STARTED", 16, attempt=2, agent="big"),
    entry(8, "LEASE_EXPIRED", 20, why="its holder is dead"),
    entry(9, "TASK_CLAIMED", 22),
    entry(10, "AGENT_FINISHED", 25),
    entry(11, "QUALITY_JUDGMENT", 27, passed=True),
    entry(12, "TASK_LANDED", 28),
)


@pytest.mark.spec("12.5")
def test_a_wait_is_split_where_its_cause_ends() -> None:
    told = timeline_document(build_timeline(LIFE, at(60), needs="needs a", ready_at=at(3)))

    waits = [(w["cause"], w["from"], w["until"]) for w in told["waits"]]
    assert waits == [
        ("NEEDS", at(0).isoformat(), at(3).isoformat()),
        ("SLOT", at(3).isoformat(), at(5).isoformat()),
        ("BACKOFF", at(10).isoformat(), at(12).isoformat()),
        ("SLOT", at(12).isoformat(), at(15).isoformat()),
        ("LEASE", at(20).isoformat(), at(22).isoformat()),
    ]


@pytest.mark.spec("12.5")
def test_an_attempt_that_outlives_its_worker_is_one_attempt() -> None:
    first, second = timeline_document(build_timeline(LIFE, at(60)))["attempts"]

    assert (first["ended"], second["ended"]) == ("RETRY", "LANDED")
    assert [held["stage"] for held in second["stages"]] == [
        *("PREPARE", "WORK", "WORK", "VERIFY", "LAND")
    ]


@pytest.mark.spec("12.5")
@given(st.integers(0, len(LIFE)))
def test_at_any_moment_at_most_one_stage_or_wait_is_open(count: int) -> None:
    life = build_timeline(LIFE[:count], at(60), needs="needs a", ready_at=at(3))

    open_spans = [s for a in life.attempts for s in a.stages if s.until is None]
    open_waits = [wait for wait in life.waits if wait.until is None]
    over = count == len(LIFE)
    assert len(open_spans) + len(open_waits) == (0 if over or not count else 1)


@pytest.mark.spec("12.5")
def test_a_fold_continues_where_it_stopped_and_reports_when_it_is_incomplete() -> None:
    size = incremental_fold.ENTRIES_PER_LOOK + 10
    lines = [entry(n, "TASK_LANDED", n) for n in range(1, size + 1)]
    asked: list[int] = []

    def read(_: tuple[str, ...], after: int, before: int, limit: int) -> Sequence[JournalEntry]:
        asked.append(after)
        return lines[after : min(after + limit, before - 1)]

    held = IncrementalFold(Burndown(), read)
    _, complete, cursor = held.read_up_to(size)
    fold, complete_then, cursor_then = held.read_up_to(size)

    assert (complete, cursor) == (False, incremental_fold.ENTRIES_PER_LOOK)
    assert (complete_then, cursor_then) == (True, size)
    assert asked == sorted(set(asked)), "nothing is read twice"
    assert len(fold.points) <= POINTS_MAX, "a chart needs no more, and memory is bounded"
    assert (fold.points[0].at, fold.points[-1].at) == (at(1), at(size))
    assert [point.at for point in fold.points] == sorted(point.at for point in fold.points)


@pytest.mark.spec("12.5")
def test_where_events_are_rare_a_fold_reads_in_limited_steps() -> None:
    """No entry of a million matches: each read scans a limited part."""
    asked: list[int] = []

    def read(_: tuple[str, ...], after: int, before: int, __: int) -> Sequence[JournalEntry]:
        asked.append(before - after)
        return []

    held = IncrementalFold(Reliability(), read)
    _, complete, cursor = held.read_up_to(1_000_001)
    _, complete_then, cursor_then = held.read_up_to(1_000_001)

    assert (complete, cursor) == (False, 1_000_000)
    assert (complete_then, cursor_then) == (True, 1_000_001)
    assert max(asked) == incremental_fold.LINES_AT_ONCE + 1


@pytest.mark.spec("12.5")
@given(st.integers(1, 500), st.integers(2, 60))
def test_a_thinned_line_keeps_its_ends(count: int, most: int) -> None:
    points = [BurndownPoint(at(n), n, 0, 0, 0, 0, None, None, 0) for n in range(count)]

    kept = thin_points(points, most)

    assert len(kept) == min(count, most)
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    assert kept == sorted(kept)


@pytest.mark.spec("12.5")
def test_faults_are_counted_by_kind() -> None:
    fold = Reliability()
    for line in (
        entry(1, "LEASE_EXPIRED", holder="a"),
        entry(2, "LEASE_EXPIRED", holder="a"),
        entry(3, "LEASE_EXPIRED", holder="b"),
        entry(4, "RESULT_REFUSED", epoch=1),
        entry(5, "RESULT_REFUSED", refused="DUPLICATE"),
        entry(6, "RETRY_DECISION", failure={"kind": "LOST"}),
        entry(7, "RETRY_DECISION", failure={"kind": "TIMEOUT"}),
        entry(8, "TASK_LANDED"),
    ):
        fold.add(line)

    told = fold.numbers
    assert (told["kills_survived"], told["leases_expired"]) == (2, 3)
    assert dict(fold.refused) == {"STALE": 1, "DUPLICATE": 1}
    assert (told["attempts_lost"], told["landings"]) == (1, 1)
    assert [line.seq for line in fold.recent] == [1, 2, 3, 4, 5, 6]


def shape(wanted: Sequence[Iterable[int]]) -> DependencyGraph:
    return DependencyGraph(
        {id_of(n): tuple(id_of(need) for need in sorted(needs)) for n, needs in enumerate(wanted)}
    )


def id_of(n: int) -> TaskId:
    return TaskId(f"r-{n}")


@pytest.mark.spec("12.5")
@given(st.lists(st.sets(st.integers(0, 30), max_size=4), max_size=30))
def test_every_edge_leads_to_a_higher_layer(wanted: list[set[int]]) -> None:
    """In any order of the tasks, even if a need comes after the task that has it."""
    size = len(wanted)
    # Only needs with a higher number: no cycles, and each is read before its need has a layer.
    drawn = shape([{m for m in wanted[n] if n < m < size} for n in range(size)])

    assert len(drawn.layers) == size
    for task_id, needs in drawn.needs.items():
        below = [drawn.layers[need] for need in needs]
        assert drawn.layers[task_id] == max(below, default=-1) + 1
    for task_id in drawn.needs:
        assert drawn.count_dependents(task_id) == len(downstream(task_id, drawn.needs))


@pytest.mark.spec("12.5")
def test_a_chain_of_ten_thousand_is_laid_out() -> None:
    size = 10_000
    drawn = shape([[n + 1] if n + 1 < size else [] for n in range(size)])

    assert drawn.layers[id_of(0)] == size - 1
    assert drawn.count_dependents(id_of(size - 1)) == size - 1


# ------------------------------------------------------------------ logs, passes, places


@pytest.mark.spec("14.2")
def test_the_rest_of_a_private_key_is_masked_when_its_beginning_is_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "log"
    body = "".join(f"MIIEpAIBAAKCAQEA{n}\n" for n in range(50))
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\n"
    file.write_text(f"before\n{key}after\n")

    text, start, until, size = read_piece(file, -1, 300)

    assert text == "[masked]\nafter\n"
    assert (until, size) == (file.stat().st_size, file.stat().st_size)
    assert start > 0


@given(st.binary(max_size=400), st.integers(1, 60))
def test_pieces_of_any_file_reach_its_end(data: bytes, most: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log"
        file.write_bytes(data)
        at_ = 0
        for _ in range(len(data) + 1):
            _, start, until, size = read_piece(file, at_, most)
            assert start == at_
            assert until - start <= most
            if until == size:
                return
            assert until > at_
            at_ = until
    raise AssertionError("the pieces do not end")


@pytest.mark.spec("14.1")
def test_a_token_is_valid_for_its_use_and_its_lifetime_only() -> None:
    passes, others = AccessTokens(b"k" * 32), AccessTokens(b"o" * 32)
    act, look = passes.make(LINK, ACT, NOON), passes.make(LINK, LOOK, NOON)

    assert passes.permission_of(LINK, act, NOON) == ACT
    assert passes.permission_of(LINK, look, NOON + timedelta(days=6)) == LOOK
    assert passes.permission_of(LINK, act, NOON + timedelta(days=1)) is None
    assert passes.permission_of(COOKIE, act, NOON) is None
    assert others.permission_of(LINK, act, NOON) is None
    assert passes.make(LINK, ACT, NOON) != act


@pytest.mark.spec("14.1")
@given(st.text(max_size=300))
def test_no_forged_token_is_accepted(text: str) -> None:
    assert AccessTokens(b"k" * 32).permission_of(LINK, text, NOON) is None


@pytest.mark.spec("14.1")
def test_the_key_is_created_once_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "home" / "page.key"

    first = open_access_tokens(file).make(LINK, ACT, NOON)

    assert open_access_tokens(file).permission_of(LINK, first, NOON) == ACT
    assert file.stat().st_mode & 0o077 == 0
    assert sorted(file.parent.iterdir()) == [file]


@pytest.mark.spec("14.1")
def test_host_names_are_distinguished() -> None:
    here = ListenAddress(7878, frozenset({"build.example"}))
    everywhere = ListenAddress(7878, any_address=True)

    assert host_name("[::1]:80") == "::1"
    assert all(map(here.answers_to, ("localhost", "127.0.0.1:1", "[::1]", "Build.Example:7878")))
    assert not any(
        map(here.answers_to, ("", "evil", "127.0.0.1.evil", "10.1.1.1", "localhost.evil"))
    )
    assert everywhere.answers_to("10.1.1.1:7878")
    assert not everywhere.answers_to("evil.example")
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.9.9.9", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "build.example")))


@pytest.mark.spec("12.5")
def test_an_answer_does_not_wait_for_the_browser_to_acknowledge_its_beginning() -> None:
    """The loop sends at once only on sockets it knows to be TCP; else responses take 40 ms more."""
    made = bind(any_port=True)
    try:
        assert made.socket.proto == socket.IPPROTO_TCP
    finally:
        made.socket.close()
