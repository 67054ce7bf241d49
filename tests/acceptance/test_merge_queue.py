"""Many tasks that finish at once: they are proven on top of each other, and land in that order."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import PATIENT, Place, a_plan, waits_for, writes

pytestmark = pytest.mark.acceptance
# Longer than anything here takes, and less than a test may take.
TRIES = 1600


def together(folder: Path, names: list[str]) -> list[Any]:
    """Acts of an agent that ends when all of them are there."""
    here, all_here = folder / "here", folder / "all"
    here.mkdir(exist_ok=True)
    count = f"test $(ls {here} | wc -l) = {len(names)} && touch {all_here}"
    come = f"touch {here}/$YAOKI_TASK_NAME; {count}; true"
    return [{"run": ["sh", "-c", come]}, waits_for(all_here)]


def proofs_beside(folder: Path, name: str, first: int, later: int) -> dict[str, str]:
    """A check that passes only while so many others are at the same proof: the first, or a later
    one.  Proven one after the other they would wait for ever.
    """
    proofs = folder / "proofs"
    proofs.mkdir(exist_ok=True)
    count = (
        f"echo x >> {proofs}/{name}; n=$(wc -l < {proofs}/{name}); mkdir -p {proofs}.$n;"
        f" touch {proofs}.$n/{name}; want={later}; test $n = 1 && want={first};"
    )
    wait = f"test $(ls {proofs}.$n | wc -l) -ge $want && exit 0; sleep 0.05"
    # The last proof of the run has all of them, one after the other.
    whole = "test $(ls t?.txt | wc -l) = 6 && exit 0;"
    return {"shell": f"{count} {whole} for i in $(seq {TRIES}); do {wait}; done; exit 1"}


def waited(what: str) -> str:
    """Go on when this holds; fail when it never does."""
    return f"for i in $(seq {TRIES}); do {what} && break; sleep 0.05; done; {what}"


def landed(folder: Path, count: int) -> str:
    """So many stand on the run branch; candidates have refs of their own."""
    git = f"git -C {folder}/repo"
    branch = f"{git} for-each-ref --format='%(refname)' refs/heads/yaoki | grep -v -- '-[0-9]'"
    return f"test $({git} log --first-parent --oneline $({branch}) | grep -c ': Do ') -ge {count}"


def proofs(folder: Path, name: str, count: int) -> str:
    """It is at this proof, or was."""
    return f"test $(cat {folder}/{name}.proofs 2>/dev/null | wc -l) -ge {count}"


def nth(folder: Path, name: str, first: str, later: str) -> dict[str, str]:
    """A check that waits for one thing at the first proof, for another later."""
    count = f"echo x >> {folder}/{name}.proofs"
    return {"shell": f"{count}; if {proofs(folder, name, 2)}; then {later}; else {first}; fi"}


def journal(place: Place, event: str) -> Counter[str]:
    return Counter(line["task"] for line in place.events() if line["event"] == event)


@pytest.mark.spec("3.4", "13.1", "0.1")
def test_refused_candidates_are_verified_concurrently_and_land_in_order(place: Place) -> None:
    """Six agents end together; every second proof needs four others at the same time."""
    place.settings(PATIENT)
    names = [f"t{n}" for n in range(6)]
    come = together(place.folder, names)
    acts = {name: [[*come, *writes(f"{name}.txt")]] for name in names}
    tasks = [{"id": name, "checks": [f"c-{name}"]} for name in names]
    checks = {f"c-{name}": proofs_beside(place.folder, name, 6, 5) for name in names}

    done = place.yaoki("run", place.plan(a_plan(acts, tasks, checks)), "--parallel", "6", "--quiet")

    assert done.code == 0, done.out + done.err
    assert max(journal(place, "LAND_REFUSED").values()) == 1
    assert journal(place, "QUALITY_JUDGMENT").total() == 6 + 5 + 1, "the last is of the run"
    assert journal(place, "TASK_LANDED").total() == 6 + 1


@pytest.mark.full
@pytest.mark.spec("3.4", "4.1", "0.1")
def test_a_failed_candidate_is_retried_and_those_behind_it_are_not_blamed(
    place: Place,
) -> None:
    """`odd` does not work beside anything else, and is proven when something else has landed."""
    place.settings(PATIENT)
    others = [f"t{n}" for n in range(4)]
    come = together(place.folder, [*others, "odd"])
    acts = {name: [[*come, *writes(f"{name}.txt")]] for name in others}
    mended = [{"run": ["rm", "odd.txt"]}, *writes("even.txt")]
    acts["odd"] = [[*come, *writes("odd.txt")], mended]
    sound = "test ! -f odd.txt || test -z \"$(ls | grep '^t.*txt$')\""
    late = {"shell": f"{waited(landed(place.folder, 1))}; {sound}"}
    checks = {name: {"shell": sound} for name in others} | {"odd": late}
    tasks = [{"id": name, "checks": [name]} for name in (*others, "odd")]

    done = place.yaoki("run", place.plan(a_plan(acts, tasks, checks)), "--parallel", "5", "--quiet")

    assert done.code == 0, done.out + done.err
    assert set(journal(place, "RETRY_DECISION")) == {place.task("odd")["id"]}
    assert all(place.task(name)["attempt"] == 1 for name in others)
    assert place.task("odd")["attempt"] == 2


@pytest.mark.full
@pytest.mark.spec("3.4", "11.2")
def test_a_slow_verification_does_not_delay_the_start_of_other_tasks(place: Place) -> None:
    """`slow` was refused, and is proven until `late` has begun.  Two others are proven on top of
    it and wait for it, and `busy` has the last of the four slots.
    """
    place.settings(PATIENT)
    folder, begun = place.folder, place.folder / "begun"
    riders = ["slow", "t1", "t2"]
    come = together(folder, ["first", *riders])
    acts = {name: [[*come, *writes(f"{name}.txt")]] for name in ["first", *riders]}
    acts["busy"] = [[waits_for(begun), *writes("busy.txt")]]
    acts["late"] = [[{"run": ["touch", str(begun)]}, *writes("late.txt")]]
    behind = {"shell": waited(proofs(folder, "slow", 2))}
    checks = {
        "ok": {"shell": "ls *.txt"},
        "slow": nth(folder, "slow", waited(landed(folder, 1)), waited(f"test -f {begun}")),
        "behind": behind,
    }
    checked = {"first": "ok", "slow": "slow", "t1": "behind", "t2": "behind"}
    tasks: list[dict[str, Any]] = [{"id": n, "checks": [c]} for n, c in checked.items()]
    tasks += [{"id": n, "checks": ["ok"], "needs": ["first"]} for n in ("busy", "late")]

    done = place.yaoki("run", place.plan(a_plan(acts, tasks, checks)), "--parallel", "4", "--quiet")

    assert done.code == 0, done.out + done.err
    assert all(place.task(name)["attempt"] == 1 for name in riders)


@pytest.mark.full
@pytest.mark.spec("3.4")
def test_a_task_without_changes_lands_at_the_commit_it_was_verified_on(place: Place) -> None:
    """`idle` is proven on the first landing, and its second proof ends after all others landed."""
    place.settings(PATIENT)
    folder, others = place.folder, ["t1", "t2", "t3"]
    come = together(folder, ["first", *others, "idle"])
    acts = {name: [[*come, *writes(f"{name}.txt")]] for name in ("first", *others)}
    acts["idle"] = [[*come, {"say": "there is nothing to do"}]]
    checks = {
        "ok": {"shell": "ls *.txt"},
        "idle": nth(folder, "idle", waited(landed(folder, 1)), waited(landed(folder, 4))),
        "after": {"shell": waited(proofs(folder, "idle", 2))},
    }
    tasks: list[dict[str, Any]] = [{"id": "first", "checks": ["ok"]}]
    tasks += [{"id": "idle", "checks": ["idle"], "may_change_nothing": True}]
    tasks += [{"id": name, "checks": ["after"]} for name in others]

    done = place.yaoki("run", place.plan(a_plan(acts, tasks, checks)), "--parallel", "5", "--quiet")

    assert done.code == 0, done.out + done.err
    assert journal(place, "LAND_REFUSED")[place.task("idle")["id"]] == 1
