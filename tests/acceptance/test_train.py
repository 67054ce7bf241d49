"""Many tasks that finish at once: they are proven on top of each other, and land in that order."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.place import PATIENT, Place, a_plan, waits_for, writes

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
    return {"shell": f"{count} for i in $(seq {TRIES}); do {wait}; done; exit 1"}


def journal(place: Place, event: str) -> Counter[str]:
    return Counter(line["task"] for line in place.events() if line["event"] == event)


@pytest.mark.spec("3.4", "13.1", "0.1")
def test_who_was_refused_is_proven_beside_the_others_and_lands_in_turn(place: Place) -> None:
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
    assert journal(place, "QUALITY_JUDGMENT").total() == 11
    assert journal(place, "TASK_LANDED").total() == 6


@pytest.mark.spec("3.4", "4.1", "0.1")
def test_a_rider_that_fails_is_tried_again_and_those_behind_it_are_not_blamed(
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
    landed = "git log --oneline --all | grep -q ' t[0-9]: Do'"
    late = f"for i in $(seq {TRIES}); do {landed} && break; sleep 0.05; done"
    checks = {name: {"shell": sound} for name in others} | {"odd": {"shell": f"{late}; {sound}"}}
    tasks = [{"id": name, "checks": [name]} for name in (*others, "odd")]

    done = place.yaoki("run", place.plan(a_plan(acts, tasks, checks)), "--parallel", "5", "--quiet")

    assert done.code == 0, done.out + done.err
    assert set(journal(place, "RETRY_DECISION")) == {place.task("odd")["id"]}
    assert all(place.task(name)["attempt"] == 1 for name in others)
    assert place.task("odd")["attempt"] == 2
