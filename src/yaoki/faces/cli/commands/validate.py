"""`yaoki validate`: every defect of a plan."""

from __future__ import annotations

import shlex
from pathlib import Path

from yaoki.core.text import format_count
from yaoki.errors import PlanInvalid
from yaoki.faces.cli.plan_arguments import find_plan_question, open_plan, print_missing
from yaoki.faces.cli.quick_command import AGENT, JSON, REPO, Argument, quick_command
from yaoki.faces.text.render import (
    clean_line,
    print_document,
    print_line,
    print_next_command,
    print_wrapped,
)

LINE_CHARS_MAX = 600


@quick_command(Argument("plan", convert=Path), AGENT, JSON, REPO)
def validate(plan: Path, agents: tuple[str, ...], as_json: bool, repo: Path) -> int:
    """Report every defect of PLAN, a file or - for standard input; exit code 2 if there is one."""
    try:
        app, parsed = open_plan(plan, repo, agents)
        tasks, absent = len(parsed.specs), app.preflight.missing_agents(parsed)
        if programs := app.preflight.missing_programs(parsed):
            from yaoki.app.missing_programs import refuse_missing_programs

            refuse_missing_programs([*programs, *absent])
    except PlanInvalid as error:
        if error.hint == f"yaoki validate {shlex.quote(str(plan))}":
            them = "it" if len(error.defects) == 1 else "them"
            error.hint = f"fix {them} in {plan} and run this again"
        raise
    question, trust_command = find_plan_question(app, str(plan), parsed)
    if as_json:
        from yaoki.views.documents import SCHEMA

        missing = [agent.sentence for agent in absent]
        document = {"schema": SCHEMA, "plan": str(plan), "valid": True, "tasks": tasks}
        untrusted = [line.strip() for line in question.lines] if question else []
        print_document({**document, "missing_agents": missing, "untrusted": untrusted})
        return 0
    print_wrapped(f"{clean_line(str(plan))}: {format_count(tasks, 'task')}, no problems found")
    # A plan may be checked on a machine without agents.
    print_missing(absent)
    if question is not None:
        print_wrapped(f"note: a run asks for trust first: {clean_line(question.sentence)}:")
        for text in question.shown_lines:
            print_line(f"  {clean_line(text, LINE_CHARS_MAX)}")
    run = trust_command or f"yaoki run {shlex.quote(str(plan))}"
    obstacle = next((one for one in absent if not one.replaced_by), None)
    print_next_command(clean_line(obstacle.remedy if obstacle else run))
    return 0
