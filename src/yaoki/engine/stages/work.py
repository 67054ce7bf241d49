"""The second stage: start the agent or find it again, wait for it, and save all its work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from yaoki.core.lazy_dataclass import replace
from yaoki.core.machine.events import PromptSent
from yaoki.core.model import (
    AgentExit,
    EndCause,
    QueueChoice,
    Run,
    Task,
    TaskKind,
    TaskSpec,
    Usage,
)
from yaoki.core.model.stage_report import (
    AgentLost,
    StageDeferred,
    StageReport,
    WorkCommitted,
    WorkInterrupted,
)
from yaoki.core.model.treatment import AttemptConversation
from yaoki.core.prompt import Prompt, compose_prompt, plain_check_commands
from yaoki.core.text import clip_bytes, format_count
from yaoki.engine.claim_context import ClaimContext, StopReason
from yaoki.engine.stage_settings import StageSettings
from yaoki.engine.stages.failure_text import FailureText, LoadOutcomes
from yaoki.engine.stages.plan_task import PlanTaskStages
from yaoki.engine.stages.prepare import CHECKOUT, WORKTREES, hash_protected
from yaoki.engine.stages.processes import AttemptProcesses
from yaoki.engine.stages.race_judge import RaceJudgeStages
from yaoki.engine.stages.spend_watch import SpendWatch
from yaoki.ports import (
    AgentDriver,
    AttemptRequest,
    Processes,
    ProcessPhase,
    ProcessState,
    PromptWriter,
    Workspace,
)

UNTRACKED = f"{CHECKOUT}untracked "
UNTRACKED_STATE_PREFIXES = (f"{CHECKOUT}refs/", UNTRACKED)
# Not the name of a file: more untracked files than are hashed one by one.
UNTRACKED_GROUP = f"{UNTRACKED}files"
SHA_SHOWN = 12
NAMES_SHOWN_MAX = 5
REPORTS_MAX = 1000
SHIM_KILLED = (
    "the shim that runs the agent was killed while its worker was alive: "
    "do not end processes that you did not start"
)
WORKTREE_MISSING = "the worktree was missing after the agent had ended"


class WorkStage:
    """Runs one attempt of an agent."""

    def __init__(
        self,
        workspace: Workspace,
        processes: Processes,
        attempts: AttemptProcesses,
        task_environment: Callable[[Task], Mapping[str, str] | StageDeferred],
        find_agent: Callable[[str], AgentDriver],
        prompt_writer: Callable[[TaskSpec], PromptWriter],
        load_outcomes: LoadOutcomes,
        takes_tool_server: Callable[[str], bool],
        plan_task: PlanTaskStages,
        race_judge: RaceJudgeStages,
        spend_watch: SpendWatch,
        settings: StageSettings,
    ) -> None:
        self._workspace, self._processes, self._attempts = workspace, processes, attempts
        self._task_environment, self._find_agent = task_environment, find_agent
        self._prompt_writer, self._load_outcomes = prompt_writer, load_outcomes
        self._plan_task, self._race_judge = plan_task, race_judge
        self._takes_tool_server, self._spend_watch = takes_tool_server, spend_watch
        self._settings = settings
        # New files of the checkout, by run and name, with the task whose attempt reported them.
        self._reported_additions: dict[tuple[str, str], str] = {}
        # Its other changes, by run, name and hash, with the task and the end of its agent.
        self._reported_changes: dict[tuple[str, str, str], tuple[str, float]] = {}

    def work(self, run: Run, task: Task, claim: ClaimContext) -> StageReport:
        if task.taken_over:
            return self._commit_work(run, task, AgentExit(code=0), claim)
        if task.spec.planning_brief is not None and task.agent is None:
            return WorkCommitted(
                AgentExit(question=_ask_person_to_plan(task)), task.work.base, task.work.tree
            )
        folder = self._attempts.folder(task, task.attempt)
        state = self._processes.inspect(folder)
        if state.phase != ProcessPhase.ABSENT and not task.work.prompt_sent:
            # The worker died after it started the agent and before it recorded that.
            claim.record(PromptSent(spend_counted=True))
        if state.phase == ProcessPhase.ABSENT:
            if report := self._start(run, task, folder, claim):
                return report
        elif state.phase == ProcessPhase.RUNNING and not self._settings.adopt:
            words = "its worker died; the agent was ended (limits.adopt = kill)"
            return self._report_lost(run, task, folder, words)
        assert task.agent is not None, f"{task.id} has no agent"
        agent = self._find_agent(task.agent.preset)
        was_alive = state.phase in {ProcessPhase.ABSENT, ProcessPhase.RUNNING}
        with self._spend_watch.watch(task, agent, folder, claim) as reached_cap:
            state = self._attempts.wait(
                folder, claim, lambda: reached_cap() or self._idle_reason(agent, folder)
            )
        if was_alive and state.phase == ProcessPhase.GONE and not claim.stop_reason():
            return self._report_killed_shim(run, task, folder)
        return self._finish(run, task, folder, state, agent, claim)

    def _start(self, run: Run, task: Task, folder: Path, claim: ClaimContext) -> StageReport | None:
        """Start the agent; a report when it must not or cannot be started."""
        if task.cancel_requested:
            return WorkInterrupted("cancelled by a person before the agent was started")
        if task.work.host != self._settings.host:
            return AgentLost("the attempt was started on another machine, which is gone")
        if task.work.prompt_sent:
            return AgentLost("the agent was started, and its folder is gone")
        environment = self._task_environment(task)
        if isinstance(environment, StageDeferred):
            return environment
        self._launch(run, task, folder, replace(claim, environment=environment))
        return None

    def _launch(self, run: Run, task: Task, folder: Path, claim: ClaimContext) -> None:
        assert task.agent is not None, f"{task.id} has no agent"
        context = self._plan_task.context(run) if task.spec.planning_brief else ""
        agent = self._find_agent(task.agent.preset)
        session = task.session if agent.can_resume(task.agent) else ""
        # A planner answers with a plan, a judge with a letter, not with a question.
        answers = task.spec.kind in {TaskKind.PLAN, TaskKind.JUDGE}
        can_ask = (
            bool(self._settings.tool_server)
            and not answers
            and self._takes_tool_server(task.agent.preset)
        )
        prompt, sent = self._prompt(task, context, resumed=bool(session), can_ask=can_ask)
        sent = replace(
            sent,
            agent=task.agent.name,
            conversation=AttemptConversation.CONTINUED if session else AttemptConversation.FRESH,
        )
        request = AttemptRequest(
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
                **claim.environment,
                "YAOKI_TASK_NAME": task.spec.name,
                "YAOKI_RUN": task.run_id,
            },
            session=session,
            check_commands=() if answers else plain_check_commands(task.spec.checks),
            tool_server=self._settings.tool_server if can_ask else (),
        )
        self._processes.start(folder, agent.build_launch(request))
        claim.record(replace(sent, bytes=len(prompt.text.encode()), spend_counted=True))
        if prompt.fault or sent.fault:
            claim.note("PROMPT_FAULT", {"fault": prompt.fault or sent.fault})

    def _prompt(
        self, task: Task, context: str, *, resumed: bool, can_ask: bool
    ) -> tuple[Prompt, PromptSent]:
        """The prompt of the next attempt, and the templates of its part about the failure."""
        if task.spec.kind is TaskKind.JUDGE:
            return Prompt(self._clip(self._race_judge.prompt(task))), PromptSent()
        failed = FailureText(task, self._prompt_writer(task.spec), self._load_outcomes)
        prompt = compose_prompt(
            task,
            failed.write,
            context,
            session_resumed=resumed,
            can_ask=can_ask,
            changed_files=self._left_files(task),
        )
        return replace(prompt, text=self._clip(prompt.text)), failed.sent()

    def _clip(self, prompt: str) -> str:
        return clip_bytes(prompt, self._settings.prompt_bytes_max)

    def _left_files(self, task: Task) -> tuple[str, ...]:
        """The files of the worktree that earlier attempts have changed."""
        if task.feedback is None and not task.given_up_agents and not task.session_failures:
            return ()
        files = self._workspace.contents.files_between(task.work.base, task.work.tree)
        return tuple(path for _, path in files)

    def _idle_reason(self, agent: AgentDriver, folder: Path) -> str:
        """The reason to end a running agent: it asks a question, or announced too long a wait."""
        if agent.pending_question(folder):
            return "question"
        return "waiting" if agent.announced_wait(folder) > self._settings.agent_wait else ""

    def _report_killed_shim(self, run: Run, task: Task, folder: Path) -> StageReport:
        """The shim died while this worker watched it, so no crash of worker or machine did it."""
        return replace(self._report_lost(run, task, folder, SHIM_KILLED), counts_as_failure=True)

    def _report_lost(self, run: Run, task: Task, folder: Path, words: str) -> AgentLost:
        """End what is left of the process tree, and commit what it left."""
        ended = self._processes.end(folder, EndCause.STOP)
        saved = self._workspace.worktrees.commit_attempt(run, task)
        if not saved.changed:
            return AgentLost(words, seconds=ended.seconds)
        return AgentLost(words, seconds=ended.seconds, head=saved.head, tree=saved.tree)

    def _finish(
        self,
        run: Run,
        task: Task,
        folder: Path,
        state: ProcessState,
        agent: AgentDriver,
        claim: ClaimContext,
    ) -> StageReport:
        """Read the end of the agent.  In every case all its work is committed."""
        if state.phase != ProcessPhase.EXITED:
            return self._report_lost(run, task, folder, "the agent's process was interrupted")
        exit_ = agent.read(folder, state)
        if state.ended_by == EndCause.OUTPUT:
            exit_ = replace(exit_, output_bytes_max=self._settings.output_bytes_max)
        if state.ended_by in {EndCause.TASK_BUDGET, EndCause.RUN_BUDGET}:
            exit_ = _with_usage_so_far(exit_, agent.usage_so_far(folder))
        return self._commit_work(run, task, exit_, claim)

    def _commit_work(
        self, run: Run, task: Task, exit_: AgentExit, claim: ClaimContext
    ) -> StageReport:
        # Compare first: the commit reads the worktree through git, under its configuration.
        tampered, disturbed, added = self._changed_protected(task)
        saved = self._workspace.worktrees.commit_attempt(run, task)
        if saved.worktree_missing and not saved.changed and not task.taken_over:
            # A missing worktree is not an unchanged one: its content is unknown.
            words = f"{WORKTREE_MISSING}: the agent's uncommitted work is lost"
            return AgentLost(words, seconds=exit_.seconds)
        missing = f"{WORKTREE_MISSING}: only committed work is saved"
        for warning in (
            *((missing,) if saved.worktree_missing else ()),
            *saved.warnings,
            *_sandbox_warnings(saved.sandbox_refusals),
            *self._ignored_warnings(task, saved.tree),
        ):
            claim.warn(warning)
        return WorkCommitted(
            exit_,
            saved.head,
            saved.tree,
            saved.changed,
            tampered,
            disturbed,
            saved.diff_digest,
            saved.left_out_files,
            saved.size_excess,
            self._choose_queue_entry(task, claim) if saved.changed else None,
            saved.person_file_count,
            saved.git_refusal,
            # The files of the process are no proof: an agent could have written them.
            stopped_on_request=claim.stop_reason() is StopReason.STOP,
            checkout_additions=self._unreported_additions(task, added),
        )

    def _choose_queue_entry(self, task: Task, claim: ClaimContext) -> QueueChoice | None:
        """Work without changes has no place in a queue: nothing is built on it.  Of a race only the
        winner enters one.
        """
        lands = task.spec.kind.is_change and not task.race_task
        return claim.queue.choose_entry() if lands else None

    def _ignored_warnings(self, task: Task, tree: str) -> Iterator[str]:
        """Files that git ignores do not land although a check may use them: work would be lost."""
        since = self._attempts.agent_started_at(task)
        if not since:
            return
        files = self._workspace.contents.files_between(task.work.base, tree)
        # A file that the commit removes may be kept back by a new rule of .gitignore.
        committed = {path for status, path in files if status != "D"}
        names = self._workspace.uncommitted.ignored_sources(task, since, committed)
        if names:
            listed = _shorten(names)
            yield f"git ignores files of the agent, so they will not land: {listed}; see .gitignore"

    def _unreported_additions(self, task: Task, names: Sequence[str]) -> tuple[str, ...]:
        """Each file once per run: tasks that are active at the same time see the same file.

        The same task reports it again, because its first report may have been refused.
        """
        reported = self._reported_additions
        if len(reported) > REPORTS_MAX:
            reported.clear()
        return tuple(
            name for name in names if reported.setdefault((task.run_id, name), task.id) == task.id
        )

    def _unreported_changes(
        self, task: Task, names: Sequence[str], now: Mapping[str, str]
    ) -> Iterator[str]:
        """Each change once per run: tasks that are active at the same time see the same change.

        An attempt that began after the agent of the other one had ended sees another change, even
        to the same content.  As for additions, the same task reports it again.
        """
        started_at, reported = self._attempts.agent_started_at(task), self._reported_changes
        if len(reported) > REPORTS_MAX:
            reported.clear()
        mine = task.id, self._attempts.agent_ended_at(task)
        for name in names:
            key = task.run_id, name, now.get(name, "")
            other, ended_at = reported.setdefault(key, mine)
            if other == task.id or not 0 < started_at < ended_at:
                reported[key] = mine
                yield name

    def _changed_protected(
        self, task: Task
    ) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Names that changed since the attempt began: in git's configuration, in the user's
        checkout, and new files there if nothing else changed.
        """
        before, now = task.work.protected_hashes, hash_protected(self._workspace, task.id)
        # Nothing can be said about a worktree that is gone; additions and changes count.
        known = {name for name in before if name in now or not name.startswith(WORKTREES)}
        names = [name for name in sorted({*known, *now}) if before.get(name) != now.get(name)]
        checkout = [name for name in names if name.startswith(CHECKOUT)]
        # An attempt that began under an older version did not record the checkout,
        has_checkout = any(name.startswith(CHECKOUT) for name in before)
        # nor its refs and untracked files; there is always a ref.
        has_refs = any(name.startswith(f"{CHECKOUT}refs/") for name in before)
        comparable = [
            name
            for name in checkout
            if has_checkout and (has_refs or not name.startswith(UNTRACKED_STATE_PREFIXES))
        ]
        tampered = tuple(name for name in names if name not in checkout)
        if all(_is_plain_addition(name, before, now) for name in comparable):
            return tampered, (), tuple(name.removeprefix(UNTRACKED) for name in comparable)
        unreported = self._unreported_changes(task, comparable, now)
        described = (_with_remedy(name, before.get(name, "")) for name in unreported)
        detailed = (self._with_files(task, name) for name in described)
        return tampered, tuple(detailed), ()

    def _with_files(self, task: Task, name: str) -> str:
        """The checkout's tracked files share one hash, so the changed ones are looked up now."""
        since = self._attempts.agent_started_at(task)
        if name != f"{CHECKOUT}files" or not since:
            return name
        files = self._workspace.uncommitted.edited_files(since)
        return f"{name} ({_shorten(files)})" if files else name


