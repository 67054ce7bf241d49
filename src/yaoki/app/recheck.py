"""Reads the plan of a run again, for its checks and its set-up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.app.plan_input import read_plan
from yaoki.core.text import list_some
from yaoki.errors import PlanInvalid

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run, Task
    from yaoki.formats.plan import Plan

# Only its ending matters: it selects the format of the stored text.
STORED_PLAN = "plan.yaml"
NAMES_SHOWN = 5
# No task can have this name, because it has a space.
THE_PLAN = "the plan"
# The keys of a plan that are fixed for a run, by their field.
FIXED_KEYS = {
    "goal": "goal",
    "base": "base",
    "done_when": "done_when",
    "priority": "priority",
    "language": "language",
    "default_agents": "agent",
    "planner_agents": "planner",
    "budget": "budget",
    "continuous": "continuous",
}


def read_plan_again(app: App, run: Run, file: Path | None = None) -> tuple[Plan, Path | None]:
    """The plan as it is now, and its file: the named one, or the one that the run was started with.

    If there is no such file, the stored text is read with the settings as they are now: a goal and
    a plan from standard input have no file.
    """
    from yaoki.formats.plan_file import parse_plan

    recorded = _recorded_file(app, run)
    file = file or (recorded if recorded is not None and recorded.is_file() else None)
    if file is not None:
        return read_plan(app, file), file
    name = str(recorded or STORED_PLAN)
    return parse_plan(run.source, name, app.settings, app.preflight.known_names), None


def list_fixed_changes(app: App, run: Run, plan: Plan) -> dict[str, tuple[str, ...]]:
    """What changed in the plan beside its checks and tasks, and the tasks that left it.

    Both texts are read with the same settings, so only the plan itself can differ.
    """
    from yaoki.formats.plan_file import parse_plan

    name = str(_recorded_file(app, run) or STORED_PLAN)
    try:
        before = parse_plan(run.source, name, app.settings, app.preflight.known_names)
    except PlanInvalid:
        return {}  # with these settings, the plan of the run would not be valid any more
    fields = FIXED_KEYS.items()
    keys = tuple(key for at, key in fields if getattr(before, at) != getattr(plan, at))
    kept = {spec.name for spec in plan.specs}
    gone = [spec.name for spec in before.specs if spec.name not in kept]
    removed = dict.fromkeys(gone, ("no longer in the plan",))
    return {**({THE_PLAN: keys} if keys else {}), **removed}


def describe_outdated_checks(app: App, task: Task) -> str:
    """One line if the plan has the task with other checks or keys than the run; else empty."""
    from yaoki.engine.commands.recheck import list_differences, list_ignored_keys

    run = app.reads.run(task.run_id)
    command = f"yaoki plan recheck {run.id}"
    try:
        plan, _ = read_plan_again(app, run)
    except PlanInvalid:
        return f"the plan cannot be read any more, so the run keeps its checks; details: {command}"
    specs = [spec for spec in plan.specs if spec.name == task.spec.name]
    names = list_differences(task, specs)
    ignored = list_ignored_keys([task], specs).get(task.spec.name, ())
    outdated = f"{_describe_difference(names)}; to apply the changes: {command}" if names else ""
    fixed = f"{_describe_difference(ignored)}: only a new run applies this" if ignored else ""
    return "; ".join(filter(None, (outdated, fixed)))


def _describe_difference(names: Sequence[str]) -> str:
    differ = f"{list_some(names, NAMES_SHOWN)} {'differs' if len(names) == 1 else 'differ'}"
    return f"{differ} in the plan or yaoki.toml; the run keeps what it has"


def _recorded_file(app: App, run: Run) -> Path | None:
    from yaoki.adapters.store.tables import journal_pages

    requests = journal_pages.read_newest(
        app.store.database, run_id=run.id, events=("USER_REQUEST",), limit=1
    )
    name = requests[0].data.get("file", "") if requests else ""
    return Path(name) if name else None
