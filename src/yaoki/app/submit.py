"""Submit a plan as a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yaoki.adapters.git.repository import resolve_base
from yaoki.app.forecast import record_forecast
from yaoki.app.plan_input import STDIN
from yaoki.engine.commands.submit import Submission

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.forecast.forecast import Forecast
    from yaoki.core.model import Run
    from yaoki.formats.plan import Plan


def submit_plan(
    app: App,
    plan: Plan,
    *,
    base: str = "",
    parallel: int = 0,
    approved: bool = True,
    tags: Sequence[str] = (),
    file: str = "",
    reuse_verdicts: bool = True,
    forecast: Forecast | None = None,
) -> Run:
    """Store a plan as a run of this repository; `tags` are those of the worker that will run it.

    `file` is where the plan was read, for commands that read it again.  `forecast` is the one that
    the user was shown, to be compared with what happens.
    """
    app.trust.require_trusted()
    app.preflight.check_references(plan)
    app.preflight.check_programs(plan, with_agents=True)
    plan = app.context.hidden_checks.freeze(plan)
    app.preflight.check_tags(plan.specs, tags)
    branch, commit = resolve_base(app.repository, base or plan.base)
    submission = Submission(
        goal=plan.goal,
        specs=plan.specs,
        catalogue=plan.catalogue,
        done_when=plan.done_when,
        source=plan.source,
        repo=str(app.repository.top),
        base_branch=branch,
        base=commit,
        parallel=parallel or app.settings.limits.parallel,
        priority=plan.priority,
        planner=plan.planner_agents,
        chain=plan.default_agents,
        budget={**app.settings.budget.run, **plan.budget},
        continuous=plan.continuous,
        language=plan.language,
        approved=approved,
        reuse_verdicts=reuse_verdicts,
    )
    request: dict[str, Any] = {"goal": plan.goal, "base": branch, "tasks": len(plan.specs)}
    if file and file != STDIN:
        request["file"] = str(Path(file).absolute())
    run = app.control.submit(submission, request)
    record_forecast(app, run, forecast)
    return run
