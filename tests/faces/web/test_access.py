"""Access: host, origin, token and content type are each refused by name."""

from __future__ import annotations

import re
from http.client import HTTPConnection

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, file_contains
from tests.faces.web.conftest import SECRET
from tests.faces.web.page_server import Client, PageServer, run_page_server

pytestmark = pytest.mark.spec("14.1")


def cookie_of(server: PageServer, token: str) -> str:
    entered = Client(server.port).ask("GET", f"/enter?token={token}")
    assert entered.status == 303, entered.body
    return entered.headers["set-cookie"]


def test_the_link_sets_a_cookie_that_is_http_only_and_same_site(page_server: PageServer) -> None:
    entered = Client(page_server.port).ask("GET", f"/enter?token={page_server.token}")
    cookie = entered.headers["set-cookie"].lower()
    browser = Client(
        page_server.port, headers={"Cookie": cookie_of(page_server, page_server.token)}
    )

    assert (entered.status, entered.headers["location"]) == (303, "/")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert page_server.token.lower() not in cookie, "what is in the address is not what is kept"
    assert browser.document("/session")["may"] == "act"


@pytest.mark.parametrize("token", ["", "x", "act.9999999999.x.y", "act..", "é", "a" * 5000])
def test_a_wrong_token_is_refused(page_server: PageServer, token: str) -> None:
    wrong = Client(
        page_server.port, headers={"Cookie": f"yaoki-{page_server.port}={token}"} if token else {}
    )
    if token.isascii():
        entered = Client(page_server.port).ask("GET", f"/enter?token={token}")
        assert (entered.status, entered.code) == (401, "WRONG_TOKEN" if token else "NO_TOKEN")
        assert "set-cookie" not in entered.headers
    if token:
        bearer = Client(page_server.port).get("/runs", Authorization=f"Bearer {token}")
        assert (bearer.status, bearer.code) == (401, "WRONG_TOKEN")

    answer = wrong.get("/runs")

    assert answer.status == 401
    assert answer.code in {"NO_TOKEN", "WRONG_TOKEN"}
    assert answer.headers["www-authenticate"] == "Bearer"


def test_an_expired_link_in_a_browser_gets_the_page_and_no_token(page_server: PageServer) -> None:
    stranger, accept = Client(page_server.port), "text/html,application/xhtml+xml,*/*;q=0.8"
    path = "/enter?token=act.9999999999.made-up.made-up"

    seen, program = stranger.ask("GET", path, Accept=accept), stranger.ask("GET", path)

    assert (seen.status, seen.body) == (401, stranger.ask("GET", "/").body)
    assert "set-cookie" not in seen.headers
    assert (program.status, program.code) == (401, "WRONG_TOKEN")


def test_a_token_with_one_changed_letter_is_refused(page_server: PageServer) -> None:
    """Including the part that names the permission."""
    raised = page_server.read_only_token.replace("look.", "act.", 1)
    turned = page_server.token[:-1] + ("A" if page_server.token[-1] != "A" else "B")

    answers = [Client(page_server.port, token).get("/runs") for token in (raised, turned)]

    assert [answer.status for answer in answers] == [401, 401]


def test_a_cookie_is_refused_as_a_link_and_a_link_as_a_cookie(page_server: PageServer) -> None:
    kept = cookie_of(page_server, page_server.token).partition("=")[2].partition(";")[0]

    as_link = Client(page_server.port).ask("GET", f"/enter?token={kept}")
    as_cookie = Client(
        page_server.port, headers={"Cookie": f"yaoki-{page_server.port}={page_server.token}"}
    )

    assert as_link.status == 401
    assert as_cookie.get("/runs").status == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "10.0.0.1:{port}", ""]
)
def test_a_rebound_host_name_is_refused(page_server: PageServer, host: str) -> None:
    named = host.format(port=page_server.port)

    answers = [
        page_server.client.get("/runs", Host=named),
        page_server.client.ask("GET", "/", Host=named),
        Client(page_server.port).ask("GET", f"/enter?token={page_server.token}", Host=named),
    ]

    assert [answer.status for answer in answers] == [421, 421, 421]
    assert {answer.code for answer in answers} == {"WRONG_HOST"}


