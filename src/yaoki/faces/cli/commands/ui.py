"""`yaoki ui`: serve the page on this machine until it is stopped."""

from __future__ import annotations

import signal
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.errors import NotNow
from yaoki.faces.cli.context import repo_option
from yaoki.faces.text.render import print_line

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.faces.web.listen_address import ListeningSocket


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65_535), help="The port; by default 7878, or a free one."
)
@click.option(
    "--host", metavar="ADDRESS", help="The address to listen on; by default this machine only."
)
@click.option("--read-only-link", is_flag=True, help="Also print a read-only link.")
@click.option("--open/--no-open", "wanted", default=False, help="Open it in a browser.")
@repo_option
def ui(port: int | None, host: str | None, read_only_link: bool, wanted: bool, repo: Path) -> int:
    """Serve the page of this repository's runs, on this machine alone, until interrupted.

    The printed link contains a token: anyone who has it may answer and cancel.  If the background
    worker serves the page already, only the link is printed.
    """
    from yaoki.app.build import App
    from yaoki.faces.web.page_process import served_page_address

    app = App(repo.absolute())
    address = served_page_address(app) if port is None and host is None else ""
    if address:
        _print_links(app, address, read_only_link=read_only_link, wanted=wanted)
        print_line("the background worker serves the page; to stop it: yaoki down")
        return 0
    return _serve(app, _bind(port, host), read_only_link=read_only_link, wanted=wanted)


def _bind(port: int | None, host: str | None) -> ListeningSocket:
    from yaoki.faces.web.listen_address import HOST, PORT, bind, is_loopback

    bound = bind(host or HOST, PORT if port is None else port, any_port=port is None)
    if host is not None and not is_loopback(host):
        number = bound.listen_address.port
        print_line(
            f"warning: {host} can be reached over the network, and the connection is not encrypted;"
        )
        print_line("anyone with the link may answer, cancel, and read code, prompts and logs.")
        print_line(f"a tunnel is safer: ssh -L {number}:localhost:{number} THIS-MACHINE")
    return bound


def _serve(app: App, bound: ListeningSocket, *, read_only_link: bool, wanted: bool) -> int:
    from yaoki.faces.web.access_tokens import access_tokens_of
    from yaoki.faces.web.server import PageServer

    server = PageServer(app.repository.top, bound, access_tokens_of(app))
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    server.start()
    _print_links(app, bound.page_address, read_only_link=read_only_link, wanted=wanted)
    print_line("stop it with Ctrl-C; runs continue without it")
    while server.is_serving and not stopped.wait(1.0):
        pass
    if not stopped.is_set():
        raise NotNow("the page's server ended unexpectedly", hint="yaoki doctor")
    server.stop()
    print_line("the page is no longer served")
    return 0


def _print_links(app: App, address: str, *, read_only_link: bool, wanted: bool) -> None:
    from yaoki.faces.web.access_tokens import ACT, LOOK, access_tokens_of

    passes, now = access_tokens_of(app), app.clock.now()
    print_line(f"the page: {passes.link(address, ACT, now)}")
    if read_only_link:
        print_line(f"read-only: {passes.link(address, LOOK, now)}")
    if wanted and not webbrowser.open(
        _write_redirect(app, passes.link(address, ACT, now)).as_uri()
    ):
        print_line("no browser could be opened; open the link yourself")


def _write_redirect(app: App, link: str) -> Path:
    """A file that redirects to the link: every local user can see a browser's arguments."""
    from yaoki.adapters.system.files import write_atomically

    file = app.services.daemon.folder / "page.html"
    words = f'<!doctype html><meta http-equiv="refresh" content="0;url={link}">'
    write_atomically(file, words.encode())
    return file
