"""`yaoki run`, `yaoki resume` and `yaoki watch`: run a plan, continue a run, follow one."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.core.lazy_dataclass import replace
from yaoki.core.model import ContinuousMode, PauseCause
from yaoki.core.run_status import RunStatus
from yaoki.errors import PlanInvalid, SettingsInvalid
from yaoki.faces.cli.agent_rights import describe_rights, print_rights
from yaoki.faces.cli.commands import plans, report
from yaoki.faces.cli.commands import status as status_screen
from yaoki.faces.cli.commands.worker import tag_option
from yaoki.faces.cli.context import agent_option, json_option, load_run_view, open_app, repo_option
from yaoki.faces.cli.hangup import outlive_terminal
from yaoki.faces.cli.live.follow import RunEndDetector, RunFollower, follow_in_background
from yaoki.faces.cli.live.screens import can_move_cursor, choose_screen
from yaoki.faces.cli.person_only import refuse_agents
from yaoki.faces.cli.plan_arguments import print_missing, read_plan, require_plan_trust
from yaoki.faces.cli.stop_time import next_stop, until_option
from yaoki.faces.cli.trust_question import require_trust, trust_option
from yaoki.faces.text.render import (
    clean_line,
    print_document,
    print_next_command,
    print_wrapped,
)
from yaoki.views import PlanView, build_plan_view, plan_document, status_document

if TYPE_CHECKING:
    from datetime import datetime

    from yaoki.app.build import App
    from yaoki.app.missing_programs import MissingProgram
    from yaoki.core.model import Run
    from yaoki.engine.loop.pool import Pool, StopRequest
    from yaoki.formats.plan import Plan

INTERRUPTED = 130
SLOTS = click.IntRange(1, 1000)


@click.command()
@click.argument("plan", metavar="PLAN|GOAL")
@click.option("--base", metavar="BRANCH", default="", help="Start from this branch.")
@agent_option
@click.option("--parallel", type=SLOTS, default=None, help="Tasks at the same time.")
@click.option("--quiet", is_flag=True, help="Show only the summary at the end.")
@click.option("--dry-run", is_flag=True, help="Show the plan and stop; nothing is stored.")
@click.option("--yes", is_flag=True, help="Start a planned GOAL without asking.")
@click.option("--continuous", is_flag=True, help="Iterate until done_when holds, within bounds.")
@click.option("--no-reuse", is_flag=True, help="Run every check; reuse no earlier verdict.")
@click.option("--detach", is_flag=True, help="Leave it to the background worker; return at once.")
@until_option
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
    no_reuse: bool,
    detach: bool,
    until: time | None,
    tags: tuple[str, ...],
    trust: bool,
    as_json: bool,
    repo: Path,
) -> int:
    """Run PLAN until every task is proven or waits for you.

    PLAN is a file, or - for standard input.  A sentence instead of a file is a GOAL: the planner of
    the settings writes the plan, which is shown before it starts.
    """
    from yaoki.app.submit import submit_plan

    if not plan.strip():
        raise click.UsageError("PLAN|GOAL is empty")
    if detach and until:
        raise click.UsageError("--until has no effect with --detach; end the worker: yaoki down")
    if detach and (parallel or tags):
        option, way = ("--parallel", "--slots N") if parallel else ("--tag", "--tag TAG")
        raise click.UsageError(
            f"{option} has no effect with --detach; start the worker with it: yaoki up {way}"
        )
    with open_app(repo, create=True, wait_for_store=True) as app:
        refuse_agents(app)
        with _report_early_interrupt(plan, as_json=as_json):
            held = _read_plan_or_goal(app, plan, agents, continuous=continuous)
            view = plans.view_plan(app, held, parallel or 0)
            if dry_run:
                rights = describe_rights(app, held.catalogue)
                missing = plans.find_missing(app, held)
                return _show_plan(view, plan, rights, missing, as_json=as_json)
            if _is_goal(plan):
                require_trust(app, trust=trust)
            else:
                require_plan_trust(app, plan, held, trust=trust)
            _require_worktree_folder(app)
            started = submit_plan(
                app,
                held,
                base=base,
                parallel=parallel or 0,
                approved=yes,
                reuse_verdicts=not no_reuse,
                tags=tags,
                file="" if _is_goal(plan) else plan,
                forecast=view.forecast,
            )
        try:
            if not (quiet or as_json):
                print_wrapped(f"run {started.id}: {clean_line(started.goal, 120)}")
                print_wrapped(plans.bound_summary(view, 0 if detach else started.parallel))
                plans.print_forecast(view, started.created_at)
                _warn_of_uncommitted(app, plan)
                print_missing(app.preflight.missing_agents(held))
                _print_notes(app, started)
                print_rights(describe_rights(app, started.catalogue))
            if detach:
                return _hand_to_worker(app, started, quiet=quiet, as_json=as_json)
            return carry_run(app, started, tags=tags, until=until, quiet=quiet, as_json=as_json)
        except KeyboardInterrupt:
            return _report_interrupt(app, started, as_json=as_json)


@contextmanager
def _report_early_interrupt(plan: str, *, as_json: bool) -> Iterator[None]:
    """The run is not stored yet, or its name was not printed yet."""
    try:
        yield
    except KeyboardInterrupt:
        if not as_json:
            print_wrapped("interrupted before the run began: nothing was started")
            print_next_command(f"yaoki run {clean_line(shlex.quote(plan))}")
        raise


def _report_interrupt(app: App, run: Run, *, as_json: bool) -> int:
    """Until `serve_run` handles signals, an interrupt is an exception, and no task has begun."""
    return _report_end(app, app.reads.run(run.id), drained=True, as_json=as_json)


def _warn_of_uncommitted(app: App, plan: str) -> None:
    """Print a note: the run begins at a commit, so uncommitted changes are not part of it."""
    from yaoki.app.uncommitted_files import describe_uncommitted

    own = [] if _is_goal(plan) else [Path(plan)]
    if words := describe_uncommitted(app, own):
        print_wrapped(clean_line(words))


def _print_notes(app: App, run: Run) -> None:
    from yaoki.app.repository_notes import repository_notes, same_plan_notes

    for words in (*same_plan_notes(app, run), *repository_notes(app, run)):
        print_wrapped(clean_line(words))


def _show_plan(
    view: PlanView,
    plan: str,
    rights: Sequence[str],
    missing: Sequence[MissingProgram],
    *,
    as_json: bool,
) -> int:
    if as_json:
        print_document({**plan_document(view), **plans.missing_document(missing)})
        return 0
    plans.print_plan(view)
    print_rights(rights)
    plans.print_run_command(plan, missing)
    return 0


def _require_worktree_folder(app: App) -> None:
    """Without a folder for worktrees no task could begin, and each would ask the same question."""
    try:
        app.context.worktrees_root.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        words = f"no worktree can be created in {app.context.worktrees_root}: {fault.strerror}"
        raise SettingsInvalid(words, hint="export YAOKI_HOME=DIR") from fault


def _read_plan_or_goal(app: App, plan: str, agents: tuple[str, ...], *, continuous: bool) -> Plan:
    """A plan or a goal, with the options applied."""
    held = plans.plan_for_goal(app, plan) if _is_goal(plan) else None
    held = held or read_plan(app, Path(plan), agents)
    if continuous and held.continuous is None:
        held = replace(held, continuous=ContinuousMode())
    if held.continuous is not None and not held.done_when:
        words = "continuous mode ends when done_when holds, and the plan has none"
        raise PlanInvalid(words, hint="add done_when: [CHECK] to the plan")
    return held


def _hand_to_worker(app: App, run: Run, *, quiet: bool, as_json: bool) -> int:
    """The run is stored, so the background worker runs it; one is started if there is none."""
    from yaoki.faces.cli.commands.up import ensure_worker

    worker, fresh = ensure_worker(app)
    if as_json:
        print_document(status_document(load_run_view(app, run)))
    elif not quiet:
        how = "was started and runs" if fresh else "runs"
        print_wrapped(f"the background worker (process {worker.pid}) {how} it")
    if not as_json:
        print_next_command(f"yaoki watch {run.id}")
    return 0


def _is_goal(given: str) -> bool:
    """A sentence has blanks in it and is no existing file."""
    return len(given.split()) > 1 and not Path(given).exists()


@click.command()
@click.argument("run", default="")
@click.option("--parallel", type=SLOTS, default=None, help="Tasks at the same time.")
@click.option("--quiet", is_flag=True, help="Show only the summary at the end.")
@until_option
@tag_option
@trust_option
@json_option
@repo_option
def resume(
    run: str,
    parallel: int | None,
    quiet: bool,
    until: time | None,
    tags: tuple[str, ...],
    trust: bool,
    as_json: bool,
    repo: Path,
) -> int:
    """Continue RUN where it stopped; by default the newest."""
    with open_app(repo, wait_for_store=True) as app:
        refuse_agents(app)
        found = app.lookup.find_run(run)
        require_trust(app, trust=trust)
        try:
            return carry_run(
                app,
                found,
                slots=parallel or 0,
                tags=tags,
                until=until,
                quiet=quiet,
                as_json=as_json,
            )
        except KeyboardInterrupt:
            return _report_interrupt(app, found, as_json=as_json)


def carry_run(
    app: App,
    run: Run,
    *,
    slots: int = 0,
    tags: tuple[str, ...] = (),
    until: time | None = None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run the tasks until the run is finished, needs a person or stops; returns the exit code."""
    outlive_terminal()
    stop_at = next_stop(until, app.clock.now())
    while True:
        screen = choose_screen(app, run, quiet=quiet or as_json)
        following = RunFollower(app, run, screen, app.reads.last_seq())
        pool = _serve(app, run, following, slots=slots, tags=tags, stop_at=stop_at)
        run = app.reads.run(run.id)
        if quiet or as_json or pool.stop.drain or not _ask_approval(app, run):
            is_late = stop_at is not None and app.clock.now() >= stop_at
            words = f"stopped at {until:%H:%M} as asked; all work is saved" if is_late else ""
            drained = pool.stop.drain
            return _report_end(app, run, drained=drained, stop_words=words, as_json=as_json)


