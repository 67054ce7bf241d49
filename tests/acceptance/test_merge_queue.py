"""The merge queue: tasks are verified on top of each other and land in that order."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.project import (
    GIT_IDENTITY,
    PATIENT,
    Project,
    a_plan,
    waits_for,
    writes,
)

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
    tasks = "--format='%(trailers:key=Yaoki-Task,valueonly,separator=%x0A)'"
    return f"test $({git} log --first-parent {tasks} $({branch}) | grep -c .) -ge {count}"


def started(folder: Path, name: str) -> Path:
    """Exists once the first verification of the task has started."""
    return folder / f"{name}.started"


def announced(folder: Path, name: str, then: str) -> dict[str, str]:
    """A check that tells that it has started, and then does something."""
    return {"shell": f"touch {started(folder, name)}; {then}"}


def run_branch(project: Project) -> str:
    return project.git("for-each-ref", "--format=%(refname:short)", "refs/heads/yaoki/").split()[0]


def count_events_by_task(project: Project, event: str) -> Counter[str]:
    return Counter(line["task"] for line in project.events() if line["event"] == event)


@pytest.mark.full
@pytest.mark.spec("3.4", "13.1", "0.1", "17.7")
def test_tasks_with_checks_of_their_own_are_verified_concurrently_and_land_in_order(
    project: Project,
) -> None:
    """Six agents end together.  Some enter the queue at once; the others are verified first on the
    branch as it is, and then at least two of them concurrently.
    """
    project.settings(PATIENT)
    names = [f"t{n}" for n in range(6)]
    come = end_together(project.folder, names)
    acts = {name: [[*come, *writes(f"{name}.txt")]] for name in names}
    tasks = [{"id": name, "checks": [f"c-{name}"]} for name in names]
    checks = {f"c-{name}": concurrent_check(project.folder, name, 6, 2) for name in names}

    done = project.yaoki(
        "run", project.plan(a_plan(acts, tasks, checks)), "--parallel", "6", "--quiet"
    )

    assert done.code == 0, done.out + done.err
    refused = count_events_by_task(project, "LAND_REFUSED")
    assert max(refused.values()) == 1
    assert count_events_by_task(project, "QUALITY_JUDGMENT").total() == 6 + refused.total() + 1, (
        "the last is of the run"
    )
    assert count_events_by_task(project, "TASK_LANDED").total() == 6 + 1


def crowded_plan(folder: Path) -> dict[str, Any]:
    """One check for all.  `bad` fails once, so that nobody trusts first attempts.  Then `t0` enters
    the queue; the others are verified beside it, wait, and land with the second try of `bad`.
    """
    runs, second, others = folder / "runs", folder / "second", ("t1", "t2", "t3")
    runs.mkdir()
    again = [{"run": ["touch", str(second)]}, *writes("bad.txt")]
    landing = {"run": ["sh", "-c", wait_in_shell(landed_at_least(folder, 1))]}
    acts: dict[str, Any] = {
        "bad": [writes("bad.txt", "wrong\n"), [again[0], landing, *again[1:]]],
        "t0": [[waits_for(second), *writes("t0.txt")]],
    }
    for name in others:
        acts[name] = [[waits_for(started(folder, "t0")), *writes(f"{name}.txt")]]
    count = f"touch {runs}/$$; ! grep -x wrong *.txt || exit 1"
    tell = f"test ! -f t0.txt || touch {started(folder, 't0')}"
    all_run = wait_in_shell(f"test $(ls {runs} | wc -l) -ge 5")
    check = {"shell": f"{count}; {tell}; {all_run}", "rerun": False}
    return a_plan(acts, [{"id": name} for name in acts], {"all": check})


@pytest.mark.spec("17.7", "17.8", "0.1", "0.3", "9.6")
def test_one_proof_lands_the_verified_work_of_several_tasks(project: Project) -> None:
    project.settings(PATIENT)
    names = ("bad", "t0", "t1", "t2", "t3")

    done = project.yaoki(
        "run", project.plan(crowded_plan(project.folder)), "--parallel", "5", "--quiet"
    )

    assert done.code == 0, done.out + done.err
    tasks = {name: project.task(name) for name in names}
    assert {name: task["attempt"] for name, task in tasks.items()} == {
        **dict.fromkeys(names, 1),
        "bad": 2,
    }
    along = [e["task"] for e in project.events() if e["data"].get("taken_along_by")]
    assert len(along) >= 2
    executions = len(list((project.folder / "runs").iterdir()))
    assert executions <= 7, "one failure, one landing alone, three early looks, one or two together"
    branch = run_branch(project)
    steps = project.git("rev-list", "--first-parent", f"main..{branch}").split()
    assert len(steps) == len(names) - len(along)
    trailers = "--format=%(trailers:key=Yaoki-Task,valueonly,separator=%x20)"
    landed = project.git("log", "--first-parent", trailers, f"main..{branch}").split()
    assert sorted(landed) == sorted(task["id"] for task in tasks.values())
    for name, task in tasks.items():
        assert f"{name}.txt" in project.git("ls-tree", "--name-only", task["landed"]).split()

    verified, replayed = project.yaoki("verify"), project.yaoki("verify", "--replay")
    assert verified.code == 0, verified.out + verified.err
    assert replayed.code == 0, replayed.out + replayed.err

    looked = next(name for name in names if tasks[name]["id"] in along)
    choice = project.query("why", tasks[looked]["id"], "--json").document["attempts"][0]["queue"]
    assert not choice["enters"]
    assert (choice["failed"], choice["look_cost"]) == (1, 0.3)
    words = " ".join(project.yaoki("why", tasks[looked]["id"]).out.split())
    chance = f"{choice['land_chance']:.0%}"
    expected = (
        "its checks first ran without the work of 1 other task waiting to land;"
        f" chance that all of it lands: {chance}"
    )
    assert expected in words
    assert "in vain" not in words, "that is for the JSON document"

    undone = project.yaoki("undo", tasks[looked]["id"])
    assert undone.code == 0, undone.out + undone.err
    files = project.git("ls-tree", "--name-only", branch).split()
    assert [name for name in names if f"{name}.txt" not in files] == [looked]


@pytest.mark.full
@pytest.mark.spec("17.7", "6.6", "0.1")
def test_work_that_is_taken_along_loses_no_test_of_the_branch(project: Project) -> None:
    """`t1` shortens a list while `t0` lands tests for each of its items: on top of `t0` there are
    fewer tests with it than without it, whoever takes it along.
    """
    project.settings(PATIENT)
    folder, second = project.folder, project.folder / "second"
    each = 'for x in $(cat cases); do n=$((n + 1)); echo "ok $n - test_p[$x]"; done\n'
    run_all = "n=1; echo 'ok 1 - test_a'; test ! -f each.sh || . ./each.sh; echo 1..$n"
    (project.repo / "cases").write_text("1 2 3 4\n")
    (project.repo / "suite.sh").write_text(f"{run_all}\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a list")
    landing = {"run": ["sh", "-c", wait_in_shell(landed_at_least(folder, 1))]}
    begin = {"run": ["touch", str(second)]}
    acts: dict[str, Any] = {
        "bad": [writes("bad.txt", "wrong\n"), [begin, landing, *writes("bad.txt")]],
        "t0": [[waits_for(second), *writes("each.sh", each)]],
        "t1": [[waits_for(started(folder, "t0")), *writes("cases", "1\n")]] * 9,
    }
    tell = f"test ! -f each.sh || touch {started(folder, 't0')}"
    looked = f"! grep -qx 1 cases || touch {started(folder, 't1')}"
    both_run = wait_in_shell(f"test -f {started(folder, 't1')}")
    meet = f"test ! -f each.sh || {{ {both_run}; }}"
    gate = {"shell": f"! grep -x wrong *.txt || exit 1; {looked}; {tell}; {meet}", "rerun": False}
    suite = {"run": ["sh", "suite.sh"], "pattern": "test-failed", "reader": "tap"}
    tries = {"bad": 1, "t0": 0, "t1": 1}
    tasks = [{"id": name, "retry": {"max_retries": tries[name]}} for name in acts]
    plan = a_plan(acts, tasks, {"gate": gate, "tests": suite})

    done = project.yaoki("run", project.plan(plan), "--parallel", "4", "--quiet")

    assert done.code == 4, done.out + done.err
    assert [project.task(name)["state"] for name in acts] == ["DONE", "DONE", "ESCALATED"]
    assert "test-integrity" in project.task("t1")["question"]
    told = project.prompt(project.task("t1"), 2)
    assert "passed its checks by itself. It fails only together with the changes that" in told
    command = re.search(r"`git (diff \w+\.\.\w+)` shows them", told)
    assert command is not None, told
    assert project.git(*command[1].split(), "--name-only").split()[-1] == "each.sh"
    assert project.git("show", f"{run_branch(project)}:cases") == "1 2 3 4"


@pytest.mark.spec("3.4", "4.1", "0.1")
def test_a_failed_candidate_is_retried_and_those_behind_it_are_not_blamed(
    project: Project,
) -> None:
    """`odd` fails beside any other task.  One task is verified on top of it, one beside it."""
    project.settings(PATIENT)
    folder, others = project.folder, ["t1", "t2"]
    landing = {"run": ["sh", "-c", wait_in_shell(landed_at_least(folder, 1))]}
    acts: dict[str, Any] = {
        name: [[waits_for(started(folder, "odd")), *writes(f"{name}.txt")]] for name in others
    }
    acts["first"] = [writes("t0.txt")]
    mended = [{"run": ["rm", "odd.txt"]}, *writes("even.txt")]
    acts["odd"] = [[landing, *writes("odd.txt")], mended]
    sound = "test ! -f odd.txt || test -z \"$(ls | grep '^t.*txt$')\""
    both = " && ".join(f"test -f {started(folder, name)}" for name in others)
    checks = {name: announced(folder, name, sound) for name in ("first", *others)}
    checks["odd"] = announced(folder, "odd", f"{wait_in_shell(both)}; {sound}")
    tasks = [{"id": name, "checks": [name]} for name in ("first", *others, "odd")]

    done = project.yaoki(
        "run", project.plan(a_plan(acts, tasks, checks)), "--parallel", "4", "--quiet"
    )

    assert done.code == 0, done.out + done.err
    assert set(count_events_by_task(project, "RETRY_DECISION")) == {project.task("odd")["id"]}
    assert all(project.task(name)["attempt"] == 1 for name in ("first", *others))
    assert project.task("odd")["attempt"] == 2
    runs = project.query("report", "--format", "json").document["check_runs"]
    executed = list((project.repo / ".yaoki/runs").glob("*/*/*/checks/*/exit.json"))
    assert runs["count"] == len(executed)
    assert runs["void"]["count"] >= 1
    assert f"{runs['void']['count']} that do not count, because" in project.query("report").out


@pytest.mark.spec("3.4", "11.2")
def test_a_slow_verification_does_not_delay_the_start_of_other_tasks(project: Project) -> None:
    """`slow` is verified until `late` has started.  One task is verified on top of it and waits,
    and the others have the rest of the slots.
    """
    project.settings(PATIENT)
    folder, begun = project.folder, project.folder / "begun"
    acts: dict[str, Any] = {
        "slow": [writes("slow.txt")],
        "behind": [[waits_for(started(folder, "slow")), *writes("behind.txt")]],
        "busy": [[waits_for(begun), *writes("busy.txt")]],
        "late": [[{"run": ["touch", str(begun)]}, *writes("late.txt")]],
    }
    checks = {
        "ok": {"shell": "ls *.txt"},
        "slow": announced(folder, "slow", wait_in_shell(f"test -f {begun}")),
    }
    tasks: list[dict[str, Any]] = [{"id": name, "checks": ["ok"]} for name in acts]
    tasks[0]["checks"] = ["slow"]
    tasks[-1]["priority"] = -1

    done = project.yaoki(
        "run", project.plan(a_plan(acts, tasks, checks)), "--parallel", "3", "--quiet"
    )

    assert done.code == 0, done.out + done.err
    assert all(project.task(name)["attempt"] == 1 for name in acts)


@pytest.mark.spec("3.4")
def test_a_task_without_changes_lands_at_the_commit_it_was_verified_on(project: Project) -> None:
    """`idle` is verified until all others have landed, and need not be verified again."""
    project.settings(PATIENT)
    folder, others = project.folder, ["t1", "t2", "t3"]
    acts: dict[str, Any] = {
        name: [[waits_for(started(folder, "idle")), *writes(f"{name}.txt")]] for name in others
    }
    acts["idle"] = [[{"say": "there is nothing to do"}]]
    checks = {
        "ok": {"shell": "ls *.txt"},
        "idle": announced(folder, "idle", wait_in_shell(landed_at_least(folder, 3))),
    }
    tasks: list[dict[str, Any]] = [
        {"id": "idle", "checks": ["idle"], "may_change_nothing": True},
        *({"id": name, "checks": ["ok"]} for name in others),
    ]

    done = project.yaoki(
        "run", project.plan(a_plan(acts, tasks, checks)), "--parallel", "5", "--quiet"
    )

    assert done.code == 0, done.out + done.err
    assert count_events_by_task(project, "LAND_REFUSED")[project.task("idle")["id"]] == 0


@pytest.mark.full
@pytest.mark.spec("17.7", "3.4", "12.3")
def test_work_behind_a_failed_task_in_the_queue_is_verified_again_for_that_cause(
    project: Project,
) -> None:
    """`good` is verified on top of `bad`, which then fails.  The branch has not moved, and nobody
    may say so.
    """
    project.settings(PATIENT)
    here = project.folder
    acts = {
        "bad": [writes("bad.txt", "wrong\n"), writes("bad.txt", "right\n")],
        "good": [[waits_for(started(here, "bad")), *writes("good.txt")]],
    }
    behind = wait_in_shell(f"test -f {started(here, 'good')}")
    checks = {
        "c-bad": {**announced(here, "bad", f"{behind} && grep -x right bad.txt"), "rerun": False},
        "c-good": announced(here, "good", "test -f good.txt"),
    }
    tasks = [{"id": name, "checks": [f"c-{name}"]} for name in acts]

    done = project.yaoki("run", project.plan(a_plan(acts, tasks, checks)), "--parallel", "2")

    assert done.code == 0, done.out + done.err
    assert count_events_by_task(project, "LAND_REFUSED")[project.task("good")["id"]] == 1
    cause = "the work of another task, on top of which its checks had run, did not land"
    assert f"{cause}; its checks run again" in done.out
    assert "the run branch moved" not in done.out
    report = project.yaoki("report", "--format", "markdown").out
    assert f"1 verification repeated: {cause}" in report
    assert "other work landed first" not in report
    numbers = project.query("report", "--json").document["numbers"]
    assert (numbers["verified_again"], numbers["verified_again_causes"]) == (1, {"predecessor": 1})


@pytest.mark.full
@pytest.mark.spec("3.3", "3.4", "0.1")
def test_work_that_is_rejected_itself_is_checked_outside_the_queue(project: Project) -> None:
    """`bad` deletes a test.  Its check fails after the landing of `good`, which did not wait."""
    (project.repo / "test_it.py").write_text("def test_one():\n    assert 1\n")
    project.git("add", "-A")
    project.git(*GIT_IDENTITY, "commit", "-qm", "a test")
    folder = project.folder
    acts: dict[str, Any] = {
        "bad": [[waits_for(folder / "both"), {"delete": ["test_it.py"]}, *writes("bad.txt")]],
        "good": [
            [
                {"run": ["touch", str(folder / "both")]},
                waits_for(started(folder, "bad")),
                *writes("good.txt"),
            ]
        ],
    }
    checks = {
        "bad": announced(folder, "bad", f"{wait_in_shell(landed_at_least(folder, 1))}; exit 1"),
        "good": {"shell": "test -f good.txt"},
    }
    tasks = [{"id": name, "checks": [name], "retry": {"max_retries": 0}} for name in acts]

    done = project.yaoki("run", project.plan(a_plan(acts, tasks, checks)), "--parallel", "2")

    assert done.code == 4, done.out + done.err
    assert project.task("good")["state"] == "DONE"
    bad = project.task("bad")
    assert (bad["state"], bad["attempt"]) == ("ESCALATED", 1)
    assert "test-integrity: " in bad["question"]
    assert "; bad: " in bad["question"]
    left = [e["data"] for e in project.events() if e["event"] == "LEASE_RELEASED"]
    assert [one["why"] for one in left if one["avoids_queue"]] == [
        "test-integrity failed, so its checks run outside the merge queue"
    ]
