"""`yaoki verify --replay RUN`: every landed commit proven again in a fresh clone, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import TYPE_CHECKING, Any

from yaoki.app.git_facts import GitHere
from yaoki.app.replay_room import Room, open_room
from yaoki.core.counting import count
from yaoki.core.evidence import EVENTS, Proof, gather
from yaoki.core.model import CheckSpec, Finding, Outcome, State, TaskKind

if TYPE_CHECKING:
    from yaoki.app import App
    from yaoki.core.model import Run, Task

NEEDS_AGENT = frozenset({"judge"})
# These ask where a branch was at that time, which nothing can tell later.
OF_THEN = frozenset({"pushed", "merged"})


@unique
class Again(StrEnum):
    """What one check said this time; WAIVED and NOT_REPLAYED were not run."""

    PASSED = "PASSED"
    FLAKY = "FLAKY"
    SKIPPED = "SKIPPED"
    FAILED = "FAILED"
    BROKEN = "BROKEN"
    WAIVED = "WAIVED"
    NOT_REPLAYED = "NOT_REPLAYED"


GOOD = frozenset({Again.PASSED, Again.FLAKY})
BAD = frozenset({Again.FAILED, Again.BROKEN})


@dataclass(frozen=True, slots=True)
class CheckAgain:
    """One check of a landed commit; `told` is what the journal says of it."""

    check: str
    told: str
    outcome: Again
    words: str = ""
    tests: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Replayed:
    """One landed commit.  `why` is set where nothing could be run at all."""

    task: str
    name: str
    commit: str
    checks: tuple[CheckAgain, ...] = ()
    why: str = ""

    @property
    def ok(self) -> bool:
        """Something passed again and nothing failed: what was not run proves nothing."""
        outcomes = [one.outcome for one in self.checks]
        return not self.why and any(o in GOOD for o in outcomes) and not BAD.intersection(outcomes)


@dataclass(frozen=True, slots=True)
class Landing:
    """A commit that a task landed, and what the journal file says of it."""

    task: Task
    proof: Proof


Tell = Callable[[int, int, "Landing"], None]


def replay(app: App, run: Run, tell: Tell = lambda *_: None) -> Iterator[Replayed]:
    """One after the other, oldest first; `tell` hears of each before it begins."""
    landings = landed(app, run)
    git = GitHere(app.repository.common_dir)
    here = git.trees([one.proof.landed for one in landings])
    with open_room(app.repository.common_dir, app.processes) as room:
        for n, one in enumerate(landings, start=1):
            tell(n, len(landings), one)
            if one.proof.landed in here:
                yield _proven(app, run, room, one)
            else:
                yield _not_run(one, "the commit is not in this repository")


def landed(app: App, run: Run) -> list[Landing]:
    """What the journal file says has landed, in the order of the branch.

    A plan has no commit of its own; nor has a report that changed nothing and has no checks.
    """
    evidence = gather(app.store.witnessed(run.id, EVENTS))
    found = [
        Landing(app.store.task(row.id), proof)
        for row in app.store.rows(run.id)
        if row.state is State.DONE and (proof := evidence.tasks.get(row.id)) and proof.landed
    ]
    found = [one for one in found if _has_proof(one)]
    git = GitHere(app.repository.common_dir)
    there = [c for c, tree in git.trees([one.proof.landed for one in found]).items() if tree]
    order = {commit: n for n, commit in enumerate(git.in_order(run.base, there))}
    return sorted(found, key=lambda one: (order.get(one.proof.landed, -1), one.task.n))


def _has_proof(one: Landing) -> bool:
    return one.task.spec.kind is not TaskKind.PLAN and (one.proof.own or bool(one.task.spec.checks))


def _proven(app: App, run: Run, room: Room, one: Landing) -> Replayed:
    spec, proof = one.task.spec, one.proof
    if why := room.enter(proof.landed, spec.setup, spec.timeout):
        return _not_run(one, why)
    facts = _facts(app, run, one)
    wanted = [check for check in spec.checks if check.required]
    told = {check.check: check.outcome for check in proof.checks}
    checks = tuple(_again(room, check, facts, told.get(check.name, "")) for check in wanted)
    waived = [c.check for c in proof.checks if c.outcome == Again.WAIVED]
    built_in = tuple(
        CheckAgain(name, Again.WAIVED, Again.WAIVED, "waived by a person")
        for name in waived
        if name not in {check.name for check in wanted}
    )
    why = "" if any(c.outcome in GOOD | BAD for c in checks) else "no check of it can be run again"
    return Replayed(one.task.id, spec.name, proof.landed, (*checks, *built_in), why)


def _again(room: Room, spec: CheckSpec, facts: Mapping[str, Any], told: str) -> CheckAgain:
    if told == Again.WAIVED:
        return CheckAgain(spec.name, told, Again.WAIVED, "waived by a person")
    if spec.type in NEEDS_AGENT:
        return CheckAgain(spec.name, told, Again.NOT_REPLAYED, "it needs an agent")
    if spec.type == "git" and spec.git in OF_THEN:
        return CheckAgain(spec.name, told, Again.NOT_REPLAYED, "it looked at the remote of then")
    finding = room.check(spec, facts)
    tests, outcome = _tests(finding), Again(finding.outcome.value)
    words = finding.message if outcome in BAD else ""
    return CheckAgain(spec.name, told, outcome, words, tests, round(finding.seconds, 3))


def _tests(finding: Finding) -> int | None:
    number = finding.params.get("testCount")
    return (
        int(number) if isinstance(number, int) and finding.outcome is not Outcome.BROKEN else None
    )


def _facts(app: App, run: Run, one: Landing) -> dict[str, Any]:
    task, proof = one.task, one.proof
    changed = app.workspace.files_between(proof.onto, proof.landed) if proof.own else ()
    return {
        "run": run.id,
        "task": task.id,
        "task_name": task.spec.name,
        "attempt": task.attempt,
        "goal": task.spec.goal,
        "commit": proof.landed,
        "base": proof.onto,
        "onto": proof.onto,
        "changed": tuple(path for _, path in changed),
        "scope": task.spec.scope,
        "fixes": task.spec.fixes,
        "branch": run.branch,
        "dirty": (),
    }


def _not_run(one: Landing, why: str) -> Replayed:
    return Replayed(one.task.id, one.task.spec.name, one.proof.landed, (), why)


def words_of(one: CheckAgain) -> str:
    """`PASSED again, 12 tests`; a failure says what the journal told."""
    tests = f", {count(one.tests, 'test')}" if one.tests is not None else ""
    match one.outcome:
        case Again.PASSED | Again.FLAKY | Again.SKIPPED:
            return f"{one.outcome} again{tests}" if one.told == one.outcome else _other(one, tests)
        case Again.FAILED | Again.BROKEN:
            return f"{_other(one, tests)}: {one.words}"
        case Again.WAIVED:
            return "waived by a person, not run"
        case Again.NOT_REPLAYED:
            return f"not replayed: {one.words}"


def _other(one: CheckAgain, tests: str) -> str:
    return f"{one.outcome}{tests} (the journal says {one.told or 'nothing'})"


def summary(found: Sequence[Replayed]) -> str:
    good = sum(one.ok for one in found)
    checks = [check for one in found for check in one.checks]
    left = sum(one.outcome is Again.NOT_REPLAYED for one in checks)
    waived = sum(one.outcome is Again.WAIVED for one in checks)
    more = f"; {count(left, 'check')} not replayed" if left else ""
    more += f"; {count(waived, 'check')} waived by a person" if waived else ""
    return f"{good} of {count(len(found), 'proof')} passed again in a fresh clone{more}"
