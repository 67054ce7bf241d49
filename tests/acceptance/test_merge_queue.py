"""The merge queue: tasks are verified on top of each other and land in that order."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import PATIENT, Project, a_plan, waits_for, writes

pytestmark = pytest.mark.acceptance
# Longer than anything here takes, and less than a test may take.
TRIES = 1600


def end_together(folder: Path, names: list[str]) -> list[Any]:
    """Acts of an agent that ends when all of the named agents have reached the same point."""
    here, all_here = folder / "here", folder / "all"
    here.mkdir(exist_ok=True)
    count = f"test $(ls {here} | wc -l) = {len(names)} && touch {all_here}"
    come = f"touch {here}/$YAOKI_TASK_NAME; {count}; true"
    return [{"run": ["sh", "-c", come]}, waits_for(all_here)]


def concurrent_check(folder: Path, name: str, first: int, later: int) -> dict[str, str]:
    """A check that passes only while this many others run: in the first round, or in a later
    one.  In sequence they would wait for ever.
    """
    proofs = folder / "proofs"
    proofs.mkdir(exist_ok=True)
    count = (
        f"echo x >> {proofs}/{name}; n=$(wc -l < {proofs}/{name}); mkdir -p {proofs}.$n;"
        f" touch {proofs}.$n/{name}; want={later}; test $n = 1 && want={first};"
    )
    wait = f"test $(ls {proofs}.$n | wc -l) -ge $want && exit 0; sleep 0.05"
    # The final check runs all of them in sequence.
    whole = "test $(ls t?.txt | wc -l) = 6 && exit 0;"
    return {"shell": f"{count} {whole} for i in $(seq {TRIES}); do {wait}; done; exit 1"}


def wait_in_shell(what: str) -> str:
    """Shell that waits until the condition holds, and fails if it never does."""
    return f"for i in $(seq {TRIES}); do {what} && break; sleep 0.05; done; {what}"


def landed_at_least(folder: Path, count: int) -> str:
    """The run branch has at least this many landings; candidates have separate refs."""
    git = f"git -C {folder}/repo"
    branch = f"{git} for-each-ref --format='%(refname)' refs/heads/yaoki | grep -v -- '-[0-9]'"
    return f"test $({git} log --first-parent --oneline $({branch}) | grep -c ': Do ') -ge {count}"


def verified_at_least(folder: Path, name: str, count: int) -> str:
    """The task has reached this round of verification."""
    return f"test $(cat {folder}/{name}.proofs 2>/dev/null | wc -l) -ge {count}"


def check_by_round(folder: Path, name: str, first: str, later: str) -> dict[str, str]:
    """A check that waits for one condition in the first round and for another later."""
    count = f"echo x >> {folder}/{name}.proofs"
    return {
        "shell": f"{count}; if {verified_at_least(folder, name, 2)}; then {later}; else {first}; fi"
    }


def count_events_by_task(project: Project, event: str) -> Counter[str]:
    return Counter(line["task"] for line in project.events() if line["event"] == event)


@pytest.mark.spec("3.4", "13.1", "0.1")
def test_refused_candidates_are_verified_concurrently_and_land_in_order(project: Project) -> None:
    """Six agents end together; each second verification needs four others to run concurrently."""
    project.settings(PATIENT)
    names = [f"t{n}" for n in range(6)]
    come = end_together(project.folder, names)
    acts = {name: [[*come, *writes(f"{name}.txt")]] for name in names}
    tasks = [{"id": name, "checks": [f"c-{name}"]} for name in names]
    checks = {f"c-{name}": concurrent_check(project.folder, name, 6, 5) for name in names}

    done = project.yaoki(
        "run", project.plan(a_plan(acts, tasks, checks)), "--parallel", "6", "--quiet"
    )

    assert done.code == 0, done.out + done.err
    assert max(count_events_by_task(project, "LAND_REFUSED").values()) == 1
    assert count_events_by_task(project, "QUALITY_JUDGMENT").total() == 6 + 5 + 1, (
        "the last is of the run"
    )
    assert count_events_by_task(project, "TASK_LANDED").total() == 6 + 1


@pytest.mark.full
@pytest.mark.spec("3.4", "4.1", "0.1")
def test_a_failed_candidate_is_retried_and_those_behind_it_are_not_blamed(
    project: Project,
) -> None:
    """`odd` fails with any other task and is verified after another task has landed."""
    project.settings(PATIENT)
    others = [f"t{n}" for n in range(4)]
    come = end_together(project.folder, [*others, "odd"])
    acts = {name: [[*come, *writes(f"{name}.txt")]] for name in others}
    mended = [{"run": ["rm", "odd.txt"]}, *writes("even.txt")]
    acts["odd"] = [[*come, *writes("odd.txt")], mended]
    sound = "test ! -f odd.txt || test -z \"$(ls | grep '^t.*txt$')\""
    late = {"shell": f"{wait_in_shell(landed_at_least(project.folder, 1))}; {sound}"}
    checks = {name: {"shell": sound} for name in others} | {"odd": late}
    tasks = [{"id": name, "checks": [name]} for name in (*others, "odd")]

    done = project.yaoki(
        "run", project.plan(a_plan(acts, tasks, checks)), "--parallel", "5", "--quiet"
    )

    assert done.code == 0, done.out + done.err
    assert set(count_events_by_task(project, "RETRY_DECISION")) == {project.task("odd")["id"]}
    assert all(project.task(name)["attempt"] == 1 for name in others)
    assert project.task("odd")["attempt"] == 2


@pytest.mark.full
@pytest.mark.spec("3.4", "11.2")
def test_a_slow_verification_does_not_delay_the_start_of_other_tasks(project: Project) -> None:
    """`slow` was refused and is verified until `late` has started.  Two others build on top of
    it and wait for it, and `busy` has the last of the four slots.
    """
    project.settings(PATIENT)
    folder, begun = project.folder, project.folder / "begun"
    riders = ["slow", "t1", "t2"]
    come = end_together(folder, ["first", *riders])
    acts = {name: [[*come, *writes(f"{name}.txt")]] for name in ["first", *riders]}
    acts["busy"] = [[waits_for(begun), *writes("busy.txt")]]
    acts["late"] = [[{"run": ["touch", str(begun)]}, *writes("late.txt")]]
    behind = {"shell": wait_in_shell(verified_at_least(folder, "slow", 2))}
    checks = {
        "ok": {"shell": "ls *.txt"},
        "slow": check_by_round(
            folder,
            "slow",
            wait_in_shell(landed_at_least(folder, 1)),
            wait_in_shell(f"test -f {begun}"),
        ),
        "behind": behind,
    }
    checked = {"first": "ok", "slow": "slow", "t1": "behind", "t2": "behind"}
    tasks: list[dict[str, Any]] = [{"id": n, "checks": [c]} for n, c in checked.items()]
    tasks += [{"id": n, "checks": ["ok"], "needs": ["first"]} for n in ("busy", "late")]

    done = project.yaoki(
        "run", project.plan(a_plan(acts, tasks, checks)), "--parallel", "4", "--quiet"
    )

    assert done.code == 0, done.out + done.err
    assert all(project.task(name)["attempt"] == 1 for name in riders)


@pytest.mark.full
@pytest.mark.spec("3.4")
def test_a_task_without_changes_lands_at_the_commit_it_was_verified_on(project: Project) -> None:
    """`idle` is verified on the first landing, and a second time until all others landed."""
    project.settings(PATIENT)
    folder, others = project.folder, ["t1", "t2", "t3"]
    come = end_together(folder, ["first", *others, "idle"])
    acts = {name: [[*come, *writes(f"{name}.txt")]] for name in ("first", *others)}
    acts["idle"] = [[*come, {"say": "there is nothing to do"}]]
    checks = {
        "ok": {"shell": "ls *.txt"},
        "idle": check_by_round(
            folder,
            "idle",
            wait_in_shell(landed_at_least(folder, 1)),
            wait_in_shell(landed_at_least(folder, 4)),
        ),
        "after": {"shell": wait_in_shell(verified_at_least(folder, "idle", 2))},
    }
    tasks: list[dict[str, Any]] = [{"id": "first", "checks": ["ok"]}]
    tasks += [{"id": "idle", "checks": ["idle"], "may_change_nothing": True}]
    tasks += [{"id": name, "checks": ["after"]} for name in others]

    done = project.yaoki(
        "run", project.plan(a_plan(acts, tasks, checks)), "--parallel", "5", "--quiet"
    )

    assert done.code == 0, done.out + done.err
    assert count_events_by_task(project, "LAND_REFUSED")[project.task("idle")["id"]] == 1
