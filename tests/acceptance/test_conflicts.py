"""Conflicts, also in files that cannot contain markers: an idle agent has not resolved them."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, waits_for
from tests.acceptance.test_agent_failures import failure_kinds

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("3.3", "4.1", "16.4")]
BASE, LEFT, RIGHT = (bytes([0, n, 0, n]) for n in range(3))


# What the file was, what landed, and what the task made of it; None is no file.
CASES: dict[str, tuple[bytes | None, bytes | None, bytes | None]] = {
    "both-changed.bin": (BASE, LEFT, RIGHT),
    "deleted-where-it-landed.bin": (BASE, None, RIGHT),
    "deleted-by-the-task.bin": (BASE, LEFT, None),
    "both-added.bin": (None, LEFT, RIGHT),
}


def write_act(path: str, held: bytes | None) -> dict[str, Any]:
    if held is None:
        return {"run": ["rm", path]}
    octal = "".join(f"\\{byte:03o}" for byte in held)
    return {"run": ["sh", "-c", f"printf '{octal}' > {path}"]}


def run_conflict(project: Project, then: list[Any], **text: str) -> int:
    """`right` began before `left` landed; `then` is its second attempt.

    `text`: what the file shared.txt was, what landed, and what the task made of it.
    """
    sides = {"base": 0, "left": 1, "right": 2}
    for path, versions in CASES.items():
        if (held := versions[0]) is not None:
            (project.repo / path).write_bytes(held)
    if text:
        (project.repo / "shared.txt").write_text(text["base"])
    (project.repo / "keep.txt").write_text("kept\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "base")

    def works(side: str) -> list[Any]:
        acts: list[Any] = [write_act(path, held[sides[side]]) for path, held in CASES.items()]
        return [*acts, *([{"write": {"shared.txt": text[side]}}] if text else [])]

    began, landed = project.folder / "began", project.folder / "landed"
    script = {
        "left": [[waits_for(began), *works("left")]],
        "right": [[{"run": ["touch", str(began)]}, waits_for(landed), *works("right")], then],
        "tells": [[{"run": ["touch", str(landed)]}, {"write": {"told.txt": "so\n"}}]],
    }
    checks = {"kept": {"shell": "test -s keep.txt"}}
    tasks: list[dict[str, Any]] = [
        {"id": "left"},
        {"id": "right", "retry": {"max_retries": 1}},
        {"id": "tells", "needs": ["left"]},
    ]
    plan = project.plan(a_plan(script, tasks, checks))
    return project.yaoki("run", plan, "--parallel", "3", "--quiet").code


@pytest.mark.full
def test_an_unresolved_binary_conflict_does_not_land(project: Project) -> None:
    """Its work is refused, each conflict by its name; the rerun starts from the run branch."""
    run_conflict(project, [{"write": {"other.txt": "busy\n"}}])

    branch = project.status()["run_branch"]
    names = project.git("ls-tree", "-r", "--name-only", branch).splitlines()
    for path, (_, left, _) in CASES.items():
        assert (path in names) == (left is not None), "what landed stands"
        if left is not None:
            shown = ("git", "cat-file", "blob", f"{branch}:{path}")
            assert subprocess.run(shown, cwd=project.repo, capture_output=True).stdout == left
    assert not [one for one in names if ".conflict-" in one]
    entries = json.dumps(project.events("right"))
    assert "unresolved conflict: " in entries
    assert [path for path in CASES if f"{path}.conflict-" not in entries] == []
    prompt = project.prompt(project.task("right"), 2)
    assert "NAME.conflict-run-branch" in prompt


def test_resolved_conflicts_land(project: Project) -> None:
    """Both sides of a binary file are there under other names, those of a text between markers."""
    seen = project.folder / "seen"
    seen.mkdir()
    resolves = [
        f"cat {path}.conflict-* > {seen}/{path}; rm {path}.conflict-*; printf both > {path}"
        for path in CASES
    ]
    text = f"cat shared.txt > {seen}/shared.txt; printf both > shared.txt"
    then = [{"run": ["sh", "-ec", "; ".join([*resolves, text])]}]

    code = run_conflict(project, then, base="grey\n", left="teal\n", right="rose\n")

    assert code == 0
    branch = project.status()["run_branch"]
    assert {project.show(branch, path) for path in (*CASES, "shared.txt")} == {"both"}
    for path, (_, left, right) in CASES.items():
        found = (seen / path).read_bytes()
        assert all(side in found for side in (left, right) if side is not None)
    assert "<<<<<<<" in (seen / "shared.txt").read_text()
    assert failure_kinds(project.events("right")) == ["CONFLICT"]
    assert "shared.txt" in project.prompt(project.task("right"), 2)
