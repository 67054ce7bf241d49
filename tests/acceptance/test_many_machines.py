"""Three machines, one PostgreSQL, one remote: every task lands once despite faults.

Eight tasks, so that two busy cores are enough; `YAOKI_TEST_TASKS=60` asks for more.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.machines import Machine, ServerLink
from tests.acceptance.project import a_plan, wait_until, waits_for
from tests.adapters.store.server import Server, binaries, missing
from tests.repositories import a_repository, git
from yaoki.adapters.store import SqlStore, open_store
from yaoki.adapters.system.clock import SystemClock
from yaoki.core.model import RunId, State
from yaoki.ports import JournalEntry

TASKS = int(os.environ.get("YAOKI_TEST_TASKS", "8"))
ATTEMPTS = 12
BOUND_S = 72 + 3 * TASKS


@pytest.fixture
def server() -> Iterator[Server]:
    """A separate server, because it is restarted."""
    why = missing() or ("" if binaries() else "there are no binaries of PostgreSQL")
    if why and os.environ.get("CI") == "true":
        pytest.fail(why)
    if why:
        pytest.skip(why)
    made = Server.make()
    try:
        made.start()
        yield made
    finally:
        made.remove()


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    made = tmp_path / "remote.git"
    git(tmp_path, "clone", "-q", "--bare", str(a_repository(tmp_path)), str(made))
    return made


def a_file(folder: Path, count: int) -> str:
    """Each task says in which worktree it began, waits for the word to go, and writes its file."""
    began = {"run": ["sh", "-c", f"pwd >> {folder}/began"]}
    acts = {
        f"t{n}": [began, waits_for(folder / "go"), {"write": {f"f{n}": f"{n}\n"}}]
        for n in range(count)
    }
    script = {name: [held] * ATTEMPTS for name, held in acts.items()}
    tasks = [{"id": name, "checks": ["there"]} for name in script]
    file = folder / "plan.json"
    file.write_text(json.dumps(a_plan(script, tasks, {"there": {"shell": "ls f*"}})))
    return str(file)


class RunJournal:
    """The journal of a run, read from the store as another machine does."""

    def __init__(self, store: SqlStore, run: str) -> None:
        self._store, self._run = store, RunId(run)

    def entries(self, event: str) -> list[JournalEntry]:
        after, found = 0, list[JournalEntry]()
        while page := self._store.journal(run_id=self._run, after=after):
            found += [entry for entry in page if entry.event == event]
            after = page[-1].seq
        return found

    def entries_of_worker(self, event: str, pid: int) -> list[JournalEntry]:
        """The entries of a worker, by its process id."""
        return [e for e in self.entries(event) if e.data["holder"].split(":")[1] == str(pid)]

    def done(self) -> bool:
        rows = self._store.rows(self._run)
        return bool(rows) and all(row.state is State.DONE for row in rows)

    def audit(self) -> list[str]:
        return self._store.audit(self._run)


def submit_plan(machine: Machine, plan: str) -> str:
    code, output = machine.run("plan", "submit", plan, "--json")
    assert code == 0, output
    return str(json.loads(output)["run"])


def has_started(folder: Path, machine: Machine) -> bool:
    file = folder / "began"
    return file.exists() and str(machine.home) in file.read_text()


def serves(machine: Machine, worker: subprocess.Popen[str]) -> bool:
    """Is the worker listed?  Before that, a signal ends it without a word."""
    code, output = machine.run("status", "--workers", "--json")
    holders = [each["holder"] for each in json.loads(output)["workers"]] if code == 0 else []
    return any(holder.split(":")[1] == str(worker.pid) for holder in holders)


def started_count(folder: Path) -> int:
    file = folder / "began"
    return len(file.read_text().splitlines()) if file.exists() else 0


def refs(bare: Path) -> set[str]:
    return set(git(bare, "for-each-ref", "--format=%(refname)").splitlines())


@pytest.mark.full
@pytest.mark.postgres
@pytest.mark.timeout(60 + 2 * BOUND_S)
@pytest.mark.spec("13.1", "13.3", "11.1", "11.2", "11.3", "3.4", "0.2", "0.3")
def test_every_task_lands_once_despite_a_killed_machine_a_disconnected_one_and_a_restarted_server(
    tmp_path: Path, bare: Path, pycache: Path, server: Server
) -> None:
    with ServerLink(server.url) as cable:
        stores = {"cut": cable.url, "killed": server.url, "whole": server.url}
        machines = [
            Machine(tmp_path / name, bare, url, pycache=pycache) for name, url in stores.items()
        ]
        try:
            run = submit_plan(machines[-1], a_file(tmp_path, TASKS))
            with closing(open_store(server.url, SystemClock(), create=False)) as store:
                run_with_faults(tmp_path, bare, server, cable, machines, RunJournal(store, run))
        finally:
            for machine in machines:
                machine.kill()


def run_with_faults(
    folder: Path,
    bare: Path,
    server: Server,
    cable: ServerLink,
    machines: list[Machine],
    story: RunJournal,
) -> None:
    # One after the other with more slots each: on one computer they share its limit.
    pids = []
    for machine, slots in zip(machines, (1, 2, 3), strict=True):
        pids.append(machine.start_worker(slots).pid)
        wait_until(lambda m=machine: has_started(folder, m), "its agent is at work")  # type: ignore[misc]
    theirs = {entry.task_id for entry in story.entries_of_worker("TASK_CLAIMED", pids[0])}

    cable.cut()
    machines[1].kill()
    server.restart()
    late = machines[1].start_worker(2)
    (folder / "go").touch()
    kept = [f"refs/yaoki/work/{task}/1" for task in theirs]
    wait_until(lambda: set(kept) & refs(bare), "an agent that was cut off has ended")
    wait_until(
        lambda: story.entries_of_worker("LEASE_EXPIRED", pids[0]), "its lease ran out", BOUND_S
    )
    cable.restore()
    wait_until(
        lambda: story.entries_of_worker("RESULT_REFUSED", pids[0]),
        "its late result is refused",
        BOUND_S,
    )
    wait_until(story.done, "every task is done", BOUND_S)
    wait_until(lambda: serves(machines[1], late), "the last worker serves")
    ended = [end for machine in machines for end in machine.stop()]

    run = str(story.entries("PLAN_SUBMITTED")[0].run_id)
    assert [code for code, _ in ended] == [0] * 3, "\n".join(said for _, said in ended)
    assert not [said for _, said in ended if "Traceback" in said]
    tasks = {f"{run}-{n}" for n in range(1, TASKS + 1)}
    trailer = "--format=%(trailers:key=Yaoki-Task,valueonly)"
    steps = git(bare, "log", "--first-parent", trailer, f"main..yaoki/{run}").split()
    assert Counter(steps) == Counter(tasks)
    assert Counter(e.task_id for e in story.entries("TASK_LANDED")) == Counter(tasks)
    names = git(bare, "ls-tree", "-r", "--name-only", f"yaoki/{run}").splitlines()
    assert {f"f{n}" for n in range(TASKS)} <= set(names)
    assert set(kept) & refs(bare), "what the cut-off agent made is not lost"
    assert story.entries("ESCALATE_DECISION") == []
    assert story.audit() == []
    assert git(bare, "fsck", "--no-dangling") == ""


# ------------------------------------------------------------------ the remote is away


@pytest.fixture
def single_machine(tmp_path: Path, bare: Path, pycache: Path) -> Iterator[Machine]:
    """One machine with the remote; its store is a file beside all clones."""
    made = Machine(tmp_path / "alone", bare, str(tmp_path / "state.db"), pycache=pycache)
    yield made
    made.kill()


@pytest.mark.full
@pytest.mark.spec("13.3", "4.8", "0.5", "0.2")
def test_a_run_waits_for_an_unreachable_remote_and_continues_by_itself(
    tmp_path: Path, bare: Path, single_machine: Machine
) -> None:
    """It goes away while agents work, and stays away for longer than any fault is retried."""
    away = bare.with_name("away.git")
    run = single_machine.start("run", a_file(tmp_path, 3), "--parallel", "2")
    single_machine.workers.append(run)
    wait_until(
        lambda: started_count(tmp_path) >= 2, "both agents are at work, and nobody asks the remote"
    )
    bare.rename(away)
    (tmp_path / "go").touch()

    words = "the remote origin cannot be used"
    wait_until(lambda: words in single_machine.run("why", "t0")[1], "why says what it waits for")
    doctor = single_machine.run("doctor")
    away.rename(bare)
    output, _ = run.communicate(timeout=90)
    single_machine.workers.clear()

    assert doctor[0] == 1
    lines = [" ".join(line.split()) for line in doctor[1].splitlines()]
    assert [line for line in lines if line.startswith(f"BAD remote {words}")]
    assert lines[-1] == "next: git ls-remote origin"
    assert "their branches are at a remote that does not answer" in doctor[1]
    assert run.returncode == 0, output
    events = json.loads(single_machine.run("trace", "--json")[1])["entries"]
    assert not [e for e in events if e["event"] in ("ESCALATE_DECISION", "RETRY_DECISION")]
    steps = git(bare, "log", "--first-parent", "--format=%s", f"main..yaoki/{events[0]['run']}")
    assert len(steps.splitlines()) == 3


@pytest.mark.spec("13.1")
def test_status_of_a_store_elsewhere_leaves_the_clone_clean(
    tmp_path: Path, bare: Path, single_machine: Machine
) -> None:
    run = submit_plan(single_machine, a_file(tmp_path, 1))
    other = Machine(tmp_path / "other", bare, str(tmp_path / "state.db"))

    code, output = other.run("status", run)

    assert code == 0, output
    assert (other.repo / ".yaoki" / ".gitignore").exists()
    assert git(other.repo, "status", "--porcelain") == "?? yaoki.toml"
