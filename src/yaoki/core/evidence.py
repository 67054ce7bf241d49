"""Evidence about tasks from the journal of their run, independent of the tasks' rows.

DONE is proven by a passed judgment of a commit, with at least one required check that passed on it,
then the landing of exactly this commit, not reverted since.  The lines come from the journal file,
which an edit of the database does not change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from yaoki.core.lazy_dataclass import dataclass, field
from yaoki.core.machine.events import (
    CulpritFound,
    Judged,
    Landed,
    LandingReverted,
    Planned,
    Replaced,
    RowRefused,
    Submitted,
)
from yaoki.core.machine.race_events import CandidateFailed, CandidateRetired, JudgeEnded
from yaoki.core.machine.request_events import UndoCompleted
from yaoki.core.model import State, StoreMismatch, TaskKind

CHECK_FINISHED = "CHECK_FINISHED"
RECONCILED = "RECONCILED"
FINAL_SUMMARY = "FINAL_SUMMARY"
RUN_REOPENED = "RUN_REOPENED"
# The events that matter here: a reader of the file may skip all others.
EVIDENCE_EVENTS = frozenset(
    {
        *(CHECK_FINISHED, RECONCILED, FINAL_SUMMARY, RUN_REOPENED),
        *(Submitted.NAME, Judged.NAME, Landed.NAME, Planned.NAME, Replaced.NAME),
        *(CulpritFound.NAME, LandingReverted.NAME, UndoCompleted.NAME, RowRefused.NAME),
        *(CandidateFailed.NAME, CandidateRetired.NAME, JudgeEnded.NAME),
    }
)
# A waived check counts: a person decided it, and the journal records it.
PROVING_OUTCOMES = frozenset({"PASSED", "FLAKY", "WAIVED"})
ACCEPTABLE_OUTCOMES = PROVING_OUTCOMES | {"SKIPPED"}
SHA_CHARS = 12


class EvidenceLine(Protocol):
    """A line of the journal."""

    @property
    def task_id(self) -> str: ...
    @property
    def event(self) -> str: ...
    @property
    def data(self) -> Mapping[str, Any]: ...


class RowClaim(Protocol):
    """The claims in the row of a task."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def state(self) -> State: ...
    @property
    def landed_commit(self) -> str: ...
    @property
    def parent(self) -> str: ...
    @property
    def required(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class CheckEvidence:
    """The result of one check on the judged commit."""

    check: str
    outcome: str
    required: bool
    seconds: float = 0.0


@dataclass(slots=True)
class TaskEvidence:
    """The journal's evidence about one task, folded up to its last line."""

    name: str = ""
    kind: str = TaskKind.CHANGE
    required: bool = True
    verified_commit: str = ""
    onto: str = ""
    checks: tuple[CheckEvidence, ...] = ()
    landed_commit: str = ""
    planned_by: str = ""
    is_replaced: bool = False
    is_reverted: bool = False
    checked_commit: str = ""
    checks_so_far: dict[str, CheckEvidence] = field(default_factory=dict)

    def add(self, line: EvidenceLine) -> None:
        data = line.data
        match line.event:
            case Submitted.NAME:
                spec = data["spec"]
                self.name, self.kind = spec["name"], spec.get("kind", TaskKind.CHANGE)
                self.required = spec.get("required", True) and not data.get("parent")
            case event if event == CHECK_FINISHED:
                self._add_check(data)
            case Judged.NAME:
                self._add_judgment(data)
            case Landed.NAME:
                self.landed_commit, self.is_reverted = data["commit"], False
            case Planned.NAME:
                self.planned_by = data.get("by", "")
            case CandidateFailed.NAME | CandidateRetired.NAME | JudgeEnded.NAME:
                # Its racing task lands the chosen work.
                self.is_replaced = True
            case Replaced.NAME | CulpritFound.NAME:
                # The culprit is a subtask, so its group is open again.
                self.is_replaced = self.kind != TaskKind.GROUP or line.event == Replaced.NAME
            case LandingReverted.NAME | UndoCompleted.NAME | RowRefused.NAME:
                self.is_reverted = self.is_reverted or bool(self.landed_commit)
                self.landed_commit = self.planned_by = ""
                self.is_replaced = False
            case _:
                pass  # of the run, not of a task

    def _add_check(self, data: Mapping[str, Any]) -> None:
        if data["commit"] != self.checked_commit:
            self.checks_so_far, self.checked_commit = {}, data["commit"]
        required, seconds = data.get("required", True), float(data.get("seconds", 0.0))
        self.checks_so_far[data["check"]] = CheckEvidence(
            data["check"], data["outcome"], required, seconds
        )

    def _add_judgment(self, data: Mapping[str, Any]) -> None:
        self.landed_commit = self.verified_commit = ""
        if data["passed"]:
            self.verified_commit, self.onto = data["commit"], data["onto"]
            self.checks = (
                tuple(self.checks_so_far.values())
                if self.checked_commit == self.verified_commit
                else ()
            )
        # Each judgment has its own results: an earlier one of the same commit may have more.
        self.checks_so_far, self.checked_commit = {}, ""

    @property
    def landed_own_commit(self) -> bool:
        """Did it land a commit of its own, not only the one it was verified on?"""
        return bool(self.landed_commit) and self.landed_commit != self.onto


@dataclass(slots=True)
class RunEvidence:
    """The folded journal of a run, with the commits that may be on the run branch.

    Earlier versions reverted several tasks in as many steps, of which the journal names only the
    last.  After a repair of the store the latest landing may be missing in the journal and be found
    on the branch.
    """

    tasks: dict[str, TaskEvidence] = field(default_factory=dict)
    known_commits: set[str] = field(default_factory=set)
    has_reverts: bool = False
    was_repaired: bool = False
    is_summed_up: bool = False
    line_count: int = 0

    def add(self, line: EvidenceLine) -> None:
        self.line_count += 1
        data = line.data
        match line.event:
            case event if event in (FINAL_SUMMARY, RUN_REOPENED):
                self.is_summed_up = event == FINAL_SUMMARY
            case event if event == RECONCILED:
                mismatch = data.get("mismatch")
                self.was_repaired |= mismatch == StoreMismatch.CORRUPT_STORE
                if mismatch == StoreMismatch.FOREIGN_COMMIT:
                    self.known_commits.add(str(data["commit"]))
            case Judged.NAME if data["passed"] and data["commit"] != data["onto"]:
                self.known_commits.add(data["commit"])
            case UndoCompleted.NAME | LandingReverted.NAME:
                self.known_commits.add(str(data.get("commit") or data.get("head") or ""))
                self.has_reverts = True
            case _:
                pass  # of one task
        if line.task_id:
            self.tasks.setdefault(line.task_id, TaskEvidence()).add(line)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A claim of the store that the journal and git do not prove."""

    task_id: str
    message: str


def fold_evidence(lines: Iterable[EvidenceLine]) -> RunEvidence:
    """`lines` are in order, oldest first, and read once."""
    evidence = RunEvidence()
    for line in lines:
        evidence.add(line)
    return evidence


def may_land(proof: TaskEvidence | None, commit: str) -> bool:
    """May this commit land?  Only if the last judgment passed, and on exactly this commit."""
    return proof is not None and bool(commit) and proof.verified_commit == commit


def find_unproven(
    evidence: RunEvidence,
    claims: Sequence[RowClaim],
    *,
    source: str = "the journal file",
    missing_commits: Collection[str] = (),
) -> list[Mismatch]:
    """Every row that claims more than is proven, each with its reason.

    `missing_commits` are the landed commits that the run branch does not contain.
    """
    mismatches = [
        Mismatch(claim.id, words)
        for claim in claims
        if (words := _claims_more(claim, evidence.tasks.get(claim.id), source, missing_commits))
    ]
    row_ids = {claim.id for claim in claims}
    missing_rows = (task_id for task_id in evidence.tasks if task_id not in row_ids)
    return mismatches + [
        Mismatch(task_id, f"{evidence.tasks[task_id].name} has no row; {source} has the task")
        for task_id in missing_rows
    ]


def _claims_more(
    claim: RowClaim, proof: TaskEvidence | None, source: str, lacking: Collection[str]
) -> str:
    name = claim.name
    if proof is None or not proof.name:
        return f"{source} has no line that submits {name}"
    if proof.required and not claim.required:
        return f"the row of {name} says that it is optional, {source} that it is required"
    if claim.state is State.REPLACED and not proof.is_replaced:
        return f"the row of {name} says REPLACED, {source} names no replacement"
    if claim.state is not State.DONE:
        return ""
    reason = _missing(claim, proof, lacking)
    return f"the row of {name} says DONE, {source} has no proof of it: {reason}" if reason else ""


def _missing(claim: RowClaim, proof: TaskEvidence, lacking: Collection[str]) -> str:
    """The evidence that is missing for DONE; empty when it is proven."""
    if proof.kind == TaskKind.PLAN and proof.planned_by:
        return ""
    if not proof.landed_commit:
        return "its landing was reverted" if proof.is_reverted else "it never landed"
    landed = proof.landed_commit[:SHA_CHARS]
    if claim.landed_commit != proof.landed_commit:
        return f"it landed as {landed}, the row says {claim.landed_commit[:SHA_CHARS] or 'nothing'}"
    if proof.verified_commit != proof.landed_commit:
        return f"no judgment passed {landed} before it landed"
    if red := [
        c.check for c in proof.checks if c.required and c.outcome not in ACCEPTABLE_OUTCOMES
    ]:
        return f"{', '.join(red)} did not pass on {landed}"
    if not any(c.required and c.outcome in PROVING_OUTCOMES for c in proof.checks):
        return f"no required check passed on {landed}"
    if proof.landed_commit in lacking:
        return f"the run branch does not contain {landed}"
    return ""


def expected_commits(evidence: RunEvidence, claims: Sequence[RowClaim]) -> list[str]:
    """The commits of DONE tasks that must be on the run branch.

    Subtasks land there with their group; a task without changes landed at an existing commit.
    """
    waiting = {
        claim.id for claim in claims if claim.kind == TaskKind.GROUP and not claim.landed_commit
    }
    tasks = (
        evidence.tasks.get(claim.id)
        for claim in claims
        if claim.state is State.DONE and claim.parent not in waiting
    )
    return [proof.landed_commit for proof in tasks if proof and proof.landed_own_commit]


class FirstParentCommit(Protocol):
    """A commit of the run branch, along the first parents."""

    @property
    def commit(self) -> str: ...
    @property
    def undoes(self) -> str: ...


def find_foreign_commits(evidence: RunEvidence, steps: Sequence[FirstParentCommit]) -> list[str]:
    """The commits of the run branch that the journal does not explain."""
    if evidence.was_repaired:
        return []
    known = evidence.known_commits
    return [
        step.commit
        for step in steps
        if step.commit not in known and not (evidence.has_reverts and step.undoes in known)
    ]