def test_loopback_names_are_accepted_also_through_a_tunnel(page_server: PageServer) -> None:
    hosts = [f"localhost:{page_server.port}", "127.0.0.1:9999", "[::1]:1234", "LOCALHOST"]

    assert {page_server.client.get("/session", Host=host).status for host in hosts} == {200}


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "https://x"]
)
def test_a_foreign_page_can_neither_act_nor_listen(
    page_server: PageServer, origin: str, run_id: str
) -> None:
    browser = Client(
        page_server.port, headers={"Cookie": cookie_of(page_server, page_server.token)}
    )

    acted = browser.post(f"/runs/{run_id}/cancel", {}, Origin=origin)
    heard = browser.get("/events", Origin=origin)
    read = browser.get("/runs", Origin=origin)

    assert [answer.status for answer in (acted, heard, read)] == [403, 403, 403]
    assert acted.code == "WRONG_ORIGIN"
    assert browser.document(f"/runs/{run_id}")["cancel_wanted"] is False


def test_a_cookie_without_an_origin_cannot_act(page_server: PageServer, run_id: str) -> None:
    """A browser always sends the origin of a POST; a request without one is not from our page."""
    browser = Client(
        page_server.port, headers={"Cookie": cookie_of(page_server, page_server.token)}
    )

    bare = browser.post(f"/runs/{run_id}/go", {})
    embedded = [
        browser.get("/runs", Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors")
        for site in ("cross-site", "same-site")
    ]
    own = browser.post(f"/runs/{run_id}/go", {}, Origin=f"http://127.0.0.1:{page_server.port}")

    assert (bare.status, bare.code) == (403, "WRONG_ORIGIN")
    assert [answer.status for answer in embedded] == [403, 403]
    assert own.status == 409, "it gets through, and the run is not paused"


def test_the_read_only_link_can_only_read(page_server: PageServer, run_id: str) -> None:
    posts = [f"/runs/{run_id}/cancel", f"/tasks/{run_id}-3/answer", f"/tasks/{run_id}-3/retry"]
    cookie = Client(
        page_server.port, headers={"Cookie": cookie_of(page_server, page_server.read_only_token)}
    )

    looked = [page_server.read_only_client.get("/runs"), cookie.get("/needs-you")]
    acted = [page_server.read_only_client.post(path, {"choice": "retry"}) for path in posts]
    acted.append(cookie.post(posts[0], {}, Origin=f"http://127.0.0.1:{page_server.port}"))

    assert [answer.status for answer in looked] == [200, 200]
    assert page_server.read_only_client.document("/session")["may"] == "look"
    assert {(answer.status, answer.code) for answer in acted} == {(403, "READ_ONLY")}
    assert page_server.client.document(f"/runs/{run_id}")["cancel_wanted"] is False


def test_only_bounded_json_is_accepted(page_server: PageServer, run_id: str) -> None:
    path = f"/runs/{run_id}/go"
    form = page_server.client.post(
        path, b"words=x", Content_Type="application/x-www-form-urlencoded"
    )
    text = page_server.client.post(path, b"{}", Content_Type="text/plain")
    huge = page_server.client.post(path, b'{"words": "' + b"x" * 70_000 + b'"}')
    broken = [page_server.client.post(path, raw) for raw in (b"{", b"[]", b"[" * 60_000, b"\xff")]
    strange = page_server.client.post(path, {"wrods": "x"})
    typed = page_server.client.post(path, {"words": 3})

    assert [(answer.status, answer.code) for answer in (form, text)] == [(415, "NOT_JSON")] * 2
    assert (huge.status, huge.code) == (413, "TOO_LONG")
    assert {(answer.status, answer.code) for answer in broken} == {(400, "BAD_REQUEST")}
    assert strange.status == typed.status == 400
    assert "wrods" in strange.document["error"]["sentence"]


@pytest.mark.parametrize(
    "path", ["/", "/static/index.html", "/api/v1/runs", "/api/v1/none", "/enter"]
)
def test_every_answer_has_the_strict_headers(page_server: PageServer, path: str) -> None:
    answer = page_server.client.ask("GET", path)

    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cache-control"] == (
        "no-cache" if answer.status == 200 and "api" not in path else "no-store"
    )
    assert "server" not in answer.headers
    assert "access-control-allow-origin" not in answer.headers


