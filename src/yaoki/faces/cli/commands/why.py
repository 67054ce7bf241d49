"""`yaoki why`: where a task is, the rule behind it, and what would have changed it."""

from __future__ import annotations

from pathlib import Path

from yaoki.app.open_app import open_app
from yaoki.faces.cli.quick_command import JSON, REPO, RUN, Argument, quick_command
from yaoki.faces.text.render import print_document, print_next_command, print_wrapped


@quick_command(Argument("task"), RUN, JSON, REPO)
def why(task: str, run_name: str, as_json: bool, repo: Path) -> int:
    """Explain the state of TASK: the newest decision, its rule, its numbers, its history."""
    from yaoki.app.run_view import explain_task
    from yaoki.faces.text.explanation import explanation_lines

    with open_app(repo, read_only=True, named=run_name or task) as app:
        explanation = explain_task(app, app.lookup.find_task(task, run_name))
    if as_json:
        from yaoki.views.documents import explanation_document

        print_document(explanation_document(explanation))
        return 0
    for text in explanation_lines(explanation):
        print_wrapped(text)
    print_next_command(explanation.next_command)
    return 0
