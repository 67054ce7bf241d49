"""The event stream: each entry once and in order, also after a disconnect."""

from __future__ import annotations

import asyncio
import copy
import shutil
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import Project
from tests.faces.web.conftest import the_plan
from tests.faces.web.page_server import (
    Client,
    PageServer,
    StreamedEvent,
    free_port,
    run_page_server,
)
from yaoki.app.build import App
from yaoki.faces.web.events import LISTENERS_MAX, PAGE, EventHub
from yaoki.faces.web.request_context import RequestContext

pytestmark = pytest.mark.spec("12.5")


def numbers(heard: list[StreamedEvent]) -> list[int]:
    return [one.data["seq"] for one in heard if one.event == "journal"]


def journal(project: Project, after: int = 0) -> list[int]:
    return [entry["seq"] for entry in project.events() if entry["seq"] > after]


@pytest.fixture
def copied_project(finished_project: Project, tmp_path: Path) -> Project:
    """The store of the finished run in a repository of its own, where a test may change it."""
    project = copy.copy(finished_project)
    project.folder, project.repo = tmp_path, tmp_path / "repo"
    shutil.copytree(finished_project.repo, project.repo, symlinks=True)
    return project


def write_many_notes(project: Project, run_id: str, times: int) -> None:
    """Many entries in few commits."""
    app = App(project.repo)
    try:
        with ThreadPoolExecutor(64) as threads:
            told = [{"message": f"number {n}"} for n in range(times)]
            list(threads.map(lambda data: app.store.note(run_id, "WARNING", data), told))  # type: ignore[arg-type]
    finally:
        app.close()


@pytest.mark.full
def test_a_listener_receives_a_run_that_starts_later_and_misses_nothing_in_a_restart(
    project: Project,
) -> None:
    """The cookie and the cursor stay valid; the server announced its stop."""
    port = free_port()
    with run_page_server(project, port=port) as server:
        cookie = (
            Client(server.port).ask("GET", f"/enter?token={server.token}").headers["set-cookie"]
        )
        browser = Client(server.port, headers={"Cookie": cookie})
        with browser.listening() as stream:
            first = next(iter(stream))
            done = project.yaoki("run", project.plan(the_plan()), "--json")
            before = stream.up_to(journal(project)[-1])
            heard_of_the_run = journal(project)
            code = server.stop()
            rest = list(stream)

    assert done.code == 4, done.out + done.err
    assert (first.event, first.data["cursor"]) == ("hello", 0)
    assert numbers(before) == heard_of_the_run, "each once, in order"
    assert all(one.id == str(one.data["seq"]) for one in before if one.event == "journal")
    cure = [one.data["words"] for one in before if one.data.get("event") == "RETRY_DECISION"]
    assert "lie.txt does not hold good" in cure[0]
    assert {one.data["name"] for one in before if one.data.get("event") == "TASK_LANDED"} == {
        "lie",
        "cured",
    }
    assert code == 0
    assert rest[-1].event == "gone"
    last = (before + rest)[-1 if rest[-1].id else -2].id
    answered = project.yaoki("answer", f"{done.document['run']}-3", "retry", "an owl")
    resumed = project.yaoki("resume", "--json")
    with (
        run_page_server(project, port=port),
        browser.listening("/events?after=0", Last_Event_ID=last) as stream,
    ):
        after = stream.up_to(journal(project)[-1])

    assert (answered.code, resumed.code) == (0, 0), resumed.out + resumed.err
    assert numbers(before + rest + after) == journal(project)


