"""Refused access in a real browser: a wrong token, a wrong host name, another origin."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from tests.acceptance.project import Project
from tests.faces.web.browser.chromium import FOREIGN, Visit
from tests.faces.web.page_server import PageServer

pytestmark = [pytest.mark.browser, pytest.mark.spec("14.1")]


@pytest.mark.full
def test_a_wrong_token_and_a_foreign_host_name_are_refused(
    page_server: PageServer, visit: Visit
) -> None:
    """A rebound name would lead here as well, and its page would be same-origin."""
    page, home = visit.page, f"http://127.0.0.1:{page_server.port}"
    answer = page.goto(f"{home}/enter?token=act.9999999999.made-up.made-up")
    assert answer is not None
    assert answer.status == 401
    expect(page.get_by_text("This link is invalid or expired.")).to_be_visible()
    expect(page).to_have_url(f"{home}/")

    page.goto(f"{home}/#/needs")
    page.reload()
    expect(page.get_by_text("This link is invalid or expired.")).to_have_count(0)
    expect(page.get_by_text("Open the link that this command prints.")).to_be_visible()
    expect(page.get_by_text("yaoki ui", exact=True)).to_be_visible()
    expect(page.get_by_role("navigation")).to_have_count(0)
    visit.shot("the door")

    for path in ("/", f"/enter?token={page_server.token}", "/api/v1/session"):
        answer = page.goto(f"http://{FOREIGN}:{page_server.port}{path}")
        assert answer is not None
        assert answer.status == 421, path
    visit.assert_no_errors("401", "421", "Cross-Origin-Opener-Policy")


@pytest.mark.full
def test_a_page_of_another_origin_can_neither_act_nor_read(
    finished_project: Project, page_server: PageServer, run_id: str, visit: Visit
) -> None:
    """The page is on the same host, so the browser sends the cookie."""
    asks = finished_project.task("asks")["id"]
    api = f"http://127.0.0.1:{page_server.port}/api/v1"
    visit.enter(page_server)
    visit.is_live()
    tried = {
        f"{api}/tasks/{asks}/answer": {"method": "POST", "body": '{"choice": "abort"}'},
        f"{api}/runs/{run_id}/cancel": {"method": "POST", "body": "{}"},
    }
    with another_page() as address:
        visit.page.goto(address)
        for url, options in tried.items():
            assert visit.page.evaluate(SENT, [url, options]) == "TypeError"
            assert sent_from(visit, address, url) == "WRONG_ORIGIN"
            # With the cookie and from the page itself it is read, and then refused for its form.
            assert sent_from(visit, f"http://127.0.0.1:{page_server.port}", url) == "BAD_REQUEST"
        assert visit.page.evaluate(READ, f"{api}/needs-you") == "TypeError"

    assert finished_project.task("asks")["state"] == "ESCALATED"
    assert not finished_project.status()["cancel_wanted"]


def sent_from(visit: Visit, origin: str, url: str) -> str:
    answer = visit.context.request.post(url, data={"odd": 1}, headers={"Origin": origin})
    return str(answer.json()["error"]["code"])


# Cookies go along; an answer cannot be read, but an action would have been done.
SENT = """([url, options]) => fetch(url, {...options, mode: "no-cors", credentials: "include"})
  .then(() => "sent", (error) => error.name)"""
READ = """(url) => fetch(url, {credentials: "include"}).then((answer) => answer.text())
  .catch((error) => error.name)"""


@contextmanager
def another_page() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), ForeignPage)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class ForeignPage(BaseHTTPRequestHandler):
    """An empty page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title>")

    def log_message(self, format: str, *args: object) -> None:
        """Nothing to say."""


@pytest.mark.full
def test_a_read_only_link_shows_everything_and_offers_no_action(
    page_server: PageServer, visit: Visit
) -> None:
    page = visit.page
    page.goto(
        f"http://127.0.0.1:{page_server.port}/enter?token={page_server.read_only_token}#/needs"
    )
    expect(page.get_by_text("Shall it be an owl?").first).to_be_visible()
    expect(page.get_by_text("read only")).to_be_visible()
    expect(page.get_by_text("This link is read-only. To answer:")).to_be_visible()
    expect(page.get_by_role("radio")).to_have_count(0)
    visit.go("#/run/-")
    expect(page.get_by_role("link", name="Report")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel run")).to_have_count(0)
    visit.assert_no_errors()
