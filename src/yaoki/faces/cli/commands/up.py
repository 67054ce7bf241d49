"""`yaoki up` and `yaoki down`: one background worker per store and machine."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from yaoki.core.text import format_count, format_duration
from yaoki.errors import NotNow, StoreError
from yaoki.faces.cli.commands.worker import SLOTS, tag_option
from yaoki.faces.cli.context import json_option, open_app, repo_option
from yaoki.faces.cli.person_only import refuse_agents
from yaoki.faces.cli.trust_question import require_trust, trust_option
from yaoki.faces.text.log_records import log_format_option
from yaoki.faces.text.render import clean_line, print_document, print_line, print_next_command

if TYPE_CHECKING:
    from yaoki.adapters.processes.daemon import Daemon, RunningDaemon
    from yaoki.app.build import App
    from yaoki.core.model import RunId

SCHEMA = 1
READY_WITHIN = timedelta(seconds=30)
# After a request to stop now: agents are ended, their work is saved, leases are released.
STOPPED_WITHIN, ENDED_WITHIN = timedelta(seconds=30), timedelta(seconds=10)
# Longer than `down` takes by default.
DRAINED_WITHIN = timedelta(seconds=120)


@click.command()
@click.option("--slots", type=SLOTS, default=None, help="Tasks at the same time.")
@tag_option
@log_format_option
@trust_option
@json_option
@repo_option
def up(
    slots: int | None,
    tags: tuple[str, ...],
    log_format: str,
    trust: bool,
    as_json: bool,
    repo: Path,
) -> int:
    """Start the background worker for this repository's store.

    If it is running already, nothing changes.
    """
    with open_app(repo, create=True) as app:
        refuse_agents(app)
        require_trust(app, trust=trust)
        found, started = ensure_worker(app, slots, tags, log_format)
        if as_json:
            print_document(_facts(app, found, started=started))
        else:
            _print_worker(app, found, started=started, asked=bool(slots or tags))
    return 0


def ensure_worker(
    app: App, slots: int | None = None, tags: tuple[str, ...] = (), log_format: str = "text"
) -> tuple[RunningDaemon, bool]:
    """The background worker, and whether it was started just now."""
    daemon = app.services.daemon
    found = daemon.find_running()
    if found is not None and not _wait_for_drain(daemon, found):
        return found, False
    # Opened here first, so that errors of the store are printed here and not in a log.
    app.reads.version()
    more = [word for tag in tags for word in ("--tag", tag)]
    more += ["--slots", str(slots)] if slots else []
    more += ["--log-format", log_format] if log_format != "text" else []
    # Nothing is imported from the repository: it may hold a folder of our name.
    argv = [sys.executable, "-P", "-m", "yaoki", "worker", "--background", *more]
    return daemon.start(argv, app.repository.top, READY_WITHIN), True


def _wait_for_drain(daemon: Daemon, found: RunningDaemon) -> bool:
    """A stopping worker starts nothing new: wait for it, so that the next can follow."""
    if not found.facts.get("stopping"):
        return False
    who = f"the background worker, process {found.pid}, is stopping"
    click.echo(f"{who}; a new one starts after it", err=True)
    if not daemon.wait_until_gone(DRAINED_WITHIN):
        waited = format_duration(DRAINED_WITHIN.total_seconds())
        raise NotNow(
            f"{who}, and its agents had not finished after {waited}",
            hint="wait, or stop them now: yaoki down --wait 0; then: yaoki up",
        )
    return True


def _facts(app: App, found: RunningDaemon | None, *, started: bool) -> dict[str, Any]:
    facts = found.facts if found else {}
    return {
        "schema": SCHEMA,
        "up": found is not None,
        "started": started,
        "pid": found.pid if found else None,
        "slots": facts.get("slots"),
        "tags": facts.get("tags", []),
        "log": str(app.services.daemon.log),
        "page": _page(app),
    }


def _page(app: App) -> str | None:
    """The address of the page, without a token: `yaoki ui` prints the link."""
    from yaoki.faces.web.page_process import served_page_address

    return served_page_address(app) or None


def _print_worker(app: App, found: RunningDaemon, *, started: bool, asked: bool) -> None:
    slots = found.facts.get("slots", "?")
    if started:
        print_line(f"the background worker is running: process {found.pid}, {slots} slots")
        print_line("it keeps running when this terminal closes, and serves every run of this store")
    else:
        print_line(f"the background worker is running already: process {found.pid}, {slots} slots")
        if asked:
            print_line(
                "its slots and tags stay as they are; to change them: yaoki down, then yaoki up"
            )
    print_line(f"log: {clean_line(str(app.services.daemon.log))}")
    if page := _page(app):
        print_line(f"page: {page}; to print its link: yaoki ui")
    print_next_command("yaoki status --workers")


@click.command()
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(0, 86_400),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long active agents may take to finish before they are stopped.",
)
@json_option
@repo_option
def down(wait_s: float, as_json: bool, repo: Path) -> int:
    """Stop the background worker: active agents get time to finish; finished work is saved."""
    with open_app(repo, create=True) as app:
        refuse_agents(app)
        was = _stop(app, timedelta(seconds=wait_s))
        left, unknown = _unfinished_runs(app)
        if as_json:
            told = {"schema": SCHEMA, "up": False, "was_up": was, "open_runs": left}
            print_document(told)
            return 0
        print_line("background worker stopped" if was else "no background worker was running")
        if unknown:
            print_line(f"it is unknown whether runs are open: {clean_line(unknown)}")
        if left:
            one, many = "run is", "runs are"
            print_line(
                f"{format_count(len(left), one, many)} not finished; any worker can continue"
            )
        print_next_command("yaoki doctor" if unknown else "yaoki up" if left else "yaoki status")
    return 0


def _unfinished_runs(app: App) -> tuple[list[RunId] | None, str]:
    """The unfinished runs; why they are unknown while the store does not answer."""
    try:
        runs = app.context.list_open_run_ids() if app.has_store else ()
        return [run_id for run_id in runs if not app.reads.is_idle(run_id)], ""
    except StoreError as away:
        return None, away.sentence


def _stop(app: App, patience: timedelta) -> bool:
    """Request a drain, then a stop, then its end; false when no worker was there."""
    daemon = app.services.daemon
    if daemon.find_running() is None:
        return False
    daemon.send_signal()
    if daemon.wait_until_gone(patience):
        return True
    daemon.send_signal()
    if daemon.wait_until_gone(STOPPED_WITHIN):
        return True
    # It is stuck; its tasks are in the same state as after a kill, and the next worker continues.
    daemon.send_signal()
    if not daemon.wait_until_gone(ENDED_WITHIN):
        found = daemon.find_running()
        pid = found.pid if found else "?"
        raise NotNow(
            f"the background worker, process {pid}, has not stopped after three requests",
            hint=f"see {daemon.log}; wait, or run kill {pid}: another worker takes over its tasks",
        )
    return True
