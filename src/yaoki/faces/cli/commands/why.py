"""`yaoki why`: where a task stands, the rule behind it, and what would have changed it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from yaoki.core.model import State
from yaoki.faces.cli.context import json_option, look, opened, repo_option, run_option
from yaoki.faces.cli.text.render import (
    clean,
    clock,
    document,
    line,
    lines_of,
    next_command,
    prose,
    when,
)
from yaoki.views import Decision, Explanation, Try, explanation_document

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import TaskId

TRIES_SHOWN = 20


@click.command()
@click.argument("task")
@run_option
@json_option
@repo_option
def why(task: str, run_name: str, as_json: bool, repo: Path) -> int:
    """Explain where TASK stands: the newest decision, its rule, its numbers, its history."""
    with opened(repo) as app:
        held = explained(app, app.naming.task(task, run_name))
        if as_json:
            document(explanation_document(held))
        else:
            _show(held)
    return 0


def explained(app: App, task_id: TaskId) -> Explanation:
    from yaoki.app import run_view

    found = app.store.task(task_id)
    return run_view.explained(app, look(app, app.store.run(found.run_id)), task_id)


def _show(held: Explanation) -> None:
    for text in lines(held):
        prose(text)
    next_command(held.view.next or _next(held))


def lines(held: Explanation) -> Iterator[str]:
    """What any screen of text shows; the next command is not among them."""
    row = held.view.row
    yield f"{line(row.name, 80)} ({row.id})"
    at = f", on {when(held.ended_at)}" if held.ended_at else ""
    yield f"  {line(held.headline)}{at}"
    if row.question:
        first, *more = lines_of(row.question) or [""]
        yield f"  question: {first}"
        yield from (f"    {text}" for text in more)
        yield f"  choices: {', '.join(held.view.choices)}"
    if held.proven:
        checks = ", ".join(f"{name} {outcome}" for name, outcome in held.proven_told.items())
        yield f"  proven on that very commit: {line(checks)}"
    for words in held.warnings:
        yield f"  warning: {line(words)}"
    if held.decisions:
        yield from _decision_lines(held.decisions[0])
        yield from _before(held.decisions)
    if held.tries:
        yield "attempts, newest first:"
    for one in list(reversed(held.tries))[:TRIES_SHOWN]:
        yield _try_line(one)


def _before(decisions: Sequence[Decision]) -> Iterator[str]:
    """A person is asked because there is no re-run; what ended the retries was decided before."""
    if [one.verdict for one in decisions[:2]] == ["ESCALATE", "HOLD"]:
        held = decisions[1]
        yield "what ended the retries:"
        yield f"  rule      {held.rule}: {line(held.rule_words)}"
        yield f"  reasoning {line(held.reasoning)}"


def _decision_lines(held: Decision) -> Iterator[str]:
    after = f" after attempt {held.attempt}" if held.attempt else ""
    yield f"last decision, at {clock(held.at)}{after}: {held.verdict}"
    if held.failure:
        yield f"  because   {line(held.failure)}"
    yield f"  rule      {held.rule}: {line(held.rule_words)}"
    yield f"  reasoning {line(held.reasoning)}"
    numbers = ", ".join(f"{k}={v}" for k, v in held.inputs.items() if _telling(k, v))
    yield f"  inputs    {line(numbers, 600)}"
    for words in held.otherwise:
        yield f"  otherwise {line(clean(words))}"


def _telling(name: str, value: object) -> bool:
    return name != "reasoning" and value not in (None, "")


def _try_line(one: Try) -> str:
    checks = ", ".join(f"{name} {outcome}" for name, outcome in one.told.items())
    said = one.ended or "not ended"
    who = f" {line(one.agent, 40)}" if one.agent else ""
    told = f"  [{line(checks)}]" if checks else ""
    return f"  {one.attempt}  {clock(one.at)}{who}  {line(said)}{told}"


def _next(held: Explanation) -> str:
    row = held.view.row
    if row.landed:
        return f"yaoki diff {row.id}"
    if row.state in {State.CANCELLED, State.REPLACED} and held.tries:
        return f"yaoki recover {row.id}"
    return f"yaoki logs {row.id}" if held.tries else f"yaoki status {row.run_id}"
