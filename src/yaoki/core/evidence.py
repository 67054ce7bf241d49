"""What the lines of a run's journal prove of its tasks, whatever their rows say.

DONE is derived: a passed judgment of a commit, with at least one required check that passed on it,
and after that the landing of exactly this commit, not taken back since.  The lines are those of
the journal file, which nobody changes by editing the database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from yaoki.core.machine.events import (
    Blamed,
    Judged,
    Landed,
    Planned,
    Replaced,
    RowRefused,
    Submitted,
    Undone,
    Unlanded,
)
from yaoki.core.model import State, TaskKind

CHECKED = "CHECK_FINISHED"
REPAIRED = "RECONCILED"
FOREIGN = "foreign step"
CORRUPT = "corrupt store"
SUMMED = "FINAL_SUMMARY"
REOPENED = "RUN_REOPENED"
# The only lines that say something here: whoever reads the file may leave out all others.
EVENTS = frozenset(
    {
        *(CHECKED, REPAIRED, SUMMED, REOPENED),
        *(Submitted.NAME, Judged.NAME, Landed.NAME, Planned.NAME, Replaced.NAME),
        *(Blamed.NAME, Unlanded.NAME, Undone.NAME, RowRefused.NAME),
    }
)
# A waived check counts: a person said so, and the journal keeps it.
GOOD = frozenset({"PASSED", "FLAKY", "WAIVED"})
SETTLED = GOOD | {"SKIPPED"}
SHORT = 12


class Told(Protocol):
    """One line of the journal."""

    @property
    def task_id(self) -> str: ...
    @property
    def event(self) -> str: ...
    @property
    def data(self) -> Mapping[str, Any]: ...


class Claim(Protocol):
    """What the row of a task says."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def state(self) -> State: ...
    @property
    def landed(self) -> str: ...
    @property
    def parent(self) -> str: ...
    @property
    def required(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Checked:
    """What one check said of the commit that was judged."""

    check: str
    outcome: str
    required: bool
    seconds: float = 0.0


@dataclass(slots=True)
class Proof:
    """What the lines say of one task, folded up to the last of them."""

    name: str = ""
    kind: str = TaskKind.CHANGE
    required: bool = True
    commit: str = ""
    onto: str = ""
    checks: tuple[Checked, ...] = ()
    landed: str = ""
    planned_by: str = ""
    replaced: bool = False
    taken_back: bool = False
    looked_at: str = ""
    looked: dict[str, Checked] = field(default_factory=dict)

    def add(self, line: Told) -> None:
        data = line.data
        match line.event:
            case Submitted.NAME:
                spec = data["spec"]
                self.name, self.kind = spec["name"], spec.get("kind", TaskKind.CHANGE)
                self.required = spec.get("required", True) and not data.get("parent")
            case event if event == CHECKED:
                self._checked(data)
            case Judged.NAME:
                self._judged(data)
            case Landed.NAME:
                self.landed, self.taken_back = data["commit"], False
            case Planned.NAME:
                self.planned_by = data.get("by", "")
            case Replaced.NAME | Blamed.NAME:
                # Of a group a blamed subtask opens the group again.
                self.replaced = self.kind != TaskKind.GROUP or line.event == Replaced.NAME
            case Unlanded.NAME | Undone.NAME | RowRefused.NAME:
                self.taken_back = self.taken_back or bool(self.landed)
                self.landed = self.planned_by = ""
                self.replaced = False
            case _:
                pass  # of the run, not of a task

    def _checked(self, data: Mapping[str, Any]) -> None:
        if data["commit"] != self.looked_at:
            self.looked, self.looked_at = {}, data["commit"]
        required, seconds = data.get("required", True), float(data.get("seconds", 0.0))
        self.looked[data["check"]] = Checked(data["check"], data["outcome"], required, seconds)

    def _judged(self, data: Mapping[str, Any]) -> None:
        self.landed = self.commit = ""
        if data["passed"]:
            self.commit, self.onto = data["commit"], data["onto"]
            self.checks = tuple(self.looked.values()) if self.looked_at == self.commit else ()

    @property
    def own(self) -> bool:
        """Did it land something of its own, and not only stand where it was proven?"""
        return bool(self.landed) and self.landed != self.onto


@dataclass(slots=True)
class Evidence:
    """All lines of a run, folded; `made` are the commits that may stand on the run branch.

    `undid`: some work was taken back; of several steps that does, only the last is written.  After
    a repair of the store, what landed last may be missing in it and is found on the branch.
    """

    tasks: dict[str, Proof] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    undid: bool = False
    repaired: bool = False
    summed: bool = False
    lines: int = 0

    def add(self, line: Told) -> None:
        self.lines += 1
        data = line.data
        match line.event:
            case event if event in (SUMMED, REOPENED):
                self.summed = event == SUMMED
            case event if event == REPAIRED:
                self.repaired = self.repaired or data.get("mismatch") == CORRUPT
                if data.get("mismatch") == FOREIGN:
                    self.made.add(str(data["commit"]))
            case Judged.NAME if data["passed"] and data["commit"] != data["onto"]:
                self.made.add(data["commit"])
            case Undone.NAME | Unlanded.NAME:
                self.made.add(str(data.get("commit") or data.get("head") or ""))
                self.undid = True
            case _:
                pass  # of one task
        if line.task_id:
            self.tasks.setdefault(line.task_id, Proof()).add(line)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One thing in which the store claims more than the journal and git prove."""

    task_id: str
    words: str


def gather(lines: Iterable[Told]) -> Evidence:
    """`lines` oldest first; they are looked at once."""
    found = Evidence()
    for line in lines:
        found.add(line)
    return found


def is_judged(proof: Proof | None, commit: str) -> bool:
    """May this commit land: was the last judgment a passed one, of this very commit?"""
    return proof is not None and bool(commit) and proof.commit == commit


def unproven(
    evidence: Evidence,
    claims: Sequence[Claim],
    *,
    source: str = "the journal file",
    lacking: Collection[str] = (),
) -> list[Mismatch]:
    """Every row that claims more than is proven, each with its reason.

    `lacking` are the landed commits that the run branch does not hold.
    """
    found = [
        Mismatch(claim.id, words)
        for claim in claims
        if (words := _claims_more(claim, evidence.tasks.get(claim.id), source, lacking))
    ]
    known = {claim.id for claim in claims}
    gone = (task_id for task_id in evidence.tasks if task_id not in known)
    return found + [
        Mismatch(task_id, f"{evidence.tasks[task_id].name} has no row; {source} has the task")
        for task_id in gone
    ]


def _claims_more(claim: Claim, proof: Proof | None, source: str, lacking: Collection[str]) -> str:
    name = claim.name
    if proof is None or not proof.name:
        return f"{source} has no line that submits {name}"
    if proof.required and not claim.required:
        return f"the row of {name} says that it is optional, {source} that it is required"
    if claim.state is State.REPLACED and not proof.replaced:
        return f"the row of {name} says REPLACED, {source} names nothing in its place"
    if claim.state is not State.DONE:
        return ""
    why = _missing(claim, proof, lacking)
    return f"the row of {name} says DONE, {source} has no proof of it: {why}" if why else ""


def _missing(claim: Claim, proof: Proof, lacking: Collection[str]) -> str:
    """What DONE lacks; empty when it is proven."""
    if proof.kind == TaskKind.PLAN and proof.planned_by:
        return ""
    if not proof.landed:
        return "its landing was taken back" if proof.taken_back else "it never landed"
    landed = proof.landed[:SHORT]
    if claim.landed != proof.landed:
        return f"it landed as {landed}, the row says {claim.landed[:SHORT] or 'nothing'}"
    if proof.commit != proof.landed:
        return f"no judgment passed {landed} before it landed"
    if red := [c.check for c in proof.checks if c.required and c.outcome not in SETTLED]:
        return f"{', '.join(red)} did not pass on {landed}"
    if not any(c.required and c.outcome in GOOD for c in proof.checks):
        return f"no required check passed on {landed}"
    if proof.landed in lacking:
        return f"the run branch does not hold {landed}"
    return ""


def expected(evidence: Evidence, claims: Sequence[Claim]) -> list[str]:
    """The commits of DONE tasks that must be on the run branch.

    Subtasks come there with their group; a task without changes stands at what it found there.
    """
    waiting = {claim.id for claim in claims if claim.kind == TaskKind.GROUP and not claim.landed}
    tasks = (
        evidence.tasks.get(claim.id)
        for claim in claims
        if claim.state is State.DONE and claim.parent not in waiting
    )
    return [proof.landed for proof in tasks if proof and proof.own]


class Step(Protocol):
    """One commit of the run branch, along the first parents."""

    @property
    def commit(self) -> str: ...
    @property
    def undoes(self) -> str: ...


def foreign(evidence: Evidence, steps: Sequence[Step]) -> list[str]:
    """The commits of the run branch that no line of the journal accounts for."""
    if evidence.repaired:
        return []
    made = evidence.made
    return [
        step.commit
        for step in steps
        if step.commit not in made and not (evidence.undid and step.undoes in made)
    ]
