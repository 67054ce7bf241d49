"""Translates a playbook into a plan: each open box is a task, each condition a check."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.settings.settings import Settings
from yaoki.formats.plan.defects import Defects, KeyPath
from yaoki.formats.plan.draft import JudgedDraft, PlacedTask, draft_from_model
from yaoki.formats.plan.model import AgentModel, CheckModel, JudgeModel, PlanModel, TaskModel
from yaoki.formats.plan.plan import PromptRequirements
from yaoki.formats.playbook import agent_text
from yaoki.formats.playbook.model import (
    ASPECTS,
    P_FINAL,
    PlaybookModel,
    PlaybookPhaseModel,
    StatedModel,
    SubtaskModel,
)
from yaoki.formats.playbook.order import order_phases, phase_ends

JUDGE = "judge"
# The names of agents in playbooks.
PRESETS = {"claudecode": "claude", "codex": "codex"}
# Such a command always ends with 0: its output decides.
SAYS_PASS = lazy_compile(r"""\b(?:echo|printf?)[ \t]+["']?PASS\b""")
PASSED = r"matches:\A(?![\s\S]*^FAIL\b)[\s\S]*^PASS\b"
# The shell gets the command as a variable, so that it contains no placeholders.  The last line is
# the report of a command without output.
SCRIPT = '(eval "$YAOKI_COMMAND"); code=$?; echo "ended with exit code $code"; exit $code'
_QUOTED = lazy_compile(r"`([^`]+)`|``(.+)``", re.DOTALL)
_SPELT = {"goal": ("says",), "needs": ("depends_on",), "agent": ("executor",)}


def command_of(one: StatedModel) -> str:
    """The command of a condition: given as such, or a sentence entirely in backquotes."""
    if one.command.strip():
        return strip_quotes(one.command)
    match = _QUOTED.fullmatch(one.says.strip())
    return (match[1] or match[2]).strip() if match else ""


def strip_quotes(command: str) -> str:
    match = _QUOTED.fullmatch(command.strip())
    return (match[1] or match[2]).strip() if match else command.strip()


@dataclass(slots=True)
class PlaybookTranslation:
    """The parts of the plan so far."""

    playbook: PlaybookModel
    settings: Settings
    defects: Defects
    checks: dict[str, CheckModel] = field(default_factory=dict)
    agents: dict[str, AgentModel] = field(default_factory=dict)
    tasks: list[PlacedTask] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)

    @property
    def language(self) -> str:
        return self.settings.language

    # -------------------------------------------------------------- agents

    def agent_for(self, path: KeyPath, executor: str) -> str:
        """The agent of an executor; a missing agent is reported once."""
        name = self.playbook.meta.roles.get(executor, executor)
        if not executor.strip():
            return ""
        if name in self.settings.agents:
            return name
        if name not in self.refused:
            self.refused.add(name)
            file = self.settings.source or "yaoki.toml"
            near = self.defects.closest_name(name, self.settings.agents)
            hint = f"; did you mean {near!r}?" if near else ""
            reason = f"{file} has no agent {name[:80]!r}; add to it [agents.{_toml(name)}]"
            self.defects.add(path, f"{reason} and below that {_agent_line(name)}{hint}")
        return ""

    def judge_for(self, path: KeyPath, executor: str) -> str:
        """The agent named judge, or else the executor itself."""
        known = JUDGE in self.playbook.meta.roles or JUDGE in self.settings.agents
        return self.agent_for(path, JUDGE if known else executor)

    # -------------------------------------------------------------- checks

    def add_check(
        self, name: str, path: KeyPath, one: StatedModel, about: str, executor: str
    ) -> str:
        command = command_of(one)
        if command:
            success = PASSED if SAYS_PASS.search(command) else "exitCode:0"
            check = CheckModel(shell=command, success=success)
        else:
            ask = f"{about}: {one.says.strip()}"
            check = CheckModel(judge=JudgeModel(agent=self.judge_for(path, executor), ask=ask))
        self.checks[name] = check
        # The rules of playbooks judged it already; those of plans must add nothing.
        self.defects.broken_paths.add(("checks", name))
        return name

    def add_validations(self, path: KeyPath, task: SubtaskModel) -> list[str]:
        """The names of the checks: the test command if there is one, then the three validations."""
        names = list[str]()
        if task.test_command.strip():
            one = StatedModel(command=task.test_command)
            name = f"{task.id}.test_command"
            names.append(self.add_check(name, (*path, "test_command"), one, "", ""))
        for aspect in ASPECTS:
            one = getattr(task.validations, aspect)
            if one.says.strip() or one.command.strip():
                name, at = f"{task.id}.{aspect}", (*path, "validations", aspect)
                names.append(self.add_check(name, at, one, aspect, task.executor))
        return names

    # -------------------------------------------------------------- tasks

    def add_task(self, path: KeyPath, phase: str, fields: Mapping[str, object]) -> None:
        # The rules of playbooks have already reported what is missing here.
        self.defects.broken_paths |= {(*path, key) for key in ("checks", "agent", "max_iterations")}
        task = TaskModel.model_validate(fields)
        self.tasks.append(PlacedTask(path, task, phase, source_paths=_SPELT))

    def add_work_task(
        self, path: KeyPath, phase: PlaybookPhaseModel | None, box: SubtaskModel, needs: list[str]
    ) -> None:
        agent = self.agent_for((*path, "executor"), box.executor)
        goal = agent_text.work_words(self.playbook, phase, box, self.language)
        more: dict[str, object] = {"agent": [agent]} if agent else {}
        if phase and phase.is_given("max_iterations"):
            more["max_iterations"] = phase.max_iterations
        values = {
            "id": box.id,
            "goal": goal,
            "needs": needs,
            "checks": self.add_validations(path, box),
        }
        self.add_task(path, phase.id if phase else "", {**values, **more})

    def add_proof_task(
        self, path: KeyPath, name: str, sentence: str, needs: list[str], checks: list[str]
    ) -> None:
        """Add a task with a single attempt: asking a judge until it agrees would prove nothing."""
        goal = agent_text.proof_words(self.playbook, sentence, self.language)
        values = {"id": name, "goal": goal, "kind": "check", "needs": needs, "checks": checks}
        self.add_task(path, P_FINAL, {**values, "max_iterations": 1})

    def add_command_task(self, path: KeyPath, box: SubtaskModel, needs: list[str]) -> None:
        """A task that succeeds when its command ends with 0; its changes land."""
        line, name = strip_quotes(box.command), f"command.{box.id}"
        self.agents[name] = AgentModel(
            command=["sh", "-c", SCRIPT], prompt="file", env={"YAOKI_COMMAND": line}
        )
        goal = agent_text.command_words(box, line, self.language)
        values = {"id": box.id, "goal": goal, "kind": "report", "needs": needs, "agent": [name]}
        self.add_task(path, "", {**values, "checks": [], "quality": [], "max_iterations": 1})


