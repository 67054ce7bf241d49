"""`yaoki worker`: serve every open run of a store, in the foreground, until asked to stop."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.core.settings.tags import FORM, is_tag
from yaoki.errors import StoreUnreached, YaokiError
from yaoki.faces.cli.context import opened, repo_option
from yaoki.faces.cli.hangup import outlive_terminal
from yaoki.faces.cli.text.log_records import Tell, log_format_option, records
from yaoki.faces.cli.text.render import say
from yaoki.faces.cli.trust_question import clear, trust_option

if TYPE_CHECKING:
    from yaoki.adapters.processes.daemon import Daemon
    from yaoki.app import App
    from yaoki.engine.loop.pool import Stop
    from yaoki.faces.web.page_process import PageBeside

SLOTS = click.IntRange(1, 1000)
AGAIN = timedelta(seconds=2)


def tags_of(
    _ctx: click.Context, _param: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    for tag in given:
        if not is_tag(tag):
            raise click.BadParameter(f"{tag!r} is no tag; a tag has {FORM}")
    return given


tag_option = click.option(
    "--tag",
    "tags",
    metavar="TAG",
    multiple=True,
    callback=tags_of,
    help="What this worker has that tasks may need; may be repeated.",
)


@click.command()
@click.option("--store", metavar="URL", default="", help="The store; that of the settings else.")
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
    """Serve every open run of the store, and those that come, until stopped.

    The first interrupt lets agents at work finish, the second stops them; both lose nothing.
    """
    with opened(repo, create=True, store=store, patient=True) as app:
        clear(app, trust=trust)
        lock = app.daemon if background else None
        if lock is not None and not lock.take():
            say("a background worker serves this store already")
            return 0
        with records(app, log_format) as tell:
            return _serve(app, slots, tags, run_name, lock, store, tell)


def _reach(app: App, tell: Tell) -> None:
    """A store that is away is waited for, and said so once; one that refuses us is an error."""
    waited = False
    while True:
        try:
            app.store.version()
        except StoreUnreached as away:
            if not waited:
                tell(f"worker: waiting for the store; {away.sentence}")
            waited = True
            app.clock.sleep(AGAIN)
        else:
            return


def _page(app: App, store: str, tell: Tell) -> PageBeside:
    """Served beside the work; what goes wrong with it is told and stops nothing."""
    from yaoki.faces.web.page_process import PageBeside

    page = PageBeside(app, lambda words: tell(f"worker: {words}"), store=store)
    page.start()
    return page


def _serve(
    app: App,
    slots: int | None,
    tags: tuple[str, ...],
    run_name: str,
    lock: Daemon | None,
    store: str,
    tell: Tell,
) -> int:
    slots = slots or app.settings.limits.parallel
    outlive_terminal()
    _reach(app, tell)
    run = app.naming.run(run_name).id if run_name else ""
    words = f" and the tags {', '.join(app.tags(tags))}" if app.tags(tags) else ""
    serving = f"worker: serving {run or 'every open run'} with {slots} slots{words}"

    def asked(stop: Stop) -> None:
        if lock is not None and not stop.now:
            # Who asks for a background worker from here on gets the next one; on a full disk
            # nobody learns of it, and it stops all the same.
            with suppress(YaokiError):
                lock.ready(slots=slots, tags=list(app.tags(tags)), stopping=True)
        tell("worker: stopping now" if stop.now else "worker: agents at work finish first")

    page = _page(app, store, tell) if lock is not None and app.settings.ui.background else None
    try:
        app.serve_all(
            slots=slots,
            tags=tags,
            run=run,
            background=lock,
            asked=asked,
            begun=lambda: tell(serving),
        )
    finally:
        if page is not None:
            page.stop()
    tell("worker: stopped")
    return 0
