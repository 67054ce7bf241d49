"""`yaoki why`: where a task stands, the rule behind it, and what would have changed it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.core.model import State
from yaoki.faces.cli.context import json_option, load_run_view, open_app, repo_option, run_option
from yaoki.faces.cli.text.render import (
    clean_line,
    clean_lines,
    clean_text,
    local_date_time,
    local_time,
    print_document,
    print_next_command,
    print_wrapped,
)
from yaoki.views import AttemptSummary, ExplainedDecision, Explanation, explanation_document

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import TaskId

TRIES_SHOWN = 20


@click.command()
@click.argument("task")
@run_option
@json_option
@repo_option
def why(task: str, run_name: str, as_json: bool, repo: Path) -> int:
    """Explain where TASK stands: the newest decision, its rule, its numbers, its history."""
    with open_app(repo) as app:
        held = load_explanation(app, app.lookup.find_task(task, run_name))
        if as_json:
            print_document(explanation_document(held))
        else:
            _show(held)
    return 0


def load_explanation(app: App, task_id: TaskId) -> Explanation:
    from yaoki.app import run_view

    found = app.reads.task(task_id)
    return run_view.load_explanation(app, load_run_view(app, app.reads.run(found.run_id)), task_id)


def _show(held: Explanation) -> None:
    for text in explanation_lines(held):
        print_wrapped(text)
    print_next_command(held.view.next_command or _next(held))


def explanation_lines(held: Explanation) -> Iterator[str]:
    """What any screen of text shows; the next command is not among them."""
    row = held.view.row
    yield f"{clean_line(row.name, 80)} ({row.id})"
    at = f", on {local_date_time(held.ended_at)}" if held.ended_at else ""
    yield f"  {clean_line(held.headline)}{at}"
    if row.question:
        first, *more = clean_lines(row.question) or [""]
        yield f"  question: {first}"
        yield from (f"    {text}" for text in more)
        yield f"  choices: {', '.join(held.view.choices)}"
    if held.proof:
        checks = ", ".join(f"{name} {outcome}" for name, outcome in held.proof_words.items())
        yield f"  proven on that very commit: {clean_line(checks)}"
    for words in held.warnings:
        yield f"  warning: {clean_line(words)}"
    if held.decisions:
        yield from _decision_lines(held.decisions[0])
        yield from _before(held.decisions)
    if held.attempts:
        yield "attempts, newest first:"
    for one in list(reversed(held.attempts))[:TRIES_SHOWN]:
        yield _try_line(one)


def _before(decisions: Sequence[ExplainedDecision]) -> Iterator[str]:
    """A person is asked because there is no re-run; what ended the retries was decided before."""
    if [one.decision for one in decisions[:2]] == ["ESCALATE", "HOLD"]:
        held = decisions[1]
        yield "what ended the retries:"
        yield f"  rule      {held.rule}: {clean_line(held.rule_words)}"
        yield f"  reasoning {clean_line(held.reasoning)}"


def _decision_lines(held: ExplainedDecision) -> Iterator[str]:
    after = f" after attempt {held.attempt}" if held.attempt else ""
    yield f"last decision, at {local_time(held.at)}{after}: {held.decision}"
    if held.failure:
        yield f"  because   {clean_line(held.failure)}"
    yield f"  rule      {held.rule}: {clean_line(held.rule_words)}"
    yield f"  reasoning {clean_line(held.reasoning)}"
    numbers = ", ".join(f"{k}={v}" for k, v in held.inputs.items() if _telling(k, v))
    yield f"  inputs    {clean_line(numbers, 600)}"
    for words in held.alternatives:
        yield f"  otherwise {clean_line(clean_text(words))}"


def _telling(name: str, value: object) -> bool:
    return name != "reasoning" and value not in (None, "")


def _try_line(one: AttemptSummary) -> str:
    checks = ", ".join(f"{name} {outcome}" for name, outcome in one.check_words.items())
    said = one.ended or "not ended"
    who = f" {clean_line(one.agent, 40)}" if one.agent else ""
    told = f"  [{clean_line(checks)}]" if checks else ""
    return f"  {one.attempt}  {local_time(one.at)}{who}  {clean_line(said)}{told}"


def _next(held: Explanation) -> str:
    row = held.view.row
    if row.landed_commit:
        return f"yaoki diff {row.id}"
    if row.state in {State.CANCELLED, State.REPLACED} and held.attempts:
        return f"yaoki recover {row.id}"
    return f"yaoki logs {row.id}" if held.attempts else f"yaoki status {row.run_id}"
