"""`yaoki run`, `yaoki resume` and `yaoki watch`: carry a run, go on with it, follow it."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.core.model import Continuous
from yaoki.core.run_status import Status
from yaoki.errors import PlanInvalid, SettingsInvalid
from yaoki.faces.cli.commands import plans, report
from yaoki.faces.cli.commands import status as status_screen
from yaoki.faces.cli.commands.worker import tag_option
from yaoki.faces.cli.context import json_option, look, opened, repo_option
from yaoki.faces.cli.hangup import outlive_terminal
from yaoki.faces.cli.live.follow import Following, Rest, beside
from yaoki.faces.cli.live.screens import moves, screen_for
from yaoki.faces.cli.person_only import refuse_agents
from yaoki.faces.cli.text.render import document, line, next_command, prose
from yaoki.faces.cli.trust_question import clear, trust_option
from yaoki.views import PlanView, plan_document, plan_view, status_document

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import Run
    from yaoki.engine.loop.pool import Pool, Stop
    from yaoki.formats.plan import Plan

INTERRUPTED = 130
SLOTS = click.IntRange(1, 1000)


@click.command()
@click.argument("plan", metavar="PLAN|GOAL")
@click.option("--base", metavar="BRANCH", default="", help="Start from this branch.")
@plans.agent_option
@click.option("--parallel", type=SLOTS, default=None, help="Tasks at the same time.")
@click.option("--quiet", is_flag=True, help="Show only the report at the end.")
@click.option("--dry-run", is_flag=True, help="Show the plan and stop; nothing is stored.")
@click.option("--yes", is_flag=True, help="Start a planned GOAL without asking.")
@click.option("--continuous", is_flag=True, help="Iterate until done_when holds, within bounds.")
@click.option("--detach", is_flag=True, help="Let the background worker carry it; return at once.")
@tag_option
@trust_option
@json_option
@repo_option
def run(
    plan: str,
    base: str,
    agents: tuple[str, ...],
    parallel: int | None,
    quiet: bool,
    dry_run: bool,
    yes: bool,
    continuous: bool,
    detach: bool,
    tags: tuple[str, ...],
    trust: bool,
    as_json: bool,
    repo: Path,
) -> int:
    """Carry PLAN to a proven end; returns when everything rests.

    PLAN is a file, or - for standard input.  A sentence instead of a file is a GOAL: the planner
    of the settings makes the plan, which is shown before it starts.
    """
    if not plan.strip():
        raise click.UsageError("PLAN|GOAL is empty")
    if detach and (parallel or tags):
        word = "--parallel" if parallel else "--tag"
        raise click.UsageError(f"with --detach {word} is the worker's: yaoki up --help")
    with opened(repo, create=True, patient=True) as app:
        refuse_agents(app)
        held = _read(app, plan, agents, continuous=continuous)
        view = plans.view_of(app, held)
        if dry_run:
            return _shown(view, plan, as_json=as_json)
        if _is_goal(plan):
            clear(app, trust=trust)
        else:
            plans.clear_plan(app, plan, held, trust=trust)
        _refuse_homeless(app)
        started = app.submit(held, base=base, parallel=parallel or 0, approved=yes, tags=tags)
        if not (quiet or as_json):
            prose(f"run {started.id}: {line(started.goal, 120)}")
            many = "" if detach else f"; up to {started.parallel} at the same time"
            prose(f"{plans.summary(view)}{many}")
            _tell_uncommitted(app, plan)
            _tell_unwalled(app, started)
        if detach:
            return _detached(app, started, quiet=quiet, as_json=as_json)
        return carry(app, started, tags=tags, quiet=quiet, as_json=as_json)


def _tell_uncommitted(app: App, plan: str) -> None:
    """The run begins at a commit; whoever expects their open changes in it is told."""
    from yaoki.app.uncommitted import note, uncommitted

    own = [] if _is_goal(plan) else [Path(plan)]
    if words := note(uncommitted(app, own)):
        prose(line(words))


def _tell_unwalled(app: App, run: Run) -> None:
    """Who expects walls around their agents learns what is missing."""
    if words := app.walls.told(agent.preset for agent in run.catalogue.agents.values()):
        prose(line(words))


def _shown(view: PlanView, plan: str, *, as_json: bool) -> int:
    if as_json:
        document(plan_document(view))
        return 0
    plans.show(view)
    next_command(f"yaoki run {line(shlex.quote(plan))}")
    return 0


def _refuse_homeless(app: App) -> None:
    """No task could begin, and each would ask about the same."""
    try:
        app.worktrees.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        words = f"no worktree can be made in {app.worktrees}: {fault.strerror}"
        raise SettingsInvalid(words, hint="export YAOKI_HOME=DIR") from fault


def _read(app: App, plan: str, agents: tuple[str, ...], *, continuous: bool) -> Plan:
    """A plan or a goal, as the options want it."""
    held = plans.read_goal(app, plan) if _is_goal(plan) else None
    held = held or plans.read_plan(app, Path(plan), agents)
    if continuous and held.continuous is None:
        held = replace(held, continuous=Continuous())
    if held.continuous is not None and not held.done_when:
        words = "continuous mode ends when done_when holds, and the plan has none"
        raise PlanInvalid(words, hint="add done_when: [CHECK] to the plan")
    return held


def _detached(app: App, run: Run, *, quiet: bool, as_json: bool) -> int:
    """It is stored, so the background worker carries it; one is started if there is none."""
    from yaoki.faces.cli.commands.up import ensured

    worker, fresh = ensured(app)
    if as_json:
        document(status_document(look(app, run)))
    elif not quiet:
        how = "was started and carries" if fresh else "carries"
        prose(f"the background worker (process {worker.pid}) {how} it")
    if not as_json:
        next_command(f"yaoki watch {run.id}")
    return 0


def _is_goal(given: str) -> bool:
    """A sentence has blanks in it and is no file that is there."""
    return len(given.split()) > 1 and not Path(given).exists()


@click.command()
@click.argument("run", default="")
@click.option("--parallel", type=SLOTS, default=None, help="Tasks at the same time.")
@click.option("--quiet", is_flag=True, help="Show only the report at the end.")
@tag_option
@trust_option
@json_option
@repo_option
def resume(
    run: str,
    parallel: int | None,
    quiet: bool,
    tags: tuple[str, ...],
    trust: bool,
    as_json: bool,
    repo: Path,
) -> int:
    """Go on with RUN where it stands; the newest unless named."""
    with opened(repo, patient=True) as app:
        refuse_agents(app)
        found = app.naming.run(run)
        clear(app, trust=trust)
        return carry(app, found, slots=parallel or 0, tags=tags, quiet=quiet, as_json=as_json)


def carry(
    app: App,
    run: Run,
    *,
    slots: int = 0,
    tags: tuple[str, ...] = (),
    quiet: bool,
    as_json: bool,
) -> int:
    """Work until the run rests or a signal stops it, then report; returns the exit code."""
    outlive_terminal()
    while True:
        screen = screen_for(app, run, quiet=quiet or as_json)
        following = Following(app, run, screen, app.store.cursor())
        pool = _served(app, run, following, slots=slots, tags=tags)
        run = app.store.run(run.id)
        if quiet or as_json or pool.stop.drain or not _approved(app, run):
            return _ended(app, run, drained=pool.stop.drain, as_json=as_json)


def _ended(app: App, run: Run, *, drained: bool, as_json: bool) -> int:
    """Report how it stands; the exit code says whether it only stopped."""
    view = look(app, run)
    stopped = drained and view.status is Status.ACTIVE
    if as_json:
        document(status_document(view))
    else:
        report.show(app, view, stopped=stopped)
    if not stopped:
        from yaoki.app.retention import prune_one

        prune_one(app, run.id)
    return INTERRUPTED if stopped else view.exit_code


def _served(app: App, run: Run, following: Following, *, slots: int, tags: tuple[str, ...]) -> Pool:
    """Until it rests, and once more as long as somebody answers while the screen is held open."""

    def asked(stop: Stop) -> None:
        following.leaving = True
        later = "agents at work finish first; interrupt again to stop now"
        following.note = "stopping now" if stop.now else later

    app.carrying = run.id
    try:
        while True:
            with beside(following, app.clock):
                pool = app.serve(run, slots=slots, tags=tags, asked=asked)
                # A stop can come between the last landing and the summing up.
                app.closing.rests(run.id)
                before = following.answered
            if following.answered == before or pool.stop.drain:
                return pool
    finally:
        app.carrying = ""
        following.close()


def _approved(app: App, run: Run) -> bool:
    """Show what the planner made and ask, where somebody can answer."""
    from yaoki.app.costs import costs_before

    if not run.paused.startswith("approval"):
        return False
    specs = [app.store.task(row.id).spec for row in app.store.rows(run.id)]
    plans.show(plan_view(run.goal, specs, run.done_when, costs_before(app)))
    if not sys.stdin.isatty() or not click.confirm("Start it?", default=False):
        return False
    app.control.go(run, "approved at the terminal")
    return True


@click.command()
@click.argument("run", default="")
@click.option("--once", is_flag=True, help="Show it once and return.")
@repo_option
def watch(run: str, once: bool, repo: Path) -> int:
    """Follow RUN until it rests; the newest unless named."""
    with opened(repo) as app:
        found = app.naming.run(run)
        view = look(app, found)
        if not once:
            after = app.store.cursor()
            screen = screen_for(app, found, quiet=False, leave=True)
            following = Following(app, found, screen, after)
            rest = Rest(app, found.id)
            if not moves() and not rest():
                # A pipe learns where the run stands before anything more happens.
                status_screen.head(view)
            if view.next.startswith("yaoki resume") and not app.workers():
                following.note = f"nobody is at it, unless a worker waits somewhere: {view.next}"
            following.until(rest, lambda s: app.clock.sleep(timedelta(seconds=s)))
            view = look(app, app.store.run(found.id))
        status_screen.show(app, view)
        return view.exit_code
