"""Keeps the secrets that an agent was given out of what it writes to the store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from yaoki.adapters.processes.callers import iter_caller_environments
from yaoki.core.lazy_dataclass import replace
from yaoki.core.redact import mask_values, secret_values
from yaoki.engine.stages.secrets import passed_variables
from yaoki.errors import PlanInvalid

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run, Task
    from yaoki.ports import PlannerAnswer

HINT = "write the name of the variable, not its value; nothing was stored"


def agent_secrets(run: Run, task: Task, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The values of the variables that the plan passes to the caller's agent.

    A server that an agent starts may not have them in its environment; its parent agent does.
    """
    names = passed_variables(run, task)
    above = (
        environment
        for environment in iter_caller_environments()
        if environment.get("YAOKI_TASK") == task.id
    )
    return tuple(v for environment in (environ, *above) for v in secret_values(environment, names))


def caller_secrets(app: App, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The secrets of the caller; none for a person, whose text is stored unchanged."""
    from yaoki.faces.mcp.caller import calling_attempt

    caller = calling_attempt(environ)
    if caller is None:
        return ()
    task = app.reads.task(caller.task_id)
    return agent_secrets(app.reads.run(task.run_id), task, environ)


def mask_answer(answer: PlannerAnswer, secrets: tuple[str, ...]) -> PlannerAnswer:
    """Mask these values in goals; a name or scope that contains one is refused."""
    for spec in answer.specs:
        fixed = (spec.name, *spec.scope)
        if any(mask_values(word, secrets) != word for word in fixed):
            raise _secret_found("a task")
    clean = (replace(spec, goal=mask_values(spec.goal, secrets)) for spec in answer.specs)
    return replace(answer, specs=tuple(clean))


def refuse_secrets_in_plan(plan: Mapping[str, Any], secrets: tuple[str, ...]) -> Mapping[str, Any]:
    """Refuse a plan that contains a secret: a masked command would be another command."""
    words = json.dumps(plan, ensure_ascii=False)
    if mask_values(words, secrets) != words:
        raise _secret_found("the plan")
    return plan


def _secret_found(what: str) -> PlanInvalid:
    words = f"{what} contains the value of a variable that the agent was given"
    return PlanInvalid(words, hint=HINT)
