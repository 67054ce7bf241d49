"""`yaoki validate`: every defect of a plan."""

from __future__ import annotations

import shlex
from pathlib import Path

from yaoki.core.text import format_count
from yaoki.errors import PlanInvalid
from yaoki.faces.cli.plan_arguments import open_plan
from yaoki.faces.cli.quick_command import AGENT, JSON, REPO, Argument, quick_command
from yaoki.faces.text.render import (
    clean_line,
    print_document,
    print_next_command,
    print_wrapped,
)


@quick_command(Argument("plan", convert=Path), AGENT, JSON, REPO)
def validate(plan: Path, agents: tuple[str, ...], as_json: bool, repo: Path) -> int:
    """Report every defect of PLAN, a file or - for standard input; exit code 2 if there is one."""
    try:
        app, parsed = open_plan(plan, repo, agents)
        app.preflight.check_programs(parsed)
        tasks = len(parsed.specs)
    except PlanInvalid as error:
        if error.hint == f"yaoki validate {shlex.quote(str(plan))}":
            them = "it" if len(error.defects) == 1 else "them"
            error.hint = f"fix {them} in {plan} and run this again"
        raise
    if as_json:
        from yaoki.views.documents import SCHEMA

        print_document({"schema": SCHEMA, "plan": str(plan), "valid": True, "tasks": tasks})
    else:
        print_wrapped(f"{clean_line(str(plan))}: {format_count(tasks, 'task')}, no problems found")
        print_next_command(f"yaoki run {clean_line(shlex.quote(str(plan)))}")
    return 0
