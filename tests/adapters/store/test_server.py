"""A store on a server: the server may become unreachable at any instant, and its clock counts."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from tests.adapters.store.proxy import Wire
from tests.adapters.store.server import ROOT, Server, a_database, binaries
from tests.adapters.store.store_actions import (
    claim_one,
    finish,
    lease_of,
    open_test_store,
    plan,
    run_sql,
    submit,
)
from tests.builders import HOUR, MINUTE, RUN_ID, HandClock, a_spec
from yaoki.adapters.store import SqlStore, is_store_known, open_store
from yaoki.adapters.store.database import Transaction
from yaoki.core.model import RunId, State
from yaoki.errors import StoreCorrupt, StoreError
from yaoki.ports import Claimant

pytestmark = pytest.mark.postgres
RUN = RunId(RUN_ID)
DAY = timedelta(days=1)


def until(condition: Callable[[], bool], bound_s: float = 60) -> None:
    deadline = time.monotonic() + bound_s
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


# ------------------------------------------------------------------ opening


@pytest.mark.spec("13.1", "0.6")
def test_a_missing_store_is_not_created_without_create(url: str, clock: HandClock) -> None:
    assert not is_store_known(url)
    with pytest.raises(StoreError, match="no store here yet"):
        open_test_store(url, clock, create=False)
    assert run_sql(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == []

    open_test_store(url, clock).close()
    assert is_store_known(url)


@pytest.mark.spec("0.6")
def test_a_foreign_database_is_refused_and_not_changed(url: str) -> None:
    run_sql(url, "CREATE TABLE photos (id INTEGER)")

    with pytest.raises(StoreCorrupt, match="not a yaoki store: it has the tables photos"):
        open_test_store(url)

    found = run_sql(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    assert found == [("photos",)]


@pytest.mark.spec("13.2", "13.1")
def test_concurrent_openings_create_a_store_once(url: str) -> None:
    made: list[SqlStore] = []
    threads = [threading.Thread(target=lambda: made.append(open_test_store(url))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert len(made) == 8
    versions = run_sql(url, "SELECT version FROM schema_version")
    assert len(versions) == len(set(versions))
    for store in made:
        store.close()


@pytest.mark.spec("0.6")
def test_a_database_in_another_encoding_is_refused(server_url: str) -> None:
    name = f"old{uuid4().hex}"
    by_hand_alone(server_url, f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0")
    try:
        with pytest.raises(StoreError, match="encoding of the database is LATIN1") as refused:
            open_test_store(server_url.replace("/postgres", f"/{name}", 1))
        assert "createdb" in refused.value.hint
    finally:
        # Our session may still be on its way out at the server.
        by_hand_alone(server_url, f"DROP DATABASE {name} WITH (FORCE)")


def by_hand_alone(url: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


SECRETIVE = [
    "postgresql://me:hush-hush@127.0.0.1:1/yaoki",
    "postgresql://me:hush-hush@[::1/yaoki",
    "postgresql://me:hush-hush@127.0.0.1:1/yaoki?nonsense=hush-hush",
    "postgresql://me@127.0.0.1:1/yaoki?password=hush-hush",
    "postgresql://me:hush%2Dhush@127.0.0.1:1/yaoki",
]


@pytest.mark.quick_cases(2)
@pytest.mark.usefixtures("server_url")
@pytest.mark.spec("14.2", "0.6")
@pytest.mark.parametrize("address", SECRETIVE)
def test_no_message_contains_the_password(address: str) -> None:
    with pytest.raises(StoreError) as refused:
        open_test_store(address)

    said = f"{refused.value.sentence} {refused.value.hint} {refused.value.__cause__}"
    assert "hush" not in said
    assert "store" in refused.value.sentence


@pytest.mark.spec("0.6")
def test_a_missing_driver_is_reported_with_the_remedy() -> None:
    script = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from yaoki.adapters.store import open_store\n"
        "from yaoki.errors import StoreError\n"
        "try: open_store('postgresql://h/d', None)\n"
        "except StoreError as error: print(error.sentence, '|', error.hint)"
    )
    output = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout

    assert "needs a driver" in output
    assert output.strip().endswith(f"| {sys.executable} -m pip install 'psycopg[binary]>=3.3.8,<4'")


# ------------------------------------------------------------------ the clock


@pytest.mark.spec("11.1", "13.3")
@pytest.mark.parametrize("wrong", [-DAY, DAY])
def test_a_wrong_clock_on_one_machine_does_not_affect_leases(url: str, wrong: timedelta) -> None:
    """The worker neither takes claimed tasks nor keeps its own for a day."""
    right = open_store(url, HandClock(datetime.now(UTC)), durable=False)
    skewed = open_store(url, HandClock(datetime.now(UTC) + wrong), durable=False)
    submit(right, *plan(a=[], b=[]))
    claim_one(right, "right:1")

    held = claim_one(skewed, "skewed:1")

    assert skewed.claim(Claimant("skewed:1", MINUTE), 9) == []
    assert right.claim(Claimant("right:1", MINUTE), 9) == []
    late = lease_of(held).expires_at - datetime.now(UTC)
    assert timedelta(0) < late < 2 * MINUTE
    assert skewed.heartbeat([lease_of(held)], MINUTE).lost == frozenset()
    assert abs(skewed.clock.now() - right.clock.now()) < MINUTE
    stamps = [entry.at for entry in right.journal()]
    assert max(stamps) - min(stamps) < HOUR
    right.close()
    skewed.close()


# ------------------------------------------------------------------ what is new


@pytest.mark.spec("13.1")
def test_a_notification_makes_a_poll_read_the_version(url: str, clock: HandClock) -> None:
    store, other = open_test_store(url, clock), open_test_store(url, clock, polls_max=10**9)
    other.version()
    until(lambda: other.database._listener.listening)  # type: ignore[attr-defined]
    before = other.version()
    assert other.version() == before

    submit(store, a_spec("a"))

    until(lambda: other.version() != before)
    store.close()
    other.close()


@pytest.mark.spec("13.1")
def test_without_a_notification_the_version_is_read_after_some_polls(
    url: str, clock: HandClock
) -> None:
    store = open_test_store(url, clock, polls_max=4)
    store.version()
    until(lambda: store.database._listener.listening)  # type: ignore[attr-defined]
    before = store.version()

    run_sql(url, "INSERT INTO connections (id, commits, at_ms) VALUES ('silent', 1, 0)")

    assert store.version() in {before, before + 1}
    assert before + 1 in [store.version() for _ in range(4)]
    store.close()


@pytest.mark.spec("10.1", "10.2")
def test_a_reader_that_follows_the_journal_misses_no_entry(url: str, clock: HandClock) -> None:
    """An entry is numbered before it is committed; a late one must not be skipped."""
    store = open_test_store(url, clock)
    submit(store, a_spec("a"))
    start = store.last_seq()
    written, go_on = threading.Event(), threading.Event()

    def slowly(tx: Transaction) -> None:
        store.writer.append_event(tx, RUN, "WARNING", {"message": "first"})
        tx.flush()
        written.set()
        go_on.wait(60)

    slow = threading.Thread(target=store.database.write, args=(slowly,))
    slow.start()
    written.wait(60)
    store.note(RUN, "WARNING", {"message": "second"})
    seen: list[str] = []
    reader = threading.Thread(
        target=lambda: seen.extend(e.data["message"] for e in store.journal(after=start))
    )
    reader.start()
    reader.join(0.2)
    assert seen == []
    go_on.set()
    slow.join(60)
    reader.join(60)

    assert seen == ["first", "second"]
    store.close()


@pytest.mark.spec("0.3", "13.1")
def test_two_deadlocked_transactions_both_succeed(url: str, clock: HandClock) -> None:
    """The server aborts one of them, and that one is repeated."""
    store = open_test_store(url, clock)
    ids = submit(store, *plan(a=[], b=[]))
    both, tries = threading.Barrier(2, timeout=60), list[str]()

    def crossing(first: str, then: str) -> Callable[[Transaction], None]:
        def work(tx: Transaction) -> None:
            tries.append(first)
            store.loader.task(tx, first)
            if tries.count(first) == 1:
                both.wait()
            store.loader.task(tx, then)
            store.writer.append_event(tx, RUN, "WARNING", {"first": first})

        return work

    works = [crossing(ids[0], ids[1]), crossing(ids[1], ids[0])]
    threads = [threading.Thread(target=store.database.write, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    firsts = [entry.data["first"] for entry in store.journal() if entry.event == "WARNING"]
    assert sorted(firsts) == ids
    assert len(tries) >= 3
    store.close()


# ------------------------------------------------------------------ a server that goes away


@pytest.fixture
def wire(url: str) -> Iterator[Wire]:
    with Wire(url) as made:
        yield made


@pytest.mark.spec("0.2", "0.3", "13.3")
@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_commit_without_an_answer_is_stored_exactly_once(
    wire: Wire, clock: HandClock, cut: str
) -> None:
    """Whether the server got the COMMIT or not, the caller gets its result, stored once."""
    store = open_test_store(wire.url, clock)
    (task_id,) = submit(store, a_spec("a"))
    wire.cut = cut
    task = claim_one(store)
    wire.cut = cut
    store.note(RUN, "WARNING", {"message": "once"})
    wire.cut = cut
    done = finish(store, task)

    assert wire.cuts == 3
    assert store.task(task_id) == done
    events = [entry.event for entry in store.journal()]
    assert [events.count(n) for n in ("TASK_CLAIMED", "WARNING", "TASK_LANDED")] == [1, 1, 1]
    assert store.audit(RUN) == []
    store.close()


@pytest.mark.spec("0.6", "0.4")
def test_a_long_outage_is_reported_within_a_bound(wire: Wire, clock: HandClock) -> None:
    store = open_test_store(wire.url, clock, outage=timedelta(seconds=0.3))
    submit(store, a_spec("a"))
    wire.__exit__()

    with pytest.raises(StoreError, match="cannot be reached") as away:
        store.note(RUN, "WARNING", {})
    with pytest.raises(StoreError, match="cannot be reached"):
        store.rows(RUN)

    assert "psql" in away.value.hint
    store.close()


@pytest.mark.full
@pytest.mark.usefixtures("server_url")
@pytest.mark.spec("0.2", "0.3", "13.1", "13.3")
def test_a_server_crash_loses_nothing_and_stops_no_worker() -> None:
    """Three processes claim and finish tasks; the server is killed four times."""
    if binaries() is None:
        pytest.skip("the server was given, so it cannot be crashed")
    server = Server.make()
    try:
        server.start()
        with a_database(server.url) as url:
            store = open_test_store(url, durable=True)
            needs = {n: (f"t{n - 30}",) if n >= 30 else () for n in range(240)}
            submit(store, *(a_spec(f"t{n}", needs=wanted) for n, wanted in needs.items()))
            claimers = [claimer(url, f"host{n}:1") for n in range(3)]
            for part in range(1, 5):
                until(lambda part=part: done(store) >= 40 * part)  # type: ignore[misc]
                server.restart()
            outputs = [process.communicate(timeout=100) for process in claimers]

            assert [process.returncode for process in claimers] == [0] * 3, [e for _, e in outputs]
            ids = [task_id for out, _ in outputs for task_id in out.split()]
            assert len(ids) == len(set(ids)) == 240
            assert store.count_by_state(RUN) == {(State.DONE, True): 240}
            landed = [e.task_id for e in store.journal(limit=10_000) if e.event == "TASK_LANDED"]
            assert len(landed) == len(set(landed)) == 240
            assert store.audit(RUN) == []
            store.close()
    finally:
        server.remove()


def done(store: SqlStore) -> int:
    return store.count_by_state(RUN).get((State.DONE, True), 0)


def claimer(url: str, holder: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.adapters.store.claim_process", url, holder, "durable"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.full
@pytest.mark.spec("13.3")
def test_an_unbounded_wait_for_the_server_is_reported_and_can_be_stopped(
    url: str, clock: HandClock
) -> None:
    """A worker survives any outage, and its second signal still ends it."""
    said: list[str] = []
    failed: list[BaseException] = []
    with Wire(url) as wire:
        store = open_test_store(wire.url, clock, outage=timedelta(days=10_000), warn=said.append)
        submit(store, a_spec("a"))

    def write() -> None:
        try:
            store.note(RUN, "WARNING", {"message": "away"})
        except StoreError as error:
            failed.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    until(lambda: bool(said))
    store.database.stop_waiting()
    thread.join(60)

    assert said[0].endswith("waiting for it")
    assert len(said) == len(failed) == 1
    store.close()
