"""Races through the command line: scripted agents, real git, real processes (rule 18.4)."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.machines import Machine
from tests.acceptance.project import SETTINGS, Project, file_contains, wait_until
from tests.acceptance.test_many_machines import bare, server, submit_plan
from tests.adapters.store.server import Server
from tests.repositories import git

pytestmark = [pytest.mark.acceptance, pytest.mark.spec("18.4")]

__all__ = ["bare", "server"]

FAST = SETTINGS.replace("parallel = 2", "parallel = 4").replace("lease_s = 10.0", "lease_s = 3.0")
WRONG = "echo bad > $T.txt; echo mine > wrong.txt"
RIGHT = "echo good > $T.txt"
LONG = "seq 20 > long.txt; echo good > $T.txt"


def an_agent(act: str, calls: Path | None = None) -> dict[str, Any]:
    """`$T` is the task that is raced for, `$C` the candidate."""
    names = 'C="$YAOKI_TASK_NAME"; T="${C%%~*}"'
    count = f"echo $C >> {calls}; " if calls else ""
    return {"command": ["sh", "-c", f"{names}; {count}{act}"], "prompt": "stdin"}


def a_plan(
    agents: dict[str, str],
    tasks: dict[str, dict[str, Any]],
    calls: Path | None = None,
) -> dict[str, Any]:
    return {
        "goal": "Race",
        "agents": {name: an_agent(act, calls) for name, act in agents.items()},
        "checks": {f"has-{name}": file_contains(f"{name}.txt") for name in tasks},
        "tasks": [
            {"id": name, "goal": f"Do {name}.", "checks": [f"has-{name}"], **fields}
            for name, fields in tasks.items()
        ],
    }


def slow(marker: Path) -> str:
    """Leaves a part of its work, and would go on for far too long."""
    return f"echo part > part.txt; touch {marker}; exec sleep 300"


def wait_for(path: Path | str, negated: str = "") -> str:
    """Waits until the path exists, or does not."""
    return f"until test {negated} -e {path}; do sleep 0.05; done"


def candidates(project: Project, name: str = "x") -> list[dict[str, Any]]:
    """The candidates of the newest round, as `yaoki why` tells them."""
    document = project.query("why", project.task(name)["id"], "--json").document
    found: list[dict[str, Any]] = document["races"][0]["candidates"]
    return found


def lines(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []


def saved_text(project: Project, candidate: str, path: str) -> str:
    refs = project.git("for-each-ref", "--format=%(refname)", f"refs/yaoki/work/{candidate}/")
    first = refs.splitlines()[0]
    return project.git("show", f"{first}:{path}")


def test_the_first_proof_of_three_agents_lands_and_the_others_are_stopped_and_saved(
    project: Project, tmp_path: Path
) -> None:
    """In `x` one of three is right, and it ends while the third still works; in `y` two are right,
    and the smaller diff wins.
    """
    started, failing = tmp_path / "slow", tmp_path / "wrong"
    # The worktree of the first candidate goes when it has failed.
    first = '"${PWD%-*}-$((${PWD##*-} - 1))"'
    agents = {
        "wrong": f"{WRONG}; touch {failing}",
        "right": f"{wait_for(started)}; {wait_for(failing)}; {wait_for(first, '!')}; {RIGHT}",
        "slow": slow(started),
        "long": LONG,
        "short": RIGHT,
    }
    x = {"race": {"tries": 3, "agents": ["wrong", "right", "slow"]}}
    y = {"race": {"tries": 2, "agents": ["long", "short"], "until": "all"}}
    project.settings(FAST)

    done = project.yaoki("run", project.plan(a_plan(agents, {"x": x, "y": y})))

    assert done.code == 0, done.out + done.err
    assert "2 of 2 tasks landed" in done.out
    branch = project.status()["run_branch"]
    assert (project.show(branch, "x.txt"), project.show(branch, "y.txt")) == ("good", "good")
    names = project.git("ls-tree", "-r", "--name-only", branch).split()
    assert not {"wrong.txt", "part.txt", "long.txt"} & set(names)
    wrong, right, stopped = candidates(project)
    assert [each["outcome"] for each in (wrong, right, stopped)] == ["failed", "proven", "stopped"]
    why = project.query("why", project.task("x")["id"]).out
    assert "race of attempt 1: x~1.2 won: it was the first that passed its checks" in why
    assert "x~1.1 (wrong): failed; failed checks 1; has-x: exit code 1" in why
    assert f"x~1.3 (slow): stopped; saved: yaoki recover {stopped['id']}" in why
    assert "rule      18.4" in why
    listed = project.query("recover", project.task("x")["id"]).out
    assert all(each["id"] in listed for each in (wrong, right, stopped))
    assert saved_text(project, wrong["id"], "wrong.txt") == "mine"
    assert saved_text(project, stopped["id"], "part.txt") == "part"
    assert [each["changed_lines"] for each in candidates(project, "y")] == [21, 1]
    y_why = project.query("why", project.task("y")["id"]).out
    assert "y~1.2 won: its diff is smaller" in y_why
    report = project.query("report").out
    assert "x~1.2 won: it was the first that passed its checks" in report
    unlanded = report.split("## Saved work that did not land")[1]
    assert (wrong["id"] in unlanded, right["id"] in unlanded) == (True, False)
    assert set(states(project)) == {"x", "y", *(f"x~1.{n}" for n in (1, 2, 3)), "y~1.1", "y~1.2"}


def states(project: Project) -> dict[str, str]:
    tasks = project.status()["tasks"]
    return {task["name"]: task["state"] for task in tasks if task["name"] != "done_when"}


@pytest.mark.full
def test_candidates_start_one_after_the_other_where_the_plan_says_so(
    project: Project, tmp_path: Path
) -> None:
    """In `x` the second one starts after the failure of the first; nobody wins, and this is one
    attempt.  Only the second round is right, and only if it was told what failed best.  In `y` the
    second one starts when the first has run for long.
    """
    calls = tmp_path / "calls"
    told = 'grep -q "x.txt does not hold good" && echo good > x.txt; true'
    agents = {
        "one": f'case "$C" in *~2.*) {told};; *) echo bad > x.txt;; esac',
        "slow": slow(tmp_path / "started"),
        "right": RIGHT,
    }
    x = {"tries": 2, "start": "after-failure"}
    y = {"tries": 2, "agents": ["slow", "right"], "start": {"after": "500ms"}}
    project.settings(FAST)
    plan = a_plan(agents, {"x": {"agent": "one", "race": x}, "y": {"race": y}}, calls)

    done = project.yaoki("run", project.plan(plan))

    assert done.code == 0, done.out + done.err
    names = lines(calls)
    assert [name for name in names if name[0] == "x"] == ["x~1.1", "x~1.2", "x~2.1"]
    assert [name for name in names if name[0] == "y"] == ["y~1.1", "y~1.2"]
    task = project.task("x")
    assert (task["state"], task["attempt"]) == ("DONE", 2)
    events = project.events(task["id"])
    (retry,) = (e["data"] for e in events if e["event"] == "RETRY_DECISION")
    assert retry["current_retry_count"] == 0
    assert [e["event"] for e in events].count("RACE_DECIDED") == 2
    events = project.events(project.task("y~1.2")["id"])
    (released,) = (e["data"] for e in events if e["event"] == "CANDIDATE_RELEASED")
    assert released["due_at"]


@pytest.mark.full
def test_a_question_after_a_race_offers_the_best_work_which_a_person_can_accept(
    project: Project,
) -> None:
    agents = {"empty": "true", "near": "echo bad > x.txt; echo half > half.txt"}
    race = {"tries": 2, "agents": ["empty", "near"]}
    fields = {"race": race, "retry": {"max_retries": 0}}
    project.settings(FAST)

    asked = project.yaoki("run", project.plan(a_plan(agents, {"x": fields})))

    assert asked.code == 4, asked.out + asked.err
    assert states(project) == {"x": "ESCALATED", "x~1.1": "REPLACED", "x~1.2": "REPLACED"}
    task_id = project.task("x")["id"]
    (worktree,) = project.home.rglob(task_id)
    assert (worktree / "half.txt").read_text() == "half\n"
    assert "no candidate passed its checks" in project.query("why", task_id).out
    refused = project.yaoki("cancel", project.task("x~1.1")["id"])
    assert refused.code != 0
    answered = project.yaoki("answer", task_id, "waive", "has-x")
    assert answered.code == 0, answered.out + answered.err
    assert project.yaoki("resume").code == 0
    assert project.show(project.status()["run_branch"], "half.txt") == "half"


def test_a_killed_race_continues_with_the_same_agents_and_has_one_winner(
    project: Project, tmp_path: Path
) -> None:
    """The worker is killed while all three work; its agents live on and are not started again."""
    calls, go = tmp_path / "calls", tmp_path / "go"
    agents = dict.fromkeys(("a", "b", "c"), f"{wait_for(go)}; {RIGHT}")
    race = {"tries": 3, "agents": ["a", "b", "c"], "until": "all"}
    project.settings(FAST)
    run = project.start("run", project.plan(a_plan(agents, {"x": {"race": race}}, calls)))
    wait_until(lambda: len(lines(calls)) == 3, "all candidates are at work")
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    go.touch()

    done = project.yaoki("resume")

    assert done.code == 0, done.out + done.err
    assert Counter(lines(calls)) == Counter(f"x~1.{n}" for n in (1, 2, 3))
    names = project.event_names()
    assert names.count("RACE_DECIDED") == names.count("TASK_LANDED") == 1
    assert [each["outcome"] for each in candidates(project)] == ["proven"] * 3
    assert "nothing" not in project.query("verify").out


@pytest.mark.full
@pytest.mark.spec("18.7", "3.7")
def test_a_race_that_only_interruptions_ended_offers_the_work_that_is_left(
    project: Project, tmp_path: Path
) -> None:
    """The worker, the shims and the agents are killed; their files are all that is left."""
    names = f"echo $PPID $$ > {tmp_path}/$C.tmp; mv {tmp_path}/$C.tmp {tmp_path}/$C.pids"
    agents = {"a": f"echo $C > part.txt; {names}; exec sleep 60"}
    fields = {"agent": "a", "race": {"tries": 2}, "budget": {"attempts": 1}}
    project.settings(FAST)
    run = project.start("run", project.plan(a_plan(agents, {"x": fields})))
    wait_until(lambda: len(list(tmp_path.glob("*.pids"))) == 2, "both candidates are at work")
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    for pid in [int(pid) for file in tmp_path.glob("*.pids") for pid in lines(file)]:
        os.kill(pid, signal.SIGKILL)

    asked = project.yaoki("resume")

    assert asked.code == 4, asked.out + asked.err
    task_id = project.task("x")["id"]
    (worktree,) = project.home.rglob(task_id)
    assert f"done  # after working in {worktree}" in asked.out
    assert (worktree / "part.txt").read_text() == "x~1.1\n"
    why = project.query("why", task_id).out
    ids = [each["id"] for each in candidates(project)]
    assert all(f"saved: yaoki recover {each}" in why for each in ids), why
    (worktree / "x.txt").write_text("good\n")
    assert project.yaoki("answer", task_id, "done").code == 0
    assert project.yaoki("resume").code == 0
    assert project.show(project.status()["run_branch"], "x.txt") == "good"


@pytest.mark.full
def test_cancelling_a_racing_task_stops_its_candidates_and_undo_lets_it_race_again(
    project: Project, tmp_path: Path
) -> None:
    started = tmp_path / "started"
    agents = {"slow": slow(started), "right": RIGHT}
    tasks: dict[str, dict[str, Any]] = {
        "x": {"race": {"tries": 2, "agents": ["slow"], "until": "all"}},
        "y": {"agent": "right", "race": {"tries": 2}},
    }
    project.settings(FAST)
    run = project.start("run", project.plan(a_plan(agents, tasks)))
    wait_until(lambda: started.exists() and states(project)["y"] == "DONE", "one races")

    why = project.query("why", project.task("x")["id"]).out
    assert "x~1.1 (slow): at work" in why
    at_work = [project.task(f"x~1.{n}")["id"] for n in (1, 2)]
    assert any(f"next: yaoki logs {each}" in why for each in at_work)
    refused = project.yaoki("cancel", project.task("x~1.1")["id"])
    assert "is a candidate in the race of" in refused.err
    assert project.yaoki("cancel", project.task("x")["id"]).code == 0
    run.wait()

    found = states(project)
    assert found["x"] == "CANCELLED"
    assert {found["x~1.1"], found["x~1.2"]} == {"REPLACED"}
    racing = project.task("x")["id"]
    assert f"next: yaoki recover {racing}" in project.query("why", racing).out
    assert project.task("x~1.1")["id"] in project.query("recover", racing).out
    undone = project.yaoki("undo", project.task("y")["id"])
    assert undone.code == 0, undone.out + undone.err
    project.yaoki("answer", project.task("y")["id"], "retry")
    project.yaoki("resume")
    assert states(project)["y"] == "DONE"
    assert "y~2.1" in states(project)


@pytest.mark.full
@pytest.mark.spec("2.6")
def test_a_proof_from_before_a_recheck_does_not_win(project: Project, tmp_path: Path) -> None:
    """The first is proven with the old check only; the second also passes the new one."""
    calls, go = tmp_path / "calls", tmp_path / "go"
    agents = {"first": RIGHT, "second": f"{wait_for(go)}; {RIGHT}; echo more > more.txt"}
    race = {"tries": 2, "agents": ["first", "second"], "until": "all"}
    plan = a_plan(agents, {"x": {"race": race, "budget": {"attempts": 1}}}, calls)
    project.settings(FAST)
    run = project.start("run", project.plan(plan))
    wait_until(lambda: "CANDIDATE_PROVEN" in project.event_names(), "the first is proven")

    plan["checks"]["has-more"] = {"shell": "test -e more.txt"}
    plan["tasks"][0]["checks"] = ["has-x", "has-more"]
    project.plan(plan)
    assert project.yaoki("plan", "recheck").code == 0
    wait_until(lambda: "CANDIDATE_FAILED" in project.event_names(), "the first is verified again")
    assert "x~1.2 (second): at work" in project.query("report").out
    go.touch()

    assert run.wait() == 0
    assert lines(calls).count("x~1.1") == 1, "its agent does not run again"
    first, second = candidates(project)
    assert (first["outcome"], second["outcome"]) == ("failed", "proven")
    assert project.show(project.status()["run_branch"], "more.txt") == "more"
    assert "BAD" not in project.yaoki("doctor").out


@pytest.mark.full
@pytest.mark.spec("14.4", "16.10")
def test_a_retry_after_a_race_does_not_accept_a_changed_git_configuration(
    project: Project,
) -> None:
    """Only the first round changes it; the candidates of the second one are compared with the
    state before it.
    """
    change = 'case "$C" in x~1.*) git config filter.x.smudge cat;; esac'
    plan = a_plan({"one": f"{change}; {RIGHT}"}, {"x": {"agent": "one", "race": {"tries": 2}}})
    project.settings(FAST)
    assert project.yaoki("run", project.plan(plan), "--quiet").code == 4

    assert project.yaoki("answer", "x", "retry").code == 0
    again = project.yaoki("resume", "--quiet")

    assert again.code == 4, again.out
    assert "git's own configuration changed" in project.task("x")["question"]
    kept = project.query("recover", "--json").document["kept"]
    own = [work for work in kept if work["task"] == project.task("x")["id"]]
    rounds = [f"x~{work['attempt']}." for work in own]
    assert own, "a person was offered the best work of a round"
    assert all(work["subject"].startswith(name) for work, name in zip(own, rounds, strict=True))


def test_the_worst_case_of_a_plan_counts_every_candidate(project: Project) -> None:
    tasks: dict[str, dict[str, Any]] = {
        "x": {"agent": "a", "race": {"tries": 3}},
        "y": {"agent": "a"},
    }
    plan = project.plan(a_plan({"a": RIGHT}, tasks))

    shown = project.query("plan", "show", plan, "--json").document["tasks"]

    racing, single = (task["worst_case"] for task in shown)
    assert (racing["content"], racing["rerun"]) == (3 * single["content"], 3 * single["rerun"])
    assert racing["total"] > 3 * single["total"]


# ------------------------------------------------------------------ several machines


@pytest.fixture
def machines(tmp_path: Path, bare: Path, server: Server) -> Iterator[Sequence[Machine]]:
    made = [Machine(tmp_path / name, bare, server.url) for name in ("one", "other")]
    yield made
    for machine in made:
        machine.kill()


@pytest.mark.full
@pytest.mark.postgres
@pytest.mark.timeout(180)
@pytest.mark.spec("13.1", "13.3")
def test_two_machines_work_on_the_candidates_of_one_race_and_one_takes_over(
    tmp_path: Path, bare: Path, machines: Sequence[Machine]
) -> None:
    """Each machine has one slot, so each has a candidate; the first one dies with its own, and the
    second lands the work of the race.
    """
    calls, go = tmp_path / "calls", tmp_path / "go"
    act = f"pwd >> {calls}; {wait_for(go)}; {RIGHT}"
    race = {"tries": 2, "agents": ["a", "b"], "until": "all"}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(a_plan({"a": act, "b": act}, {"x": {"race": race}})))
    first, second = machines
    # The second one waits for the end of the first one's lease.
    settings = first.repo / "yaoki.toml"
    settings.write_text(settings.read_text().replace("lease_s = 8.0", "lease_s = 3.0"))
    run = submit_plan(first, str(file))
    for machine in machines:
        # On one computer they share its limit, so the second has a slot more.
        machine.start_worker(machines.index(machine) + 1)
        wait_until(lambda m=machine: str(m.home) in "".join(lines(calls)), "it works")  # type: ignore[misc]

    first.kill()
    go.touch()

    def has_landed() -> bool:
        """A call of the program for each look would take a third of the machine."""
        return "x.txt" in git(bare, "log", "--branches", "--name-only", "--format=").split()

    def is_done() -> bool:
        code, out = second.run("status", run, "--json")
        return code == 0 and json.loads(out)["status"] == "DONE"

    wait_until(has_landed, "the work of the race has landed", 120)
    wait_until(is_done, "the race is over", 120)
    assert git(bare, "show", f"yaoki/{run}:x.txt") == "good"
    _, why = second.run("why", f"{run}-1", "--json")
    (race_told,) = json.loads(why)["races"]
    assert {each["outcome"] for each in race_told["candidates"]} <= {"proven", "failed"}
    assert race_told["winner"]
    saved = git(bare, "for-each-ref", "--format=%(refname)", "refs/yaoki/work")
    for each in race_told["candidates"]:
        assert f"refs/yaoki/work/{each['id']}/" in saved
