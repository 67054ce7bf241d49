"""`yaoki validate`: every defect of a plan."""

from __future__ import annotations

from pathlib import Path

import click

from yaoki.core.text import format_count
from yaoki.errors import PlanInvalid
from yaoki.faces.cli.context import json_option, repo_option
from yaoki.faces.cli.plan_arguments import FILE, agent_option, open_plan
from yaoki.faces.text.render import (
    clean_line,
    print_document,
    print_next_command,
    print_wrapped,
)
from yaoki.views import SCHEMA


@click.command()
@click.argument("plan", metavar="PLAN", type=FILE)
@agent_option
@json_option
@repo_option
def validate(plan: Path, agents: tuple[str, ...], as_json: bool, repo: Path) -> int:
    """Report every defect of PLAN, a file or - for standard input; exit code 2 if there is one."""
    try:
        tasks = len(open_plan(plan, repo, agents)[1].specs)
    except PlanInvalid as error:
        if error.hint == f"yaoki validate {plan}":
            error.hint = f"fix them in {plan} and run this again"
        raise
    if as_json:
        print_document({"schema": SCHEMA, "plan": str(plan), "valid": True, "tasks": tasks})
    else:
        print_wrapped(f"{clean_line(str(plan))}: {format_count(tasks, 'task')}, no problems found")
        print_next_command(f"yaoki run {clean_line(str(plan))}")
    return 0
