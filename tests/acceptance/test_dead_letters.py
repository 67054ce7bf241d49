"""Dead letters: a task whose workers die repeatedly is escalated."""

from __future__ import annotations

import subprocess
from functools import partial
from typing import Any

import pytest

from tests.acceptance.project import PATIENT, Project, a_plan, file_contains, wait_until, writes

pytestmark = pytest.mark.acceptance

DELIVERIES = 2
# If no second worker runs yet, the claim is resumed by a person, which is not counted.
ROUNDS_MAX = 6


def few_deliveries(project: Project) -> None:
    """Longer than any machine takes for all the rounds: an agent that ends by itself is no loss."""
    project.settings(f"{PATIENT}delivery_max = {DELIVERIES}\n")


def slow_then_quick() -> dict[str, Any]:
    """The first attempt runs until it is ended; the second finishes at once."""
    return a_plan(
        {
            "slow": [[*writes("begun.txt"), {"sleep": 600}], writes("slow.txt")],
            "quick": [writes("quick.txt")],
        },
        [{"id": "slow", "checks": ["slow"]}, {"id": "quick", "checks": ["quick"]}],
        {"slow": file_contains("slow.txt"), "quick": file_contains("quick.txt")},
    )


def lost_claims(project: Project) -> list[bool]:
    """Every claim of `slow` that was taken back from the dead: was it counted?"""
    entries = project.query("trace", "slow", "--json").document["entries"]
    return [e["data"]["counted"] for e in entries if e["event"] == "LEASE_EXPIRED"]


def is_serving(project: Project, worker: subprocess.Popen[str]) -> bool:
    """The worker has started: a serving worker is listed by `status --workers`."""
    seen = project.query("status", "--workers", "--json").document["workers"]
    return any(each["holder"].split(":")[1] == str(worker.pid) for each in seen)


def kill(worker: subprocess.Popen[str]) -> None:
    worker.kill()
    worker.communicate(timeout=30)


@pytest.mark.full
@pytest.mark.spec("11.4", "0.4", "10.1", "12.1")
@pytest.mark.timeout(300)
def test_a_task_whose_workers_are_killed_becomes_a_dead_letter_and_is_revived(
    project: Project,
) -> None:
    """A second worker waits each time; the claims of the dead one are returned and counted."""
    few_deliveries(project)
    worker = project.start("run", project.plan(slow_then_quick()))
    wait_until(lambda: any((project.home / "worktrees").glob("*/*/begun.txt")), "slow works")
    wait_until(lambda: project.task("quick")["state"] == "DONE", "quick is nobody's any more")

    for n in range(ROUNDS_MAX):
        stands_by = project.start("resume")
        wait_until(partial(is_serving, project, stands_by), "the next worker stands by")
        kill(worker)
        worker = stands_by
        wait_until(lambda before=n: len(lost_claims(project)) > before, "the claim was taken back")  # type: ignore[misc]
        if sum(lost_claims(project)) == DELIVERIES:
            break
    worker.communicate(timeout=60)
    slow = project.task("slow")
    letters = project.yaoki("dead", "--json").document["dead"]
    shown = project.yaoki("dead")
    alive = project.yaoki("dead", "revive", "quick")
    revived = project.yaoki("dead", "revive", "slow", "--json")
    resumed = project.yaoki("resume")

    assert worker.returncode == 4
    assert slow["state"] == "ESCALATED"
    assert [letter["task"] for letter in letters] == [slow["id"]]
    assert f"claimed {DELIVERIES} times" in letters[0]["why"]
    assert len({given["holder"] for given in letters[0]["deliveries"]}) == DELIVERIES
    assert shown.out.splitlines()[-1] == f"next: yaoki dead revive {slow['id']}"
    assert (alive.code, "is not a dead letter: it is DONE" in alive.err) == (6, True)
    assert (revived.code, revived.document["state"]) == (0, "WAITING"), revived.err
    assert resumed.code == 0, resumed.out + resumed.err
    assert project.task("slow")["state"] == "DONE"
    assert project.yaoki("dead", "--json").document["dead"] == []
    events = [e["event"] for e in project.query("trace", "slow", "--json").document["entries"]]
    assert events.count("DEAD_LETTERED") == 1


@pytest.mark.spec("11.4", "12.1")
def test_the_dead_command_reports_that_there_is_no_dead_letter(project: Project) -> None:
    plan = a_plan(
        {"one": [writes("a.txt")]}, [{"id": "one", "checks": ["a"]}], {"a": file_contains("a.txt")}
    )
    assert project.yaoki("run", project.plan(plan)).code == 0

    shown = project.yaoki("dead")
    unknown = project.yaoki("dead", "revive", "nobody")

    assert shown.code == 0
    assert shown.out.startswith("there are no dead letters")
    assert unknown.code == 6