def _report_end(app: App, run: Run, *, drained: bool, stop_words: str = "", as_json: bool) -> int:
    """Report the state of the run; the exit code says whether it was only interrupted.

    `stop_words` say why it stopped, if no interrupt stopped it.
    """
    from yaoki.app.run_view import with_landing_facts

    view = load_run_view(app, run)
    stopped = drained and view.status is RunStatus.ACTIVE
    if as_json:
        print_document(status_document(with_landing_facts(app, view)))
    else:
        report.print_summary(app, view, stopped=stopped, stop_words=stop_words)
    if not stopped:
        from yaoki.app.retention import prune_one_run

        prune_one_run(app, run.id)
    return INTERRUPTED if stopped and not stop_words else view.exit_code


def _serve(
    app: App,
    run: Run,
    following: RunFollower,
    *,
    slots: int,
    tags: tuple[str, ...],
    stop_at: datetime | None,
) -> Pool:
    """Run the tasks, and again as long as a person answers while the screen is kept open."""
    from yaoki.app.serve import FINISHING_FIRST, STOPPING_NOW, serve_run

    def on_stop_request(stop: StopRequest) -> None:
        following.stop_requested = True
        later = f"{FINISHING_FIRST}; interrupt again to stop them now"
        following.note = STOPPING_NOW if stop.now else later

    app.carried_run_id = run.id
    try:
        while True:
            with follow_in_background(following, app.clock):
                pool = serve_run(
                    app,
                    run,
                    slots=slots,
                    tags=tags,
                    stop_at=stop_at,
                    on_stop_request=on_stop_request,
                )
                # A stop can come between the last landing and the summary.
                app.services.completion.complete(run.id)
                before = following.answers_sent
            if following.answers_sent == before or pool.stop.drain:
                return pool
    finally:
        app.carried_run_id = ""
        following.close()


