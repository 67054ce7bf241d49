"""`yaoki why`: where a task is, the rule behind it, and what would have changed it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from yaoki.app.open_app import open_app
from yaoki.core.model import State
from yaoki.faces.cli.quick_command import JSON, REPO, RUN, Argument, quick_command
from yaoki.faces.text.render import print_document, print_next_command, print_wrapped

if TYPE_CHECKING:
    from yaoki.views import Explanation


@quick_command(Argument("task"), RUN, JSON, REPO)
def why(task: str, run_name: str, as_json: bool, repo: Path) -> int:
    """Explain the state of TASK: the newest decision, its rule, its numbers, its history."""
    from yaoki.app.run_view import explain_task
    from yaoki.faces.text.explanation import explanation_lines

    with open_app(repo, read_only=True) as app:
        explanation = explain_task(app, app.lookup.find_task(task, run_name))
    if as_json:
        from yaoki.views.documents import explanation_document

        print_document(explanation_document(explanation))
        return 0
    for text in explanation_lines(explanation):
        print_wrapped(text)
    print_next_command(explanation.view.next_command or _next_command(explanation))
    return 0


def _next_command(explanation: Explanation) -> str:
    row = explanation.view.row
    if row.landed_commit:
        return f"yaoki diff {row.id}"
    if row.state in {State.CANCELLED, State.REPLACED} and explanation.attempts:
        return f"yaoki recover {row.id}"
    return f"yaoki logs {row.id}" if explanation.attempts else f"yaoki status {row.run_id}"
