"""The second stage: the agent is started or found again, waited for, and all it left is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from yaoki.core.excerpt import clip_bytes
from yaoki.core.machine.events import PromptSent
from yaoki.core.model import AgentExit, Failure, FailureKind, Run, Task, TaskSpec
from yaoki.core.model.stage_report import (
    AgentLost,
    StageDeferred,
    StageReport,
    WorkCommitted,
    WorkInterrupted,
)
from yaoki.core.prompt import Prompt, compose_prompt
from yaoki.engine.claim_context import ClaimContext
from yaoki.engine.stage_settings import StageSettings
from yaoki.engine.stages.plan_task import PlanTaskStages
from yaoki.engine.stages.prepare import hash_protected
from yaoki.engine.stages.processes import AttemptProcesses
from yaoki.ports import (
    AgentDriver,
    AttemptRequest,
    Processes,
    ProcessState,
    PromptText,
    PromptWriter,
    Workspace,
)

CHECKOUT = "checkout/"
UNTRACKED_STATE_PREFIXES = (f"{CHECKOUT}refs/", f"{CHECKOUT}untracked ")
SHA_SHOWN = 12
SHOWN = 5
WORKTREES = "worktrees/"
SHIM_KILLED = (
    "the shim that carries the agent was killed while the agent was at work, and its worker "
    "lived: end no process that you did not start"
)
WORKTREE_MISSING = "the worktree was gone when the agent had ended"


class WorkStage:
    """Carries one attempt of an agent."""

    def __init__(
        self,
        workspace: Workspace,
        processes: Processes,
        attending: AttemptProcesses,
        own: Callable[[Task], Mapping[str, str] | StageDeferred],
        find_agent: Callable[[str], AgentDriver],
        telling: Callable[[TaskSpec], PromptWriter],
        planning: PlanTaskStages,
        settings: StageSettings,
    ) -> None:
        self._workspace, self._processes, self._attending = workspace, processes, attending
        self._own, self._find_agent, self._telling = own, find_agent, telling
        self._planning, self._settings = planning, settings

    def work(self, run: Run, task: Task, hold: ClaimContext) -> StageReport:
        if task.taken_over:
            return self._kept(run, task, AgentExit(code=0), hold)
        if task.spec.planning_brief is not None and task.agent is None:
            return WorkCommitted(
                AgentExit(question=_fill_by_hand(task)), task.work.base, task.work.tree
            )
        folder = self._attending.folder(task, task.attempt)
        look = self._processes.inspect(folder)
        if look.phase != "absent" and not task.work.prompt_sent:
            # Its worker died between starting it and saying so; it ran all the same.
            hold.record(PromptSent(spend_counted=True))
        if look.phase == "absent":
            if task.cancel_requested:
                return WorkInterrupted("cancelled by a person before the agent was started")
            if task.work.host != self._settings.host:
                return AgentLost("the attempt was started on another machine, which is gone")
            if task.work.prompt_sent:
                return AgentLost("the agent was started, and nothing is left of its folder")
            own = self._own(task)
            if isinstance(own, StageDeferred):
                return own
            self._start(run, task, folder, replace(hold, environment=own))
        elif look.phase == "running" and not self._settings.adopt:
            self._processes.end(folder, "stop")
            self._workspace.worktrees.commit_attempt(run, task)
            return AgentLost("its worker died; the agent was ended (limits.adopt = kill)")
        assert task.agent is not None, f"{task.id} has no agent"
        agent = self._find_agent(task.agent.preset)
        attended = look.phase in {"absent", "running"}
        look = self._attending.wait(folder, hold, lambda: self._idles(agent, folder))
        if attended and look.phase == "gone" and not hold.stop_reason():
            return self._deserted(run, task, folder)
        return self._after(run, task, folder, look, agent, hold)

    def _start(self, run: Run, task: Task, folder: Path, hold: ClaimContext) -> None:
        assert task.agent is not None, f"{task.id} has no agent"
        context = self._planning.context(run) if task.spec.planning_brief else ""
        agent = self._find_agent(task.agent.preset)
        session = task.session if agent.can_resume(task.agent) else ""
        prompt, told = self._prompt(task, context, known=bool(session))
        order = AttemptRequest(
            task_id=task.id,
            attempt=task.attempt,
            epoch=task.epoch,
            agent=task.agent,
            prompt=prompt.text,
            worktree=Path(task.work.worktree),
            folder=folder,
            timeout=task.spec.timeout,
            hang=task.spec.hang,
            lease=self._settings.lease,
            output_bytes_max=self._settings.output_bytes_max,
            environment={
                **self._settings.agent_environment,
                **hold.environment,
                "YAOKI_TASK_NAME": task.spec.name,
                "YAOKI_RUN": task.run_id,
            },
            session=session,
        )
        self._processes.start(folder, agent.build_launch(order))
        hold.record(replace(told, bytes=len(prompt.text.encode()), spend_counted=True))
        if prompt.fault or told.fault:
            hold.note("PROMPT_FAULT", {"fault": prompt.fault or told.fault})

    def _prompt(
        self, task: Task, context: str = "", *, known: bool = False
    ) -> tuple[Prompt, PromptSent]:
        """The words for the next attempt, and where those about its failure come from."""
        said: list[PromptText] = []

        def tell(failure: Failure, hints: Mapping[FailureKind, str]) -> str:
            said.append(self._telling(task.spec).write(failure, hints))
            return said[-1].text

        made = compose_prompt(task, tell, context, session_resumed=known)
        told = said[-1] if said else None
        feedback = task.feedback
        sent = PromptSent(
            kind=feedback.kind.value if feedback else "",
            pattern=feedback.pattern if feedback else "",
            path=told.path if told else "",
            steps=tuple(told.steps) if told else (),
            fault=told.fault if told else "",
        )
        return replace(made, text=clip_bytes(made.text, self._settings.prompt_bytes_max)), sent

    def _idles(self, agent: AgentDriver, folder: Path) -> str:
        """Why an agent that still runs should be ended: it asks, or waits longer than we allow."""
        if agent.pending_question(folder):
            return "question"
        return "waiting" if agent.announced_wait(folder) > self._settings.agent_wait else ""

    def _deserted(self, run: Run, task: Task, folder: Path) -> StageReport:
        """The shim died while this worker watched it: no crash of worker or machine did that."""
        self._processes.end(folder, "stop")
        self._workspace.worktrees.commit_attempt(run, task)
        return AgentLost(SHIM_KILLED, counts_as_failure=True)

    def _after(
        self,
        run: Run,
        task: Task,
        folder: Path,
        look: ProcessState,
        agent: AgentDriver,
        hold: ClaimContext,
    ) -> StageReport:
        """Whatever happened, everything the agent left is committed and kept."""
        if look.phase != "exited":
            self._processes.end(folder, "stop")
            self._workspace.worktrees.commit_attempt(run, task)
            return AgentLost("the agent's process was cut off in the middle")
        exit_ = agent.read(folder, look)
        if look.ended_by == "output":
            exit_ = replace(exit_, output_bytes_max=self._settings.output_bytes_max)
        return self._kept(run, task, exit_, hold)

    def _kept(self, run: Run, task: Task, exit_: AgentExit, hold: ClaimContext) -> StageReport:
        # Looked at first: keeping reads the worktree through git, under that very configuration.
        tampered, disturbed = self._differing(task)
        kept = self._workspace.worktrees.commit_attempt(run, task)
        if kept.worktree_missing and not kept.changed and not task.taken_over:
            # Gone is not unchanged: nobody knows what was in it.
            return AgentLost(f"{WORKTREE_MISSING}: whatever the agent made there is lost")
        gone = (
            (f"{WORKTREE_MISSING}: only what was committed is kept",)
            if kept.worktree_missing
            else ()
        )
        for words in (
            *gone,
            *kept.warnings,
            *_refusals(kept.sandbox_refusals),
            *self._hidden(task),
        ):
            hold.note("WARNING", {"message": words})
        return WorkCommitted(
            exit_,
            kept.head,
            kept.tree,
            kept.changed,
            tampered,
            disturbed,
            kept.diff_digest,
            kept.left_out_files,
            kept.size_excess,
        )

    def _hidden(self, task: Task) -> Iterator[str]:
        """What git ignores does not land, and yet a check finds it: honest work gets lost so."""
        since = self._attending.agent_started_at(task)
        names = self._workspace.uncommitted.ignored_sources(task, since) if since else ()
        if names:
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            listed = ", ".join(names[:SHOWN]) + more
            yield f"git ignores what the agent wrote, so it will not land: {listed}; see .gitignore"

    def _differing(self, task: Task) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What differs since the attempt began: of the repository's own, of the user's checkout."""
        before, now = task.work.protected_hashes, hash_protected(self._workspace, task.id)
        # Of a worktree that is gone nothing can be told; what was added or changed in one counts.
        seen = {name for name in before if name in now or not name.startswith(WORKTREES)}
        names = [name for name in sorted({*seen, *now}) if before.get(name) != now.get(name)]
        mine = [name for name in names if name.startswith(CHECKOUT)]
        # An attempt that began under an older yaoki looked at no checkout.
        known = any(name.startswith(CHECKOUT) for name in before)
        # Nor at refs and untracked files; there is always a ref.
        whole = any(name.startswith(f"{CHECKOUT}refs/") for name in before)
        mine_known = [
            n for n in mine if known and (whole or not n.startswith(UNTRACKED_STATE_PREFIXES))
        ]
        told = (_with_a_way_back(name, before.get(name, "")) for name in mine_known)
        named = (self._with_files(task, name) for name in told)
        return tuple(name for name in names if name not in mine), tuple(named)

    def _with_files(self, task: Task, name: str) -> str:
        """The tracked files of the checkout have one mark together; which of them is asked now."""
        since = self._attending.agent_started_at(task)
        if name != f"{CHECKOUT}files" or not since:
            return name
        found = self._workspace.uncommitted.edited_files(since)
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        return f"{name} ({', '.join(found[:SHOWN])}{more})" if found else name


def _refusals(refused: Sequence[str]) -> Iterator[str]:
    if refused:
        acts = "1 act" if len(refused) == 1 else f"{len(refused)} acts"
        listed = ", ".join(dict.fromkeys(refused[:SHOWN]))
        more = " and others" if len(refused) > SHOWN else ""
        yield f"the sandbox refused {acts} of the agent: {listed}{more}"


def _with_a_way_back(name: str, before: str) -> str:
    """A stash or a commit that went is still there, but only whoever knows its name finds it."""
    if name.startswith(f"{CHECKOUT}refs/") and not name.endswith("*"):
        return f"{name} (was {before[:SHA_SHOWN]})" if before else f"{name} (new)"
    if name != f"{CHECKOUT}stash" or not before:
        return name
    return f"{name} (to have the old one back: git stash store {before})"


def _fill_by_hand(task: Task) -> str:
    fill = task.spec.planning_brief
    phase = fill.phase if fill else ""
    return (
        f"No planner is set, so a person fills {phase or task.spec.name}: "
        f"yaoki plan submit --phase {phase or task.spec.name} FILE"
    )