def test_a_listener_may_start_at_any_entry_and_filter_by_run(
    page_server: PageServer, finished_project: Project, run_id: str
) -> None:
    all_ = journal(finished_project)
    middle = all_[len(all_) // 2]

    def heard(path: str, count: int, **headers: str) -> list[int]:
        with page_server.client.listening(path, **headers) as stream:
            found: list[StreamedEvent] = []
            for one in stream:
                found.append(one)
                if len(numbers(found)) == count:
                    break
            return numbers(found)

    rest = [seq for seq in all_ if seq > middle]
    assert heard(f"/events?after={middle}", len(rest)) == rest
    assert heard(f"/events?after={middle}&run={run_id}", len(rest)) == rest
    assert heard("/events?after=0", len(rest), Last_Event_ID=str(middle)) == rest


@pytest.mark.parametrize(
    "query", ["?after=x", "?after=-1", "?after=1&after=2", "?what=1", "?run=zz"]
)
def test_an_invalid_query_is_refused_before_the_stream_starts(
    page_server: PageServer, query: str
) -> None:
    assert page_server.client.get(f"/events?{query}").status in {400, 404}


def test_a_cursor_from_another_journal_makes_the_page_reload(page_server: PageServer) -> None:
    with page_server.client.listening("/events?after=999999") as stream:
        heard = list(stream)

    assert [one.event for one in heard] == ["gone"]


@pytest.mark.full
def test_listeners_over_the_limit_are_refused(finished_project: Project) -> None:
    """One follower serves all; beyond the limit a listener is refused until another leaves."""
    with run_page_server(finished_project) as server, ExitStack() as open_:
        streams = [
            open_.enter_context(server.client.listening("/events?after=0"))
            for _ in range(LISTENERS_MAX)
        ]
        first = [next(iter(stream)).event for stream in streams]
        refused = server.client.get("/events")
        heard = [stream.up_to(journal(finished_project)[-1]) for stream in streams[:8]]

    assert set(first) == {"hello"}
    assert (refused.status, refused.code) == (429, "TOO_MANY")
    assert {tuple(numbers(one)) for one in heard} == {tuple(journal(finished_project))}


@pytest.mark.full
def test_a_slow_listener_gets_every_entry_and_blocks_no_other(
    copied_project: Project, run_id: str
) -> None:
    """One listener does not read while thousands of entries arrive; another reads them at once."""
    project, run = copied_project, run_id
    with run_page_server(project) as server:
        slow = server.client.listening("/events?after=0")
        quick = server.client.listening("/events?after=0")
        with slow as late, quick as prompt:
            assert next(iter(late)).event == "hello"
            write_many_notes(project, run, 5 * PAGE)
            end = journal(project)[-1]
            for heard in (prompt, late):
                assert numbers(heard.up_to(end)) == journal(project)


@pytest.mark.full
def test_a_replaced_store_is_detected(copied_project: Project, run_id: str) -> None:
    """Deleted while the server runs, and created again by the next process."""
    project, run = copied_project, run_id
    with run_page_server(project) as server:
        with server.client.listening() as stream:
            assert next(iter(stream)).event == "hello"
            for file in (project.repo / ".yaoki").glob("state.db*"):
                file.unlink()
            gone = stream.until("gone")
        with server.client.listening("/events?after=0") as stream:
            heard = stream.up_to(journal(project)[-1])
        document = server.client.document(f"/runs/{run}")

    assert "replaced" in gone[-1].data["why"]
    assert numbers(heard) == journal(project)
    assert document["status"] == "ESCALATED"


def test_a_quiet_stream_sends_heartbeats(finished_project: Project) -> None:
    async def first_beat() -> list[bytes]:
        desk = RequestContext(finished_project.repo)
        hub = EventHub(desk, beat_s=0.05)
        following = asyncio.create_task(hub.follow())
        heard = await _some(hub.listen(None, ""), 4)
        hub.close()
        following.cancel()
        desk.close()
        return heard

    told = asyncio.run(asyncio.wait_for(first_beat(), 30))

    end = journal(finished_project)[-1]
    assert [piece.split(b"event: ")[1].split(b"\n")[0] for piece in told[1:]] == [
        *(b"hello", b"beat", b"beat")
    ]
    assert all(b"id: %d\n" % end in piece for piece in told[1:])


async def _some(stream: AsyncIterator[bytes], count: int) -> list[bytes]:
    found: list[bytes] = []
    async for piece in stream:
        found.append(piece)
        if len(found) == count:
            break
    return found


class Counted:
    """A request context that counts how often its store is used."""

    def __init__(self) -> None:
        self.asked = 0

    @property
    def has_store(self) -> bool:
        self.asked += 1
        return False


def test_the_store_is_not_read_without_listeners() -> None:
    desk: Any = Counted()

    async def idle() -> None:
        following = asyncio.create_task(EventHub(desk).follow())
        for _ in range(1000):
            await asyncio.sleep(0)
        following.cancel()

    asyncio.run(idle())

    assert desk.asked == 0
