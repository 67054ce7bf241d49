"""The four stages of an attempt: prepare, work, verify, land.

Each stage touches the outside world, may be repeated without harm, and returns what it saw.
`core.decide` decides what follows from it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from yaoki.core.lazy_dataclass import dataclass, replace
from yaoki.core.model import Run, Task, TaskId, TaskSpec, Verdict
from yaoki.core.model.stage_report import StageReport
from yaoki.engine.claim_context import ClaimContext, WriteNote
from yaoki.engine.required_checks import CommitToVerify, RequiredChecks
from yaoki.engine.stage_settings import FreeCapacity, StageSettings
from yaoki.engine.stages.bisect import LandingBisection
from yaoki.engine.stages.candidate_checks import CandidateVerifier
from yaoki.engine.stages.check_rerun import CheckRerun
from yaoki.engine.stages.company_wait import CompanyWait
from yaoki.engine.stages.dependency_copy import DependencyCopy
from yaoki.engine.stages.failure_text import LoadOutcomes
from yaoki.engine.stages.land import LandStage, on_target_branch
from yaoki.engine.stages.plan_task import PlanTaskStages
from yaoki.engine.stages.predecessor_wait import PredecessorWait
from yaoki.engine.stages.prepare import PrepareStage
from yaoki.engine.stages.processes import AttemptProcesses
from yaoki.engine.stages.proof_room import ProofSessions
from yaoki.engine.stages.race import RaceStage
from yaoki.engine.stages.race_judge import RaceJudgeStages
from yaoki.engine.stages.resources import TaskResources
from yaoki.engine.stages.same_work import SameWork
from yaoki.engine.stages.spend_watch import SpendWatch
from yaoki.engine.stages.verify import VerifyStage
from yaoki.engine.stages.waived_landings import WaivedLandings
from yaoki.engine.stages.work import WorkStage
from yaoki.ports import (
    AgentDriver,
    Checker,
    Clock,
    PlanReader,
    Processes,
    PromptWriter,
    ProofRooms,
    ProofStore,
    QualityCriteria,
    Workspace,
)


@dataclass(frozen=True, slots=True)
class AgentPorts:
    """The agents of a run by name, their prompts, and the plans that they answer with.

    `read_output` gives the standard output of the agent that worked in a folder.
    `takes_tool_server` says of a preset whether it starts yaoki's MCP server.  `load_outcomes`
    gives the decided treatments of a pattern.
    """

    find: Callable[[str], AgentDriver]
    prompt_writer: Callable[[TaskSpec], PromptWriter]
    plan_reader: PlanReader
    read_output: Callable[[Path], str]
    takes_tool_server: Callable[[str], bool] = lambda _: False
    load_outcomes: LoadOutcomes = lambda _: ()


@dataclass(frozen=True, slots=True)
class CheckPorts:
    """The parts of a verification: checks, their rooms, earlier results, and criteria."""

    checker: Checker
    rooms: ProofRooms
    baselines: ProofStore
    quality: QualityCriteria


class Stages:
    """The stages of an attempt, a method each; the worker calls the one that the task's
    row names.
    """

    def __init__(
        self,
        workspace: Workspace,
        processes: Processes,
        clock: Clock,
        settings: StageSettings,
        agents: AgentPorts,
        checks: CheckPorts,
        *,
        find_task: Callable[[TaskId], Task],
        free_capacity: Callable[[], FreeCapacity],
        resources: TaskResources | None,
    ) -> None:
        self._workspace = workspace
        self._processes = attempts = AttemptProcesses(processes, settings)
        plan_task = PlanTaskStages(workspace, agents.plan_reader)
        race_judge = RaceJudgeStages(workspace, agents.read_output)
        sessions = ProofSessions(
            checks.rooms,
            checks.checker,
            processes,
            attempts,
            copy_setup=settings.copy_setup,
        )
        dependencies = DependencyCopy(checks.rooms, sessions, clock, is_enabled=settings.copy_setup)
        self._prepare = PrepareStage(
            workspace,
            attempts,
            agents.find,
            settings,
            free_capacity,
            resources,
            dependencies,
            find_task,
        )
        self._race = RaceStage(workspace, self._prepare, settings.host)
        self._work = WorkStage(
            workspace,
            processes,
            attempts,
            self._prepare.task_environment,
            agents.find,
            agents.prompt_writer,
            agents.load_outcomes,
            agents.takes_tool_server,
            plan_task,
            race_judge,
            SpendWatch(clock),
            settings,
        )
        started_at = attempts.work_started_at
        waived_landings = WaivedLandings(workspace, find_task)
        verifier = CandidateVerifier(
            workspace,
            checks.checker,
            sessions,
            checks.baselines,
            checks.quality,
            started_at,
            RequiredChecks(checks.baselines).allow_weaker_tests,
            waived_landings,
            CheckRerun(checks.checker, checks.baselines, settings.quarantine, clock),
        )
        bisection = LandingBisection(workspace, sessions, find_task)
        queue = PredecessorWait(workspace, clock)
        self._verify = VerifyStage(
            workspace,
            attempts,
            self._prepare,
            verifier,
            bisection,
            queue,
            plan_task,
            race_judge,
            waived_landings,
            SameWork(workspace, find_task),
        )
        self._land = LandStage(workspace, attempts, queue, CompanyWait(workspace, clock), plan_task)

    def prepare(self, run: Run, task: Task, claim: ClaimContext) -> StageReport:
        branch = self._on_target_branch(run, task)
        if task.starts_race:
            hashes = self._prepare.unaccepted_hashes(task)
            return replace(self._race.prepare(branch, task), protected_hashes=hashes)
        return self._prepare.prepare(branch, task, claim)

    def work(self, run: Run, task: Task, claim: ClaimContext) -> StageReport:
        return self._work.work(self._on_target_branch(run, task), task, claim)

    def verify(self, run: Run, task: Task, claim: ClaimContext) -> StageReport:
        return self._verify.verify(self._on_target_branch(run, task), task, claim)

    def land(self, run: Run, task: Task, claim: ClaimContext) -> StageReport:
        return self._land.land(self._on_target_branch(run, task), task, claim)

    def _on_target_branch(self, run: Run, task: Task) -> Run:
        return on_target_branch(self._workspace, run, task)

    def verify_commit(
        self, run: Run, spec: TaskSpec, commit: CommitToVerify, note: WriteNote
    ) -> Verdict:
        """Verify a commit that no task made: see `VerifyStage.verify_commit`."""
        return self._verify.verify_commit(run, spec, commit, note)

    def end_leftovers(self, task: Task) -> None:
        """End the processes that an attempt left running: see `AttemptProcesses`."""
        self._processes.end_leftovers(task)

    def clean_up_race(self, run: Run, task: Task) -> str:
        """Settle the worktree of a task that a step of its race changed: see `RaceStage`."""
        return self._race.clean_up(run, task)

    def remove_worktree(self, run: Run, task: Task) -> str:
        """Remove the worktree of a finished task; returns a warning, or nothing."""
        return self._prepare.remove_worktree(run, task)
