"""Conflicts in files that cannot hold markers: an agent that does nothing has resolved none."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.acceptance.project import WHO, Place, a_plan, waits_for

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("3.3", "4.1", "16.4")]
BASE, LEFT, RIGHT = (bytes([0, n, 0, n]) for n in range(3))


def put(path: str, held: bytes | None) -> dict[str, Any]:
    if held is None:
        return {"run": ["rm", path]}
    octal = "".join(f"\\{byte:03o}" for byte in held)
    return {"run": ["sh", "-c", f"printf '{octal}' > {path}"]}


def carried(
    place: Place, base: bytes | None, left: bytes | None, right: bytes | None, then: list[Any]
) -> int:
    """`right` began before `left` landed; `then` is its second attempt."""
    if base is not None:
        (place.repo / "b.bin").write_bytes(base)
    (place.repo / "keep.txt").write_text("kept\n")
    place.git("add", "-A")
    place.git(*WHO, "commit", "-qm", "base")
    began, landed = place.folder / "began", place.folder / "landed"
    script = {
        "left": [[waits_for(began), put("b.bin", left)]],
        "right": [[{"run": ["touch", str(began)]}, waits_for(landed), put("b.bin", right)], then],
        "tells": [[{"run": ["touch", str(landed)]}, {"write": {"told.txt": "so\n"}}]],
    }
    checks = {"kept": {"shell": "test -s keep.txt"}}
    tasks: list[dict[str, Any]] = [
        {"id": "left"},
        {"id": "right", "retry": {"max_retries": 1}},
        {"id": "tells", "needs": ["left"]},
    ]
    plan = place.plan(a_plan(script, tasks, checks))
    return place.yaoki("run", plan, "--parallel", "3", "--quiet").code


CASES = {
    "both changed a binary": (BASE, LEFT, RIGHT),
    "deleted where it landed": (BASE, None, RIGHT),
    "deleted by the task": (BASE, LEFT, None),
    "both added a binary": (None, LEFT, RIGHT),
}


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_an_unresolved_binary_conflict_does_not_land(place: Place, name: str) -> None:
    """Its work is refused; the re-run begins anew on the run branch."""
    carried(place, *CASES[name], [{"write": {"other.txt": "busy\n"}}])

    branch, left = place.status()["run_branch"], CASES[name][1]
    names = place.git("ls-tree", "-r", "--name-only", branch).splitlines()
    assert ("b.bin" in names) == (left is not None), "what landed stands"
    if left is not None:
        shown = ("git", "cat-file", "blob", f"{branch}:b.bin")
        assert subprocess.run(shown, cwd=place.repo, capture_output=True).stdout == left
    assert not [one for one in names if ".conflict-" in one]
    told = json.dumps(place.events("right"))
    assert "unresolved conflict: b.bin.conflict-" in told
    prompt = place.prompt(place.task("right"), 2)
    assert "NAME.conflict-run-branch" in prompt


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", CASES)
def test_a_resolved_binary_conflict_lands(place: Place, name: str) -> None:
    sides = f"cat b.bin.conflict-* > {place.folder}/seen; rm b.bin.conflict-*; printf both > b.bin"

    code = carried(place, *CASES[name], [{"run": ["sh", "-c", sides]}])

    assert code == 0
    assert place.show(place.status()["run_branch"], "b.bin") == "both"
    _, left, right = CASES[name]
    seen = (place.folder / "seen").read_bytes()
    assert all(side in seen for side in (left, right) if side is not None)
