"""Checks a planner's answer, one JSON object, against its run; reports all defects at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from yaoki.core.agent_json import json_objects, last_agent_message
from yaoki.core.graph import downstream, find_cycle
from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.model import (
    REPLANS_MAX,
    PlanningBrief,
    RetryPolicy,
    Run,
    State,
    TaskKind,
    TaskSpec,
)
from yaoki.core.model.spec import list_chain
from yaoki.core.text import did_you_mean, format_count, list_some
from yaoki.formats.plan.rules import NAME
from yaoki.ports import PlannerAnswer

TEXT_CHARS_READ = 512 * 1024
KEYS = ("tasks", "reason", "done", "impossible")
TASK_KEYS = (
    *("id", "goal", "kind", "needs", "checks", "scope", "agent", "required"),
    *("priority", "replaces"),
)
DEFECTS_MAX = 100
DEPENDENTS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class ExistingTask:
    """A task of the run as an answer may name it."""

    id: str
    n: int
    name: str
    state: State
    is_replaceable: bool
    replans: int = 0
    spec: TaskSpec | None = None
    last_failure: str = ""


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """The run that an answer is checked against, and its defects."""

    run: Run
    planning_brief: PlanningBrief
    tasks: Sequence[ExistingTask]
    text_bytes_max: int
    defaults: TaskSpec
    needs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    defects: list[str] = field(default_factory=list)

    def find(self, word: str) -> ExistingTask | None:
        """Find a task by id, number or name."""
        matches = (t for t in self.tasks if word in {t.id, t.name, str(t.n)})
        return next(matches, None)


def read_answer(text: str, context: AnswerContext) -> PlannerAnswer:
    """Check the last JSON object of the output; its defects go back to the planner."""
    try:
        objects = list(json_objects(last_agent_message(text, TEXT_CHARS_READ, "tasks")))
    except ValueError as defect:
        return PlannerAnswer(defects=(str(defect),))
    if not objects:
        return PlannerAnswer(defects=("there is no JSON object in the answer",))
    return check_answer(objects[-1], context)


def check_answer(answer: Mapping[str, Any], context: AnswerContext) -> PlannerAnswer:
    """Check tasks added during a run, by a planner or a person; reports all defects at once."""
    defects = context.defects
    defects += [
        f"unknown key {key!r}{did_you_mean(key, KEYS)}" for key in answer if key not in KEYS
    ]
    impossible = answer.get("impossible", "")
    if isinstance(impossible, str) and impossible.strip():
        return PlannerAnswer(impossible=impossible.strip()[:2000])
    raw = answer.get("tasks")
    if not isinstance(raw, list):
        return PlannerAnswer(defects=(*defects, "tasks must be a list"))
    done = answer.get("done") is True
    if not raw and not done:
        defects.append("there are no tasks; set done: true if nothing is left to do")
    specs, replaces = _tasks(raw, context)
    if defects:
        return PlannerAnswer(defects=tuple(dict.fromkeys(defects))[:DEFECTS_MAX])
    return PlannerAnswer(specs, replaces, done=done and not specs)


def _tasks(raw: list[Any], context: AnswerContext) -> tuple[tuple[TaskSpec, ...], dict[str, str]]:
    most = context.planning_brief.tasks_max
    if len(raw) > most:
        context.defects.append(
            f"{format_count(len(raw), 'task is', 'tasks are')} over the limit of {most}"
        )
        return (), {}
    shaped = [one for n, one in enumerate(raw) if _is_task(n, one, context)]
    names = _names(shaped, context)
    specs = tuple(_spec(one, names, context) for one in shaped)
    cycle = find_cycle(_extended_needs(shaped, specs, context))
    if cycle:
        context.defects.append(f"tasks need each other in a circle: {' needs '.join(cycle[:20])}")
    return specs, dict(_replacements(shaped, context))


def _extended_needs(
    shaped: Sequence[Mapping[str, Any]], specs: Sequence[TaskSpec], context: AnswerContext
) -> dict[str, list[str]]:
    """The graph of the run with the answer added; dependents of a replaced task wait for its
    replacement.
    """
    replacements = {
        old.name: str(one["id"])
        for one in shaped
        if one.get("replaces") and (old := context.find(one["replaces"])) is not None
    }
    all_needs = {**context.needs, **{spec.name: spec.needs for spec in specs}}
    return {
        name: [
            replacements.get(need, need)
            for need in task_needs
            if replacements.get(need, need) in all_needs
        ]
        for name, task_needs in all_needs.items()
        if name not in replacements
    }


def _is_task(n: int, one: Any, context: AnswerContext) -> bool:
    where = f"tasks[{n}]"
    if not isinstance(one, dict):
        context.defects.append(f"{where}: a task is an object, not {one!r:.40}")
        return False
    wrong = [
        f"{where}: unknown key {k!r}{did_you_mean(k, TASK_KEYS)}" for k in one if k not in TASK_KEYS
    ]
    wrong += [
        f"{where}.{key}: must be a string, not {one[key]!r:.40}"
        for key in ("id", "goal", "kind", "agent", "replaces")
        if key in one and not isinstance(one[key], str)
    ]
    wrong += [f"{where}: {key} is missing" for key in ("id", "goal") if not one.get(key)]
    wrong += [
        f"{where}.{key}: must be a list of strings, not {one[key]!r:.40}"
        for key in ("needs", "checks", "scope")
        if key in one and not _texts(one[key])
    ]
    if not isinstance(one.get("required", True), bool):
        wrong.append(f"{where}.required: must be true or false")
    priority = one.get("priority", 0)
    if isinstance(priority, bool) or not isinstance(priority, int) or abs(priority) > 1000:
        wrong.append(f"{where}.priority: must be a whole number between -1000 and 1000")
    context.defects.extend(wrong)
    return not wrong


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _names(shaped: Sequence[Mapping[str, Any]], context: AnswerContext) -> set[str]:
    names: set[str] = set()
    taken_names = {task.name for task in context.tasks}
    for one in shaped:
        name = one["id"]
        if not NAME.fullmatch(name):
            context.defects.append(f"{name!r:.60} is not a valid task name")
        elif name in names or name in taken_names:
            context.defects.append(f"{name!r} is the name of another task; choose a new one")
        names.add(name)
    return names


def _spec(one: Mapping[str, Any], names: set[str], context: AnswerContext) -> TaskSpec:
    name, usual, catalogue = one["id"], context.defaults, context.run.catalogue
    known_checks, kind = context.run.checks, _kind(one, context)
    old = context.find(one["replaces"]) if one.get("replaces") else None
    replaced_spec = old.spec if old is not None and old.spec is not None else None
    check_names = (
        one.get("checks") or [c.name for c in replaced_spec.checks]
        if replaced_spec
        else one.get("checks")
    )
    checks = check_names if check_names is not None else list(known_checks)
    _known(name, "check", checks, known_checks, context)
    inherited = (replaced_spec.agents if replaced_spec else ()) or usual.agents
    agents = [one["agent"]] if one.get("agent") else [a.name for a in inherited]
    _known(name, "agent", agents, catalogue.agents, context)
    if kind is not TaskKind.CHECK and not agents:
        context.defects.append(f"{name}: no agent is named, and the run has none to take")
    if len(one["goal"].encode()) > context.text_bytes_max:
        context.defects.append(
            f"{name}: its goal is over the limit of {context.text_bytes_max} bytes"
        )
    return TaskSpec(
        name=name,
        goal=one["goal"].strip(),
        kind=kind,
        needs=tuple(dict.fromkeys(_needs(one, names, context))),
        checks=tuple(known_checks[c] for c in checks if c in known_checks),
        agents=()
        if kind is TaskKind.CHECK
        else list_chain(catalogue.agents[a] for a in agents if a in catalogue.agents),
        scope=tuple(one.get("scope", replaced_spec.scope if replaced_spec else ())),
        priority=one.get("priority", 0),
        required=one.get("required", replaced_spec.required if replaced_spec else True),
        timeout=usual.timeout,
        hang=usual.hang,
        policy=catalogue.policies.get("default", RetryPolicy(rules={})),
        setup=(replaced_spec or usual).setup,
        setup_inputs=(replaced_spec or usual).setup_inputs,
        may_change_nothing=replaced_spec.may_change_nothing if replaced_spec else False,
        mutants=(replaced_spec or usual).mutants,
        race=(replaced_spec or usual).race if kind.is_change else None,
        discard=(replaced_spec or usual).discard,
        phase=(replaced_spec.phase if replaced_spec else "") or context.planning_brief.phase,
        language=usual.language,
        budget=replaced_spec.budget if replaced_spec else {},
        group=replaced_spec.group if replaced_spec else "",
        tags=replaced_spec.tags if replaced_spec else (),
        iteration=(replaced_spec.iteration if replaced_spec else 0)
        or context.planning_brief.iteration,
    )


def _kind(one: Mapping[str, Any], context: AnswerContext) -> TaskKind:
    word = one.get("kind", "change")
    allowed = [kind.value for kind in context.planning_brief.kinds]
    if word not in allowed:
        context.defects.append(f"{one['id']}: kind {word!r:.40} is not one of {', '.join(allowed)}")
        return TaskKind.CHANGE
    return TaskKind(word)


def _known(
    name: str, sort: str, words: Sequence[str], known: Mapping[str, Any], context: AnswerContext
) -> None:
    context.defects.extend(
        f"{name}: unknown {sort} {word!r:.60}{did_you_mean(word, known)}"
        for word in words
        if word not in known
    )


def _needs(one: Mapping[str, Any], names: set[str], context: AnswerContext) -> Iterator[str]:
    for word in one.get("needs", ()):
        needed = None if word in names else context.find(word)
        if word in names:
            yield word
        elif needed is not None:
            yield needed.name
        else:
            near = did_you_mean(word, (*names, *(task.name for task in context.tasks)))
            context.defects.append(
                f"{one['id']}: needs {word!r:.60}, which is not a task here{near}"
            )


def _replacements(
    shaped: Sequence[Mapping[str, Any]], context: AnswerContext
) -> Iterator[tuple[str, str]]:
    replaced_ids: set[str] = set()
    for one in shaped:
        word = one.get("replaces")
        if not word:
            continue
        old = context.find(word)
        if old is None:
            context.defects.append(f"{one['id']}: replaces {word!r:.60}, which is not a task here")
        elif not old.is_replaceable:
            words = _refusal(one["id"], old, context)
            context.defects.append(f"{one['id']}: {words}")
        elif old.replans >= REPLANS_MAX:
            context.defects.append(
                f"{one['id']}: {old.id} was already replaced {old.replans} times"
            )
        elif old.id in replaced_ids:
            context.defects.append(f"{one['id']}: {old.id} is replaced twice")
        else:
            replaced_ids.add(old.id)
            yield one["id"], old.id


def _refusal(name: str, old: ExistingTask, context: AnswerContext) -> str:
    """Why a task cannot be replaced; for a cancelled one with what is possible instead."""
    if old.state is not State.CANCELLED:
        return f"{old.id} has not failed, so it cannot be replaced"
    final = f"{old.id} was cancelled, which is final; without replaces, {name} is a new task"
    open_ = {task.name for task in context.tasks if not task.state.is_final}
    waiting = [one for one in downstream(old.name, context.needs) if one in open_]
    if not waiting:
        return final
    shown = list_some(waiting, DEPENDENTS_SHOWN)
    return f"{final}; cancel the tasks that need {old.name} and add them anew as well: {shown}"


def default_spec(like: TaskSpec, run: Run) -> TaskSpec:
    """The defaults for tasks of an answer: the run's agents, the timeouts of the planning task."""
    chain = list_chain(run.catalogue.agents[name] for name in run.default_agents)
    return TaskSpec(
        "",
        "",
        agents=chain,
        timeout=like.timeout,
        hang=like.hang,
        setup=like.setup,
        setup_inputs=like.setup_inputs,
        discard=like.discard,
        language=like.language,
    )
