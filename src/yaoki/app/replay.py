"""`yaoki verify --replay RUN`: verify every landed commit again in a fresh clone, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum, unique
from typing import TYPE_CHECKING

from yaoki.adapters.git.facts import LocalGitFacts
from yaoki.app.replay_clone import ReplayClone, open_replay_clone
from yaoki.core.decide.quarantine import QUARANTINED
from yaoki.core.evidence import EVIDENCE_EVENTS, TaskEvidence, fold_evidence
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import CheckSpec, CheckType, Finding, GitCheck, Outcome, State, TaskKind
from yaoki.core.model.check_types import AGENT_CHECKS
from yaoki.core.text import format_count
from yaoki.ports import CheckFacts

if TYPE_CHECKING:
    from yaoki.app.build import App
    from yaoki.core.model import Run, Task

# These depend on where a branch was at that time, which is not recorded.
REMOTE_STATE_CHECKS = frozenset({GitCheck.PUSHED, GitCheck.MERGED})


@unique
class ReplayOutcome(StrEnum):
    """The result of one check this time; WAIVED and NOT_REPLAYED were not run."""

    PASSED = "PASSED"
    FLAKY = "FLAKY"
    SKIPPED = "SKIPPED"
    FAILED = "FAILED"
    BROKEN = "BROKEN"
    WAIVED = "WAIVED"
    NOT_REPLAYED = "NOT_REPLAYED"


PASSED_OUTCOMES = frozenset({ReplayOutcome.PASSED, ReplayOutcome.FLAKY})
FAILED_OUTCOMES = frozenset({ReplayOutcome.FAILED, ReplayOutcome.BROKEN})


@dataclass(frozen=True, slots=True)
class CheckReplay:
    """One check of a landed commit; `recorded_outcome` is its result in the journal."""

    check: str
    recorded_outcome: str
    outcome: ReplayOutcome
    message: str = ""
    test_count: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class CommitReplay:
    """One landed commit; `not_run_reason` is set if no check could run."""

    task_id: str
    name: str
    commit: str
    checks: tuple[CheckReplay, ...] = ()
    not_run_reason: str = ""

    @property
    def passed(self) -> bool:
        """At least one check passed again and none failed."""
        outcomes = [one.outcome for one in self.checks]
        return (
            not self.not_run_reason
            and any(o in PASSED_OUTCOMES for o in outcomes)
            and not FAILED_OUTCOMES.intersection(outcomes)
        )


@dataclass(frozen=True, slots=True)
class LandedCommit:
    """A commit that a task landed, with its entry in the journal file."""

    task: Task
    proof: TaskEvidence


ReplayProgress = Callable[[int, int, "LandedCommit"], None]


def replay_run(
    app: App, run: Run, tell: ReplayProgress = lambda *_: None
) -> Iterator[CommitReplay]:
    """Replay the commits, oldest first; `tell` is called for each before it begins."""
    landings = find_landed_commits(app, run)
    git = LocalGitFacts(app.repository.common_dir)
    here = git.trees([one.proof.landed_commit for one in landings])
    source, top = app.repository.common_dir, app.repository.top
    hidden = app.context.hidden_checks.find
    quarantine = app.settings.quarantine
    with open_replay_clone(source, app.context.processes, top, hidden, quarantine) as room:
        for n, one in enumerate(landings, start=1):
            tell(n, len(landings), one)
            if one.proof.landed_commit in here:
                yield _replay_landing(app, run, room, one)
            else:
                yield _unreplayable(one, "the commit is not in this repository")


def find_landed_commits(app: App, run: Run) -> list[LandedCommit]:
    """The landed commits of the journal file, in the order of the branch.

    A plan has no commit of its own, nor does a report without changes and checks.
    """
    evidence = fold_evidence(app.store.read_journal_source(run.id, EVIDENCE_EVENTS))
    landed = [
        LandedCommit(app.store.task(row.id), proof)
        for row in app.store.rows(run.id)
        if row.state is State.DONE and (proof := evidence.tasks.get(row.id)) and proof.landed_commit
    ]
    landed = [one for one in landed if _has_proof(one)]
    git = LocalGitFacts(app.repository.common_dir)
    existing = [
        c for c, tree in git.trees([one.proof.landed_commit for one in landed]).items() if tree
    ]
    order = {commit: n for n, commit in enumerate(git.order_commits(run.base, existing))}
    return sorted(landed, key=lambda one: (order.get(one.proof.landed_commit, -1), one.task.n))


def _has_proof(one: LandedCommit) -> bool:
    return one.task.spec.kind is not TaskKind.PLAN and (
        one.proof.landed_own_commit or bool(one.task.proof_spec.checks)
    )


def _replay_landing(app: App, run: Run, room: ReplayClone, one: LandedCommit) -> CommitReplay:
    spec, proof = one.task.proof_spec, one.proof
    if why := room.check_out(proof.landed_commit, spec.setup, spec.timeout):
        return _unreplayable(one, why)
    facts = _check_facts(app, run, one)
    wanted = [check for check in spec.checks if check.required]
    recorded = {check.check: check.outcome for check in proof.checks}
    checks = tuple(
        _replay_check(app, room, check, facts, spec.fixes, recorded.get(check.name, ""))
        for check in wanted
    )
    waived = [c.check for c in proof.checks if c.outcome == ReplayOutcome.WAIVED]
    built_in = tuple(
        CheckReplay(name, ReplayOutcome.WAIVED, ReplayOutcome.WAIVED, "waived by a person")
        for name in waived
        if name not in {check.name for check in wanted}
    )
    why = (
        ""
        if any(c.outcome in PASSED_OUTCOMES | FAILED_OUTCOMES for c in checks)
        else "none of its checks can be run again"
    )
    return CommitReplay(one.task.id, spec.name, proof.landed_commit, (*checks, *built_in), why)


def _replay_check(
    app: App,
    room: ReplayClone,
    spec: CheckSpec,
    facts: CheckFacts,
    fixes: Sequence[str],
    recorded: str,
) -> CheckReplay:
    if recorded == ReplayOutcome.WAIVED:
        return CheckReplay(spec.name, recorded, ReplayOutcome.WAIVED, "waived by a person")
    if spec.type in AGENT_CHECKS:
        return CheckReplay(spec.name, recorded, ReplayOutcome.NOT_REPLAYED, "it needs an agent")
    if spec.type is CheckType.GIT and spec.git in REMOTE_STATE_CHECKS:
        return CheckReplay(
            spec.name,
            recorded,
            ReplayOutcome.NOT_REPLAYED,
            "it needs the state of the remote at that time",
        )
    finding = room.check(spec, facts, fixes, app.clock.now())
    tests, outcome = _tests(finding), ReplayOutcome(finding.outcome.value)
    is_told = outcome in FAILED_OUTCOMES or QUARANTINED in finding.params
    words = finding.message if is_told else ""
    return CheckReplay(spec.name, recorded, outcome, words, tests, round(finding.seconds, 3))


def _tests(finding: Finding) -> int | None:
    number = finding.params.get("testCount")
    return (
        int(number) if isinstance(number, int) and finding.outcome is not Outcome.BROKEN else None
    )


def _check_facts(app: App, run: Run, one: LandedCommit) -> CheckFacts:
    task, proof = one.task, one.proof
    changed = (
        app.workspace.contents.files_between(proof.onto, proof.landed_commit)
        if proof.landed_own_commit
        else ()
    )
    return CheckFacts(
        commit=proof.landed_commit,
        base=proof.onto,
        onto=proof.onto,
        verified_below=proof.onto,
        baseline_commit=proof.onto,
        changed=tuple(path for _, path in changed),
        scope=task.spec.scope,
        dirty=(),
        pushed=None,
        merged=None,
        run=run.id,
        task=task.id,
        task_name=task.spec.name,
        attempt=task.attempt,
        epoch=task.epoch,
        goal=task.spec.goal,
        branch=run.branch,
        diff=lambda: app.workspace.contents.diff(proof.onto, proof.landed_commit),
        environment={},
        passed_names=(),
    )


def _unreplayable(one: LandedCommit, why: str) -> CommitReplay:
    return CommitReplay(one.task.id, one.task.spec.name, one.proof.landed_commit, (), why)


def describe_check_replay(one: CheckReplay) -> str:
    """`PASSED again, 12 tests`; a failure also says what the journal recorded."""
    tests = f", {format_count(one.test_count, 'test')}" if one.test_count is not None else ""
    match one.outcome:
        case ReplayOutcome.PASSED | ReplayOutcome.FLAKY | ReplayOutcome.SKIPPED:
            words = (
                f"{one.outcome} again{tests}"
                if one.recorded_outcome == one.outcome
                else _difference_words(one, tests)
            )
            return f"{words}: {one.message}" if one.message else words
        case ReplayOutcome.FAILED | ReplayOutcome.BROKEN:
            return f"{_difference_words(one, tests)}: {one.message}"
        case ReplayOutcome.WAIVED:
            return "waived by a person, not run"
        case ReplayOutcome.NOT_REPLAYED:
            return f"not replayed: {one.message}"


def _difference_words(one: CheckReplay, tests: str) -> str:
    return f"{one.outcome}{tests} (the journal says {one.recorded_outcome or 'nothing'})"


def summarise_replay(replays: Sequence[CommitReplay]) -> str:
    good = sum(one.passed for one in replays)
    checks = [check for one in replays for check in one.checks]
    left = sum(one.outcome is ReplayOutcome.NOT_REPLAYED for one in checks)
    waived = sum(one.outcome is ReplayOutcome.WAIVED for one in checks)
    more = f"; {format_count(left, 'check')} not replayed" if left else ""
    more += f"; {format_count(waived, 'check')} waived by a person" if waived else ""
    return f"{good} of {format_count(len(replays), 'proof')} passed again in a fresh clone{more}"
