"""Work that silences the tool of its check, through the command line (17.4)."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("17.4", "0.1")]

UNUSED = "import os\n\n\ndef add(a, b):\n    return a + b\n"
USED = UNUSED.replace("import os\n\n\n", "")
RUFF = {"run": [sys.executable, "-m", "ruff", "check", "--no-cache", "."]}


def run_task(project: Project, files: dict[str, str], **keys: Any) -> tuple[int, str]:
    """One task of one attempt; returns the exit code and everything that was said."""
    (project.repo / "calc.py").write_text(UNUSED)
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "an unused import")
    task = {"id": "a", "goal": "Remove the unused import.", "retry": {"max_retries": 0}, **keys}
    ended = project.yaoki(
        "run", project.plan(a_plan({"a": [[{"write": files}]]}, [task], {"lint": RUFF}))
    )
    return ended.code, " ".join(f"{ended.out} {ended.err}".split())


def test_a_comment_that_silences_the_finding_of_the_base_does_not_land(project: Project) -> None:
    code, said = run_task(project, {"calc.py": f"# ruff: noqa\n{UNUSED}"})

    assert code == 4
    assert "check lint passes only because the change silences its tool: calc.py:1" in said


def test_a_comment_in_a_new_file_lands_and_is_noted(project: Project) -> None:
    other = "import os  # noqa: F401  # other modules take it from here\n"
    code, said = run_task(project, {"calc.py": USED, "names.py": other})

    assert code == 0, said
    assert "its work silences a linter, type checker or coverage: names.py:1" in said


@pytest.mark.full
def test_a_comment_that_the_goal_asks_for_lands(project: Project) -> None:
    goal = "Silence the unused import of calc.py by a noqa comment."
    code, said = run_task(
        project, {"calc.py": UNUSED.replace("import os", "import os  # noqa: F401")}, goal=goal
    )

    assert code == 0, said
