"""Many tasks that finish at once: their proofs do not make each other worthless for ever."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.acceptance.place import Place, a_plan, waits_for, writes

TASKS = 6


@pytest.mark.acceptance
@pytest.mark.spec("8.2", "13.1")
def test_who_was_refused_is_proven_in_turn(place: Place) -> None:
    """Six agents end together and every check takes a while: before, the last one of six was
    proven six times.
    """
    names = [f"t{n}" for n in range(TASKS)]
    here, all_here = place.folder / "here", place.folder / "all"
    here.mkdir()
    count = (
        f"touch {here}/$YAOKI_TASK_NAME; test $(ls {here} | wc -l) = {TASKS} && touch {all_here}"
    )
    together = [{"run": ["sh", "-c", f"{count}; true"]}, waits_for(all_here)]
    acts = {name: [[*together, *writes(f"{name}.txt")]] for name in names}
    tasks = [{"id": name, "checks": ["slow"]} for name in names]
    plan = a_plan(acts, tasks, {"slow": {"shell": "sleep 0.4"}})

    done = place.yaoki("run", place.plan(plan), "--parallel", f"{TASKS}", "--quiet")

    assert done.code == 0, done.out + done.err
    journal = place.events()
    refused = Counter(line["task"] for line in journal if line["event"] == "LAND_REFUSED")
    proofs = sum(line["event"] == "QUALITY_JUDGMENT" for line in journal)
    assert max(refused.values()) <= 3
    assert proofs < TASKS * (TASKS + 1) // 2