def _is_plain_addition(name: str, before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """A new untracked file; hidden ones, such as `.mcp.json`, may be settings of a program."""
    is_new = name.startswith(UNTRACKED) and name not in before and name in now
    is_hidden = any(part.startswith(".") for part in name.removeprefix(UNTRACKED).split("/"))
    return is_new and not is_hidden and name != UNTRACKED_GROUP


def _shorten(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN_MAX} more" if len(names) > NAMES_SHOWN_MAX else ""
    return ", ".join(names[:NAMES_SHOWN_MAX]) + more


def _sandbox_warnings(refusals: Sequence[str]) -> Iterator[str]:
    if refusals:
        listed = ", ".join(dict.fromkeys(refusals[:NAMES_SHOWN_MAX]))
        more = " and others" if len(refusals) > NAMES_SHOWN_MAX else ""
        acts = format_count(len(refusals), "action")
        yield f"the sandbox refused {acts} of the agent: {listed}{more}"


def _with_remedy(name: str, before: str) -> str:
    """A dropped stash or commit still exists, but only its name finds it again."""
    if name.startswith(f"{CHECKOUT}refs/") and not name.endswith("*"):
        return f"{name} (was {before[:SHA_SHOWN]})" if before else f"{name} (new)"
    if name != f"{CHECKOUT}stash" or not before:
        return name
    return f"{name} (to restore the old one: git stash store {before})"


def _with_usage_so_far(exit_: AgentExit, usage: Usage) -> AgentExit:
    """Most agents report their usage only when they end; this one was stopped before that."""
    return replace(
        exit_,
        cost=usage.cost if exit_.cost is None else exit_.cost,
        tokens=usage.tokens if exit_.tokens is None else exit_.tokens,
    )


def _ask_person_to_plan(task: Task) -> str:
    brief = task.spec.planning_brief
    phase = (brief.phase if brief else "") or task.spec.name
    return (
        f"No planner is configured, so a person fills {phase}: "
        f"yaoki plan submit --phase {phase} FILE"
    )
