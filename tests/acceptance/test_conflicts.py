"""Conflicts in files that cannot contain markers: an idle agent has not resolved them."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.acceptance.project import GIT_IDENTITY, Project, a_plan, waits_for

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("3.3", "4.1", "16.4")]
BASE, LEFT, RIGHT = (bytes([0, n, 0, n]) for n in range(3))


def write_act(path: str, held: bytes | None) -> dict[str, Any]:
    if held is None:
        return {"run": ["rm", path]}
    octal = "".join(f"\\{byte:03o}" for byte in held)
    return {"run": ["sh", "-c", f"printf '{octal}' > {path}"]}


def run_conflict(
    project: Project, base: bytes | None, left: bytes | None, right: bytes | None, then: list[Any]
) -> int:
    """`right` began before `left` landed; `then` is its second attempt."""
    if base is not None:
        (project.repo / "b.bin").write_bytes(base)
    (project.repo / "keep.txt").write_text("kept\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "base")
    began, landed = project.folder / "began", project.folder / "landed"
    script = {
        "left": [[waits_for(began), write_act("b.bin", left)]],
        "right": [
            [{"run": ["touch", str(began)]}, waits_for(landed), write_act("b.bin", right)],
            then,
        ],
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


CASES = {
    "both changed a binary": (BASE, LEFT, RIGHT),
    "deleted where it landed": (BASE, None, RIGHT),
    "deleted by the task": (BASE, LEFT, None),
    "both added a binary": (None, LEFT, RIGHT),
}


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_an_unresolved_binary_conflict_does_not_land(project: Project, name: str) -> None:
    """Its work is refused; the rerun starts from the run branch."""
    run_conflict(project, *CASES[name], [{"write": {"other.txt": "busy\n"}}])

    branch, left = project.status()["run_branch"], CASES[name][1]
    names = project.git("ls-tree", "-r", "--name-only", branch).splitlines()
    assert ("b.bin" in names) == (left is not None), "what landed stands"
    if left is not None:
        shown = ("git", "cat-file", "blob", f"{branch}:b.bin")
        assert subprocess.run(shown, cwd=project.repo, capture_output=True).stdout == left
    assert not [one for one in names if ".conflict-" in one]
    entries = json.dumps(project.events("right"))
    assert "unresolved conflict: b.bin.conflict-" in entries
    prompt = project.prompt(project.task("right"), 2)
    assert "NAME.conflict-run-branch" in prompt


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", CASES)
def test_a_resolved_binary_conflict_lands(project: Project, name: str) -> None:
    sides = (
        f"cat b.bin.conflict-* > {project.folder}/seen; rm b.bin.conflict-*; printf both > b.bin"
    )

    code = run_conflict(project, *CASES[name], [{"run": ["sh", "-c", sides]}])

    assert code == 0
    assert project.show(project.status()["run_branch"], "b.bin") == "both"
    _, left, right = CASES[name]
    seen = (project.folder / "seen").read_bytes()
    assert all(side in seen for side in (left, right) if side is not None)