def _agent_line(name: str) -> str:
    """The line of the settings that most probably configures such an agent."""
    preset = PRESETS.get(name)
    return f'preset = "{preset}"' if preset else 'command = ["my-agent"]'


def _toml(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'


def translate_playbook(
    playbook: PlaybookModel, settings: Settings, defects: Defects
) -> JudgedDraft:
    parts = PlaybookTranslation(playbook, settings, defects)
    last = _phases(parts)
    done_when, proofs = _done_when(parts, last)
    _final_tasks(parts, proofs or last)
    plan = PlanModel(
        goal=playbook.goal.summary, checks=parts.checks, agents=parts.agents, done_when=done_when
    )
    draft = draft_from_model(plan, parts.tasks, settings, defects)
    return JudgedDraft(draft, PromptRequirements(params=dict.fromkeys(settings.patterns)))


# ------------------------------------------------------------------ order


def _phases(translation: PlaybookTranslation) -> list[str]:
    """The boxes of each phase run in order; returns the tasks that complete all phases."""
    phases = translation.playbook.phases
    needs = order_phases(phases)
    last_tasks, open_ = (
        phase_ends(phases, needs),
        {box.id for phase in phases for box in phase.open_subtasks},
    )
    for n, phase in enumerate(phases):
        before = list(
            dict.fromkeys(end for need in needs.get(phase.id, ()) for end in last_tasks[need])
        )
        for m, box in enumerate(phase.subtasks):
            if phase.is_final or box.done:
                continue
            # A ticked box blocks nothing.
            extra = [end for need in box.depends_on for end in last_tasks.get(need, [need])]
            own = [e for e in dict.fromkeys((*before, *extra)) if e in open_ and e != box.id]
            translation.add_work_task(("phases", n, "subtasks", m), phase, box, own)
            before = [box.id]
    needed = {need for phase_needs in needs.values() for need in phase_needs}
    last = [ids for name, ids in last_tasks.items() if name not in needed]
    return list(dict.fromkeys(end for ids in last for end in ids))


def _done_when(translation: PlaybookTranslation, last: list[str]) -> tuple[list[str], list[str]]:
    """p_final: a check task for each of its boxes and for each condition of done_when."""
    playbook, names, proofs = translation.playbook, list[str](), list[str]()
    for n, phase in enumerate(playbook.phases):
        for m, box in enumerate(phase.subtasks if phase.is_final else ()):
            path: KeyPath = ("phases", n, "subtasks", m)
            translation.add_proof_task(
                path, box.id, box.says, last, translation.add_validations(path, box)
            )
            proofs.append(box.id)
    executor = _final_executor(playbook)
    for n, one in enumerate(playbook.goal.done_when, start=1):
        path = ("goal", "done_when", n - 1)
        if not (one.says.strip() or one.command.strip()):
            continue
        names.append(translation.add_check(f"done_when.{n}", path, one, "done_when", executor))
        proof = f"{P_FINAL}.done_when.{n}"
        translation.add_proof_task(path, proof, one.says or one.command, last, names[-1:])
        proofs.append(proof)
    return names, proofs


def _final_executor(playbook: PlaybookModel) -> str:
    """The first executor of p_final, or else of the playbook."""
    phases = sorted(playbook.phases, key=lambda phase: not phase.is_final)
    named = (box.executor for phase in phases for box in phase.subtasks if box.executor.strip())
    return next(named, JUDGE if phases else "")


def _final_tasks(translation: PlaybookTranslation, before: list[str]) -> None:
    """Add the final tasks one after the other, after all checks."""
    for n, box in enumerate(translation.playbook.final_tasks):
        if box.done:
            continue
        path: KeyPath = ("final_tasks", n)
        if box.is_given("command"):
            translation.add_command_task(path, box, before)
        else:
            translation.add_work_task(path, None, box, before)
        before = [box.id]
