"""`yaoki result`: the claim of an agent about its own attempt, which its environment names."""

from __future__ import annotations

import os
from pathlib import Path

import click

from yaoki.faces.cli.context import json_option
from yaoki.faces.text.render import print_document, print_line
from yaoki.views import SCHEMA

CONSEQUENCES = {
    "failed": "the work does not land as it is",
    "conflict": "a person is asked",
    "question": "a person is asked",
    "done": "the checks decide",
}


@click.command()
@click.option(
    "--status",
    type=click.Choice(["failed", "conflict", "question", "done"]),
    required=True,
    help="How the attempt ended.",
)
@click.option("--summary", metavar="TEXT", default="", help="One sentence: what happened.")
@click.option(
    "--question",
    metavar="TEXT",
    default="",
    help="The question for a person; with --status question.",
)
@click.option(
    "--retry-safe/--no-retry-safe",
    default=None,
    help="Whether the task may be retried automatically.",
)
@click.option(
    "--partial-changes",
    is_flag=True,
    help="Something outside the worktree may be only partly changed.",
)
@click.option(
    "--retry-after",
    metavar="S",
    type=float,
    default=None,
    help="Seconds to wait before the retry.",
)
@json_option
@click.option("--repo", metavar="DIR", help="The repository; by default that of the calling task.")
@click.pass_obj
def result(
    above: str | None,
    status: str,
    summary: str,
    question: str,
    retry_safe: bool | None,
    partial_changes: bool,
    retry_after: float | None,
    as_json: bool,
    repo: str | None,
) -> int:
    """Report how your attempt at a task ended; for agents.  The report is a claim, not a proof.

    failed: the task is retried, and the next attempt gets your summary.  conflict: the task and its
    checks contradict each other; a person decides.  question: a person answers.  done: the checks
    decide.
    """
    from yaoki.adapters.agents.result_file import ResultStatus
    from yaoki.faces.mcp.call_context import CallContext
    from yaoki.faces.mcp.caller import repository_from_environment
    from yaoki.faces.mcp.own_attempt import adopt_own_attempt
    from yaoki.faces.mcp.results import ResultClaim, claim_defect, submit_claim

    word = ResultStatus(status)
    claim = ResultClaim(word, summary, question, retry_safe, partial_changes, retry_after)
    if wrong := claim_defect(claim):
        raise click.UsageError(wrong)
    if not (repo or above):
        adopt_own_attempt(Path.cwd())
    context = CallContext(
        Path(repo or above or repository_from_environment(os.environ) or "."), os.environ
    )
    caller = submit_claim(context, claim)
    if as_json:
        told = {"task": caller.task_id, "attempt": caller.attempt, "epoch": caller.epoch}
        print_document({"schema": SCHEMA, **told, "status": status, "noted": True})
    else:
        follows = CONSEQUENCES[status]
        print_line(f"{caller.task_id}: {status} is noted for attempt {caller.attempt}; {follows}")
    return 0