def test_the_page_is_served_without_a_token_and_contains_no_data(
    page_server: PageServer, run_id: str
) -> None:
    stranger = Client(page_server.port)
    page, view = stranger.ask("GET", "/"), stranger.ask("GET", f"/runs/{run_id}")

    again = stranger.ask("GET", "/", If_None_Match=page.headers["etag"])
    outside = [
        stranger.ask("GET", path)
        for path in ("/static/../desk.py", "/static/%2e%2e/desk.py", "/static//etc/passwd")
    ]

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.body == view.body, "an address of a view is the page"
    assert again.status == 304
    assert {answer.status for answer in outside} <= {404, 200}
    assert all(b"import" not in answer.body[:200] for answer in outside)
    assert run_id.encode() not in page.body


@pytest.mark.spec("12.5")
def test_browsers_cache_the_files_of_the_page_until_they_change(
    page_server: PageServer,
) -> None:
    """Their address contains a hash of their content, so a second visit fetches none of them."""
    stranger = Client(page_server.port)
    page = stranger.ask("GET", "/").body.decode()
    named = re.findall(r'"(/static/[^"]+)"', page)

    answers = [stranger.ask("GET", path) for path in named]
    plain = stranger.ask("GET", "/static/main.js")
    tags = f'"other", {plain.headers["etag"]}'
    known = stranger.ask("GET", "/static/main.js", If_None_Match=tags)
    old = stranger.ask("GET", "/static/0123456789abcdef/main.js")

    assert len(named) > 40
    assert {answer.status for answer in answers} == {200}
    assert {answer.headers["cache-control"] for answer in answers} == {
        "public, max-age=31536000, immutable"
    }
    assert (plain.headers["cache-control"], known.status, known.body) == ("no-cache", 304, b"")
    assert plain.headers["content-type"].startswith("text/javascript")
    assert (old.status, old.headers["cache-control"]) == (404, "no-store")


def test_the_server_listens_on_loopback_by_default(project: Project) -> None:
    with run_page_server(project) as server:
        assert "127.0.0.1" in server.said[0]
        assert not [line for line in server.said if "warning" in line]
    with run_page_server(project, "--host", "0.0.0.0") as server:
        address = server.client.get("/session", Host="192.0.2.7")
        name = server.client.get("/session", Host="evil.example")

        assert any("reached over the network" in line for line in server.said)
        assert address.status == 200, "a bare address cannot be made to point elsewhere"
        assert name.status == 421


def test_a_port_in_use_is_reported(project: Project, page_server: PageServer) -> None:
    done = project.yaoki("ui", "--port", str(page_server.port))

    assert done.code == 6
    assert f"cannot listen on 127.0.0.1 port {page_server.port}" in done.err


@pytest.mark.full
def test_secrets_are_masked_in_every_answer(project: Project) -> None:
    # The content of the base may land; otherwise the task would be retried.
    (project.repo / "README").write_text(f"{SECRET}\n")
    project.git(*GIT_IDENTITY, "commit", "-qam", "known")
    acts = [
        {"run": ["sh", "-c", f"echo {SECRET}; echo {SECRET} >&2"]},
        {"write": {"a.txt": f"{SECRET}\n"}},
    ]
    plan = a_plan(
        {"a": [acts]},
        [{"id": "a", "goal": f"Write {SECRET}.", "checks": ["a"]}],
        {"a": file_contains("a.txt", SECRET)},
    )
    done = project.yaoki("run", project.plan(plan), "--json")
    assert done.code == 0, done.out + done.err
    run = done.document["run"]
    paths = [
        *("/runs", f"/runs/{run}/tasks", f"/runs/{run}/timeline", "/journal", "/journal/2"),
        *(f"/tasks/{run}-1", f"/tasks/{run}-1/attempts/1", f"/tasks/{run}-1/diff"),
        *(f"/tasks/{run}-1/attempts/1/log?file={name}" for name in ("out", "err", "prompt")),
        *(f"/tasks/{run}-1/attempts/1/diff", f"/runs/{run}/report", "/config"),
    ]
    with run_page_server(project) as server:
        bodies = {path: server.client.get(path) for path in paths}

    assert {answer.status for answer in bodies.values()} == {200}
    assert [path for path, answer in bodies.items() if SECRET.encode() in answer.body] == []
    assert b"[masked]" in bodies[f"/tasks/{run}-1/diff"].body


def test_garbage_ends_only_its_own_connection(page_server: PageServer) -> None:
    link = HTTPConnection("127.0.0.1", page_server.port, timeout=10)
    link.connect()
    link.sock.sendall(b"\x16\x03\x01 not http at all\r\n\r\n" * 10)
    link.sock.recv(4096)
    link.close()

    assert page_server.client.get("/session").status == 200