def _ask_approval(app: App, run: Run) -> bool:
    """Show the planner's plan and ask, where a person can answer."""
    from yaoki.app.commands import continue_run
    from yaoki.app.costs import load_known_costs
    from yaoki.app.forecast import forecast_approval

    if run.pause_cause is not PauseCause.APPROVAL:
        return False
    specs = [app.reads.task(row.id).spec for row in app.reads.rows(run.id)]
    forecast, costs = forecast_approval(app, run), load_known_costs(app)
    view = build_plan_view(run.goal, specs, run.done_when, costs, forecast, run.budget)
    plans.print_plan(view)
    if not sys.stdin.isatty() or not click.confirm("Start it?", default=False):
        return False
    continue_run(app, run, "approved at the terminal", how="")
    return True


@click.command()
@click.argument("run", default="")
@click.option("--once", is_flag=True, help="Show it once and return.")
@repo_option
def watch(run: str, once: bool, repo: Path) -> int:
    """Follow RUN until it is finished or needs you; by default the newest."""
    with open_app(repo) as app:
        found = app.lookup.find_run(run)
        view = load_run_view(app, found)
        if not once:
            after = app.reads.last_seq()
            screen = choose_screen(app, found, quiet=False, may_leave=True)
            following = RunFollower(app, found, screen, after)
            rest = RunEndDetector(app, found.id)
            if not can_move_cursor() and not rest():
                # A pipe gets the state of the run before anything more happens.
                status_screen.print_head(view)
            if (
                view.next_command.startswith("yaoki resume")
                and not app.services.list_live_workers()
            ):
                following.note = (
                    f"no worker is running this run; to continue it here: {view.next_command}"
                )
            following.follow_and_close(rest, lambda s: app.clock.sleep(timedelta(seconds=s)))
            view = load_run_view(app, app.reads.run(found.id))
        from yaoki.app.run_view import with_landing_facts

        view = with_landing_facts(app, view)
        status_screen.print_status(app, view, warnings=not once)
        return view.exit_code
