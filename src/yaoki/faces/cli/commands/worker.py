"""`yaoki worker`: serve every open run of a store in the foreground until stopped."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.core.settings.tags import TAG_FORM, is_tag
from yaoki.errors import StoreUnreachable, YaokiError
from yaoki.faces.cli.context import open_app, repo_option
from yaoki.faces.cli.hangup import outlive_terminal
from yaoki.faces.cli.trust_question import require_trust, trust_option
from yaoki.faces.text.log_records import PrintLine, log_format_option, open_worker_log
from yaoki.faces.text.render import print_line

if TYPE_CHECKING:
    from yaoki.adapters.processes.daemon import Daemon
    from yaoki.app.build import App
    from yaoki.engine.loop.pool import StopRequest
    from yaoki.faces.web.page_process import PageProcess

SLOTS = click.IntRange(1, 1000)
RETRY_STORE_AFTER = timedelta(seconds=2)


def parse_tags(
    _ctx: click.Context, _param: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    for tag in given:
        if not is_tag(tag):
            raise click.BadParameter(f"{tag!r} is not a tag; a tag has {TAG_FORM}")
    return given


tag_option = click.option(
    "--tag",
    "tags",
    metavar="TAG",
    multiple=True,
    callback=parse_tags,
    help="A tag of this worker that tasks may need; may be repeated.",
)


@click.command()
@click.option(
    "--store", metavar="URL", default="", help="The store; by default that of the settings."
)
@click.option("--slots", type=SLOTS, default=None, help="Tasks at the same time.")
@tag_option
@click.option("--run", "run_name", metavar="RUN", default="", help="Serve only this run.")
@log_format_option
@trust_option
@click.option("--background", is_flag=True, hidden=True)
@repo_option
def worker(
    store: str,
    slots: int | None,
    tags: tuple[str, ...],
    run_name: str,
    log_format: str,
    trust: bool,
    background: bool,
    repo: Path,
) -> int:
    """Serve every open run of the store, and new ones, until stopped.

    The first interrupt lets active agents finish, the second stops them; both save their work.
    """
    with open_app(repo, create=True, store=store, wait_for_store=True) as app:
        require_trust(app, trust=trust)
        lock = app.services.daemon if background else None
        if lock is not None and not lock.acquire_lock():
            print_line("a background worker serves this store already")
            return 0
        with open_worker_log(app, log_format) as tell:
            return _serve(app, slots, tags, run_name, lock, store, tell)


def _wait_for_store(app: App, tell: PrintLine) -> None:
    """Wait for an unreachable store and say so once; a store that refuses us is an error."""
    waited = False
    while True:
        try:
            app.reads.version()
        except StoreUnreachable as away:
            if not waited:
                tell(f"worker: waiting for the store; {away.sentence}")
            waited = True
            app.clock.sleep(RETRY_STORE_AFTER)
        else:
            return


def _page(app: App, store: str, tell: PrintLine) -> PageProcess:
    """Served alongside the work; its errors are reported and stop nothing."""
    from yaoki.faces.web.page_process import PageProcess

    page = PageProcess(app, lambda words: tell(f"worker: {words}"), store=store)
    page.start()
    return page


def _serve(
    app: App,
    slots: int | None,
    tags: tuple[str, ...],
    run_name: str,
    lock: Daemon | None,
    store: str,
    tell: PrintLine,
) -> int:
    from yaoki.app.serve import FINISHING_FIRST, STOPPING_NOW, serve_open_runs

    slots = slots or app.settings.limits.parallel
    outlive_terminal()
    _wait_for_store(app, tell)
    run = app.lookup.find_run(run_name).id if run_name else ""
    all_tags = app.services.worker_tags(tags)
    words = f" and the tags {', '.join(all_tags)}" if all_tags else ""
    serving = f"worker: serving {run or 'every open run'} with {slots} slots{words}"

    def on_stop_request(stop: StopRequest) -> None:
        if lock is not None and not stop.now:
            # From now on, a command that needs a background worker starts a new one.  On a full
            # disk this is not recorded, but the worker stops.
            with suppress(YaokiError):
                lock.mark_ready(slots=slots, tags=list(all_tags), stopping=True)
        tell(f"worker: {STOPPING_NOW if stop.now else FINISHING_FIRST}")

    page = _page(app, store, tell) if lock is not None and app.settings.ui.background else None
    try:
        serve_open_runs(
            app,
            slots=slots,
            tags=tags,
            run=run,
            background=lock,
            on_stop_request=on_stop_request,
            on_signals_ready=lambda: tell(serving),
        )
    finally:
        if page is not None:
            page.stop()
    tell("worker: stopped")
    return 0
