"""Dead letters: a task whose workers die again and again waits for a person, and says so."""

from __future__ import annotations

import subprocess
from functools import partial
from typing import Any

import pytest

from tests.acceptance.project import PATIENT, Place, a_plan, holds, until, writes

pytestmark = pytest.mark.acceptance

DELIVERIES = 2
# One that is killed before another serves is gone on from by a person, which is not counted.
ROUNDS_MAX = 6


def few_deliveries(place: Place) -> None:
    """Longer than any machine takes for all the rounds: an agent that ends by itself is no loss."""
    place.settings(f"{PATIENT}delivery_max = {DELIVERIES}\n")


def slow_then_quick() -> dict[str, Any]:
    """The first attempt works for as long as anybody lets it; the second is done at once."""
    return a_plan(
        {
            "slow": [[*writes("begun.txt"), {"sleep": 600}], writes("slow.txt")],
            "quick": [writes("quick.txt")],
        },
        [{"id": "slow", "checks": ["slow"]}, {"id": "quick", "checks": ["quick"]}],
        {"slow": holds("slow.txt"), "quick": holds("quick.txt")},
    )


def lost(place: Place) -> list[bool]:
    """Every claim of `slow` that was taken back from the dead: was it counted?"""
    entries = place.look("trace", "slow", "--json").document["entries"]
    return [e["data"]["counted"] for e in entries if e["event"] == "LEASE_EXPIRED"]


def serves(place: Place, worker: subprocess.Popen[str]) -> bool:
    """It is past its beginning: whoever serves is seen by everybody."""
    seen = place.look("status", "--workers", "--json").document["workers"]
    return any(each["holder"].split(":")[1] == str(worker.pid) for each in seen)


def kill(worker: subprocess.Popen[str]) -> None:
    worker.kill()
    worker.communicate(timeout=30)


@pytest.mark.full
@pytest.mark.spec("11.4", "0.4", "10.1", "12.1")
@pytest.mark.timeout(300)
def test_a_task_whose_workers_are_killed_becomes_a_dead_letter_and_is_revived(
    place: Place,
) -> None:
    """Each time a second worker stands by: what a dead one held goes back, and that is counted."""
    few_deliveries(place)
    worker = place.start("run", place.plan(slow_then_quick()))
    until(lambda: any((place.home / "worktrees").glob("*/*/begun.txt")), "slow works")
    until(lambda: place.task("quick")["state"] == "DONE", "quick is nobody's any more")

    for n in range(ROUNDS_MAX):
        stands_by = place.start("resume")
        until(partial(serves, place, stands_by), "the next worker stands by")
        kill(worker)
        worker = stands_by
        until(lambda before=n: len(lost(place)) > before, "the claim was taken back")  # type: ignore[misc]
        if sum(lost(place)) == DELIVERIES:
            break
    worker.communicate(timeout=60)
    slow = place.task("slow")
    letters = place.yaoki("dead", "--json").document["dead"]
    shown = place.yaoki("dead")
    alive = place.yaoki("dead", "revive", "quick")
    revived = place.yaoki("dead", "revive", "slow", "--json")
    gone_on = place.yaoki("resume")

    assert worker.returncode == 4
    assert slow["state"] == "ESCALATED"
    assert [letter["task"] for letter in letters] == [slow["id"]]
    assert f"claimed {DELIVERIES} times" in letters[0]["why"]
    assert len({given["holder"] for given in letters[0]["deliveries"]}) == DELIVERIES
    assert shown.out.splitlines()[-1] == f"next: yaoki dead revive {slow['id']}"
    assert (alive.code, "is not a dead letter: it is DONE" in alive.err) == (6, True)
    assert (revived.code, revived.document["state"]) == (0, "WAITING"), revived.err
    assert gone_on.code == 0, gone_on.out + gone_on.err
    assert place.task("slow")["state"] == "DONE"
    assert place.yaoki("dead", "--json").document["dead"] == []
    events = [e["event"] for e in place.look("trace", "slow", "--json").document["entries"]]
    assert events.count("DEAD_LETTERED") == 1


@pytest.mark.spec("11.4", "12.1")
def test_the_dead_command_reports_that_there_is_no_dead_letter(place: Place) -> None:
    plan = a_plan(
        {"one": [writes("a.txt")]}, [{"id": "one", "checks": ["a"]}], {"a": holds("a.txt")}
    )
    assert place.yaoki("run", place.plan(plan)).code == 0

    shown = place.yaoki("dead")
    unknown = place.yaoki("dead", "revive", "nobody")

    assert shown.code == 0
    assert shown.out.startswith("there are no dead letters")
    assert unknown.code == 6
